"""Files of the kernel's trace facility → their events as one array, and what stands before them.

    version 2   magic │ header │ thread map │ padding to 4,096 bytes │ event │ event │ …
    version 3   header chunk │ chunk │ chunk │ …
                chunk: u32 tag, u32 sub-tag, u64 length │ payload, aligned to 8

A chunk of events begins with a word for the time of a later chunk, which its length may or may not include.
Tags below 0x8000 are the kernel's; the others are ktrace's own, and those that no source explains are listed.
Sources: bsd/sys/kdebug_private.h and bsd/kern/kdebug.c of apple-oss-distributions/xnu (structures, tags of
the kernel), pykdebugparser (the alignment of version 2, the order of version 3, tags of the log and of
images), py-ios-device (the other tags). No file that a device wrote was at hand.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.parsers.kdebug.kernel_file_heads import KDEBUG_1, KDEBUG_2, KDEBUG_3_HEADER
from tracekit.parsers.limits import Limits, require_at_most

Events: TypeAlias = npt.NDArray[np.void]
"""Events in the order of the file, with the fields of ``EVENT``."""

EVENT = np.dtype(
    [
        ("ticks", "<u8"),
        ("arguments", "<u8", 4),
        ("tid", "<u8"),
        ("code", "<u4"),
        ("cpu", "<u4"),
        ("unused", "<u8"),
    ]
)
"""``kd_buf`` of a 64-bit kernel. The two low bits of ``code`` are the place in a pair: 1 begins, 2 ends."""
_HEADER_2 = struct.Struct("<4sIQIIQ256x")
_THREAD = struct.Struct("<QI20s")
_CHUNK = struct.Struct("<IIQ")
_EVENTS_ALIGNMENT = 4096
_THREAD_MAP_TAG, _EVENTS_TAG, _STACKSHOT_TAG = 0x1D00, 0x1E00, 0x8002
_LOG_TAG, _LOG_TEXTS_TAG = 0x8011, 0x8012
_ABOUT_THE_RECORDING = frozenset((0x1B00, 0x1C00, 0x2000, 0x8006, 0x8008, 0x800E, 0x800F, 0x8C00))
"""Configuration, CPU maps, end marks, the kernel's and the machine's description, names of event codes."""
_MAX_DECODED_BYTES = 256 << 20
"""Limit on the stackshots and the log of a file, which are decoded in memory."""
_MAX_CHUNKS = 1_000_000
_MAX_TAGS = 20
_OTHER_TAGS = 0
_APPLE_TICKS_PER_SECOND = 24_000_000
_MAX_TICKS_PER_SECOND = 10_000_000_000


@frozen
class WallClock:
    """A moment on both clocks: in ticks, and in microseconds since 1970."""

    ticks: int
    microseconds: int


@frozen
class MappedThread:
    """A thread that ran when the recording began."""

    tid: int
    pid: int
    process: str


@frozen
class UnreadChunks:
    """The chunks of one tag that are not read."""

    tag: int
    count: int
    size_bytes: int


@frozen
class KdebugStream:
    """The events of one file, and the threads, stackshots and parts of the log that it lists.

    A tick lasts ``ns_numerator / ns_denominator`` nanoseconds. ``stackshots`` are buffers of kcdata,
    ``log_chunks`` and ``log_texts`` property lists (``kdebug_log.py``).
    """

    events: Events
    ns_numerator: int
    ns_denominator: int
    has_tick_rate: bool
    """False where the file states no usable rate, and that of Apple silicon was taken."""
    threads: tuple[MappedThread, ...] = ()
    stackshots: tuple[bytes, ...] = ()
    log_chunks: tuple[bytes, ...] = ()
    log_texts: tuple[bytes, ...] = ()
    clock: WallClock | None = None
    unread_bytes: int = 0
    """Bytes at the end that are no whole event, or no chunk."""
    unread_chunks: tuple[UnreadChunks, ...] = ()


def read_kdebug_stream(path: Path, name: str, limits: Limits) -> KdebugStream:
    """Read a file: of version 2, the events are mapped into memory and read when they are used.

    Raises ``InputError`` for version 1 and for a damaged header, ``LimitError`` for more events than an input
    may have.
    """
    content = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
    head = content[:4].tobytes()
    if head == KDEBUG_1:
        raise InputError(
            name,
            "is a kdebug file of version 1, which is not read.",
            "Record again: `ktrace trace`, Instruments and iPhones write version 2 or 3.",
        )
    try:
        stream = _read_version_2(content) if head == KDEBUG_2 else _read_version_3(content, name)
    except struct.error as error:
        raise InputError(
            name, "is a kdebug file whose header is cut off.", "Record or copy it again."
        ) from error
    require_at_most(name, len(stream.events), limits.cells, "events")
    return stream


def _read_version_2(content: npt.NDArray[np.uint8]) -> KdebugStream:
    _, thread_count, _, _, _, ticks_per_second = _HEADER_2.unpack_from(content[: _HEADER_2.size].tobytes())
    map_end = min(_HEADER_2.size + thread_count * _THREAD.size, len(content))
    events_start = -(-map_end // _EVENTS_ALIGNMENT) * _EVENTS_ALIGNMENT
    events = _view_events(content[events_start:])
    numerator, denominator, is_stated = choose_tick_rate(1_000_000_000, ticks_per_second)
    return KdebugStream(
        events,
        numerator,
        denominator,
        is_stated,
        _parse_threads(content[_HEADER_2.size : map_end].tobytes()),
        unread_bytes=max(len(content) - events_start, 0) - events.nbytes,
    )


def _read_version_3(content: npt.NDArray[np.uint8], name: str) -> KdebugStream:
    _, _, header_bytes, numerator, denominator, ticks, seconds, microseconds, *_ = (
        KDEBUG_3_HEADER.unpack_from(content[: KDEBUG_3_HEADER.size].tobytes())
    )
    numerator, denominator, is_stated = choose_tick_rate(numerator, denominator)
    chunks = _Chunks()
    for number, (tag, payload, end) in enumerate(_iter_chunks(content, _align(_CHUNK.size + header_bytes))):
        require_at_most(name, number, _MAX_CHUNKS, "chunks")
        chunks.add(tag, payload, end)
    return KdebugStream(
        chunks.join_events(),
        numerator,
        denominator,
        is_stated,
        chunks.threads,
        tuple(chunks.decoded[_STACKSHOT_TAG]),
        tuple(chunks.decoded[_LOG_TAG]),
        tuple(chunks.decoded[_LOG_TEXTS_TAG]),
        WallClock(ticks, seconds * 1_000_000 + microseconds) if ticks and seconds else None,
        len(content) - chunks.end,
        tuple(UnreadChunks(tag, count, size_bytes) for tag, (count, size_bytes) in chunks.unread.items()),
    )


class _Chunks:
    """What the chunks of a file hold, as they are read."""

    def __init__(self) -> None:
        self.threads: tuple[MappedThread, ...] = ()
        self.decoded: dict[int, list[bytes]] = {_STACKSHOT_TAG: [], _LOG_TAG: [], _LOG_TEXTS_TAG: []}
        self.unread: dict[int, tuple[int, int]] = {}
        """By tag: their number and bytes."""
        self.end = 0
        self._blocks: list[Events] = []
        self._decoded_bytes = 0

    def add(self, tag: int, payload: npt.NDArray[np.uint8], end: int) -> None:
        """Keep what a chunk holds, or count it."""
        self.end = end
        if tag == _EVENTS_TAG:
            self._blocks.append(_view_events(payload))
        elif tag == _THREAD_MAP_TAG:
            self.threads = _parse_threads(payload.tobytes())
        elif tag in self.decoded and self._decoded_bytes + len(payload) <= _MAX_DECODED_BYTES:
            self.decoded[tag].append(payload.tobytes())
            self._decoded_bytes += len(payload)
        elif tag not in _ABOUT_THE_RECORDING:
            tag = tag if tag in self.unread or len(self.unread) < _MAX_TAGS else _OTHER_TAGS
            count, size_bytes = self.unread.get(tag, (0, 0))
            self.unread[tag] = count + 1, size_bytes + len(payload)

    def join_events(self) -> Events:
        """Return all events; of one chunk, without a copy."""
        return (
            self._blocks[0] if len(self._blocks) == 1 else np.concatenate([np.zeros(0, EVENT), *self._blocks])
        )


def _iter_chunks(
    content: npt.NDArray[np.uint8], position: int
) -> Iterator[tuple[int, npt.NDArray[np.uint8], int]]:
    """Yield tag, payload and end of each whole chunk, and of a last chunk of events that is cut off."""
    while position + _CHUNK.size <= len(content):
        tag, _, length = _CHUNK.unpack(content[position : position + _CHUNK.size].tobytes())
        start = position + _CHUNK.size
        if tag == _EVENTS_TAG:
            start += 8
            length -= length % EVENT.itemsize
        end = start + length
        if end > len(content) and tag != _EVENTS_TAG:
            return
        payload = content[start:end]
        position = _align(end)
        cut_bytes = len(payload) % EVENT.itemsize if tag == _EVENTS_TAG else 0
        yield tag, payload, min(position, len(content)) - cut_bytes


def _align(position: int) -> int:
    return -(-position // 8) * 8


def _view_events(content: npt.NDArray[np.uint8]) -> Events:
    """Return the whole events of some bytes, without a copy."""
    return content[: len(content) - len(content) % EVENT.itemsize].view(EVENT)


def _parse_threads(content: bytes) -> tuple[MappedThread, ...]:
    """Return the entries of a thread map."""
    whole = content[: len(content) - len(content) % _THREAD.size]
    entries = ((tid, pid, decode_name(process)) for tid, pid, process in _THREAD.iter_unpack(whole))
    # The kernel marks entries as valid by their pid, and has 1 for its own task, whose pid is 0.
    return tuple(
        MappedThread(tid, 0 if process == "kernel_task" and pid == 1 else pid, process)
        for tid, pid, process in entries
        if tid and pid
    )


def decode_name(content: bytes) -> str:
    """Return a name that ends with a zero, whatever its bytes."""
    return content.split(b"\0", 1)[0].decode("utf-8", "replace")


def choose_tick_rate(numerator: int, denominator: int) -> tuple[int, int, bool]:
    """Return the nanoseconds of a tick as a fraction, and whether that is the stated one."""
    if (
        numerator
        and denominator
        and 0.1 <= numerator / denominator <= 1e6
        and numerator <= _MAX_TICKS_PER_SECOND
    ):
        divisor = math.gcd(numerator, denominator)
        return numerator // divisor, denominator // divisor, True
    divisor = math.gcd(1_000_000_000, _APPLE_TICKS_PER_SECOND)
    return 1_000_000_000 // divisor, _APPLE_TICKS_PER_SECOND // divisor, False


def convert_ticks(ticks: npt.NDArray[Any], stream: KdebugStream) -> IntArray:
    """Return ticks since some tick as nanoseconds, exact and without overflow."""
    whole, remainder = np.divmod(ticks.astype(np.int64), stream.ns_denominator)
    times: IntArray = whole * stream.ns_numerator + remainder * stream.ns_numerator // stream.ns_denominator
    return times
