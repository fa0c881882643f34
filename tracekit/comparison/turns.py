"""The order of recording: sides recorded one after the other differ by all that changed in between, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from tracekit.comparison.drift import RunOrder
from tracekit.comparison.observations import Observations
from tracekit.comparison.result import Caution
from tracekit.comparison.sessions import FEWEST_DEGREES, SessionNoise

NOT_IN_TURN = "not-in-turn"
ORDER_UNKNOWN = "order-unknown"
SESSION_NOISE = "session-noise"
SESSION_GAP_S = 4 * 3600.0
"""Recordings that begin further apart than this are of two sessions: a choice."""
Order: TypeAlias = Literal["in turn", "one after the other", "unknown", "one run each"]


def find_order(base: Sequence[Observations], new: Sequence[Observations]) -> tuple[Order, Caution | None]:
    """Return the order in which the runs of the sides began, and the caution for it.

    One after the other is where all runs of one side began before the first of the other. One run per side
    cannot alternate: what is between the two is a part of how runs differ.
    """
    base_times, new_times = ([parse_start(run) for run in side] for side in (base, new))
    known_base, known_new = ([time for time in times if time] for times in (base_times, new_times))
    is_pair = len(base) == len(new) == 1
    if len(known_base) < len(base) or len(known_new) < len(new):
        return ("one run each", None) if is_pair else ("unknown", Caution(ORDER_UNKNOWN))
    if max(known_base) < min(known_new):
        first, gap = "BASE", min(known_new) - max(known_base)
    elif max(known_new) < min(known_base):
        first, gap = "NEW", min(known_base) - max(known_new)
    else:
        return ("one run each" if is_pair else "in turn"), None
    caution = Caution(NOT_IN_TURN, {"first": first, "gap_s": gap.total_seconds()})
    return "one run each" if is_pair else "one after the other", caution


def place_runs(base: Sequence[Observations], new: Sequence[Observations]) -> RunOrder:
    """Return the places of runs in the series of all, by known times; the same time is one place."""
    starts = [start for run in (*base, *new) if (start := parse_start(run)) is not None]
    _, places = np.unique([start.timestamp() for start in starts], return_inverse=True)
    return RunOrder(places[: len(base)], places[len(base) :])


def judge_order(
    order: Order, caution: Caution | None, sessions: SessionNoise | None, has_noise_runs: bool
) -> Iterator[Caution]:
    """Yield what the order of recording leaves open, or the spread between sessions that accounts for it.

    A given spread between single runs is taken as it is given. One that recordings of one session show lacks
    what sessions differ by, which counts for two runs of two sessions.
    """
    if sessions is not None:
        is_given = sessions.fraction is not None
        facts = {"session_noise": sessions.fraction} if is_given else {"sessions": len(sessions.builds)}
        yield Caution(SESSION_NOISE, facts)
    elif caution is not None:
        gap_s = float(str(caution.facts.get("gap_s", 0)))
        if order != "one run each" or (has_noise_runs and gap_s > SESSION_GAP_S):
            yield caution


def parse_start(run: Observations) -> datetime | None:
    """Return when a run began; None where that is not known, or the time has no zone."""
    try:
        start = datetime.fromisoformat(run.analysis.trace.info.start)
    except ValueError:
        return None
    return start.astimezone(UTC) if start.tzinfo else None


def split_sessions(groups: Sequence[Sequence[Observations]]) -> tuple[list[list[Observations]], list[int]]:
    """Return the recordings of each session and the number of its build; builds as they are for too few.

    A build of which a recording has no known start counts as one session.
    """
    sessions: list[list[Observations]] = []
    builds: list[int] = []
    for build, group in enumerate(groups):
        split = _split_build(group)
        sessions += split
        builds += [build] * len(split)
    if len(sessions) - len(groups) < FEWEST_DEGREES:
        return [list(group) for group in groups], []
    return sessions, builds


def _split_build(group: Sequence[Observations]) -> list[list[Observations]]:
    starts = [start for run in group if (start := parse_start(run)) is not None]
    if len(starts) < len(group):
        return [list(group)]
    order = sorted(range(len(group)), key=lambda index: starts[index])
    sessions = [[group[order[0]]]]
    for before, index in pairwise(order):
        if (starts[index] - starts[before]).total_seconds() > SESSION_GAP_S:
            sessions.append([])
        sessions[-1].append(group[index])
    return sessions
