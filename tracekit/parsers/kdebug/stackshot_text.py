"""Stackshots as counted stacks, and those that programs write as JSON as a kind of text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from tracekit.errors import InputError
from tracekit.model.trace import TraceInfo
from tracekit.parsers.kdebug.kdebug_tasks import KERNEL_PID, name_thread
from tracekit.parsers.kdebug.stackshot import JSON_ROOT, Image, Stackshot, parse_stackshot_json
from tracekit.parsers.limits import Limits
from tracekit.parsers.text.json_text import read_json_text
from tracekit.parsers.text.pause import PauseCounts, PausedFrame, PausedImage
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_MARKS = ((JSON_ROOT,), ("task_snapshots",), ("mach_absolute_time", "usecs_since_epoch"))
"""Keys of which a stackshot has those of one group before its tasks, in the order of the kernel's items."""


def build_stackshot_recording(stackshot: Stackshot, name: str, limits: Limits) -> TextRecording:
    """Return each thread as one sample without a time. Raises ``InputError`` where there is none."""
    counts = PauseCounts(name, limits)
    tasks = stackshot.tasks
    kernel = _ImageStarts(next((task.images for task in tasks if task.pid == KERNEL_PID), ()))
    for task in tasks:
        images = _ImageStarts(task.images)
        for thread in task.threads:
            row = counts.add_thread(thread.tid, name_thread(thread.name, thread.queue), task.pid, task.name)
            frames = [*kernel.pair_frames(thread.kernel_frames), *images.pair_frames(thread.user_frames)]
            counts.add_stack(row, counts.add_frames(frames), 1, thread.state)
    if not len(counts):
        raise InputError(name, "is a stackshot without a thread.", "Save the stackshot again.")
    return TextRecording(TraceInfo(name, "stackshot"), (counts,))


class _ImageStarts:
    """Images of a process, none of which has an end: a frame lies in the last one that begins before it."""

    def __init__(self, images: Sequence[Image]) -> None:
        in_order = sorted(images)
        self._starts = [image.address for image in in_order]
        self._images = [
            PausedImage(image.name, image.path, image.uuid, "", image.address) for image in in_order
        ]

    def pair_frames(self, addresses: Sequence[int]) -> list[tuple[PausedFrame, PausedImage | None]]:
        """Return a frame for each address, with its image if there is one."""
        rows = (bisect_right(self._starts, address) - 1 for address in addresses)
        return [
            (PausedFrame("", address=address), self._images[row] if row >= 0 else None)
            for address, row in zip(addresses, rows, strict=True)
        ]


def _is_stackshot_json(head: str) -> bool:
    start = head.lstrip("\ufeff \t\r\n[")
    return start[:1] == "{" and any(all(f'"{key}"' in head for key in keys) for keys in _MARKS)


def _read_stackshot_json(file: TextFile) -> Iterator[TextRecording]:
    stackshot = parse_stackshot_json(read_json_text(file), file.name)
    yield build_stackshot_recording(stackshot, file.name, file.limits)


STACKSHOT_JSON = TextKind("stackshot", "a stackshot of the kernel", _is_stackshot_json, _read_stackshot_json)
