"""The sections of debug information of one build, read part by part: a dSYM may have gigabytes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import BinaryIO

from tracekit.symbols.macho import Build
from tracekit.symbols.work_budget import SymbolFileError, WorkBudget

_MACHO_NAME_BYTES = 16
_BLOCK_BYTES = 16 << 10
_KEPT_BLOCKS = 256
_BYTES_PER_STEP = 256
_MAX_TEXT_BYTES = 10_000
_MAX_PART_BYTES = 512 << 20


class DamagedDwarfError(SymbolFileError):
    """The debug information contradicts itself or its size."""

    def __init__(self) -> None:
        super().__init__("has damaged debug information")


class Sections:
    """Names are those of the DWARF standard without the dot, such as "debug_info"."""

    def __init__(self, build: Build, budget: WorkBudget) -> None:
        self.budget = budget
        self._build = build
        self._parts = {section.name: section for section in build.sections}
        self._file: BinaryIO | None = None
        self._block = lru_cache(_KEPT_BLOCKS)(self._read_block)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Hold the file open, as long as parts are read."""
        with self._build.path.open("rb") as self._file:
            yield

    def get_size(self, name: str) -> int:
        """Return the size of a section in bytes; 0 for one that is missing."""
        part = self._parts.get(f"__{name}"[:_MACHO_NAME_BYTES])
        return part.size if part else 0

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a section. Raises ``DamagedDwarfError`` where it has fewer."""
        if offset < 0 or offset + size > self.get_size(name):
            raise DamagedDwarfError
        return self.read_up_to(name, offset, size)

    def read_up_to(self, name: str, offset: int, size: int) -> bytes:
        """Return bytes of a section, fewer at its end."""
        size = min(size, self.get_size(name) - offset)
        if size <= 0:
            return b""
        number, start = divmod(offset, _BLOCK_BYTES)
        if start + size <= _BLOCK_BYTES:
            return self._block(name, number)[start : start + size]
        return self._read(name, offset, size)

    def read_text(self, name: str, offset: int) -> bytes:
        """Return the text at a place, without its end; a long one is cut."""
        data = self.read_up_to(name, offset, 256)
        if b"\0" not in data:
            data = self.read_up_to(name, offset, _MAX_TEXT_BYTES)
        return data.partition(b"\0")[0]

    def _read_block(self, name: str, number: int) -> bytes:
        offset = number * _BLOCK_BYTES
        return self._read(name, offset, min(_BLOCK_BYTES, self.get_size(name) - offset))

    def _read(self, name: str, offset: int, size: int) -> bytes:
        part = self._parts[f"__{name}"[:_MACHO_NAME_BYTES]]
        if part.offset + offset + size > self._build.size:
            raise SymbolFileError("is cut off")
        if size > _MAX_PART_BYTES:
            raise SymbolFileError("has debug information in a part of more than 512 MB")
        self.budget.spend(size // _BYTES_PER_STEP + 1)
        assert self._file is not None
        self._file.seek(self._build.offset + part.offset + offset)
        data = self._file.read(size)
        if len(data) < size:
            raise SymbolFileError("is cut off")
        return data
