"""The interned values of a run: strings, arrays of integers, engineering types, each stored once."""

from __future__ import annotations

import plistlib
import struct

from sample_generator.keyed_archive import Mutable, Object, archive

BLOCK_SIZE = 0x100000
"""The size that Instruments uses; a smaller one makes several blocks out of little data."""

_FIRST_STRINGS = (
    "",
    "Unknown",
    "User",
    "Supervisor",
    "Running",
    "Runnable",
    "Blocked",
    "Preempted",
    "Uninterruptible",
    "Suspended",
    "Idle",
    "Terminating",
    "Terminated",
    "TODO",
)
"""The strings that every real run begins with."""
_FIRST_TYPES = ("XRInvalidEngineeringTypeID", "XRTableRowNumberTypeID", "XREventCountTypeID")
_HEADER = struct.Struct("<8I")
_MAGIC = 0x01234567, 0xA337E, 1, 0, 1, 0
_INDEX_CAPACITY = 0x400000


class IntegerUniquer:
    """Arrays of 64-bit integers, each stored once and numbered; none crosses a block of the data file."""

    def __init__(self, block_size: int = BLOCK_SIZE) -> None:
        self._block_size = block_size
        self._references: dict[tuple[int, ...], int] = {}
        self._places: list[tuple[int, int]] = []
        self._data = bytearray(_HEADER.pack(*_MAGIC, 0, 0))

    def reference(self, values: tuple[int, ...]) -> int:
        if values not in self._references:
            self._references[values] = len(self._places)
            self._append(struct.pack(f"<I{len(values)}Q", len(values), *values))
        return self._references[values]

    def _append(self, entry: bytes) -> None:
        if len(entry) > self._block_size - _HEADER.size:
            raise ValueError(f"an entry of {len(entry)} bytes does not fit a block of {self._block_size}")
        if len(self._data) % self._block_size + len(entry) > self._block_size:
            self._pad()
        block, offset = divmod(len(self._data), self._block_size)
        self._places.append((offset, block))
        self._data += entry

    def _pad(self) -> None:
        self._data += bytes(-len(self._data) % self._block_size)

    def index(self) -> bytes:
        """Return the header, an empty entry, and (offset in block, block) of each array."""
        places = [(0, 0), *self._places]
        header = _HEADER.pack(*_MAGIC, _INDEX_CAPACITY, self._block_size)
        return header + b"".join(struct.pack("<II", *place) for place in places)

    def data(self) -> bytes:
        """Return the header and the arrays; the last block is full, as all are."""
        return bytes(self._data) + bytes(-len(self._data) % self._block_size)


class Uniquing:
    """Everything that the tables of one run refer to."""

    def __init__(self, block_size: int = BLOCK_SIZE) -> None:
        self._strings = {text: index for index, text in enumerate(_FIRST_STRINGS)}
        self._types = {name: index for index, name in enumerate(_FIRST_TYPES)}
        self._arrays = IntegerUniquer(block_size)
        self._typed_arrays = IntegerUniquer(block_size)

    def string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def engineering_type(self, name: str) -> int:
        return self._types.setdefault(name, len(self._types))

    def array(self, values: tuple[int, ...]) -> int:
        return self._arrays.reference(values)

    def typed(self, values: tuple[int, ...]) -> int:
        return self._typed_arrays.reference(values)

    def files(self) -> dict[str, bytes]:
        """Return the files of the folder `uniquing`."""
        names = {
            "strings": "strings",
            "arrayUniquer": "arrayUniquer",
            "typedArrayUniquer": "typedArrayUniquer",
            "etypeMap": "EngineeringTypes.etypes",
        }
        contents = Object("XRAnalysisCoreObjectRegistryTOC", {**names, "nextUniqueIdentifier": 1})
        return {
            "TOC": archive(contents),
            "EngineeringTypes.etypes": archive(Mutable([Mutable(name) for name in self._types])),
            "strings": plistlib.dumps(list(self._strings)),
            "arrayUniquer/integeruniquer.index": self._arrays.index(),
            "arrayUniquer/integeruniquer.data": self._arrays.data(),
            "typedArrayUniquer/integeruniquer.index": self._typed_arrays.index(),
            "typedArrayUniquer/integeruniquer.data": self._typed_arrays.data(),
        }
