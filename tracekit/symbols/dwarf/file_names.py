"""The files that a line table lists: their names and folders, read for the wanted ones alone."""

from __future__ import annotations

from array import array
from collections.abc import Collection

from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.debug_sections import DamagedDwarfError
from tracekit.symbols.dwarf.forms import UnitEncoding, read_uleb
from tracekit.symbols.dwarf.units import Unit

_MAX_PATH_CHARACTERS = 4096
_PATH, _FOLDER = 1, 2
"""Kinds of values that describe a file in version 5 (DW_LNCT)."""

Format = list[tuple[int, int]]
"""The kind of each value of an entry, and its form."""


class FileNames:
    """``data`` begins with the list of folders; that of files follows."""

    def __init__(self, unit: Unit, encoding: UnitEncoding, data: bytes) -> None:
        self._unit = unit
        self._encoding = encoding
        self._data = data

    def read_paths(self, numbers: Collection[int]) -> dict[int, str]:
        """Return the paths of files by number; unlisted files have none."""
        numbers_wanted = {number for number in numbers if number >= 0}
        if not numbers_wanted:
            return {}
        entries = (
            self._read_paths_5(numbers_wanted)
            if self._encoding.version == 5
            else self._read_paths_4(numbers_wanted)
        )
        top = self._unit.read_text(self._unit.top, dw.COMP_DIR) or b""
        return {
            number: _join_path(*(part.decode("utf-8", "replace") for part in (top, *names)))[
                :_MAX_PATH_CHARACTERS
            ]
            for number, names in entries.items()
        }

    def _read_paths_4(self, numbers: set[int]) -> dict[int, tuple[bytes, bytes]]:
        """Return folder and name of files: texts followed by numbers, counted from 1."""
        data, position = self._data, 0
        folders = array("Q", [0])
        while data[position]:
            self._unit.budget.spend(1)
            folders.append(position)
            position = data.index(0, position) + 1
        position += 1
        entries = {}
        for row in range(1, max(numbers) + 1):
            if not data[position]:
                break
            self._unit.budget.spend(2)
            start = position
            position = data.index(0, position) + 1
            folder, folder_end = read_uleb(data, position)
            if row in numbers:
                is_listed = 0 < folder < len(folders)
                entries[row] = (
                    self._read_text(folders[folder]) if is_listed else b"",
                    self._read_text(start),
                )
            position = read_uleb(data, read_uleb(data, folder_end)[1])[1]  # its time and size
        return entries

    def _read_text(self, position: int) -> bytes:
        return self._data[position : self._data.index(0, position)]

    def _read_paths_5(self, numbers: set[int]) -> dict[int, tuple[bytes, bytes]]:
        """Return folder and name of files: entries of a format that the list itself gives, counted from 0."""
        folder_format, count, position = self._read_list_header(0)
        folders, position = self._find_entries(folder_format, count, position)
        file_format, count, position = self._read_list_header(position)
        files, _ = self._find_entries(file_format, min(count, max(numbers) + 1), position)
        entries = {}
        for row in numbers:
            if row < len(files):
                name, folder = self._read_entry(file_format, files[row])
                is_listed = folder < len(folders)
                entries[row] = (
                    self._read_entry(folder_format, folders[folder])[0] if is_listed else b"",
                    name,
                )
        return entries

    def _read_list_header(self, position: int) -> tuple[Format, int, int]:
        """Return the format of a list, the number of its entries, and where the first one is."""
        count_formats = self._data[position]
        position += 1
        format_of_entries = []
        for _ in range(count_formats):
            kind, position = read_uleb(self._data, position)
            form, position = read_uleb(self._data, position)
            format_of_entries.append((kind, form))
        count, position = read_uleb(self._data, position)
        return format_of_entries, count, position

    def _find_entries(self, entry_format: Format, count: int, position: int) -> tuple[array[int], int]:
        """Return the position of each entry, and the end of the list."""
        parts = [self._encoding.get_part(form) for _, form in entry_format]
        if count and not any(parts):
            raise DamagedDwarfError
        positions = array("Q")
        for _ in range(count):
            self._unit.budget.spend(len(parts))
            positions.append(position)
            for part in parts:
                position = self._encoding.skip(part, self._data, position)
            if position > len(self._data):
                raise DamagedDwarfError
        return positions, position

    def _read_entry(self, entry_format: Format, position: int) -> tuple[bytes, int]:
        """Return path and number of the folder of an entry."""
        path, folder = b"", 0
        for kind, form in entry_format:
            if kind == _PATH:
                path = self._unit.read_text_of_form(form, self._data, position) or b""
            elif kind == _FOLDER:
                folder = self._encoding.read_value(form, self._data, position)
            position = self._encoding.skip(self._encoding.get_part(form), self._data, position)
        return path, max(folder, 0)


def _join_path(*parts: str) -> str:
    """Return the path of nested folders and a file; an absolute part replaces those before it."""
    path = ""
    for part in parts:
        path = part if part.startswith("/") or not path else f"{path.rstrip('/')}/{part}" if part else path
    return path
