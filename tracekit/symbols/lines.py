"""The line table of one unit of debug information: address → file and line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tracekit.symbols.macho import SymbolFileError

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.dwarfinfo import DWARFInfo

_MAX_PROGRAM_BYTES = 4 << 20
"""Bytes of the line table of one unit: the library keeps a row of 500 bytes for each or so."""
_VERSION_WITH_FORMATS = 5
_MAX_HEADER_BYTES = 1 << 20
_MAX_PATH = 4096
_MAX_LINE = 2**31 - 1
_REFERENCE_FORMS = (0x0E, 0x1F)  # DW_FORM_strp, DW_FORM_line_strp
_FIXED_FORMS = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
_STRING_FORM, _BLOCK_FORM, _NUMBER_FORM = 0x08, 0x09, 0x0F


class LineTable:
    """``text`` decodes a string of the debug information."""

    def __init__(self, info: DWARFInfo, unit: CompileUnit, text: Callable[[Any], str]) -> None:
        self._text = text
        self._top = unit.get_top_DIE()
        self._program = None
        offset = self._top.attributes.get("DW_AT_stmt_list")
        if offset is not None and info.debug_line_sec is not None:
            _require_plain_header(info.debug_line_sec.stream, offset.value)
            self._program = info.line_program_for_CU(unit)
        self._paths: dict[int, str] = {}

    def find(self, addresses: Sequence[int]) -> dict[int, tuple[str, int]]:
        """Return file and line of each address that the table covers."""
        if self._program is None:
            return {}
        if self._program.program_end_offset - self._program.program_start_offset > _MAX_PROGRAM_BYTES:
            return {}
        # A row is valid up to the next one of its sequence; a sequence ends with a row that marks its end.
        # The sequences are in no order.
        rows = [entry.state for entry in self._program.get_entries() if entry.state is not None]
        numbers = sorted(range(len(rows)), key=lambda number: (rows[number].address, number))
        starts = [rows[number].address for number in numbers]
        found = {}
        for address in addresses:
            place = bisect_right(starts, address) - 1
            # Where one sequence ends and another begins, the row of the latter counts.
            while (
                place >= 0
                and rows[numbers[place]].end_sequence
                and (place and starts[place - 1] == starts[place])
            ):
                place -= 1
            if place >= 0 and not rows[numbers[place]].end_sequence:
                row = rows[numbers[place]]
                found[address] = (self.file(row.file), row.line if 0 < row.line <= _MAX_LINE else -1)
        return found

    def file(self, number: int) -> str:
        """Return the path of a file of the unit; "" for one that it does not list."""
        if number not in self._paths:
            self._paths[number] = self._path(number)[:_MAX_PATH]
        return self._paths[number]

    def _path(self, number: int) -> str:
        if self._program is None:
            return ""
        header = self._program.header
        counts_from = 0 if header["version"] >= _VERSION_WITH_FORMATS else 1
        row = number - counts_from
        if not 0 <= row < len(header["file_entry"]):
            return ""
        entry = header["file_entry"][row]
        folders = header["include_directory"]
        folder_row = entry["dir_index"] - counts_from
        folder = self._text(folders[folder_row]) if 0 <= folder_row < len(folders) else ""
        top = self._top.attributes.get("DW_AT_comp_dir")
        return _joined(self._text(top.value) if top else "", folder, self._text(entry["name"]))


def _joined(*parts: str) -> str:
    """Return the path of nested folders and a file; an absolute part begins anew."""
    path = ""
    for part in parts:
        path = part if part.startswith("/") or not path else f"{path.rstrip('/')}/{part}" if part else path
    return path


def _require_plain_header(stream: Any, offset: int) -> None:
    """Raise for a header of version 5 with lists longer than its bytes: the library would make them."""
    stream.seek(offset)
    head = stream.read(_MAX_HEADER_BYTES)
    wide = head[:4] == b"\xff\xff\xff\xff"
    position = 12 if wide else 4
    if int.from_bytes(head[position : position + 2], "little") != _VERSION_WITH_FORMATS:
        return
    # Version, sizes of address and segment, length of the header, five parameters, lengths of the opcodes.
    position += 2 + 2 + (8 if wide else 4) + 5
    position += head[position] if position < len(head) else 1
    _, position = _skip_list(head, position, wide=wide)  # folders
    _skip_list(head, position, wide=wide)  # files


def _skip_list(head: bytes, position: int, *, wide: bool) -> tuple[int, int]:
    """Return the number of entries of a list, and the position after it."""
    count_formats, position = (head[position] if position < len(head) else 0), position + 1
    forms = []
    for _ in range(count_formats):
        _, position = _uleb(head, position)
        form, position = _uleb(head, position)
        forms.append(form)
    count, position = _uleb(head, position)
    if count > len(head) or (count and not forms):
        raise SymbolFileError("has a damaged line table")
    for _ in range(count):
        for form in forms:
            position = _skip_value(head, position, form, wide=wide)
    return count, position


def _skip_value(head: bytes, position: int, form: int, *, wide: bool) -> int:
    """Return the position after a value."""
    if form in _REFERENCE_FORMS:
        return position + (8 if wide else 4)
    if form in _FIXED_FORMS:
        return position + _FIXED_FORMS[form]
    if form == _STRING_FORM:
        return head.find(b"\0", position) + 1 or len(head)
    length, after = _uleb(head, position)
    if form == _NUMBER_FORM:
        return after
    if form == _BLOCK_FORM:
        return after + length
    raise SymbolFileError("has a line table in an unknown form")


def _uleb(data: bytes, position: int) -> tuple[int, int]:
    """Return an unsigned LEB128 number and the position after it."""
    value = shift = 0
    while position < len(data):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            break
    return value, position
