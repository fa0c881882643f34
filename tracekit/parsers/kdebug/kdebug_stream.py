"""Files of the kernel's trace facility → their events as one array, and what stands before them.

    version 2   magic │ header │ thread map │ padding to 4,096 bytes │ event │ event │ …
    version 3   header chunk │ chunk │ chunk │ …
                chunk: u32 tag, u32 sub-tag, u64 length │ payload, aligned to 8

A chunk of events begins with a word for the time of a later chunk, which its length may or may not include.
Sources: bsd/sys/kdebug_private.h and bsd/kern/kdebug.c of apple-oss-distributions/xnu (structures, tags of
the kernel), pykdebugparser (the alignment of version 2, the order of version 3), py-ios-device (the tag of a
stackshot). No file that a device wrote was at hand.
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
_MAX_STACKSHOT_BYTES = 256 << 20
_APPLE_TICKS_PER_SECOND = 24_000_000
_MAX_TICKS_PER_SECOND = 10_000_000_000


@frozen
class MappedThread:
    """A thread that ran when the recording began."""

    tid: int
    pid: int
    process: str


@frozen
class KdebugStream:
    """The events of one file, and the threads and stackshots that it lists.

    A tick lasts ``ns_numerator / ns_denominator`` nanoseconds. ``stackshots`` are buffers of kcdata.
    """

    events: Events
    ns_numerator: int
    ns_denominator: int
    has_tick_rate: bool
    """False where the file states no usable rate, and that of Apple silicon was taken."""
    threads: tuple[MappedThread, ...] = ()
    stackshots: tuple[bytes, ...] = ()
    unread_bytes: int = 0
    """Bytes at the end that are no whole event, or no chunk."""


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
        stream = _read_version_2(content) if head == KDEBUG_2 else _read_version_3(content)
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


def _read_version_3(content: npt.NDArray[np.uint8]) -> KdebugStream:
    _, _, header_bytes, numerator, denominator, *_ = KDEBUG_3_HEADER.unpack_from(
        content[: KDEBUG_3_HEADER.size].tobytes()
    )
    numerator, denominator, is_stated = choose_tick_rate(numerator, denominator)
    blocks: list[Events] = []
    threads: tuple[MappedThread, ...] = ()
    stackshots: list[bytes] = []
    read_end = 0
    for tag, payload, end in _iter_chunks(content, _align(_CHUNK.size + header_bytes)):
        read_end = end
        if tag == _EVENTS_TAG:
            blocks.append(_view_events(payload))
        elif tag == _THREAD_MAP_TAG:
            threads = _parse_threads(payload.tobytes())
        elif tag == _STACKSHOT_TAG and len(payload) <= _MAX_STACKSHOT_BYTES:
            stackshots.append(payload.tobytes())
    return KdebugStream(
        blocks[0] if len(blocks) == 1 else np.concatenate([np.zeros(0, EVENT), *blocks]),
        numerator,
        denominator,
        is_stated,
        threads,
        tuple(stackshots),
        len(content) - read_end,
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
        yield tag, payload, min(end, len(content)) - len(payload) % EVENT.itemsize * (tag == _EVENTS_TAG)
        position = _align(end)


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
