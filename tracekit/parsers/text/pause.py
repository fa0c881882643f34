"""``Pause``: the threads' stacks at one moment, from debuggers, crash and hang reports → a table.

Each thread is one sample of its stack. The list of images gives frames their binary's UUID and load address,
so that ``--symbols`` can name them, and is not evidence: a binary without a frame has no effect.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from tracekit.model.trace import Issue
from tracekit.model.vocabulary import CALLEES_MISSING, CALLERS_MISSING
from tracekit.parsers.text.stack_counts import StackCounts
from tracekit.parsers.text.text_file import TextFile

MAX_ADDRESS = 2**64 - 1
MAX_LINE_CHARACTERS = 32_000
"""Chosen limit: characters of a line that are read; C++ templates have names of some thousands."""
_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?: ?(Z)| ?([+-]\d{2}):?(\d{2}))?\s*$"
)
_CUT_NAME = "..."
"""Crash reports shorten a long bundle id at its beginning."""


class PausedImage(NamedTuple):
    """One entry of a list of images; ``end`` is the last address, 0 where the list has none."""

    name: str
    path: str = ""
    uuid: str = ""
    arch: str = ""
    start: int = 0
    end: int = 0


class PausedFrame(NamedTuple):
    """One frame: ``image`` is a position in the list of images, -1 where the text has a name only."""

    symbol: str
    binary: str = ""
    address: int = 0
    file: str = ""
    line: int = -1
    is_inlined: bool = False
    image: int = -1


@dataclass
class PausedThread:
    """A thread and its stack, leaf first.

    ``is_sample`` is False for a stack that a thread had earlier, such as where an exception was thrown: it is
    shown but not counted, because the thread itself is counted.
    """

    tid: int = -1
    name: str = ""
    state: str = ""
    frames: list[PausedFrame] = field(default_factory=list)
    is_sample: bool = True
    pid: int = -1
    process: str = ""

    def add(self, frame: PausedFrame, missing: int = 0) -> bool:
        """Add the next frame; for missing frames before it, add one frame and return True."""
        if missing > 0:
            self.frames.append(PausedFrame(CALLERS_MISSING if self.frames else CALLEES_MISSING))
        self.frames.append(frame)
        return missing > 0


@dataclass
class Pause:
    """The threads and images of a report."""

    threads: list[PausedThread] = field(default_factory=list)
    images: list[PausedImage] = field(default_factory=list)
    holes: int = 0
    """Places in stacks where the text leaves frames out."""

    def list_issues(self) -> tuple[Issue, ...]:
        """Return the issue about missing frames."""
        text = f"places in stacks where the text leaves frames out: {self.holes:,}"
        return (Issue("warning", "callers-missing", text, self.holes),) if self.holes else ()

    def build_counts(self, file: TextFile) -> StackCounts:
        """Return the threads as counted stacks."""
        return count_stacks(file, self.threads, self.images)


def count_stacks(
    file: TextFile, threads: Iterable[PausedThread], images: Sequence[PausedImage]
) -> StackCounts:
    """Return threads as counted stacks; only one thread at a time is in memory."""
    counts = PauseCounts(file.name, file.limits)
    of_frames = _ImageFinder(images)
    for thread in threads:
        row = counts.add_thread(thread.tid, thread.name, thread.pid, thread.process)
        frames = counts.add_frames([(frame, of_frames.find(frame)) for frame in thread.frames])
        counts.add_stack(row, frames, int(thread.is_sample), thread.state)
    return counts


class PauseCounts(StackCounts):
    """Threads and stacks of frames with the images that they lie in."""

    def add_frames(self, frames: Sequence[tuple[PausedFrame, PausedImage | None]]) -> list[int]:
        """Return the rows of a stack's frames, leaf first."""
        return [self._add_frame(frame, image, depth) for depth, (frame, image) in enumerate(frames)]

    def _add_frame(self, frame: PausedFrame, image: PausedImage | None, depth: int) -> int:
        """Return the frame's row. ``depth`` is 0 for the leaf, whose address is the program counter."""
        binary, address = -1, frame.address
        if image is not None:
            name = image.name if not frame.binary or frame.binary.startswith(_CUT_NAME) else frame.binary
            binary = self.add_binary(name, image.path, image.uuid, image.arch, image.start)
            # Instruments records a leaf as its program counter + 1, and names are looked up one byte lower
            # (symbols/naming.py, which recognises a program counter of arm by its multiple of four).
            if depth == 0 and not image.arch.startswith("arm"):
                address = min(address + 1, MAX_ADDRESS)
        elif frame.binary:
            binary = self.add_binary(frame.binary)
        symbol = frame.symbol or (f"0x{frame.address:x}" if frame.address else "???")
        return self.add_frame(symbol, binary, address, frame.file, frame.line, is_inlined=frame.is_inlined)


class _ImageFinder:
    """Finds the image of a frame: by position, else by name and address, else by address."""

    def __init__(self, images: Sequence[PausedImage]) -> None:
        self._images = images
        images_by_name: dict[str, list[PausedImage]] = {}
        for image in images:
            images_by_name.setdefault(image.name, []).append(image)
        self._by_name = {name: _Ranges(of_name) for name, of_name in images_by_name.items()}
        self._with_end = _Ranges([image for image in images if image.end])

    def find(self, frame: PausedFrame) -> PausedImage | None:
        """Return the image; None if it is uncertain."""
        if 0 <= frame.image < len(self._images):
            image = self._images[frame.image]
            return image if image.name else None
        if not frame.address:
            return None
        ranges = self._by_name.get(frame.binary)
        return (ranges and ranges.find_image(frame.address)) or self._with_end.find_image(frame.address)


class _Ranges:
    """Images by address."""

    def __init__(self, images: Sequence[PausedImage]) -> None:
        self._images = sorted(images, key=lambda image: image.start)
        self._starts = [image.start for image in self._images]

    def find_image(self, address: int) -> PausedImage | None:
        """Return the image that covers an address; one without an end covers all from its start."""
        position = bisect_right(self._starts, address) - 1
        image = self._images[position] if position >= 0 else None
        return image if image is not None and address <= (image.end or MAX_ADDRESS) else None


def format_thread_name(number: int | str, name: str = "", queue: str = "") -> str:
    """Return ``Thread 3: NAME, queue QUEUE``: the number is the report's, which is unique."""
    parts = [name, f"queue {queue}" if queue else ""]
    facts = ", ".join(part for part in parts if part)
    return f"Thread {number}: {facts}" if facts else f"Thread {number}"


def get_json_text(value: object) -> str:
    """Return a text of JSON; "" for anything else. Half of a surrogate pair, which UTF-8 lacks, is "?"."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def normalize_uuid(text: str) -> str:
    """Return a UUID as recordings write it; "" for any other text."""
    try:
        return str(UUID(text)).upper()
    except ValueError:
        return ""


def normalize_time(text: str) -> str:
    """Return ``2026-04-12 18:04:38.4848 +0300`` in ISO form; return any other text unchanged."""
    match = _TIME.match(text.strip())
    if match is None:
        return text.strip()
    date, time, utc, hours, minutes = match.groups()
    return f"{date}T{time}" + ("+00:00" if utc else f"{hours}:{minutes}" if hours else "")
