"""``Strip``: two lines of one width, whose parts correspond, and its form in characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class StripKind:
    """A kind of parts: its name in the legend, its sign in characters, and the engine of its colour.

    ``engine`` is "" for what is no engine's work: time between parts where it ``is_gap``, else what is not
    known.
    """

    name: str
    sign: str
    engine: str = ""
    is_gap: bool = False


@dataclass(frozen=True)
class StripPart:
    """A part of a line, from ``start`` to ``end`` (exclusive) of its width, which is 1.

    ``kind`` is a position in ``Strip.kinds``. ``text`` explains the part, ``label`` is written above it
    where there is room. ``rows`` are those of the next table that are about it: a part with rows is
    visible in characters, however short it is. ``range_ns`` is its place in the recording.
    """

    start: float
    end: float
    kind: int
    text: str
    label: str = ""
    rows: range = range(0)
    range_ns: tuple[int, int] | None = None


@dataclass(frozen=True)
class StripLine:
    """A named line of parts, in order; what no part covers is empty. ``ends`` are written at its ends."""

    name: str
    parts: tuple[StripPart, ...]
    ends: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Strip:
    """Two lines; ``links`` are pairs of positions of parts, above and below, that correspond."""

    caption: str
    kinds: tuple[StripKind, ...]
    above: StripLine
    below: StripLine
    links: tuple[tuple[int, int], ...] = ()

    @property
    def lines(self) -> tuple[StripLine, StripLine]:
        """Both lines."""
        return self.above, self.below

    @property
    def legend(self) -> list[StripKind]:
        """The kinds that occur."""
        present = {part.kind for line in self.lines for part in line.parts}
        return [kind for position, kind in enumerate(self.kinds) if position in present]


def format_legend(strip: Strip) -> str:
    """Return the signs of the kinds that occur: ``A Neural Engine, C CPU``."""
    return ", ".join(f"{kind.sign} {kind.name}" for kind in strip.legend)


def format_lines(strip: Strip, width: int) -> list[str]:
    """Return both lines as characters, each with its name, in lines of at most ``width`` characters."""
    names = max(len(line.name) for line in strip.lines)
    return [
        f"{line.name:<{names}}  {_draw_line(line, strip.kinds, max(1, width - names - 2))}".rstrip()
        for line in strip.lines
    ]


def _draw_line(line: StripLine, kinds: Sequence[StripKind], width: int) -> str:
    """Return one sign for each cell: that of the part with the most of it.

    Short parts that the table is about come last, so that each has a cell of its own where cells suffice.
    """
    covered = [0.0] * width
    signs = [" "] * width
    for part in line.parts:
        first, last = int(part.start * width), min(width - 1, int(part.end * width))
        for cell in range(first, last + 1):
            share = min(part.end * width, cell + 1) - max(part.start * width, cell)
            if share > covered[cell] + 1e-9:
                covered[cell], signs[cell] = share, kinds[part.kind].sign
    for part in line.parts:
        first, end = int(part.start * width), int(part.end * width)
        if part.rows and kinds[part.kind].sign not in signs[first : end + 1]:
            signs[min(first, width - 1)] = kinds[part.kind].sign
    return "".join(signs)


def place_labels(line: StripLine, character: float) -> dict[int, float]:
    """Return the centres of the labels that fit side by side, by part; ``character`` is the width of one.

    A label is centred above its part, and kept within the line, behind the line's name.
    """
    centers: dict[int, float] = {}
    begin = end = (len(line.name) + 1) * character
    for position, part in enumerate(line.parts):
        half = len(part.label) * character / 2
        center = min(max((part.start + part.end) / 2, begin + half), 1 - half)
        if part.label and center - half >= end - 1e-9:
            centers[position] = center
            end = center + half + character
    return centers
