"""The text of one frame, as ``sample`` and spindump write it → its parts.

start  (in libdyld.dylib) + 1  [0x7fff737cf3d5]                     sample
main  (in slotstream) + 96,120  [0x103faa8bc,0x…]  main.swift:2004
???  (in App)  load address 0x106637000 + 0x3e80  [0x10663ae80]
start + 2432 (dyld + 25360) [0x7ff806675310]                        spindump
main + 9 (App.swift:31,1 in App + 17460153) [0x10772dbb9]
start + 53 (QQ) [0x14e55]                                           spindump of macOS 10.9
??? [0x11e6fd800]                                                   code without a binary
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tracekit.parsers.text.listed_images import BinaryImages
from tracekit.parsers.text.stack_counts import StackCounts

_MAX_ADDRESS = 2**64 - 1
_UNKNOWN = ("???", "? ? ?", "")
_UNKNOWN_BINARIES = ("<unknown binary>", "???")
_ADDRESS = re.compile(r"\[(?:0x(?P<hex>[0-9a-f]{1,16})|0)\b[^\]]*\]")
_OFFSET = re.compile(r" \+ (?:0x[0-9a-f]+|\d+)$")
_IN_BINARY = re.compile(
    r"(?P<binary>.*?)\)(?: \((?P<place>[^()]*:\d+)\))?(?: +load address 0x[0-9a-f]+)?(?: \+ [0-9a-fx,.]+)?$"
)
_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<line>\d+))?(?:,\d+)?$")
_FILE_IN = re.compile(
    r"(?P<place>\S*\.\w+(?::\d+)?(?:,\d+)?|<compiler-generated>(?::\d+)?(?:,\d+)?) in (?P<binary>.+)"
)


class FrameText(NamedTuple):
    """The parts of a frame; ``symbol`` is "0x…" if the text has none."""

    symbol: str
    binary: str
    address: int
    file: str = ""
    line: int = -1


def parse_sample_frame(text: str) -> FrameText:
    """Return the frame of a line of ``sample``."""
    head, has_address, end = text.rpartition(" [0x")
    address, place = _parse_address(f"[0x{end}") if has_address else (0, "")
    head = head.rstrip() if has_address else text
    symbol, is_inside, location = head.rpartition(" (in ")
    match = _IN_BINARY.match(location) if is_inside else None
    if match is None:
        return _build_frame(_OFFSET.sub("", head), "", address, place)
    return _build_frame(symbol.rstrip(), match["binary"], address, match["place"] or place)


def parse_spindump_frame(text: str) -> FrameText:
    """Return the frame of a line of spindump, up to the end of its address."""
    head, _, end = text.rpartition(" [0")
    address, _ = _parse_address(f"[0{end}")
    symbol, where = _split_symbol(head)
    where = _OFFSET.sub("", where)
    file_match = _FILE_IN.match(where)
    if file_match:
        return _build_frame(_OFFSET.sub("", symbol), file_match["binary"], address, file_match["place"])
    return _build_frame(_OFFSET.sub("", symbol), where, address, "")


def make_row_finder(
    counts: StackCounts, parse: Callable[[str], FrameText], images: BinaryImages, parsed: dict[str, FrameText]
) -> Callable[[str, bool], int]:
    """Return a function from a frame's text to its row; ``parsed`` caches frames across processes.

    Names are looked up one byte below an address (``symbols/naming.py``), which is correct for callers. So 1
    is added to a leaf's address, which is the program counter, unless its alignment identifies it as one.
    """
    binaries: dict[tuple[object, ...], int] = {}
    leaf_offset = 0 if images.arch.startswith("arm") else 1

    def find_row(text: str, is_leaf: bool) -> int:
        frame = parsed.get(text)
        if frame is None:
            frame = parsed[text] = parse(text)
        image = images.find(frame.binary, frame.address) if frame.binary else None
        key = (frame.binary,) if image is None else (image.uuid, image.start)
        binary = binaries.get(key)
        if binary is None:
            binary = binaries[key] = (
                counts.add_binary(frame.binary)
                if image is None
                else counts.add_binary(frame.binary, image.path, image.uuid, images.arch, image.load_address)
            )
        address = frame.address
        if is_leaf and image is not None and address < _MAX_ADDRESS:
            address += leaf_offset
        return counts.add_frame(frame.symbol, binary, address, frame.file, frame.line)

    return find_row


def _build_frame(symbol: str, binary: str, address: int, place: str) -> FrameText:
    symbol = f"0x{address:x}" if symbol in _UNKNOWN else symbol
    binary = "" if binary in _UNKNOWN_BINARIES else binary
    match = _PLACE.match(place) if place else None
    if match is None:
        return FrameText(symbol, binary, address)
    line = match["line"] or ""
    return FrameText(symbol, binary, address, match["file"], (int(line) or -1) if 0 < len(line) < 10 else -1)


def _parse_address(text: str) -> tuple[int, str]:
    """Return the first address of ``[0x10,0x20,...]  file.c:7`` and what follows it."""
    match = _ADDRESS.match(text)
    if match is None:
        return 0, ""
    return int(match["hex"] or "0", 16), text[match.end() :].strip()


def _split_symbol(text: str) -> tuple[str, str]:
    """Return ``("f(int) + 4", "App + 9")`` of ``f(int) + 4 (App + 9)``; parentheses may be nested."""
    if not text.endswith(")"):
        return text, ""
    position = text.rfind("(")
    unclosed = text.count(")", position) - 1
    while unclosed > 0 and position > 0:
        earlier_position = position
        position = text.rfind("(", 0, position)
        unclosed += text.count(")", position, earlier_position) - 1
    return (text[:position].rstrip(), text[position + 1 : -1]) if position >= 0 else (text, "")
