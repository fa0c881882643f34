"""Texts of frames → symbol, place in the source, and the flags that tools print around them."""

from __future__ import annotations

import re

_OFFSET = re.compile(r" \+ (?:0x[0-9a-fA-F]+|\d+)$")
_PLACE = re.compile(r" \(([^()]*):(-?\d{1,9})\)$")
_IN_BINARY = re.compile(r" \(in ([^()]*)\)$")
_AT_PLACE = re.compile(r"^(.*?):(\d{1,9})(?::\d+)?$")
_FLAGS = (" [opt]", " [inlined]", " [artificial]")
_INLINED = "[inlined] "
_ARGUMENTS = re.compile(r"\([A-Za-z_$][\w$]*=")
_ADDRESS_ONLY = re.compile(r"0x[0-9a-fA-F]+(?: \+ (?:0x)?[0-9a-fA-F]+)?$")
_COMMENT = "// "
_MAX_LINE_NUMBER = 2**31 - 1


def parse_crash_symbol(text: str) -> tuple[str, str, int, bool]:
    """Return symbol, file, line and whether it was inlined, of a crash report's frame; "" for no symbol.

    ``main (in App) + 12 (main.m:14)`` is ``main``; ``0x100070000 + 7094768`` (the binary's address and an
    offset) has none; a name that was added later follows ``//``.
    """
    text = text.strip()
    if text.startswith("0x") and _COMMENT in text:
        text = text.partition(_COMMENT)[2].strip()
    is_inlined = _INLINED.strip() in text
    text = text.replace(_INLINED, "").removesuffix(f" {_INLINED.strip()}")
    if _ADDRESS_ONLY.match(text):
        return "", "", -1, is_inlined
    text, file, line = _without_place(text)
    text = _IN_BINARY.sub("", _OFFSET.sub("", text))
    if not file:
        text, file, line = _without_place(text)
    return text.strip(), file, line, is_inlined


def _without_place(text: str) -> tuple[str, str, int]:
    """Return the text without ``(file:line)``, the file and the line; ``(:-1)`` means no line."""
    place = _PLACE.search(text)
    if place is None:
        return text, "", -1
    line = int(place[2])
    return text[: place.start()], place[1], line if 0 < line <= _MAX_LINE_NUMBER else -1


def parse_lldb_symbol(text: str) -> tuple[str, str, str, int, bool]:
    """Return binary, symbol, file, line and whether it was inlined, of a frame of lldb after its address.

    ``App`outer(x=1) [inlined] inner(y=2) + 4 at a.cpp:3:7 [opt]`` is ``inner`` of ``App``, at a.cpp:3. Values
    of arguments are cut off: they are the program's data.
    """
    text, is_inlined = _without_flags(text.strip())
    text, file, line = without_lldb_place(text)
    binary, backtick, symbol = text.partition("`")
    if not backtick:
        return _OFFSET.sub("", text), "", file, line, is_inlined
    outer_symbols, _, inner = symbol.rpartition(_INLINED)
    is_inlined |= bool(outer_symbols)
    symbol = _OFFSET.sub("", inner)
    if arguments := _ARGUMENTS.search(symbol):
        symbol = symbol[: arguments.start()]
    return binary, symbol.strip(), file, line, is_inlined


def _without_flags(text: str) -> tuple[str, bool]:
    is_inlined = False
    while text.endswith(_FLAGS):
        flag = next(flag for flag in _FLAGS if text.endswith(flag))
        is_inlined |= flag == _FLAGS[1]
        text = text.removesuffix(flag)
    return text, is_inlined


def without_lldb_place(text: str) -> tuple[str, str, int]:
    """Return the text without ``at file:line:column``, the file and the line."""
    text_before_place, separator, place = text.rpartition(" at ")
    match = _AT_PLACE.match(place) if separator else None
    if match is None:
        return text, "", -1
    line = int(match[2])
    return text_before_place, match[1], line if 0 < line <= _MAX_LINE_NUMBER else -1
