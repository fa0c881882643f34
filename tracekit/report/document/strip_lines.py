"""A strip in characters, and the places of its labels."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.report.document.blocks import Strip, StripKind, StripLine


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
