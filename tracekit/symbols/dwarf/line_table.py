"""The line table of a unit: a program that makes rows, each an address and the line from there on.

    row 0x10 line 3 │ row 0x18 line 4 │ row 0x20, end of the sequence        0x1c → line 4

Rows are produced one after the other; only the row around each wanted address is kept.
Source: DWARF 5, section 6.2.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from tracekit.frozen import frozen
from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.debug_sections import DamagedDwarfError
from tracekit.symbols.dwarf.file_names import FileNames
from tracekit.symbols.dwarf.forms import UnitEncoding, read_number, read_sleb, read_uleb
from tracekit.symbols.dwarf.units import Unit
from tracekit.symbols.work_budget import WorkBudget

_MAX_LINE = 2**31 - 1
_MAX_HEADER_BYTES = 300
"""Up to the lengths of 255 opcodes."""
_BEYOND_ADDRESSES = 2**66
"""Larger than any address."""
_BEFORE_SEQUENCE = (_BEYOND_ADDRESSES, 0, 0)
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9


Row = tuple[int, int, int]
"""Address, file and line."""


@frozen
class _Program:
    """A line program: its bytes, and how its opcodes are to be read."""

    code: bytes
    min_length: int
    line_base: int
    line_range: int
    opcode_base: int
    operands: bytes
    """The number of operands of each opcode from 1 on."""

    def compute_advances(self) -> list[int]:
        """Return by how much each opcode moves the address."""
        return [self.min_length * self._adjust_opcode(opcode) // self.line_range for opcode in range(256)]

    def compute_line_advances(self) -> list[int]:
        """Return by how much each opcode moves the line."""
        return [self.line_base + self._adjust_opcode(opcode) % self.line_range for opcode in range(256)]

    def without_effect(self) -> frozenset[int]:
        """Return the opcodes that change nothing that is read here, and have no operands."""
        used = (_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC)
        return frozenset(
            opcode for opcode, count in enumerate(self.operands, 1) if not count and opcode not in used
        )

    def _adjust_opcode(self, opcode: int) -> int:
        return max(opcode - self.opcode_base, 0)


class LineTable:
    """The lines of a unit's addresses, and the paths of its files."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._program: _Program | None = None
        self._names: FileNames | None = None
        offset = unit.read_value(unit.top, dw.STMT_LIST)
        if offset is not None and unit.sections.get_size("debug_line"):
            self._read_header(offset)

    def find(self, addresses: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return number of file and line of each address that the table covers; the line is -1 if unknown."""
        if self._program is None:
            return {}
        self._unit.budget.spend(len(self._program.code))
        rows = _find_rows(sorted(addresses), self._program, self._unit.budget)
        return {
            address: (file, line if 0 < line <= _MAX_LINE else -1)
            for address, (_, file, line) in rows.items()
        }

    def read_paths(self, numbers: Collection[int]) -> dict[int, str]:
        """Return the paths of files by number; unlisted files have none."""
        return self._names.read_paths(numbers) if self._names else {}

    def _read_header(self, offset: int) -> None:
        sections = self._unit.sections
        head = sections.read_up_to("debug_line", offset, _MAX_HEADER_BYTES)
        offset_bytes, position = (8, 12) if read_number(head, 0, 4) == 0xFFFF_FFFF else (4, 4)
        end = position + (read_number(head, 4, 8) if offset_bytes == 8 else read_number(head, 0, 4))
        version = read_number(head, position, 2)
        if not 2 <= version <= 5:
            raise DamagedDwarfError
        position += 4 if version == 5 else 2
        code_at = position + offset_bytes + read_number(head, position, offset_bytes)
        position += offset_bytes
        min_length = head[position]
        position += 3 if version >= 4 else 2
        line_base, line_range, opcode_base = head[position : position + 3]
        position += 3
        if not line_range or not opcode_base:
            raise DamagedDwarfError
        operands = head[position : position + opcode_base - 1]
        position += opcode_base - 1
        line_base -= (line_base & 0x80) << 1  # signed
        if not position <= code_at <= end:
            raise DamagedDwarfError
        code = sections.read("debug_line", offset + code_at, end - code_at)
        self._program = _Program(code, min_length, line_base, line_range, opcode_base, operands)
        names = sections.read("debug_line", offset + position, code_at - position)
        encoding = UnitEncoding(version, self._unit.encoding.address_bytes, offset_bytes)
        self._names = FileNames(self._unit, encoding, names)


class _RowFinder:
    """The row around each wanted address, as far as the program was run."""

    def __init__(self, addresses: Sequence[int], budget: WorkBudget) -> None:
        self._addresses = addresses
        self._budget = budget
        self._limits = [*addresses, _BEYOND_ADDRESSES]
        self.found: dict[int, Row] = {}

    def find_first_from(self, address: int) -> tuple[int, int]:
        """Return the position of the first wanted address from ``address`` on, and that wanted address."""
        place = bisect_left(self._addresses, address)
        return place, self._limits[place]

    def close_row(self, row: Row, place: int, address: int) -> tuple[int, int]:
        """Assign a row to the wanted addresses before its end; return as ``find_first_from`` does."""
        first_place = place
        while self._limits[place] < address:
            earlier = self.found.get(self._limits[place])
            if earlier is None or earlier[0] <= row[0]:  # sequences may overlap: the nearest row counts
                self.found[self._limits[place]] = row
            place += 1
        self._budget.spend(place - first_place)
        return place, self._limits[place]


def _find_rows(addresses: Sequence[int], program: _Program, budget: WorkBudget) -> dict[int, Row]:
    """Return the row that each wanted address, of a sorted list, lies in."""
    code, opcode_base = program.code, program.opcode_base
    advances, line_advances = program.compute_advances(), program.compute_line_advances()
    constant_advance, without_effect = advances[255], program.without_effect()
    rows = _RowFinder(addresses, budget)
    address, file, line = 0, 1, 1
    row = _BEFORE_SEQUENCE
    place, limit = len(addresses), _BEYOND_ADDRESSES
    position, end = 0, len(code)
    while position < end:
        opcode = code[position]
        position += 1
        is_end = False
        if opcode >= opcode_base:
            address += advances[opcode]
            line += line_advances[opcode]
        elif opcode in without_effect:
            continue
        elif opcode == _CONST_ADD_PC:
            address += constant_advance
            continue
        elif opcode == 0:
            is_end, new_address, position = _read_extended_opcode(code, position)
            if not is_end:
                address = address if new_address is None else new_address
                continue
        elif opcode != _COPY:
            moved, lines, new_file, position = _read_standard_opcode(program, opcode, position)
            address, line, file = address + moved, line + lines, file if new_file is None else new_file
            continue
        # A row ends the one before it, except for the first of a sequence.
        if address < row[0]:
            place, limit = rows.find_first_from(address)
        elif address > limit:
            place, limit = rows.close_row(row, place, address)
        row = (address, file, line)
        if is_end:
            address, file, line = 0, 1, 1
            row = _BEFORE_SEQUENCE
    return rows.found


def _read_extended_opcode(code: bytes, position: int) -> tuple[bool, int | None, int]:
    """Return whether an opcode ends the sequence, the address that it sets, and the next position."""
    length, position = read_uleb(code, position)
    if not length or position + length > len(code):
        raise DamagedDwarfError
    sets_address = code[position] == _SET_ADDRESS
    address = read_number(code, position + 1, min(length - 1, 8)) if sets_address else None
    return code[position] == _END_SEQUENCE, address, position + length


def _read_standard_opcode(program: _Program, opcode: int, position: int) -> tuple[int, int, int | None, int]:
    """Return what an opcode adds to address and line, the file that it sets, and the next position."""
    code = program.code
    if opcode == _ADVANCE_PC:
        value, position = read_uleb(code, position)
        return value * program.min_length, 0, None, position
    if opcode == _ADVANCE_LINE:
        value, position = read_sleb(code, position)
        return 0, value, None, position
    if opcode == _SET_FILE:
        value, position = read_uleb(code, position)
        return 0, 0, value, position
    if opcode == _FIXED_ADVANCE_PC:
        return read_number(code, position, 2), 0, None, position + 2
    for _ in range(program.operands[opcode - 1]):
        position = read_uleb(code, position)[1]
    return 0, 0, None, position
