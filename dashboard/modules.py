"""The JavaScript modules of a page, preloaded so that the browser fetches them in parallel.

Apart from ``app``, because it reads JavaScript and needs neither Dash nor a library.
"""

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
    """Return the addresses of the entry module and all its imports, each once."""
    addresses: dict[str, None] = {}
    waiting = [ENTRY]
    while waiting:
        address = waiting.pop()
        if address in addresses:
            continue
        addresses[address] = None
        folder, name = posixpath.split(address)
        text = files(_PLACES[folder]).joinpath("assets", name).read_text("utf-8")
        waiting += [posixpath.normpath(posixpath.join(folder, target)) for target in _IMPORT.findall(text)]
    return tuple(addresses)


def preloads() -> str:
    """Return the markup that preloads the modules."""
    return "\n".join(f'<link rel="modulepreload" href="{address}">' for address in module_addresses())
