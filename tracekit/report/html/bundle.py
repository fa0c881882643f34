"""The page's JavaScript modules as one, for a file that may load nothing.

The modules keep to what can be put together without a tool: an import is one line that names its file, an
export stands before what it exports, and top-level names differ from module to module.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.MULTILINE)
_ASSETS = "assets"


@cache
def bundled(entry: str) -> str:
    """Return a module with all that it imports before it."""
    done: dict[str, str] = {}
    _add(entry, done, ())
    return "\n".join(done.values())


@cache
def asset(name: str) -> str:
    """Return the text of a file beside the page's modules."""
    return files("tracekit.report").joinpath(_ASSETS, name).read_text("utf-8")


def _add(name: str, done: dict[str, str], path: tuple[str, ...]) -> None:
    if name in done:
        return
    assert name not in path, f"modules import each other: {' → '.join((*path, name))}"
    text = asset(name)
    for imported in _IMPORT.findall(text):
        _add(imported, done, (*path, name))
    done[name] = _EXPORT.sub("", _IMPORT.sub("", text)).strip() + "\n"
