"""Mangled names of C++, Rust and Swift as Instruments shows them.

C++ and Rust use LLVM's demangler (pydemumble). Swift uses Swift's own (multi-demangle), without modules,
types and return types, as Instruments does.
"""

from __future__ import annotations

import math
import re

import multi_demangle
import pydemumble

_SWIFT = ("$s", "$S", "_T0", "_Tt", "T0", "Tt")
_SHORT = multi_demangle.DemangleOptions.name_only()
_STUB = "DYLD-STUB$$"
_MAX_BYTES = 20_000

# A mangled name refers back to its own parts, so a hundred bytes can expand to gigabytes. Each reference
# makes the result at most about 1.45 times as long (3 ** (1/3): three references to the text so far); real
# names of WebKit have up to 38 references.
_REFERENCES = {
    "_Z": re.compile(r"[ST][0-9A-Z]*_"),
    "$s": re.compile("A"),
    "$S": re.compile("A"),
    "_R": re.compile("B"),
}
_GROWTH_PER_REFERENCE = 1.45
_MAX_GROWN_CHARACTERS = 1e9
_MAX_CHEAP_REFERENCES = 16
_MAX_CHARACTERS = 1 << 16
_MAX_WASTED_CHARACTERS = 200_000_000


class Demangler:
    """Demangles the names of one bundle, each once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._wasted = 0
        """Characters of discarded names (too long to read); beyond a limit, risky names are skipped."""

    def demangle(self, name: str) -> str:
        """Return the name as Instruments shows it; one that is not mangled loses its leading underscore."""
        if name not in self._names:
            stub, mangled = (_STUB, name.removeprefix(_STUB)) if name.startswith(_STUB) else ("", name)
            readable = self._demangle_name(mangled) if self._is_safe(mangled) else ""
            self._names[name] = stub + (readable or mangled.removeprefix("_"))
        return self._names[name]

    def _demangle_name(self, name: str) -> str:
        """Return the readable name; "" for a name that is not mangled or would be too long to read."""
        bare = name.removeprefix("_")  # Mach-O puts one before every name
        if bare.startswith(_SWIFT):
            swift = str(multi_demangle.demangle_symbol(bare, _SHORT))
            readable = "" if swift == bare else swift
        else:
            readable = str(pydemumble.demangle(name) or pydemumble.demangle(bare))
        if len(readable) > _MAX_CHARACTERS:
            self._wasted += len(readable)
            return ""
        return readable

    def _is_safe(self, name: str) -> bool:
        """Return whether demangling the name is bounded, by its length and its back references."""
        if len(name) > _MAX_BYTES or "\0" in name:
            return False
        bare = name.lstrip("_")
        pattern = next((p for mark, p in _REFERENCES.items() if bare.startswith(mark.lstrip("_"))), None)
        references = len(pattern.findall(name)) if pattern else 0
        if references < _MAX_CHEAP_REFERENCES:
            return True
        if self._wasted > _MAX_WASTED_CHARACTERS:
            return False
        return references * math.log(_GROWTH_PER_REFERENCE) + math.log(len(name) + 1) < math.log(
            _MAX_GROWN_CHARACTERS
        )
