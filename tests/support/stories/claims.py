"""Statements of an analysis about the calls of a recording: the one place that reads its columns.

A change of the analysis' columns changes this module and no property.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stories.model import ENGINES, Engine
from tracekit import Analysis
from tracekit.analysis.ownership.owners import Owner
from tracekit.checks.check import check
from tracekit.checks.results import Outcome


@dataclass(frozen=True)
class Claim:
    """The statement about one call; ``pid`` and ``tid`` are -1, ``model`` is "" where none is stated.

    ``engines`` are those that served it for certain, ``contested`` those that may have for longer, or at all. ``busy_ns`` and
    ``samples`` are in the order of ``ENGINES``.
    """

    start_ns: int
    end_ns: int
    model: str
    pid: int
    tid: int
    source: str
    engines: frozenset[Engine]
    contested: frozenset[Engine]
    busy_ns: tuple[int, ...]
    samples: tuple[int, ...]
    all_samples: int

    def text(self) -> str:
        """Return the claim in a line."""
        where = f"thread {self.tid:#x}" if self.tid >= 0 else "no thread"
        return (
            f"the call of {self.model or 'no model'} (pid {self.pid}, {where}, {self.source})"
            f" at [{self.start_ns / 1e6:.3f}, {self.end_ns / 1e6:.3f}) ms on {'+'.join(sorted(self.engines)) or '?'}"
        )


@dataclass(frozen=True)
class EngineTime:
    """The time of an engine's rows by owner: calls, several possible owners, none of the target's calls.

    Rows of different owners may overlap, so each is a sum of lengths, in which every row counts once.
    """

    owned_ns: int
    contested_ns: int
    others_ns: int


def claims_of(analysis: Analysis) -> list[Claim]:
    """Return a claim for each call of an analysis, in its order."""
    windows, works = analysis.window_rows, {str(work.engine): work for work in analysis.verdicts.works}
    tids = np.append(analysis.trace.threads["tid"].to_numpy(np.int64), -1)
    rows = analysis.attribution_rows
    samples = rows[["window_id", "samples"]].groupby("window_id")["samples"].sum().to_dict()
    return [
        Claim(
            int(window["start_ns"]),
            int(window["end_ns"]),
            str(window["model"]),
            int(window["pid"]),
            int(tids[window["thread_id"]]),
            str(window["source"]),
            frozenset(engine for engine in ENGINES if works[engine].is_serving[position]),
            frozenset(engine for engine in ENGINES if works[engine].contested_ns[position]),
            tuple(int(works[engine].busy_ns[position]) for engine in ENGINES),
            tuple(int(works[engine].samples[position]) for engine in ENGINES),
            int(samples.get(position, 0)),
        )
        for position, window in enumerate(windows.to_dict("records"))
    ]


def engine_time(analysis: Analysis, engine: Engine) -> EngineTime | None:
    """Return an engine's time by owner; None where no table has rows of the engine."""
    measured = analysis.measured
    frame, owners = measured._frame, measured.assignment
    of_engine = (frame["engine"] == engine).to_numpy(bool) & (frame["phase"] == "execute").to_numpy(bool)
    if not of_engine.any():
        return None
    lengths = np.maximum(frame["end_ns"].to_numpy(np.int64) - frame["start_ns"].to_numpy(np.int64), 0)
    owned, contested = (
        int(lengths[of_engine & owners.is_owner(owner)].sum()) for owner in (Owner.CALL, Owner.CONTESTED)
    )
    return EngineTime(owned, contested, int(lengths[of_engine].sum()) - owned - contested)


def contested_ns(analysis: Analysis, engine: Engine) -> int:
    """Return the time of an engine for which several owners are possible; 0 where the analysis has none."""
    time = engine_time(analysis, engine)
    return 0 if time is None else time.contested_ns


def outcomes_of(analysis: Analysis, requirements: Sequence[str]) -> dict[str, Outcome]:
    """Return the outcome of each requirement."""
    return {
        requirement: result.outcome
        for requirement, result in zip(requirements, check(analysis, requirements), strict=True)
    }
