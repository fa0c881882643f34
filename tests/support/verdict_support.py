"""The verdicts of an analysis, window by window: each from a block of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tracekit import Analysis
from tracekit.analysis.verdicts import VerdictBlock
from tracekit.report import wording


@dataclass(frozen=True)
class Verdict:
    verdict: str
    sentence: str
    why: str
    reason: str
    order: tuple[str, ...]
    """The engines of the window's segments."""


def verdicts_of(analysis: Analysis) -> list[Verdict]:
    segments = analysis.segments
    engines = segments["engine"].astype("str").to_numpy(object)
    return [
        in_words(analysis.verdicts.block(row, row + 1), tuple(engines[segments["window_id"] == row]))
        for row in range(len(analysis.verdicts))
    ]


def in_words(block: VerdictBlock, order: tuple[str, ...] = ()) -> Verdict:
    texts = (wording.describe_verdicts, wording.verdict_whys, wording.verdict_reasons)
    return Verdict(block.names[0], *(text(block)[0].as_py() for text in texts), order)
