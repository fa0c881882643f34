"""Stackshots (kcdata) → the tasks of a system, with the names, queues, stacks and images of their threads.

    item       u32 type, u32 size, u64 flags │ data; the size includes the padding to 16 bytes
    array      an item whose flags are u32 count, u32 type of an element
    container  an item "begin" whose data is the container's type … an item "end"

    stackshot ─ task ─┬ snapshot (pid, name), images
                      └ thread ─ snapshot (tid, state), name, queue, user and kernel frames

Programs write the same as JSON, with containers by their ids: pymobiledevice3 with the paths of images that
it knows; py-ios-device, and Apple's kcdata.py, as ``kcdata_stackshot`` with most numbers in hexadecimal.

Sources: osfmk/kern/kcdata.h of apple-oss-distributions/xnu (types, structures), pymobiledevice3 and
py-ios-device (which items devices send, and the forms of JSON). No stackshot of a device was at hand.
"""

from __future__ import annotations

import json
import re
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracekit.errors import InputError
from tracekit.parsers.kdebug.kdebug_stream import decode_name
from tracekit.parsers.kdebug.kernel_file_heads import COMPRESSED_KCDATA, STACKSHOT
from tracekit.parsers.limits import LimitError, Limits
from tracekit.text import format_size

_BUFFER_END = 0xF191_58ED
_CONTAINER_BEGIN, _CONTAINER_END = 0x13, 0x14
_ARRAYS = range(0x20, 0x30)
_TASK, _THREAD = 0x903, 0x904
_TASK_SNAPSHOT, _THREAD_SNAPSHOT = 0x905, 0x906
_THREAD_NAME, _QUEUE_LABEL = 0x909, 0x928
_IMAGES, _TIMEBASE, _TICKS, _MICROSECONDS = 0x31, 0x32, 0x33, 0x35
_KERNEL_FRAMES, _USER_FRAMES = 0x914, 0x916

_ITEM = struct.Struct("<IIQ")
_DESCRIBED = {0x2: struct.Struct("<32sI"), 0x3: struct.Struct("<32sQ")}
"""Items that hold a number with its name."""
_ZLIB = 1
_ADDRESS_AND_UUID = struct.Struct("<Q16s")
_PID_AND_NAME = struct.Struct("<84xi32s")
"""Of ``task_snapshot_v2``: seven u64 and seven u32 come before."""
_TID_AND_STATE = struct.Struct("<q80xI")
"""Of ``thread_snapshot_v2`` and later: the thread's id, ten u64, its scheduler state."""
_WAITS, _RUNS = 0x1, 0x4
"""Bits of that state: TH_WAIT and TH_RUN of osfmk/kern/thread.h."""

_MAX_NUMBER = 2**64 - 1
_WRITTEN_NUMBER = re.compile(r"(0x[0-9A-Fa-f]{1,16}|\d{1,20})(?: \([^)]*\))?")
"""As kcdata.py writes it: ``0x1f``, ``4``, with the names of flags ``0x41 (TH_WAIT|TH_WAIT_REPORT)``."""
JSON_ROOT = "kcdata_stackshot"


class Image(NamedTuple):
    """A binary: its load address, its UUID, and its path if that is known."""

    address: int
    uuid: str
    path: str = ""

    @property
    def name(self) -> str:
        """The name of its file; without a path, the UUID."""
        return self.path.rpartition("/")[2] or self.uuid


@dataclass
class StackshotThread:
    """One thread at the moment of the stackshot. Frames are addresses, leaf first."""

    tid: int = -1
    name: str = ""
    queue: str = ""
    state: str = ""
    user_frames: tuple[int, ...] = ()
    kernel_frames: tuple[int, ...] = ()


@dataclass
class StackshotTask:
    """One process at the moment of the stackshot."""

    pid: int = -1
    name: str = ""
    images: tuple[Image, ...] = ()
    threads: list[StackshotThread] = field(default_factory=list)


@dataclass
class Stackshot:
    """The tasks of a system at one moment: of the clock that counts ticks, and of the wall clock."""

    tasks: list[StackshotTask] = field(default_factory=list)
    ns_numerator: int = 0
    ns_denominator: int = 0
    ticks: int = 0
    microseconds: int = 0
    """Since 1970; 0 is unknown, as is a moment in ticks of 0."""


def parse_stackshot(content: bytes, name: str, limits: Limits) -> Stackshot:
    """Return a stackshot, of a cut-off one what comes before the cut.

    Raises ``InputError`` for content that is none, and ``LimitError`` for one that unpacks to too much.
    """
    if content.startswith(COMPRESSED_KCDATA):
        content = _decompress(content, name, limits)
    if not content.startswith(STACKSHOT):
        raise InputError(name, "holds no stackshot of the kernel.", "Save the stackshot again.")
    stackshot = Stackshot()
    tasks = stackshot.tasks
    containers: list[int] = []
    for kind, flags, payload in _iter_items(content):
        if kind == _CONTAINER_BEGIN:
            container = int.from_bytes(payload[:4], "little")
            containers.append(container)
            if container == _TASK:
                tasks.append(StackshotTask())
            elif container == _THREAD and tasks:
                tasks[-1].threads.append(StackshotThread())
        elif kind == _CONTAINER_END:
            del containers[-1:]
        elif containers[-1:] == [_TASK] and tasks:
            _read_task_item(tasks[-1], kind, flags, payload)
        elif containers[-1:] == [_THREAD] and tasks and tasks[-1].threads:
            _read_thread_item(tasks[-1].threads[-1], kind, flags, payload)
        elif not containers:
            _read_clock_item(stackshot, kind, payload)
    return stackshot


def _decompress(content: bytes, name: str, limits: Limits) -> bytes:
    """Return a compressed buffer as it was before: numbers in items, then the first item, then the rest.

    begin │ "kcd_c_type" 1 │ "kcd_c_totalout" │ "kcd_c_totalin" │ begin of the buffer │ zlib …
    """
    values: dict[str, int] = {}
    position = _ITEM.size
    while position + _ITEM.size <= len(content):
        kind, size, _ = _ITEM.unpack_from(content, position)
        position += _ITEM.size
        described = _DESCRIBED.get(kind)
        if described is None:
            break
        if position + max(described.size, size) <= len(content):
            text, value = described.unpack_from(content, position)
            values[decode_name(text)] = value
        position += size
    if values.get("kcd_c_type") != _ZLIB:
        raise InputError(
            name,
            "is a stackshot that is compressed in a way that is not known.",
            "Save it uncompressed, or as text with spindump.",
        )
    packed = content[position : position + values.get("kcd_c_totalout", 0)]
    max_bytes = limits.unpacked_bytes(len(content))
    decompressor = zlib.decompressobj()
    try:
        unpacked = decompressor.decompress(packed, max_bytes)
    except zlib.error as error:
        raise InputError(name, "is a damaged compressed stackshot.", "Save the stackshot again.") from error
    if decompressor.unconsumed_tail:
        raise LimitError(name, f"unpacks to more than {format_size(max_bytes)}")
    return content[position - _ITEM.size : position] + unpacked


def _read_clock_item(stackshot: Stackshot, kind: int, payload: bytes) -> None:
    if len(payload) < 8:
        return
    number = int.from_bytes(payload[:8], "little")
    if kind == _TIMEBASE:
        stackshot.ns_numerator, stackshot.ns_denominator = number & 0xFFFF_FFFF, number >> 32
    elif kind == _TICKS:
        stackshot.ticks = number
    elif kind == _MICROSECONDS:
        stackshot.microseconds = number


def _iter_items(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield type, flags and data of each whole item behind the first, which begins the buffer."""
    position = _ITEM.size
    while position + _ITEM.size <= len(content):
        kind, size, flags = _ITEM.unpack_from(content, position)
        position += _ITEM.size
        if kind == _BUFFER_END or position + size > len(content):
            return
        yield kind, flags, content[position : position + size]
        position += size


def _read_task_item(task: StackshotTask, kind: int, flags: int, payload: bytes) -> None:
    if kind == _TASK_SNAPSHOT and len(payload) >= _PID_AND_NAME.size:
        pid, name = _PID_AND_NAME.unpack_from(payload)
        task.pid, task.name = pid, decode_name(name)
    elif kind in _ARRAYS and flags >> 32 == _IMAGES:
        task.images = parse_images(_take_elements(flags, payload, _ADDRESS_AND_UUID.size))


def _read_thread_item(thread: StackshotThread, kind: int, flags: int, payload: bytes) -> None:
    if kind == _THREAD_SNAPSHOT and len(payload) >= _TID_AND_STATE.size:
        tid, state = _TID_AND_STATE.unpack_from(payload)
        thread.tid = tid if tid > 0 else -1
        thread.state = _describe_state(state)
    elif kind == _THREAD_NAME:
        thread.name = decode_name(payload)
    elif kind == _QUEUE_LABEL:
        thread.queue = decode_name(payload)
    elif kind in _ARRAYS and flags >> 32 in (_USER_FRAMES, _KERNEL_FRAMES):
        elements = _take_elements(flags, payload, 8)
        frames = struct.unpack(f"<{len(elements) // 8}Q", elements)
        if flags >> 32 == _USER_FRAMES:
            thread.user_frames = frames
        else:
            thread.kernel_frames = frames


def _take_elements(flags: int, payload: bytes, size: int) -> bytes:
    """Return the elements of an array without its padding; fewer than it claims where its data end."""
    return payload[: min(flags & 0xFFFF_FFFF, len(payload) // size) * size]


def parse_images(content: bytes) -> tuple[Image, ...]:
    """Return the images of an array of ``dyld_uuid_info_64``; entries of zeros were not readable."""
    entries = (
        (address, format_uuid(identity)) for address, identity in _ADDRESS_AND_UUID.iter_unpack(content)
    )
    return tuple(Image(address, identity) for address, identity in entries if identity)


def format_uuid(identity: bytes) -> str:
    """Return 16 bytes as Apple's tools print a UUID; "" for zeros."""
    return str(uuid.UUID(bytes=identity)).upper() if any(identity) else ""


def parse_stackshot_json(text: str, name: str) -> Stackshot:
    """Return a stackshot that a program wrote as JSON. Raises ``InputError`` for other content.

    Values that are missing or of another type are left out: versions of the programs differ.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(name, "is no stackshot as JSON.", "Save the stackshot again.") from error
    document = document[0] if isinstance(document, list) and document else document
    root = _get_object(_get_object(document).get(JSON_ROOT, document))
    if "task_snapshots" not in root:
        raise InputError(name, "is JSON without the tasks of a stackshot.", "Save the stackshot again.")
    timebase = _get_object(root.get("mach_timebase_info"))
    return Stackshot(
        [_read_json_task(_get_object(task)) for task in _get_object(root["task_snapshots"]).values()],
        _get_number(timebase.get("numer")),
        _get_number(timebase.get("denom")),
        _get_number(root.get("mach_absolute_time")),
        _get_number(root.get("usecs_since_epoch")),
    )


def _read_json_task(task: Mapping[str, Any]) -> StackshotTask:
    snapshot = _get_object(task.get("task_snapshot"))
    images = (_get_object(image) for image in _get_list(task.get("dyld_load_info")))
    return StackshotTask(
        _get_number(snapshot.get("ts_pid"), missing=-1),
        _get_text(snapshot.get("ts_p_comm")),
        tuple(
            Image(
                _get_number(image.get("imageLoadAddress")),
                _get_uuid(image.get("imageUUID")),
                _get_text(image.get("imagePath")),
            )
            for image in images
            if image.get("imageUUID")
        ),
        [_read_json_thread(_get_object(t)) for t in _get_object(task.get("thread_snapshots")).values()],
    )


def _read_json_thread(thread: Mapping[str, Any]) -> StackshotThread:
    snapshot = _get_object(thread.get("thread_snapshot"))
    state = _get_number(snapshot.get("ths_state"))
    user, kernel = (
        tuple(_get_number(_get_object(frame).get("lr")) for frame in _get_list(thread.get(name)))
        for name in ("user_stack_frames", "kernel_stack_frames")
    )
    return StackshotThread(
        _get_number(snapshot.get("ths_thread_id"), missing=-1),
        _get_text(thread.get("pth_name")),
        _get_text(thread.get("dispatch_queue_label")),
        _describe_state(state),
        user,
        kernel,
    )


def _describe_state(state: int) -> str:
    return "Blocked" if state & _WAITS else "Running" if state & _RUNS else ""


def _get_object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _get_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _get_uuid(value: object) -> str:
    """Return a UUID, also one of 16 numbers."""
    if isinstance(value, list):
        numbers = [_get_number(number) for number in value]
        return format_uuid(bytes(numbers)) if len(numbers) == 16 and max(numbers) < 256 else ""
    return _get_text(value).upper()


def _get_text(value: object) -> str:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _get_number(value: object, missing: int = 0) -> int:
    if isinstance(value, str) and (match := _WRITTEN_NUMBER.fullmatch(value)):
        value = int(match[1], 0 if match[1].startswith("0x") else 10)
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_NUMBER
    return int(value) if is_number and isinstance(value, int) else missing
