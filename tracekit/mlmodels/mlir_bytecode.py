"""MLIR bytecode: the operations of a module, with their types, operands and source lines.

The format is LLVM's: https://mlir.llvm.org/docs/BytecodeFormat/. Versions 2 to 6 are read. Attributes and
types that a dialect encodes in its own way are left to the caller, as the bytes of an ``Entry``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from tracekit.mlmodels.program import MAX_OPERATIONS
from tracekit.mlmodels.protobuf_wire import DamagedModelError

MAGIC = b"ML\xefR"
_VERSIONS = range(2, 7)
_MAX_DEPTH = 64
_STRINGS, _DIALECTS, _ENTRIES, _OFFSETS, _IR = range(5)
_RESOURCES, _RESOURCE_OFFSETS, _PROPERTIES = 5, 6, 8

_HAS_ATTRIBUTES, _HAS_RESULTS, _HAS_OPERANDS, _HAS_SUCCESSORS = 1, 2, 4, 8
_HAS_REGIONS, _HAS_USE_ORDERS, _HAS_PROPERTIES = 16, 32, 64


@dataclass(frozen=True, slots=True)
class Entry:
    """An attribute or a type as it is stored: text, or bytes in the encoding of its dialect."""

    dialect: str
    data: memoryview
    is_encoded: bool


@dataclass(frozen=True, slots=True)
class ModuleOperation:
    """One operation of a module: indexes of types and operands, which number the values of its scope.

    ``scope`` numbers the isolated region that the operation is in; ``result`` is its first value's number.
    """

    name: str
    location: int
    attributes: int
    properties: int
    depth: int
    scope: int
    operands: tuple[int, ...]
    result: int
    result_types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a block: the number of a value in its scope, and its type."""

    scope: int
    value: int
    type: int
    depth: int


class Cursor:
    """A position in bytes; reading beyond the end raises ``DamagedModelError``."""

    __slots__ = ("_data", "position")

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.position = 0

    @property
    def is_at_end(self) -> bool:
        """True behind the last byte."""
        return self.position >= len(self._data)

    def byte(self) -> int:
        """Read a byte."""
        try:
            value = self._data[self.position]
        except IndexError:
            raise DamagedModelError("ends within its bytecode") from None
        self.position += 1
        return value

    def integer(self) -> int:
        """Read an integer whose first byte has as many zeros at its low end as bytes follow."""
        first = self.byte()
        if first & 1:
            return first >> 1
        extra = 8 if first == 0 else (first & -first).bit_length() - 1
        rest = int.from_bytes(self.view(extra), "little")
        return rest if first == 0 else (first | rest << 8) >> (extra + 1)

    def signed(self) -> int:
        """Read a signed integer, whose lowest bit is the sign (zigzag)."""
        value = self.integer()
        return (value >> 1) ^ -(value & 1)

    def count(self) -> int:
        """Read a number of things that take a byte each at least."""
        value = self.integer()
        if value > len(self._data) - self.position:
            raise DamagedModelError("lists more than its bytecode holds")
        return value

    def integers(self, count: int) -> tuple[int, ...]:
        """Read a number of integers."""
        return tuple([self.integer() for _ in range(count)])

    def view(self, size: int) -> memoryview:
        """Read a number of bytes."""
        end = self.position + size
        if end > len(self._data):
            raise DamagedModelError("ends within its bytecode")
        data = self._data[self.position : end]
        self.position = end
        return data

    def skip_alignment(self, alignment: int) -> None:
        """Move on to a position that is a multiple of ``alignment``."""
        if not 0 < alignment <= 1 << 20:
            raise DamagedModelError("has a section that is aligned to nothing sensible")
        self.position += -self.position % alignment

    def section(self) -> tuple[int, memoryview]:
        """Read a section: its number, and its bytes."""
        number = self.byte()
        size = self.integer()
        if number & 0x80:
            self.skip_alignment(self.integer())
        return number & 0x7F, self.view(size)


class Module:
    """The tables of a module's bytecode; ``read_operations`` walks its operations."""

    def __init__(self, data: memoryview) -> None:
        if bytes(data[:4]) != MAGIC:
            raise DamagedModelError("is no MLIR bytecode")
        cursor = Cursor(data)
        cursor.position = 4
        self.version = cursor.integer()
        if self.version not in _VERSIONS:
            raise DamagedModelError(f"is MLIR bytecode of version {self.version}; 2 to 6 are read")
        self.producer = _read_c_string(cursor)
        sections: dict[int, memoryview] = {}
        starts: dict[int, int] = {}
        while not cursor.is_at_end:
            number, view = cursor.section()
            sections[number] = view
            starts[number] = cursor.position - len(view)
        missing = {_STRINGS, _DIALECTS, _ENTRIES, _OFFSETS, _IR} - sections.keys()
        if missing:
            raise DamagedModelError("lacks a section of its bytecode")
        self.strings = _read_strings(Cursor(sections[_STRINGS]))
        self.dialects, self.names = self._read_dialects(Cursor(sections[_DIALECTS]))
        self.attributes, self.types = self._read_entries(Cursor(sections[_OFFSETS]), sections[_ENTRIES])
        self.properties = list(_read_views(sections[_PROPERTIES])) if _PROPERTIES in sections else []
        self.resources: list[tuple[int, int]] = []
        """The place of each resource of a dialect: its offset in the file, and its size in bytes."""
        if {_RESOURCES, _RESOURCE_OFFSETS} <= sections.keys():
            entries = _read_resource_sizes(Cursor(sections[_RESOURCE_OFFSETS]))
            with suppress(DamagedModelError):  # the operations do not need them
                self.resources = list(_find_blobs(entries, sections[_RESOURCES], starts[_RESOURCES]))
        self.arguments: list[Argument] = []
        self._ir = sections[_IR]

    def string(self, index: int) -> str:
        """Return a string of the module by its number."""
        try:
            return self.strings[index]
        except IndexError:
            raise DamagedModelError("names a string that it does not hold") from None

    def read_operations(self) -> Iterator[ModuleOperation]:
        """Yield the operations in order, each before those in its regions; fills ``arguments``."""
        operations = _OperationReader(self).read_block(Cursor(self._ir), 0, _Scope(0))
        for number, operation in enumerate(operations):
            if number >= MAX_OPERATIONS:
                raise DamagedModelError(f"holds more than {MAX_OPERATIONS:,} operations")
            yield operation

    def _read_dialects(self, cursor: Cursor) -> tuple[list[str], list[str]]:
        dialects = []
        for _ in range(cursor.count()):
            name = cursor.integer()
            dialects.append(self.string(name >> 1))
            if name & 1:
                cursor.section()  # the version of the dialect
        names: list[str] = []
        if self.version >= 4:
            cursor.integer()  # the count of all names
        while not cursor.is_at_end:
            dialect = self._dialect(dialects, cursor.integer())
            for _ in range(cursor.count()):
                name = cursor.integer()
                names.append(f"{dialect}.{self.string(name >> 1 if self.version >= 5 else name)}")
        return dialects, names

    def _dialect(self, dialects: list[str], index: int) -> str:
        if index >= len(dialects):
            raise DamagedModelError("names a dialect that it does not list")
        return dialects[index]

    def _read_entries(self, cursor: Cursor, data: memoryview) -> tuple[list[Entry], list[Entry]]:
        counts = cursor.integer(), cursor.integer()
        stored = Cursor(data)
        tables: tuple[list[Entry], list[Entry]] = ([], [])
        for count, table in zip(counts, tables, strict=True):
            while len(table) < count:
                dialect = self._dialect(self.dialects, cursor.integer())
                for _ in range(cursor.count()):
                    size = cursor.integer()
                    table.append(Entry(dialect, stored.view(size >> 1), bool(size & 1)))
        return tables


def _read_strings(cursor: Cursor) -> list[str]:
    sizes = [cursor.integer() for _ in range(cursor.count())]
    # The sizes stand in reverse order, and count the zero behind each string.
    views = [cursor.view(size) for size in reversed(sizes)]
    return [bytes(view[:-1]).decode("utf-8", "replace") for view in views]


def _read_views(data: memoryview) -> Iterator[memoryview]:
    """Yield the properties of operations, each as the bytes that its dialect writes."""
    cursor = Cursor(data)
    for _ in range(cursor.count()):
        yield cursor.view(cursor.integer())


def _read_resource_sizes(cursor: Cursor) -> Iterator[tuple[int, int]]:
    """Yield the size and the kind of each resource: first those of other tools, then those of dialects.

    The kind is -1 for one of another tool; 0 is a blob.
    """
    groups = cursor.integer()
    while not cursor.is_at_end:
        cursor.integer()  # the name of the tool, or the dialect
        for _ in range(cursor.count()):
            cursor.integer()  # the name of the resource
            size, kind = cursor.integer(), cursor.byte()
            yield size, kind if groups <= 0 else -1
        groups -= 1


def _find_blobs(
    entries: Iterator[tuple[int, int]], data: memoryview, start: int
) -> Iterator[tuple[int, int]]:
    """Yield the offset in the file and the size of each resource of a dialect; 0 for what is no blob."""
    stored = Cursor(data)
    for size, kind in entries:
        entry = Cursor(stored.view(size))
        if kind < 0:
            continue
        length = 0
        if kind == 0:
            entry.integer()  # the alignment, by which the bytes begin after some that mean nothing
            length = entry.integer()
        yield start + stored.position - length, length if length <= size else 0


def _read_c_string(cursor: Cursor) -> str:
    characters = bytearray()
    while byte := cursor.byte():
        characters.append(byte)
    return characters.decode("utf-8", "replace")


class _Scope:
    """The numbering of values within one isolated region."""

    __slots__ = ("next_value", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.next_value = 0


class _OperationReader:
    """Walks blocks and regions; the depth is bounded, and every count by the bytes that are left."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._scopes = 0

    def read_block(self, cursor: Cursor, depth: int, scope: _Scope) -> Iterator[ModuleOperation]:
        if depth > _MAX_DEPTH:
            raise DamagedModelError(f"has operations {depth} deep")
        header = cursor.integer()
        if header & 1:
            self._read_arguments(cursor, depth, scope)
        if header >> 1 > 1 << 32:
            raise DamagedModelError("lists more than its bytecode holds")
        for _ in range(header >> 1):
            yield from self._read_operation(cursor, depth, scope)

    def _read_arguments(self, cursor: Cursor, depth: int, scope: _Scope) -> None:
        for _ in range(cursor.count()):
            declared = cursor.integer()
            if self._module.version < 4:
                cursor.integer()  # a location
            else:
                if declared & 1:
                    cursor.integer()
                declared >>= 1
            self._module.arguments.append(Argument(scope.number, scope.next_value, declared, depth))
            scope.next_value += 1
        if self._module.version >= 3 and cursor.byte():
            _skip_use_orders(cursor)

    def _read_operation(self, cursor: Cursor, depth: int, scope: _Scope) -> Iterator[ModuleOperation]:
        module = self._module
        name = cursor.integer()
        if name >= len(module.names):
            raise DamagedModelError("names an operation that it does not list")
        mask = cursor.byte()
        location = cursor.integer()
        attributes = cursor.integer() if mask & _HAS_ATTRIBUTES else -1
        properties = cursor.integer() if mask & _HAS_PROPERTIES else -1
        types = cursor.integers(cursor.count()) if mask & _HAS_RESULTS else ()
        operands = cursor.integers(cursor.count()) if mask & _HAS_OPERANDS else ()
        if mask & _HAS_SUCCESSORS:
            cursor.integers(cursor.count())
        if mask & _HAS_USE_ORDERS:
            _skip_use_orders(cursor)
        yield ModuleOperation(
            module.names[name],
            location,
            attributes,
            properties,
            depth,
            scope.number,
            operands,
            scope.next_value,
            types,
        )
        scope.next_value += len(types)
        if mask & _HAS_REGIONS:
            yield from self._read_regions(cursor, depth, scope)

    def _read_regions(self, cursor: Cursor, depth: int, scope: _Scope) -> Iterator[ModuleOperation]:
        header = cursor.integer()
        for _ in range(header >> 1):
            if not header & 1:
                yield from self._read_region(cursor, depth, scope)
                continue
            number, view = cursor.section()
            if number != _IR:
                raise DamagedModelError("has a region that is no part of its operations")
            self._scopes += 1
            yield from self._read_region(Cursor(view), depth, _Scope(self._scopes))

    def _read_region(self, cursor: Cursor, depth: int, scope: _Scope) -> Iterator[ModuleOperation]:
        blocks = cursor.count()
        if not blocks:
            return
        cursor.integer()  # the number of values
        for _ in range(blocks):
            yield from self.read_block(cursor, depth + 1, scope)


def _skip_use_orders(cursor: Cursor) -> None:
    """Pass over the orders of uses, which only matter to a program that writes the module again."""
    for _ in range(cursor.count()):
        cursor.integer()
        header = cursor.integer()
        cursor.integers(min(header >> 1, 1 << 32))
