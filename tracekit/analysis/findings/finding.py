"""``Finding``: one thing that happened in a recording, its cost, its basis and what to do next, as data."""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias

import numpy as np

from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.kind import Kind, Numbers
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.trace import Severity
from tracekit.model.vocabulary import Basis

Confidence: TypeAlias = Literal["certain", "likely", "possible"]
"""Certain: measured, or seen on stacks, and nothing else explains it. Likely: samples or a coincidence in
time show it. Possible: it is one of several explanations."""
_MOST_RANGES = 64


@frozen
class WindowRanges:
    """Some windows of an analysis: their number, and the first ``(first, last)`` ranges, both inclusive."""

    count: int = 0
    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, windows: IntArray) -> WindowRanges:
        """Return the ranges of window numbers in ascending order."""
        if not len(windows):
            return cls()
        breaks = np.flatnonzero(np.diff(windows) != 1)
        firsts = windows[np.append(0, breaks + 1)[:_MOST_RANGES]].tolist()
        lasts = windows[np.append(breaks, len(windows) - 1)[:_MOST_RANGES]].tolist()
        return cls(len(windows), tuple(zip(firsts, lasts, strict=True)))

    def has_all(self, other: WindowRanges) -> bool:
        """Return whether the listed ranges hold those of others, which are all listed."""
        listed = sum(last - first + 1 for first, last in other.ranges)
        return listed == other.count and all(
            any(low <= first and last <= high for low, high in self.ranges) for first, last in other.ranges
        )


@frozen
class Support:
    """What a finding rests on: ``count`` rows of a table, samples with a frame, or lines of the log.

    ``source`` is the table, or the binary of the frame; ``detail`` the frame, the label or the line.
    """

    kind: Literal["table", "frame", "log"]
    source: str
    detail: str = ""
    count: int = 0


@frozen(kw_only=True)
class Finding(Generic[Numbers]):
    """One thing that happened.

    ``basis`` is that of the numbers, ``confidence`` that of the conclusion. ``model`` and ``pid`` are those
    of the calls in ``windows``; "" and -1 where it is about the run or a model without a name. ``start_ns``
    and ``end_ns`` are where to look. ``lost_ns`` is the time lost, summed over the calls; None where the
    recording does not carry it.
    """

    kind: Kind[Numbers]
    severity: Severity
    confidence: Confidence
    basis: Basis
    numbers: Numbers
    model: str = ""
    pid: int = -1
    windows: WindowRanges = WindowRanges()
    start_ns: int | None = None
    end_ns: int | None = None
    lost_ns: int | None = None
    support: tuple[Support, ...] = ()
    actions: tuple[Action, ...] = ()

    @property
    def is_limit(self) -> bool:
        """Return whether it limits what the recording can show: a person reads it among its limits."""
        return self.kind.about == "limit"
