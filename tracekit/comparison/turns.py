"""The order of recording: sides recorded one after the other differ by all that changed in between, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tracekit.comparison.observations import Observations
from tracekit.comparison.result import Caution

NOT_IN_TURN = "not-in-turn"


def compare_recording_times(base: Sequence[Observations], new: Sequence[Observations]) -> Iterator[Caution]:
    """Yield a caution where all runs of one side began before the first of the other.

    One run per side cannot alternate, and a start that is not known leaves the order open: neither has one.
    """
    base_times, new_times = ([parse_start(run) for run in side] for side in (base, new))
    known_base, known_new = ([time for time in times if time] for times in (base_times, new_times))
    if len(known_base) < len(base) or len(known_new) < len(new) or len(base) + len(new) < 3:
        return
    if max(known_base) < min(known_new):
        first, gap = "BASE", min(known_new) - max(known_base)
    elif max(known_new) < min(known_base):
        first, gap = "NEW", min(known_base) - max(known_new)
    else:
        return
    yield Caution(NOT_IN_TURN, {"first": first, "gap_s": gap.total_seconds()})


def parse_start(run: Observations) -> datetime | None:
    """Return when a run began; None where that is not known, or the time has no zone."""
    try:
        start = datetime.fromisoformat(run.analysis.trace.info.start)
    except ValueError:
        return None
    return start.astimezone(UTC) if start.tzinfo else None
