"""Frames as rules see them: one spelling per binary, and readable symbols.

Recorders name one library in several ways: ``libBNNS.dylib``, ``com.apple.Metal`` (a bundle id in a crash
report), ``com.apple.vision.EspressoFramework``, ``libonnxruntime.1.17.0.dylib``, a full path. Rules name it
once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tracekit.frozen import compile_later

MAX_SYMBOL = 4096
"""Patterns search this many characters of a symbol; C++ templates can grow to a hundred times that."""

_APPLE_BUNDLE = re.compile(r"(?:com\.apple\.|\.\.\.)(?:.*\.)?")
_SUFFIX = re.compile(r"(?:(?:\.cpython-[\w-]+|\.abi3)?\.(?:so|dylib|kext|framework)|(?<=\.)debug\.dylib)$")
_VERSION = re.compile(r"(?:\.\d+)+$|(?<=^lib)(\w+)\.[A-Z]$")
_RENAMED = {"EspressoFramework": "Espresso", "espresso": "Espresso", "VN": "Vision"}
"""Apple's bundle ids that differ from the name of the binary."""
_NO_SYMBOL = compile_later(
    r"|\?+|(?:\+ ?)?0x[0-9a-fA-F]+(?: \+ \d+)?|\+ \d+|<redacted>|<unknown>"
    r"|\((?:M|callers m|callees m)issing\)|<deduplicated_symbol>|___lldb_unnamed_symbol.*"
)
_VERSION_AFTER = re.compile(r" {0,4}(?:\([\d. -]*\)|\+ (?:0x)?[0-9a-fA-F]+|\[0x[0-9a-fA-F]+\])$")
_COMMENTED = compile_later(r"0x[0-9a-fA-F]+ \+ (?:0x)?[0-9a-fA-F]+[ \t]+// ?")
_IMAGE_BEFORE = compile_later(r"(?:frame #\d+: )?(?:0x[0-9a-fA-F]+ )?([^`\s()]*[^`\s().])`(?=\S)")
_LOCATION_AFTER = re.compile(
    r"[ \t]{1,8}(?:\(in ([^()]+)\)|\[in ([^\[\]]+)\]|\(([^()]+) \+ \d+\)|\[0x[0-9a-fA-F]+\](?: \d+)?"
    r"|(?:load address|Address =) 0x[0-9a-fA-F]+|\+ (?:0x[0-9a-fA-F]+|\d+)|:\d+"
    r"|\((?:[^()\s]*:-?\d+|filename not found)\)|at [^()\s]+:\d+)$"
)
"""The locations that tools print after a symbol: in its binary, in the source file, in memory."""
_MAX_LOCATIONS = 6
_ENDS_OF_LOCATIONS = frozenset(")]0123456789abcdefABCDEF")
_MANGLED = compile_later(r"_{1,3}ZT?[hv]?\d*_?N?[rVK]*[RO]?(?=\d)|_{1,3}ZN[rVK]*[RO]?(?:St)?(?=\d)")

SYSTEM_FOLDER = compile_later(
    r"(?:.*/Symbols|.*/RuntimeRoot|.*/Cryptexes/OS)?/(?:System|usr/lib|usr/libexec|Library/Apple)/"
)
"""Folders of system libraries, which lie below another folder in device support and in simulators."""


@lru_cache(maxsize=10_000)
def normalize_binary(name: str) -> str:
    """Return a binary's name without path, Apple's bundle prefix, suffix and version.

    ``com.apple.MetalPerformanceShaders.MPSCore`` is ``MPSCore``; ``com.macrabbit.Espresso`` stays as it is,
    because a bundle id of another vendor does not name Apple's library.
    """
    name = name.rpartition("/")[2]
    for _ in range(_MAX_LOCATIONS):
        if (location := _VERSION_AFTER.search(name)) is None:
            break
        name = name[: location.start()]
    if bundle := _APPLE_BUNDLE.match(name):
        name = name[bundle.end() :]
        return _RENAMED.get(name, name)
    name = _SUFFIX.sub("", name)
    return _VERSION.sub(lambda match: match[1] or "", name)


def normalize_frame(binary: str, symbol: str) -> tuple[str, str]:
    """Return a frame's plain binary and plain symbol.

    Tools print locations around symbols: ``start (in dyld) + 6``, ``dyld`start + 6``. They are removed, and
    supply the name of the binary where the recording has none.
    """
    image, symbol = _without_location(symbol[:MAX_SYMBOL])
    return normalize_binary(binary or image), _demangle(symbol.removesuffix(f" ({binary})"))


def _without_location(symbol: str) -> tuple[str, str]:
    """Return the binary named in a symbol's text, if any, and the symbol without its location."""
    image = ""
    if symbol.startswith("0x") and (comment := _COMMENTED.match(symbol)):
        symbol = symbol[comment.end() :]
    # Tools chain locations (``start (in dyld) + 6  [0x1880]``). The limit bounds the work on hostile symbols;
    # the test of the last character skips the regular expression for most others.
    for _ in range(_MAX_LOCATIONS):
        if symbol[-1:] not in _ENDS_OF_LOCATIONS or (location := _LOCATION_AFTER.search(symbol)) is None:
            break
        image = location[1] or location[2] or location[3] or image
        symbol = symbol[: location.start()]
    # LLDB prints ``binary`symbol``.
    if "`" in symbol and (image_match := _IMAGE_BEFORE.match(symbol)):
        image, symbol = image_match[1], symbol[image_match.end() :]
    return image, symbol


def _demangle(symbol: str) -> str:
    """Return the qualified name in a mangled C++ name, other symbols as they are."""
    if symbol.startswith(("_Z", "__Z", "___Z")) and (mangled := _MANGLED.match(symbol)):
        return _join_name_parts(symbol, mangled.end()) or symbol
    return symbol


def _join_name_parts(mangled: str, position: int) -> str:
    """Join the length-prefixed parts of an Itanium nested name: ``4E5RT3Ops`` is ``E5RT::Ops(``."""
    parts = []
    while length := re.compile(r"\d{1,4}").match(mangled, position):
        position = length.end() + int(length[0])
        part = mangled[length.end() : position]
        parts.append("(anonymous namespace)" if part.startswith("_GLOBAL__N_") else part)
    return "::".join(parts) + "(" if parts else ""


def has_symbol(symbol: str) -> bool:
    """Return False for placeholders of unknown symbols: an address, ``???``, ``<redacted>``, nothing."""
    if symbol[:1].isalpha() and "`" not in symbol:  # no placeholder begins with a letter
        return True
    return _NO_SYMBOL.fullmatch(_without_location(symbol[:MAX_SYMBOL])[1]) is None
