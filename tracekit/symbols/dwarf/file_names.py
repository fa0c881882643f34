"""The files that a line table lists: their names and folders, read for the wanted ones alone."""

from __future__ import annotations

from array import array
from collections.abc import Collection

from tracekit.symbols.dwarf import abbreviations as dw
from tracekit.symbols.dwarf.forms import Encoding, uleb
from tracekit.symbols.dwarf.sections import DamagedDwarfError
from tracekit.symbols.dwarf.units import Unit

_MAX_PATH = 4096
_PATH, _FOLDER = 1, 2
"""What a file of version 5 is described by (DW_LNCT)."""

Format = list[tuple[int, int]]
"""The kind of each value of an entry, and its form."""


class FileNames:
    """``data`` begins with the list of folders; that of files follows."""

    def __init__(self, unit: Unit, encoding: Encoding, data: bytes) -> None:
        self._unit = unit
        self._encoding = encoding
        self._data = data

    def paths(self, numbers: Collection[int]) -> dict[int, str]:
        """Return the paths of files; none for one that is not listed."""
        chosen = {number for number in numbers if number >= 0}
        if not chosen:
            return {}
        entries = self._paths_5(chosen) if self._encoding.version == 5 else self._paths_4(chosen)
        top = self._unit.text(self._unit.top, dw.COMP_DIR) or b""
        return {
            number: _joined(*(part.decode("utf-8", "replace") for part in (top, *names)))[:_MAX_PATH]
            for number, names in entries.items()
        }

    def _paths_4(self, numbers: set[int]) -> dict[int, tuple[bytes, bytes]]:
        """Return folder and name of files: texts with numbers behind them, counted from 1."""
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
            folder, after = uleb(data, position)
            if row in numbers:
                is_listed = 0 < folder < len(folders)
                entries[row] = (self._text_at(folders[folder]) if is_listed else b"", self._text_at(start))
            position = uleb(data, uleb(data, after)[1])[1]  # its time and size
        return entries

    def _text_at(self, position: int) -> bytes:
        return self._data[position : self._data.index(0, position)]

    def _paths_5(self, numbers: set[int]) -> dict[int, tuple[bytes, bytes]]:
        """Return folder and name of files: entries of a format that the list itself gives, counted from 0."""
        folder_format, count, position = self._list(0)
        folders, position = self._entries(folder_format, count, position)
        file_format, count, position = self._list(position)
        files, _ = self._entries(file_format, min(count, max(numbers) + 1), position)
        entries = {}
        for row in numbers:
            if row < len(files):
                name, folder = self._entry(file_format, files[row])
                is_listed = folder < len(folders)
                entries[row] = (self._entry(folder_format, folders[folder])[0] if is_listed else b"", name)
        return entries

    def _list(self, position: int) -> tuple[Format, int, int]:
        """Return the format of a list, the number of its entries, and where the first one is."""
        count_formats = self._data[position]
        position += 1
        format_of_entries = []
        for _ in range(count_formats):
            kind, position = uleb(self._data, position)
            form, position = uleb(self._data, position)
            format_of_entries.append((kind, form))
        count, position = uleb(self._data, position)
        return format_of_entries, count, position

    def _entries(self, entry_format: Format, count: int, position: int) -> tuple[array[int], int]:
        """Return the position of each entry, and the one behind them."""
        parts = [self._encoding.part(form) for _, form in entry_format]
        if count and not any(parts):
            raise DamagedDwarfError
        positions = array("Q")
        for _ in range(count):
            self._unit.budget.spend(len(parts))
            positions.append(position)
            for part in parts:
                position = self._encoding.after(part, self._data, position)
            if position > len(self._data):
                raise DamagedDwarfError
        return positions, position

    def _entry(self, entry_format: Format, position: int) -> tuple[bytes, int]:
        """Return path and number of the folder of an entry."""
        path, folder = b"", 0
        for kind, form in entry_format:
            if kind == _PATH:
                path = self._unit.text_of(form, self._data, position) or b""
            elif kind == _FOLDER:
                folder = self._encoding.value(form, self._data, position)
            position = self._encoding.after(self._encoding.part(form), self._data, position)
        return path, max(folder, 0)


def _joined(*parts: str) -> str:
    """Return the path of nested folders and a file; an absolute part begins anew."""
    path = ""
    for part in parts:
        path = part if part.startswith("/") or not path else f"{path.rstrip('/')}/{part}" if part else path
    return path
