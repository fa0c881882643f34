"""The functions of one build by address: from its symbol table, or from a symbol map.

A function reaches to the next one, or to the end of its section. A stripped binary still lists the start of
every function (``LC_FUNCTION_STARTS``): an address in a function without a symbol gets no name, rather
than that of the last function before it that kept its symbol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray
from tracekit.symbols.macho import Build
from tracekit.symbols.work_budget import SymbolFileError, WorkBudget

Addresses = npt.NDArray[np.uint64]
MAX_SYMBOLS = 10_000_000
"""In one build; the largest browser has two million."""
MAX_NAME = 10_000
"""Characters of a mangled name that are kept: longer names were never seen, and would be unreadable."""

_BYTES_PER_SYMBOL = 64
"""A kept symbol takes 20; sorting takes the rest."""
_STARTS_BLOCK_BYTES = 1 << 20
_MAX_DISTANCE_BYTES = 9
_KIND_BITS, _IN_SECTION, _DEBUG_BITS, _EXTERNAL = 0x0E, 0x0E, 0xE0, 0x01
_LOCAL_LABELS = (ord("l"), ord("L"))
"""Labels of the assembler begin with these; other names have the underscore of Mach-O, or are
Objective-C's."""


class FunctionTable:
    """Functions by address: ``starts`` are sorted; ``name_of`` gives the name of one by its position."""

    def __init__(self, starts: Addresses, ends: Addresses, name_of: Callable[[int], str]) -> None:
        self._starts = starts
        self._ends = ends
        self.name_of = name_of

    def __len__(self) -> int:
        return len(self._starts)

    def find(self, addresses: Addresses) -> IntArray:
        """Return the position of the function around each address; -1 for none."""
        if not len(self._starts):
            return np.full(len(addresses), -1, np.int64)
        row = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        return np.where((row >= 0) & (addresses < self._ends[row]), row, -1)


def read_function_table(build: Build, budget: WorkBudget) -> FunctionTable:
    """Return the functions in a build's symbol table. Raises ``SymbolFileError`` and ``OSError``."""
    symbols_at, count, names_at, names_bytes = build.symbols
    if count > MAX_SYMBOLS:
        raise SymbolFileError(f"has {count:,} symbols, and at most {MAX_SYMBOLS:,} are read")
    budget.take(_BYTES_PER_SYMBOL * count + names_bytes)
    address_type = "<u8" if build.is_64 else "<u4"
    layout = np.dtype(
        [("name", "<u4"), ("type", "u1"), ("section", "u1"), ("flags", "<u2"), ("address", address_type)]
    )
    table = np.frombuffer(build.read_bytes(symbols_at, count * layout.itemsize), layout)
    names = build.read_bytes(names_at, names_bytes)
    in_code = np.zeros(256, bool)
    in_code[[section.number for section in build.sections if section.is_code and section.number < 256]] = True
    kind = table["type"]
    is_function = (kind & _KIND_BITS == _IN_SECTION) & (kind & _DEBUG_BITS == 0)
    is_function &= in_code[table["section"]] & (table["name"] < len(names))
    functions = table[is_function]
    first_letters = (
        np.frombuffer(names, np.uint8)[functions["name"]] if len(functions) else np.zeros(0, np.uint8)
    )
    # Of several names at one address, a function's precedes a label, and a public one a local one.
    order = np.lexsort(
        (functions["type"] & _EXTERNAL == 0, np.isin(first_letters, _LOCAL_LABELS), functions["address"])
    )
    addresses = functions["address"][order].astype(np.uint64)
    is_first = np.append(True, addresses[1:] != addresses[:-1])[: len(addresses)]
    starts, offsets = addresses[is_first], functions["name"][order][is_first]

    def name_of(position: int) -> str:
        offset = int(offsets[position])
        end = names.find(b"\0", offset, offset + MAX_NAME)
        return names[offset : end if end >= 0 else offset + MAX_NAME].decode("utf-8", "replace")

    return FunctionTable(starts, _compute_ends(starts, _find_borders(build, budget)), name_of)


def _find_borders(build: Build, budget: WorkBudget) -> Addresses:
    """Return every address at which a function ends at the latest: starts of others, and ends of sections."""
    ends = [(section.address + section.size) % 2**64 for section in build.sections if section.is_code]
    starts = _read_function_starts(build, budget)
    return np.unique(np.concatenate([np.array(ends, np.uint64), starts]))


def _read_function_starts(build: Build, budget: WorkBudget) -> Addresses:
    """Return the addresses: distances as ULEB128, the first from the start of the text segment."""
    offset, size = build.function_starts
    blocks: list[Addresses] = []
    partial = b""
    count = 0
    for start in range(0, size, _STARTS_BLOCK_BYTES):
        block = build.read_bytes(offset + start, min(_STARTS_BLOCK_BYTES, size - start))
        distances, partial = _decode_distances(partial + block)
        padding = np.flatnonzero(distances == 0)  # padding follows a distance of 0
        blocks.append(distances[: padding[0]] if len(padding) else distances)
        count += len(blocks[-1])
        if count > MAX_SYMBOLS:
            raise SymbolFileError(f"lists more than {MAX_SYMBOLS:,} functions")
        budget.take(_BYTES_PER_SYMBOL * len(blocks[-1]) // 2)
        if len(padding) or len(partial) > _MAX_DISTANCE_BYTES:
            break
    starts: Addresses = np.cumsum(np.concatenate([np.zeros(0, np.uint64), *blocks]), dtype=np.uint64)
    return starts + np.uint64(build.text_address)


def _decode_distances(data: bytes) -> tuple[Addresses, bytes]:
    """Return the numbers in ULEB128, and the bytes of one that is not complete."""
    # Arrays, because a large binary has a million.
    values = np.frombuffer(data, np.uint8)
    last_bytes = np.flatnonzero(values < 0x80)  # the last byte of each number has no high bit
    complete = int(last_bytes[-1]) + 1 if len(last_bytes) else 0
    number = np.repeat(np.arange(len(last_bytes)), np.diff(last_bytes, prepend=-1))
    position = np.arange(complete) - np.append(0, last_bytes[:-1] + 1)[number] if complete else number
    fits = position < _MAX_DISTANCE_BYTES  # a longer number is damage, and would be beyond 64 bits
    parts = (values[:complete][fits] & 0x7F).astype(np.uint64) << (7 * position[fits]).astype(np.uint64)
    distances = np.zeros(len(last_bytes), np.uint64)
    np.add.at(distances, number[fits], parts)
    return distances, data[complete:]


def _compute_ends(starts: Addresses, borders: Addresses) -> Addresses:
    """Return each function's end: the next start or border, whichever is nearer."""
    largest = np.array([2**64 - 1], np.uint64)
    following = np.append(starts[1:], largest)[: len(starts)]
    bordered = np.append(borders, largest)[np.searchsorted(borders, starts, side="right")]
    ends: npt.NDArray[Any] = np.minimum(following, bordered)
    return ends.astype(np.uint64)
