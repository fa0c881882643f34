"""The uniquers of a run: every list of integers, and every string, is stored once and referred to by number.

``integeruniquer.data`` is cut into blocks, and no entry crosses one: the rest of a block is padding. Where
entry N lies stands in ``integeruniquer.index`` alone; reading the data from front to back goes wrong after
the first block (in every recording with more than one).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles
from tracekit.parsers.bundle.inflate import read_file
from tracekit.parsers.bundle.plist import PlistError, read_xml_list

Words = npt.NDArray[np.uint64]

NO_VALUE_32 = 0xFFFF_FFFF
NO_VALUE_64 = 0xFFFF_FFFF_FFFF_FFFF

_MOST_BYTES = 2 << 30
_MAGIC = 0x0123_4567
_INDEX_FROM = 40  # a header of 32 bytes and one null entry
_DATA_FROM = 32
_BLOCK_SIZE_AT = 28


class IntegerUniquer:
    """Lists of 64-bit integers by number, read from ``<folder>/integeruniquer.{index,data}``."""

    def __init__(self, files: BundleFiles, folder: str) -> None:
        self.file = f"{folder}/integeruniquer.data"
        index_file = f"{folder}/integeruniquer.index"
        index = read_file(files, index_file, _MOST_BYTES)
        data = read_file(files, self.file, _MOST_BYTES)
        if len(index) < _INDEX_FROM or int.from_bytes(index[:4], "little") != _MAGIC:
            raise DamagedFileError(index_file, "does not begin as an index of lists does")
        if len(data) < _DATA_FROM or int.from_bytes(data[:4], "little") != _MAGIC:
            raise DamagedFileError(self.file, "does not begin as lists do")
        block_bytes = int.from_bytes(index[_BLOCK_SIZE_AT : _BLOCK_SIZE_AT + 4], "little")
        entries = np.frombuffer(index, "<u4", offset=_INDEX_FROM, count=(len(index) - _INDEX_FROM) // 8 * 2)
        places = entries[0::2].astype(np.int64) + entries[1::2].astype(np.int64) * block_bytes
        if (places % 4).any() or (places < _DATA_FROM).any():
            raise DamagedFileError(index_file, "points to places where no list can begin")
        self._places = places // 4
        self._words = np.frombuffer(data, "<u4", count=len(data) // 4)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def words(self) -> int:
        """How many 64-bit values the data could hold at most."""
        return len(self._words) // 2

    def lists(self, refs: IntArray) -> tuple[IntArray, Words]:
        """Return the lists of distinct ``refs`` as (offsets, values): list ``i`` is ``values[o[i]:o[i+1]]``.

        Raises ``DamagedFileError`` for a reference or a list beyond the data, and when the lists together
        are longer than the data: distinct lists do not overlap.
        """
        if len(refs) and (int(refs.max()) >= len(self._places) or int(refs.min()) < 0):
            raise DamagedFileError(self.file, f"has no list {int(refs.max())}: it holds {len(self._places)}")
        places = self._places[refs]
        if len(places) and int(places.max()) >= len(self._words):
            raise DamagedFileError(self.file, "is cut off")
        counts = self._words[places].astype(np.int64)
        if int((places + 1 + 2 * counts).max(initial=0)) > len(self._words):
            raise DamagedFileError(self.file, "has a list that goes on beyond its end")
        if int(counts.sum()) > self.words:
            raise DamagedFileError(self.file, "has lists that overlap")
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        first = np.repeat(places + 1 - 2 * offsets[:-1], counts)
        at = first + 2 * np.arange(int(offsets[-1]))
        low, high = self._words[at].astype(np.uint64), self._words[at + 1].astype(np.uint64)
        return offsets, low | (high << np.uint64(32))

    def tuples(self, refs: IntArray) -> list[tuple[int, ...]]:
        """Return distinct ``refs`` as tuples; raise ``DamagedFileError`` as ``lists`` does."""
        offsets, values = self.lists(refs)
        flat = values.tolist()
        return [tuple(flat[start:end]) for start, end in pairwise(offsets.tolist())]

    def one(self, ref: int) -> tuple[int, ...]:
        """Return one list; raise ``DamagedFileError`` as ``lists`` does."""
        if ref >= len(self._places):
            raise DamagedFileError(self.file, f"has no list {ref}: it holds {len(self._places)}")
        _, values = self.lists(np.array([ref], np.int64))
        return tuple(values.tolist())


def read_strings(files: BundleFiles, name: str) -> tuple[str, ...]:
    """Return the strings of an XML property list, an array. Raises ``DamagedFileError``."""
    try:
        values = read_xml_list(read_file(files, name))
    except PlistError as error:
        raise DamagedFileError(name, str(error)) from error
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DamagedFileError(name, "holds no list of strings")
    return tuple(values)
