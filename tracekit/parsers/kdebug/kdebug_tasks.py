"""Processes, threads and images of a kdebug recording, with their names.

The thread map and stackshots list what ran at the beginning; events add what began, was named or was loaded
later. Names of threads and queues are known where a stackshot lists them, or an event names them. Codes:
pykdebugparser's list, which is that of Apple's trace.codes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tracekit.parsers.kdebug.kdebug_samples import Words, select_rows
from tracekit.parsers.kdebug.kdebug_stream import Events, KdebugStream, decode_name
from tracekit.parsers.kdebug.stackshot import Image, Stackshot, StackshotTask, format_uuid

_TRACE_CLASS, _DYLD_CLASS = 0x07, 0x1F
_NEW_THREAD, _NEW_THREAD_NAME = 0x0700_0004, 0x0701_0004
_EXEC, _EXEC_NAME = 0x0700_0008, 0x0701_0008
_THREAD_NAME, _PREVIOUS_THREAD_NAME = 0x0701_0010, 0x0701_0014
LOST_EVENTS = 0x0702_0008
_IMAGE_LOADED = 0x1F05_0000
_PLACE = np.uint32(3)
_MAX_IMAGES = 20_000
KERNEL_PID = 0


@dataclass
class KnownThread:
    """The process and the names of a thread; -1 for an unknown process."""

    pid: int = -1
    name: str = ""


@dataclass
class KdebugTasks:
    """The threads by tid, and the names and images of processes by pid."""

    threads: dict[int, KnownThread] = field(default_factory=dict)
    process_names: dict[int, str] = field(default_factory=dict)
    images: dict[int, dict[int, Image]] = field(default_factory=dict)
    """By pid: the image at each load address."""
    losses: int = 0
    """How often events were lost because nobody read them in time."""

    def find_images(self, pid: int) -> tuple[Words, list[Image]]:
        """Return the load addresses of a process in ascending order, and the image of each."""
        images = sorted(self.images.get(pid, {}).values())
        return np.array([image.address for image in images], np.uint64), images


def collect_tasks(stream: KdebugStream, stackshots: Iterable[Stackshot]) -> KdebugTasks:
    """Return what thread map, stackshots and events say, the later over the earlier."""
    tasks = KdebugTasks()
    for thread in stream.threads:
        tasks.threads[thread.tid] = KnownThread(thread.pid)
        tasks.process_names[thread.pid] = thread.process
    for stackshot in stackshots:
        for task in stackshot.tasks:
            _add_task(tasks, task)
    _add_events(tasks, stream.events[select_rows(stream.events, (_TRACE_CLASS, _DYLD_CLASS))])
    return tasks


def name_thread(name: str, queue: str) -> str:
    """Return a thread's name and that of its queue, as far as they are known."""
    return f"{name} ({queue})" if name and queue else name or queue


def _add_task(tasks: KdebugTasks, task: StackshotTask) -> None:
    if task.pid >= 0:
        tasks.process_names[task.pid] = task.name or tasks.process_names.get(task.pid, "")
    _add_images(tasks, task.pid, task.images)
    for thread in task.threads:
        tasks.threads[thread.tid] = KnownThread(task.pid, name_thread(thread.name, thread.queue))


def _add_images(tasks: KdebugTasks, pid: int, images: Iterable[Image]) -> None:
    known = tasks.images.setdefault(pid, {})
    for image in images:
        if len(known) < _MAX_IMAGES:
            known[image.address] = image


def _add_events(tasks: KdebugTasks, events: Events) -> None:
    """Apply the events that name threads and processes or load images, in the order of the file."""
    codes = events["code"] & ~_PLACE
    tasks.losses = int((codes == LOST_EVENTS).sum())
    known_codes = (
        _NEW_THREAD, _NEW_THREAD_NAME, _EXEC, _EXEC_NAME, _THREAD_NAME, _PREVIOUS_THREAD_NAME, _IMAGE_LOADED
    )  # fmt: skip
    rows = np.flatnonzero(np.isin(codes, known_codes))
    new_pid: dict[int, int] = {}
    for row, code in zip(rows.tolist(), codes[rows].tolist(), strict=True):
        tid = int(events["tid"][row])
        arguments = [int(argument) for argument in events["arguments"][row]]
        text = decode_name(events["arguments"][row].tobytes())
        if code == _NEW_THREAD:
            tasks.threads[arguments[0]] = KnownThread(arguments[1])
            new_pid[tid] = arguments[1]
        elif code == _EXEC:
            new_pid[tid] = arguments[0]
            tasks.threads.setdefault(tid, KnownThread()).pid = arguments[0]
        elif code in (_NEW_THREAD_NAME, _EXEC_NAME):
            if text and tid in new_pid:  # the name follows the number on the same thread
                tasks.process_names[new_pid[tid]] = text
        elif code == _IMAGE_LOADED:
            thread = tasks.threads.get(tid)
            identity = format_uuid(events["arguments"][row].tobytes()[:16])
            if thread is not None and identity:
                _add_images(tasks, thread.pid, [Image(arguments[2], identity)])
        elif text:
            tasks.threads.setdefault(tid, KnownThread()).name = text
