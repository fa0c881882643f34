"""A bundle of JavaScript modules, for a file that must not load anything, and for pages that load less.

The modules follow four rules, which tests check, so that no bundler is needed: an import is one line that
names its file, an export is a keyword before a declaration, top-level names differ from module to module, and
no line inside a template looks like a comment.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "((?:\.{1,2}/|/)[a-z_/-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*[\s\S]*?\*/)\n", re.MULTILINE)
_ASSETS = "assets"


@cache
def bundled(entry: str) -> str:
    """Return a module of the report after all modules that it imports, as one text."""
    return joined(entry, asset)


def joined(entry: str, text_of: Callable[[str], str]) -> str:
    """Return a module after all modules that it imports, as one text; ``text_of`` reads a path."""
    modules: dict[str, str] = {}
    _add(entry, text_of, modules, ())
    return "\n".join(modules.values())


@cache
def asset(name: str) -> str:
    """Return the text of a file in the folder of the page's modules."""
    return files("tracekit.report").joinpath(_ASSETS, name).read_text("utf-8")


def _add(name: str, text_of: Callable[[str], str], modules: dict[str, str], path: tuple[str, ...]) -> None:
    """Add a module after its imports; ``path`` are the modules that led to it."""
    if name in modules:
        return
    assert name not in path, f"modules import each other: {' → '.join((*path, name))}"
    text = text_of(name)
    # Depth first: a module stands after all that it imports, because top-level code runs in the order of the
    # text.
    for imported in _IMPORT.findall(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), imported))
        _add(target, text_of, modules, (*path, name))
    # Comments on lines of their own are a tenth of the script, and no reader of a report needs them.
    modules[name] = _EXPORT.sub("", _IMPORT.sub("", _COMMENT.sub("", text))).strip() + "\n"
