"""Shares of samples of two texts without times, as a sentence and as rows."""

from __future__ import annotations

from tracekit.comparison.result import Comparison
from tracekit.comparison.samples import SampleShare
from tracekit.model.vocabulary import ML_ENGINES, Phase
from tracekit.text import clip, format_percent, printable

HEADER = ("thread", "engine", "phase", "BASE", "NEW", "difference")
"""The columns of ``sample_cells``; the last three are numbers."""
TITLE = "Shares of samples (no interval can be given)"
NOTE = (
    "Samples count waiting threads as well, and those of one wait belong together: a difference here may be"
    " chance, and no interval shows how much of it. Record both sides to compare lengths of calls."
)
_NAME_WIDTH = 40
_MOST = 3


def sample_sentence(comparison: Comparison) -> str:
    """Return the first sentences about sides of which one or both have no times."""
    if len(comparison.without_times) == 1:
        side = comparison.without_times[0]
        other = "NEW" if side == "BASE" else "BASE"
        return (
            f"{side} has samples without times and {other} has not: no call of {side} has a length, and its"
            " samples count waiting threads as well, so no number of the two can be compared."
        )
    rows = [row for row in comparison.samples if not row.thread and _is_ml(row)]
    if not rows:
        return "No call has a length here, and neither side has a sample in ML code."
    rows.sort(key=lambda row: -max(row.base, row.new))
    listed = "; ".join(
        f"{_what(row)} {_share(row.base_share)} in BASE, {_share(row.new_share)} in NEW"
        for row in rows[:_MOST]
    )
    return f"No call has a length here. Shares of all samples, without an interval: {listed}."


def _is_ml(row: SampleShare) -> bool:
    return row.engine in [str(engine) for engine in ML_ENGINES] and row.phase != Phase.IDLE


def _what(row: SampleShare) -> str:
    return f"{row.engine} {row.phase}".rstrip()


def _share(share: float | None) -> str:
    return "none" if share is None else format_percent(share, 1)


def sample_cells(row: SampleShare) -> list[str]:
    """Return a row as the cells of ``HEADER``."""
    points = "" if row.difference is None else f"{100 * row.difference:+.1f} pts".replace("-", "−")
    return [
        clip(printable(row.thread), _NAME_WIDTH) or "all threads",
        row.engine,
        row.phase,
        f"{_share(row.base_share)} ({row.base:,})",
        f"{_share(row.new_share)} ({row.new:,})",
        points,
    ]


def side_text(comparison: Comparison, name: str) -> str:
    """Return how much a side without times has: ``2,088 samples``; "" for one with times."""
    if name not in comparison.without_times:
        return ""
    side = comparison.base if name == "BASE" else comparison.new
    samples = sum(run.answer.samples for run in side.runs)
    return f"{samples:,} {'sample' if samples == 1 else 'samples'} without times"
