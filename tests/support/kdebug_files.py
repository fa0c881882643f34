"""Kdebug streams and stackshots as the kernel writes them, byte by byte: nothing here uses the readers."""

from __future__ import annotations

import json
import plistlib
import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

BEGIN, END = 1, 2
SAMPLE, THREAD_DATA = 0x2500_0000, 0x2501_0004
KERNEL_DATA, USER_DATA, KERNEL_HEADER, USER_HEADER = 0x2502_000C, 0x2502_0010, 0x2502_0014, 0x2502_0018
NEW_THREAD, NEW_THREAD_NAME, THREAD_NAME = 0x0700_0004, 0x0701_0004, 0x0701_0010
IMAGE_LOADED, LOST_EVENTS = 0x1F05_0000, 0x0702_0008
APP_SIGNPOST = 0x210A_0000
RUNNING, RUNNABLE, WAITING = 1, 2, 4
TICKS_PER_MS = 24_000


def event(ticks: int, code: int, arguments: Sequence[int] = (), tid: int = 1, cpu: int = 0) -> bytes:
    """Return one ``kd_buf`` of a 64-bit kernel."""
    return struct.pack("<Q4QQIIQ", ticks, *[*arguments, 0, 0, 0, 0][:4], tid, code, cpu, 0)


def text_event(ticks: int, code: int, text: str, tid: int = 1) -> bytes:
    """Return an event whose arguments are up to 32 bytes of a text."""
    return event(ticks, code, struct.unpack("<4Q", text.encode().ljust(32, b"\0")), tid)


def image_event(ticks: int, identity: str, address: int, tid: int = 1) -> bytes:
    """Return the event of an image that dyld mapped."""
    return event(ticks, IMAGE_LOADED, (*struct.unpack("<2Q", uuid.UUID(identity).bytes), address), tid)


def sample(
    ticks: int,
    user: Sequence[int],
    tid: int = 1,
    cpu: int = 0,
    *,
    kernel: Sequence[int] = (),
    thread: tuple[int, int, int] | None = None,
) -> list[bytes]:
    """Return the events of one sample; ``thread`` is (pid, tid, run mode) of a thread that another one sampled."""
    events = [event(ticks, SAMPLE | BEGIN, (0xD, 1), tid, cpu)]
    if thread is not None:
        pid, sampled_tid, mode = thread
        events.append(event(ticks + 1, THREAD_DATA, (pid, sampled_tid, 0, mode), tid, cpu))
    for frames, header, data in ((kernel, KERNEL_HEADER, KERNEL_DATA), (user, USER_HEADER, USER_DATA)):
        if frames:
            events.append(event(ticks + 2, header, (5, len(frames)), tid, cpu))
        events += [
            event(ticks + 3, data, frames[start : start + 4], tid, cpu) for start in range(0, len(frames), 4)
        ]
    return [*events, event(ticks + 4, SAMPLE | END, (), tid, cpu)]


def write_threads(threads: Iterable[tuple[int, int, str]]) -> bytes:
    """Return a thread map of (tid, pid, process)."""
    return b"".join(struct.pack("<QI20s", tid, pid, process.encode()) for tid, pid, process in threads)


def write_version_2(
    events: Iterable[bytes], threads: Sequence[tuple[int, int, str]] = (), ticks_per_second: int = 24_000_000
) -> bytes:
    """Return a file of kperf."""
    header = struct.pack("<4sIQIIQ256x", b"\0\2\xaa\x55", len(threads), 0, 0, 1, ticks_per_second)
    head = header + write_threads(threads)
    return head + b"\xa5" * (-len(head) % 4096) + b"".join(events)


def write_chunk(tag: int, payload: bytes, length: int | None = None, sub_tag: int = 1) -> bytes:
    """Return a chunk of version 3, padded to 8 bytes; ``length`` if it is not that of the payload."""
    size = len(payload) if length is None else length
    return struct.pack("<IIQ", tag, sub_tag, size) + payload + bytes(-len(payload) % 8)


def write_log(entries: Sequence[Mapping[str, object]], texts: Sequence[str]) -> bytes:
    """Return the chunks of a log; texts are numbered from 1, and entries have their numbers."""
    index = {text: number for number, text in enumerate(texts, start=1)}
    return b"".join(
        write_chunk(tag, plistlib.dumps({key: value}, fmt=plistlib.FMT_BINARY), sub_tag=0)
        for tag, key, value in ((0x8011, "Events", list(entries)), (0x8012, "StringIndex", index))
    )


def write_version_3(
    blocks: Sequence[Iterable[bytes]],
    threads: Sequence[tuple[int, int, str]] = (),
    timebase: tuple[int, int] = (125, 3),
    stackshot: bytes = b"",
    *,
    counts_time: bool = False,
    clock: tuple[int, int, int] = (0, 0, 0),
    log: bytes = b"",
    sub_tag: int = 1,
) -> bytes:
    """Return a file with a chunk for each block of events; ``counts_time``: a chunk's length includes its time.

    ``clock`` is a moment in ticks, and in seconds and microseconds since 1970; ``log`` are whole chunks.
    """
    cpu_map = write_chunk(0x1C00, plistlib.dumps({}, fmt=plistlib.FMT_BINARY))
    header = struct.pack("<IQIIQQIIII", 1, 40 + len(cpu_map), *timebase, *clock, 0, 0, 1)
    chunks = [write_chunk(0x8002, stackshot)] if stackshot else []
    chunks.append(write_chunk(0x1D00, write_threads(threads), sub_tag=sub_tag))
    for block in blocks:
        content = b"".join(block)
        chunks.append(write_chunk(0x1E00, bytes(8) + content, len(content) + 8 * counts_time, sub_tag))
    end = write_chunk(0x2000, b"", sub_tag=sub_tag)
    return b"\0\3\xaa\x55" + header + cpu_map + b"".join([*chunks, log, end])


def write_item(kind: int, payload: bytes, flags: int = 0) -> bytes:
    """Return an item of kcdata, padded to 16 bytes as the kernel does."""
    padded = payload + bytes(-len(payload) % 16)
    return struct.pack("<IIQ", kind, len(padded), flags | -len(payload) % 16) + padded


def write_array(element: int, elements: bytes, count: int) -> bytes:
    """Return an array of elements of a type."""
    pad = -len(elements) % 16
    return struct.pack("<IIQ", 0x20 | pad, len(elements) + pad, element << 32 | count) + elements + bytes(pad)


def write_container(kind: int, number: int, items: Iterable[bytes]) -> bytes:
    """Return items within a container, which has a number among those of its kind."""
    begin = struct.pack("<IIQI12x", 0x13, 16, number, kind)
    return begin + b"".join(items) + struct.pack("<IIQ", 0x14, 0, number)


def write_thread(
    tid: int,
    state: int,
    user: Sequence[int],
    kernel: Sequence[int] = (),
    name: str = "",
    queue: str = "",
) -> bytes:
    """Return a thread's container; ``state`` is 1 for TH_WAIT, 4 for TH_RUN."""
    items = [write_item(0x906, struct.pack("<Q80xII", tid, state, 0) + bytes(32))]
    items += [write_item(0x909, name.encode().ljust(64, b"\0"))] if name else []
    items += [write_item(0x928, queue.encode() + b"\0")] if queue else []
    for frames, kind in ((user, 0x916), (kernel, 0x914)):
        items.append(write_array(kind, struct.pack(f"<{len(frames)}Q", *frames), len(frames)))
    return write_container(0x904, tid, items)


def write_task(
    pid: int, name: str, threads: Iterable[bytes], images: Sequence[tuple[int, str]] = ()
) -> bytes:
    """Return a task's container; ``images`` are (load address, UUID)."""
    listed = b"".join(
        struct.pack("<Q16s", address, uuid.UUID(identity).bytes) for address, identity in images
    )
    snapshot = struct.pack("<84xi32s", pid, name.encode())
    return write_container(
        0x903, pid, [write_item(0x905, snapshot), write_array(0x31, listed, len(images)), *threads]
    )


def write_stackshot(tasks: Iterable[bytes]) -> bytes:
    """Return a whole buffer."""
    begin = struct.pack("<IIQ", 0x59A2_5807, 0, 0)
    os_version = write_item(0x90F, b"Darwin 27\0")
    return begin + os_version + b"".join(tasks) + struct.pack("<IIQ", 0xF191_58ED, 0, 0)


def compress_stackshot(content: bytes, kind: int = 1) -> bytes:
    """Return a buffer as the kernel compresses it: its first item stays in front of the rest."""
    packed = zlib.compress(content[16:-16])
    sizes = (("kcd_c_totalout", len(packed)), ("kcd_c_totalin", len(content) - 32))
    items = [write_item(0x2, b"kcd_c_type".ljust(32, b"\0") + kind.to_bytes(4, "little"))]
    items += [
        write_item(0x3, key.encode().ljust(32, b"\0") + size.to_bytes(8, "little")) for key, size in sizes
    ]
    return b"PMOC" + bytes(12) + b"".join(items) + content[:16] + packed


def write_device_folder(folder: Path) -> Path:
    """Write a recording of ``record --via pymobiledevice3``: a stream, its stackshot, a line of the log."""
    image = {
        "imageLoadAddress": 0x1000,
        "imageUUID": "11111111-2222-3333-4444-555555555555",
        "imagePath": "/System/Library/PrivateFrameworks/Espresso.framework/Espresso",
    }
    thread = {"thread_snapshot": {"ths_thread_id": 7, "ths_state": 4}, "pth_name": "render"}
    task = {
        "task_snapshot": {"ts_pid": 42, "ts_p_comm": "MyApp"},
        "dyld_load_info": [image],
        "thread_snapshots": {"7": thread},
    }
    stackshot = {
        "mach_timebase_info": {"numer": 125, "denom": 3},
        "mach_absolute_time": 1000 * TICKS_PER_MS,
        "usecs_since_epoch": 1_790_000_000_000_000,
        "task_snapshots": {"1": task},
    }
    events = [part for tick in range(5) for part in sample((1000 + tick) * TICKS_PER_MS, [0x1010], tid=7)]
    folder.mkdir()
    (folder / "stream.ktrace").write_bytes(write_version_2(events))
    (folder / "stackshot.json").write_text(json.dumps(stackshot))
    (folder / "log.ndjson").write_text("2026-09-21 14:13:20.002000+0000 0x7 Default 0x0 42 0 MyApp: hello\n")
    (folder / "device.json").write_text('{"schema": "tracekit-device-recording/1"}')
    return folder
