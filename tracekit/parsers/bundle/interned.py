"""Interned values of a run: every string and every list of integers is stored once and referred to by number.

Apple calls these *uniquers*: the folder ``uniquing`` holds ``strings`` and two pools of integer lists,
``arrayUniquer`` and ``typedArrayUniquer``, each an ``integeruniquer.index`` and an ``integeruniquer.data``:

    index   magic 01234567, …, at 28: bytes of a block │ null entry │ entry 0 │ entry 1 │ …
            └────────────── 32 bytes ────────────────┘    8 bytes     u32 offset in its block, u32 block

    data    header (32 bytes) │ list │ list │ padding │ list │ list │ padding │ …
            └──────────── block 0 ───────────────────┘└───── block 1 ────────┘

    list    u32 count │ count × (u32 low half, u32 high half)

No list crosses a block; the remainder of a block is padding. Only the index locates list N: reading the data
from front to back fails after the first block (in every recording with more than one). Everything is
little-endian. Source: public bundles compared with exports of the same recordings (docs/formats.md).
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError, read_file
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.plist import PlistError, read_plist

Words = npt.NDArray[np.uint64]

NO_VALUE_32 = 0xFFFF_FFFF
NO_VALUE_64 = 0xFFFF_FFFF_FFFF_FFFF

_MAX_BYTES = 192 << 20  # a recording of 200,000 rows has 17 MB; reading them takes five times as much
_MAGIC = 0x0123_4567
_INDEX_START = 40  # a header of 32 bytes and one null entry
_DATA_START = 32
_BLOCK_BYTES_OFFSET = 28


class InternedLists:
    """Lists of 64-bit integers by number, read from ``<folder>/integeruniquer.{index,data}``."""

    def __init__(self, files: BundleFiles, folder: str) -> None:
        self.file = f"{folder}/integeruniquer.data"
        index_file = f"{folder}/integeruniquer.index"
        index = read_file(files, index_file, _MAX_BYTES)
        data = read_file(files, self.file, _MAX_BYTES)
        if len(index) < _INDEX_START or int.from_bytes(index[:4], "little") != _MAGIC:
            raise DamagedFileError(index_file, "does not begin like an index of lists")
        if len(data) < _DATA_START or int.from_bytes(data[:4], "little") != _MAGIC:
            raise DamagedFileError(self.file, "does not begin like a file of lists")
        block_bytes = int.from_bytes(index[_BLOCK_BYTES_OFFSET : _BLOCK_BYTES_OFFSET + 4], "little")
        entries = np.frombuffer(index, "<u4", offset=_INDEX_START, count=(len(index) - _INDEX_START) // 8 * 2)
        # An entry is (offset in its block, number of the block), as two 32-bit words.
        offsets = entries[0::2].astype(np.int64) + entries[1::2].astype(np.int64) * block_bytes
        if (offsets % 4).any() or (offsets < _DATA_START).any():
            raise DamagedFileError(index_file, "points to offsets where no list can begin")
        # Lists begin at multiples of 4 bytes, not of 8: the data is addressed in 32-bit halves.
        self._starts = offsets // 4
        self._halves = np.frombuffer(data, "<u4", count=len(data) // 4)

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def max_values(self) -> int:
        """The number of 64-bit values that fit into the data."""
        return len(self._halves) // 2

    def lists(self, refs: IntArray) -> tuple[IntArray, Words]:
        """Return the lists of distinct ``refs`` as (offsets, values): list ``i`` is ``values[o[i]:o[i+1]]``.

        Raises ``DamagedFileError`` for a reference or a list beyond the data, and when the lists together
        are longer than the data: distinct lists do not overlap.
        """
        if len(refs) and (int(refs.max()) >= len(self._starts) or int(refs.min()) < 0):
            raise DamagedFileError(self.file, f"has no list {int(refs.max())}: it holds {len(self._starts)}")
        starts = self._starts[refs]
        if len(starts) and int(starts.max()) >= len(self._halves):
            raise DamagedFileError(self.file, "is cut off")
        counts = self._halves[starts].astype(np.int64)
        if int((starts + 1 + 2 * counts).max(initial=0)) > len(self._halves):
            raise DamagedFileError(self.file, "has a list that continues beyond its end")
        # Checked before anything is gathered: a few bytes of references must not expand to gigabytes.
        if int(counts.sum()) > self.max_values:
            raise DamagedFileError(self.file, "has lists that overlap")
        # Gather all lists at once. Value k of the result belongs to list i with offsets[i] <= k; its low half
        # is at starts[i] + 1 + 2 * (k - offsets[i]):
        #   offsets       0        2              5
        #   values        a0  a1   b0   b1   b2
        #   first         s0  s0   s1'  s1'  s1'       s1' = starts[1] + 1 - 2 * offsets[1]
        #   low = first + 2 * arange
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        first_halves = np.repeat(starts + 1 - 2 * offsets[:-1], counts)
        position = first_halves + 2 * np.arange(int(offsets[-1]))
        low, high = self._halves[position].astype(np.uint64), self._halves[position + 1].astype(np.uint64)
        return offsets, low | (high << np.uint64(32))

    def tuples(self, refs: IntArray) -> list[tuple[int, ...]]:
        """Return distinct ``refs`` as tuples; raise ``DamagedFileError`` as ``lists`` does."""
        offsets, values = self.lists(refs)
        flat = values.tolist()
        return [tuple(flat[start:end]) for start, end in pairwise(offsets.tolist())]

    def single(self, ref: int) -> tuple[int, ...]:
        """Return a single list; raise ``DamagedFileError`` as ``lists`` does."""
        if ref >= len(self._starts):
            raise DamagedFileError(self.file, f"has no list {ref}: it holds {len(self._starts)}")
        _, values = self.lists(np.array([ref], np.int64))
        return tuple(values.tolist())


class InternPool:
    """The ``uniquing`` folder of one run; each part is read on first use.

    Every property raises ``DamagedFileError`` when its file is missing or damaged.
    """

    def __init__(self, files: BundleFiles, run_folder: str) -> None:
        self._files = files
        self._folder = f"{run_folder}/uniquing"

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The strings by number: an XML property list, an array."""
        return _read_strings(self._files, f"{self._folder}/strings")

    @cached_property
    def lists(self) -> InternedLists:
        """The lists of processes, threads, stacks, counters and UUIDs."""
        return InternedLists(self._files, f"{self._folder}/arrayUniquer")

    @cached_property
    def typed_lists(self) -> InternedLists:
        """The lists of composite cells, in which types (numbers of ``type_ids``) and values alternate."""
        return InternedLists(self._files, f"{self._folder}/typedArrayUniquer")

    @cached_property
    def type_ids(self) -> tuple[str, ...]:
        """Engineering types by number: a table of the run's own, different in every version."""
        file = f"{self._folder}/EngineeringTypes.etypes"
        archive = KeyedArchive(file, read_file(self._files, file))
        names = archive.elements(archive.top())
        if not names:
            raise DamagedFileError(file, "holds no types")
        return tuple(str(name) for name in names)

    def string(self, number: int) -> str:
        """Return the string with this number."""
        if number >= len(self.strings):
            problem = f"has no string {number}: it holds {len(self.strings)}"
            raise DamagedFileError(f"{self._folder}/strings", problem)
        return self.strings[number]


def _read_strings(files: BundleFiles, name: str) -> tuple[str, ...]:
    """Return the strings of a property list that is an array. Raises ``DamagedFileError``."""
    try:
        values = read_plist(read_file(files, name))
    except PlistError as error:
        raise DamagedFileError(name, str(error)) from error
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DamagedFileError(name, "holds no list of strings")
    return tuple(values)
