"""``Pause``: what every thread did at one moment, as debuggers, crash and hang reports show it → a table.

Each thread is one sample of its stack. The list of images gives frames their binary's UUID and load address,
so that ``--symbols`` can name them, and is evidence for nothing: a binary without a frame leaves no trace.
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
from tracekit.parsers.text.lines import TextFile
from tracekit.parsers.text.stack_counts import StackCounts

MAX_ADDRESS = 2**64 - 1
MAX_LINE_CHARACTERS = 32_000
"""A choice: characters of a line that are read; C++ templates have names of some thousands."""
_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?: ?(Z)| ?([+-]\d{2}):?(\d{2}))?\s*$"
)
_CUT_NAME = "..."
"""Crash reports shorten a long bundle id at its beginning."""


class Image(NamedTuple):
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
    shown and not counted, because the thread itself is.
    """

    tid: int = -1
    name: str = ""
    state: str = ""
    frames: list[PausedFrame] = field(default_factory=list)
    is_sample: bool = True
    pid: int = -1
    process: str = ""

    def add(self, frame: PausedFrame, missing: int = 0) -> bool:
        """Add the next frame; return True if so many before it are missing, for which one frame stands."""
        if missing > 0:
            self.frames.append(PausedFrame(CALLERS_MISSING if self.frames else CALLEES_MISSING))
        self.frames.append(frame)
        return missing > 0


@dataclass
class Pause:
    """The threads and images of a report."""

    threads: list[PausedThread] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    holes: int = 0
    """Places in stacks where the text leaves frames out."""

    def issues(self) -> tuple[Issue, ...]:
        """Return what is missing."""
        text = f"places in stacks where the text leaves frames out: {self.holes:,}"
        return (Issue("warning", "callers-missing", text, self.holes),) if self.holes else ()

    def counts(self, file: TextFile) -> StackCounts:
        """Return the threads as counted stacks."""
        return counts_of(file, self.threads, self.images)


def counts_of(file: TextFile, threads: Iterable[PausedThread], images: Sequence[Image]) -> StackCounts:
    """Return threads as counted stacks; each is let go of before the next one is taken."""
    counts = PauseCounts(file.name, file.limits)
    of_frames = _Images(images)
    for thread in threads:
        row = counts.thread(thread.tid, thread.name, thread.pid, thread.process)
        frames = counts.frames_of([(frame, of_frames.of(frame)) for frame in thread.frames])
        counts.add_stack(row, frames, int(thread.is_sample), thread.state)
    return counts


class PauseCounts(StackCounts):
    """Threads and stacks of frames with the images that they lie in."""

    def frames_of(self, frames: Sequence[tuple[PausedFrame, Image | None]]) -> list[int]:
        """Return the rows of a stack's frames, leaf first."""
        return [self._frame(frame, image, depth) for depth, (frame, image) in enumerate(frames)]

    def _frame(self, frame: PausedFrame, image: Image | None, depth: int) -> int:
        """Return the frame's row. ``depth`` is 0 for the leaf, whose address is the program counter."""
        binary, address = -1, frame.address
        if image is not None:
            name = image.name if not frame.binary or frame.binary.startswith(_CUT_NAME) else frame.binary
            binary = self.binary(name, image.path, image.uuid, image.arch, image.start)
            # Instruments records a leaf as its program counter + 1, and names are looked up one byte lower
            # (symbols/naming.py, which recognises a program counter of arm by its multiple of four).
            if depth == 0 and not image.arch.startswith("arm"):
                address = min(address + 1, MAX_ADDRESS)
        elif frame.binary:
            binary = self.binary(frame.binary)
        symbol = frame.symbol or (f"0x{frame.address:x}" if frame.address else "???")
        return self.frame(symbol, binary, address, frame.file, frame.line, is_inlined=frame.is_inlined)


class _Images:
    """Finds the image of a frame: by position, else by name and address, else by address."""

    def __init__(self, images: Sequence[Image]) -> None:
        self._images = images
        named: dict[str, list[Image]] = {}
        for image in images:
            named.setdefault(image.name, []).append(image)
        self._by_name = {name: _Ranges(of_name) for name, of_name in named.items()}
        self._with_end = _Ranges([image for image in images if image.end])

    def of(self, frame: PausedFrame) -> Image | None:
        """Return the image; None where none is certain."""
        if 0 <= frame.image < len(self._images):
            image = self._images[frame.image]
            return image if image.name else None
        if not frame.address:
            return None
        named = self._by_name.get(frame.binary)
        return (named and named.containing(frame.address)) or self._with_end.containing(frame.address)


class _Ranges:
    """Images by address."""

    def __init__(self, images: Sequence[Image]) -> None:
        self._images = sorted(images, key=lambda image: image.start)
        self._starts = [image.start for image in self._images]

    def containing(self, address: int) -> Image | None:
        """Return the image that holds an address; one without an end may hold any from its start."""
        position = bisect_right(self._starts, address) - 1
        image = self._images[position] if position >= 0 else None
        return image if image is not None and address <= (image.end or MAX_ADDRESS) else None


def thread_name(number: int | str, name: str = "", queue: str = "") -> str:
    """Return ``Thread 3: NAME, queue QUEUE``: the number is that of the report, which no other thread has."""
    parts = [name, f"queue {queue}" if queue else ""]
    facts = ", ".join(part for part in parts if part)
    return f"Thread {number}: {facts}" if facts else f"Thread {number}"


def json_text(value: object) -> str:
    """Return a text of JSON; "" for anything else. Half of a surrogate pair, which UTF-8 lacks, is "?"."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def uuid_of(text: str) -> str:
    """Return a UUID as recordings write it; "" for any other text."""
    try:
        return str(UUID(text)).upper()
    except ValueError:
        return ""


def iso_time(text: str) -> str:
    """Return ``2026-04-12 18:04:38.4848 +0300`` in ISO form; a text of another form as it is."""
    match = _TIME.match(text.strip())
    if match is None:
        return text.strip()
    date, time, utc, hours, minutes = match.groups()
    return f"{date}T{time}" + ("+00:00" if utc else f"{hours}:{minutes}" if hours else "")
