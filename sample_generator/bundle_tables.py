"""A table of a bundle: its schema, its attributes, and rows of fixed width."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from sample_generator.bundle_values import encode
from sample_generator.keyed_archive import Mutable, Object, archive

if TYPE_CHECKING:
    from sample_generator.bundle_uniquing import Uniquing

TIME = "XRTraceRelativeTimestampFieldID"
DURATION = "XRDurationFieldID"
CATEGORY1 = "XRCategory1FieldID"
CATEGORY2 = "XRCategory2FieldID"
TOPOLOGIES = {
    "XRT50_C22_TypeID": (4, {TIME: 50, CATEGORY1: 22}),
    "XRTD50_CC22_R_TypeID": (5, {TIME: 50, DURATION: 50, CATEGORY1: 22, CATEGORY2: 22}),
    "XRTD64_CC32_R_TypeID": (6, {TIME: 64, DURATION: 64, CATEGORY1: 32, CATEGORY2: 32}),
    "XRT64_CC32_R_TypeID": (7, {TIME: 64, CATEGORY1: 32, CATEGORY2: 32}),
}
"""Name → number of the field type, and the packed fields with their bits, lowest first."""

_WIDE = (
    "CycleWeight DiskSizeInBytes Duration DurationOnCPU DurationWaiting EventsPerSecond FramesPerSecond "
    "GraphicsDriverCounter KDebugArgument KDebugStringID NetworkSizeInBytes NetworkSizeInBytesPerSecond "
    "OSSignpostIdentifier Percentage PercentageLoads PrototypeValue RecordedEventTimestamp ReturnLocation "
    "SampleTimestamp SizeInBytes SizeInBytesPerSecond SizeInPages StartTime SystemCPUPercentage ThreadID "
    "ThreadName TimeSampleWeight VirtualMemoryAddress"
)
WIDE_TYPES = frozenset(f"XR{name}TypeID" for name in _WIDE.split())
"""Engineering types whose columns hold 64 bits; all others hold 32."""

_PAGE = 0x1000
_MAGIC = 0x12340A0A
_ROWS_PER_ALLOCATION = 0x10000
_NO_SUBSTITUTIONS = b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01I\x00"


@dataclass(frozen=True)
class Col:
    """A column; one with a `topology` field has no place of its own in the row."""

    mnemonic: str
    title: str
    type: str
    topology: str | None = None
    bits: int = 0

    @property
    def width(self) -> int:
        return self.bits or (64 if self.type in WIDE_TYPES else 32)


@dataclass(eq=False)
class Table:
    """A table and the rows as its user gave them, one value per column.

    `undeclared` fills categories that no column declares, which in real files is whatever was in memory.
    `next_event_id` claims another number of rows than there are.
    """

    schema: str
    columns: tuple[Col, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    topology: str = ""
    undeclared: int = 0
    next_event_id: int | None = None

    def __post_init__(self) -> None:
        if not self.topology:
            timed = any(column.topology == DURATION for column in self.columns)
            self.topology = "XRTD64_CC32_R_TypeID" if timed else "XRT64_CC32_R_TypeID"

    @property
    def _stored(self) -> list[Col]:
        return [column for column in self.columns if column.topology is None]

    @property
    def _row_size(self) -> int:
        bits = sum(TOPOLOGIES[self.topology][1].values())
        return (bits + sum(column.width for column in self._stored)) // 8

    def files(self, uniquing: Uniquing) -> dict[str, bytes]:
        """Return the files of the folder of this table's store."""
        for column in self.columns:
            uniquing.engineering_type(column.type)
        return {
            "bulkstore": self._bulkstore(uniquing),
            "bulkstore_descriptor": archive(self._descriptor()),
            "schema.xml": self._schema_xml(),
            "spec.plist": archive(self.spec()),
        }

    # Rows -------------------------------------------------------------------------------------------------

    def _bulkstore(self, uniquing: Uniquing) -> bytes:
        """Return a page of header, then the rows, then zeros to the end of the last page."""
        allocation = self._row_size * _ROWS_PER_ALLOCATION
        header = struct.pack(
            "<7I", _MAGIC, 3, 0x28, _PAGE, self._row_size, allocation % 2**32, _ROWS_PER_ALLOCATION
        )
        # The same row many times over, as a table of a million rows is best made, is encoded once.
        repeats = (list(same) for _, same in groupby(self.rows, key=id))
        rows = b"".join(self._row(same[0], uniquing) * len(same) for same in repeats)
        return header.ljust(_PAGE, b"\0") + rows + bytes(-len(rows) % _PAGE)

    def _row(self, row: tuple[Any, ...], uniquing: Uniquing) -> bytes:
        in_topology: dict[str, Any] = {}
        stored = []
        for column, value in zip(self.columns, row, strict=True):
            if column.topology is None:
                number = encode(value, column.width, uniquing)
                stored.append(number.to_bytes(column.width // 8, "little"))
            else:
                in_topology[column.topology] = value
        return self._topology_bytes(in_topology, uniquing) + b"".join(stored)

    def _topology_bytes(self, values: dict[str, Any], uniquing: Uniquing) -> bytes:
        packed = shift = 0
        for name, bits in TOPOLOGIES[self.topology][1].items():
            number = encode(values[name], bits, uniquing) if name in values else self.undeclared
            packed |= (number & (1 << bits) - 1) << shift
            shift += bits
        return packed.to_bytes(shift // 8, "little")

    # Descriptions -----------------------------------------------------------------------------------------

    def spec(self) -> Object:
        """Return the identity of the table: its schema and attributes."""
        return Object(
            "XRAnalysisCoreTableSpec",
            {
                "schemaName": self.schema,
                "engineeringName": self.schema,
                "mergeableAttributeKeys": set(),
                "attributes": Mutable({name: _attribute(value) for name, value in self.attributes.items()}),
            },
        )

    def _schema_xml(self) -> bytes:
        columns = "".join(map(_column_xml, self.columns))
        return (
            '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            f"<schema name={quoteattr(self.schema)} topology={quoteattr(self.topology)}>{columns}</schema>\n"
        ).encode()

    def _descriptor(self) -> Object:
        rows = len(self.rows) if self.next_event_id is None else self.next_event_id
        fields = [("topology", TOPOLOGIES[self.topology][0])]
        fields += [(column.mnemonic, column.width // 32) for column in self._stored]
        substitutions = {
            "next_id": 0,
            "id_map_nsdata": Mutable(_NO_SUBSTITUTIONS),
            "substitution_version": 1,
        }
        descriptor = {
            "_eventClass": "XRManagedEvent",
            "_fields": [_field(index, name, kind) for index, (name, kind) in enumerate(fields)],
            "_maxEventSize": self._row_size,
            "_minEventSize": self._row_size,
            "_version": 1,
            "_variableSize": False,
            "_synopsis": self.schema,
            "_publicProps": Mutable({}),
            "_substitutions": Object("XRDescriptorSubstitutions", {"$0": Mutable(substitutions)}),
            "_name": self.schema,
            "_props": {"storage_manager_version": 1, "next_event_id": rows, "mono_event_id": rows},
            "_identifier": self.schema,
        }
        return Object("XREventDescriptor", {"$0": Mutable(descriptor)})


def _field(index: int, name: str, kind: int) -> Object:
    return Object("XRFieldDescriptor", {"$0": {"_name": name, "_index": index, "_type": kind, "_multi": 1}})


def _attribute(value: Any) -> Any:
    return Mutable(value) if isinstance(value, list) else value


def _column_xml(column: Col) -> str:
    pairs = {
        "mnemonic": column.mnemonic,
        "engineeringName": column.title,
        "engineeringType": column.type,
        "topologyField": column.topology,
    }
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in pairs.items() if value)
    return f"<column{attributes}/>"
