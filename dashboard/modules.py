"""Which JavaScript modules a page needs: a browser that is told at once fetches them side by side."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from importlib.resources import files

ENTRY = "/assets/start.js"
_PLACES = {"/assets": "dashboard", "/report-assets": "tracekit.report"}
_IMPORT = re.compile(r'^import [^"]*"([^"]+)";', re.MULTILINE)


@cache
def module_addresses() -> tuple[str, ...]:
    """Return the addresses of the entry and of all that it imports, each once."""
    found: dict[str, None] = {}
    waiting = [ENTRY]
    while waiting:
        address = waiting.pop()
        if address in found:
            continue
        found[address] = None
        folder, name = posixpath.split(address)
        text = files(_PLACES[folder]).joinpath("assets", name).read_text("utf-8")
        waiting += [posixpath.normpath(posixpath.join(folder, one)) for one in _IMPORT.findall(text)]
    return tuple(found)


def preloads() -> str:
    """Return the markup that has a browser fetch them before it has read the first."""
    return "\n".join(f'<link rel="modulepreload" href="{address}">' for address in module_addresses())
