"""The values of a cell of a bundle's table, and their encoding as an integer of the row.

A value decides its own encoding and a column's type only the width, so that a test can put anything anywhere:

    int, bool        as they are                      float         fixed point, as percentages and rates are
    str              index into the run's strings     None          no value: all bits set
    UUID, Process, Thread, Stack, Tagged, Kperf, Array: index into the array uniquer
    Typed            index into the typed-array uniquer
    ReturnLocation, ThreadName: 64 bits of two references          Raw: the stored integer itself
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sample_generator.bundle_uniquing import Uniquing

NO_VALUE_32 = 0xFFFFFFFF
NO_VALUE_64 = 0xFFFFFFFFFFFFFFFF
FIXED_POINT_ZERO = 2**63 - 1
DEVICE_SESSION = "TODO"
"""The name of every session of a device in real recordings."""


@dataclass(frozen=True)
class Process:
    """A process; only its pid is stored in rows, names and paths are declared with the run."""

    pid: int
    name: str = ""
    path: str = ""


@dataclass(frozen=True)
class Thread:
    """A thread; rows store its tid and process, the rest is declared with the run."""

    tid: int
    process: Process
    name: str = ""
    main: bool = False


@dataclass(frozen=True)
class Chunk:
    """A piece of a backtrace; None instead of addresses is the reference that ends a list."""

    process: Process
    addresses: tuple[int, ...] | None


@dataclass(frozen=True)
class Stack:
    """A backtrace, leaf first: callers that many stacks share are stored once, as a chunk."""

    chunks: tuple[Chunk, ...]


def stack(process: Process, *pieces: Sequence[int] | None) -> Stack:
    """Return a backtrace whose pieces become chunks."""
    return Stack(tuple(Chunk(process, None if piece is None else tuple(piece)) for piece in pieces))


def leaf_and_callers(process: Process, addresses: Sequence[int]) -> Stack:
    """Return a backtrace in two chunks, the way Instruments stores most."""
    return stack(process, *filter(None, (addresses[:1], addresses[1:])))


def signed(address: int, signature: int = 0x5A3) -> int:
    """Return an address with a pointer-authentication code above its 47 bits."""
    return address | signature << 47


@dataclass(frozen=True)
class Tagged:
    """A tagged backtrace: a reference to a list of chunks, and a number."""

    stack: Stack
    tag: int = 0


@dataclass(frozen=True)
class Kperf:
    """A raw kperf callstack: frames without the leaf, which is the PC; a stackshot has no registers."""

    process: Process
    pc: int
    frames: tuple[int, ...] | None
    registers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Array:
    """Integers as they are, such as the counter values of a sample."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class Typed:
    """A typed array: engineering type and value in turn, as log messages, narratives and `any` are stored."""

    parts: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class ReturnLocation:
    """A place in a binary's file."""

    uuid: UUID
    offset: int


@dataclass(frozen=True)
class ThreadName:
    """A thread's name as thread-info stores it, together with the thread."""

    name: str
    thread: Thread


@dataclass(frozen=True)
class Raw:
    """An integer that is stored unchanged."""

    value: int


def encode(value: Any, bits: int, to: Uniquing) -> int:
    """Return the integer that encodes a value in `bits` bits, after storing the values that it refers to."""
    match value:
        case None:
            return (1 << bits) - 1
        case bool() | int():
            return int(value)
        case float():
            return round(value * 1_000_000_000) + FIXED_POINT_ZERO
        case str():
            return to.string(value)
        case Raw():
            return value.value
        case Typed():
            return to.typed(_typed(value, to))
        case ReturnLocation():
            return to.array(_uuid(value.uuid)) << 32 | value.offset
        case ThreadName():
            return to.string(value.name) << 32 | encode(value.thread, 32, to)
        case _:
            return to.array(_elements(value, to))


def _elements(value: Any, to: Uniquing) -> tuple[int, ...]:
    match value:
        case UUID():
            return _uuid(value)
        case Array():
            return value.values
        case Process():
            return value.pid, to.string(DEVICE_SESSION)
        case Thread():
            return value.tid, encode(value.process, 32, to)
        case Stack():
            return tuple(_chunk(chunk, to) for chunk in value.chunks)
        case Tagged():
            return encode(value.stack, 32, to), value.tag
        case Kperf():
            return _frames(value.frames, to), value.pc, encode(value.process, 32, to), *value.registers
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a table")


def _uuid(value: UUID) -> tuple[int, int]:
    """Return the two integers whose big-endian bytes the UUID is."""
    return int.from_bytes(value.bytes[:8], "big"), int.from_bytes(value.bytes[8:], "big")


def _chunk(chunk: Chunk, to: Uniquing) -> int:
    return encode(chunk.process, 32, to) << 32 | _frames(chunk.addresses, to)


def _frames(addresses: tuple[int, ...] | None, to: Uniquing) -> int:
    return NO_VALUE_32 if addresses is None else to.array(addresses)


def _typed(value: Typed, to: Uniquing) -> tuple[int, ...]:
    parts = [(to.engineering_type(kind), encode(part, 64, to)) for kind, part in value.parts]
    return tuple(number for part in parts for number in part)
