"""Transitions: the engines of each window in their order, and where in a window an engine worked.

A run can have as many segments as samples: of each window, the few that a sentence names are kept.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import BASES, convert_categories
from tracekit.analysis.engines.segments import SEGMENTS, Segments
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.content import Content
from tracekit.model.vocabulary import ENGINES, SERVING

MOST_LISTED = 6
"""How many transitions of a window are kept; the others are counted."""
POSITIONS = ("", "at the same time", "start", "end", "middle", "around", "several")
"""Where an engine worked in a window, seen from the leading engine; "" where one of them did not work."""


@frozen
class Transitions(Content):
    """The stretches of some windows on one engine each, in their order: parallel arrays.

    Window w has those from ``edges[w]`` up to ``edges[w + 1]``, the first of ``counts[w]``. ``engine`` and
    ``basis`` are positions in ``ENGINES`` and ``BASES``; ``overlaps`` marks one that begins before the
    previous one ended. ``position`` (in ``POSITIONS``) has a row per serving engine and an entry per window:
    where it worked, seen from the leading engine, in ``stretches`` separate stretches.
    """

    edges: IntArray
    counts: IntArray
    engine: IntArray
    busy_ns: IntArray
    basis: IntArray
    overlaps: BoolArray
    position: IntArray
    stretches: IntArray


def find_transitions(segments: Segments, start: int, stop: int, lead: IntArray) -> Transitions:
    """Return the transitions of the windows from ``start`` up to ``stop``.

    ``lead`` has their leading engines as positions in ``SERVING``, -1 where no other one is seen from it.
    """
    parts: list[dict[str, IntArray | BoolArray]] = []
    begin = start
    while begin < stop or not parts:
        frame, end = SEGMENTS.empty(), stop
        if begin < stop:
            frame, end = segments.around(begin), min(stop, segments.windows_around(begin).stop)
        parts.append(_Part(frame, begin, end).build_columns(lead[begin - start : end - start]))
        begin = end
    columns = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    listed_counts = np.minimum(columns["counts"], MOST_LISTED)
    return Transitions(edges=np.append(0, np.cumsum(listed_counts)), **columns)


class _Part:
    """The rows of a ``SEGMENTS`` frame that are of neighbouring windows."""

    def __init__(self, segments: pd.DataFrame, start: int, stop: int) -> None:
        begin, end = np.searchsorted(segments["window_id"].to_numpy(np.int64), (start, stop))
        rows = segments.iloc[begin:end]
        self._count = stop - start
        self._window, self._starts, self._ends, self._busy = (
            rows[name].to_numpy(np.int64) for name in ("window_id", "start_ns", "end_ns", "busy_ns")
        )
        self._window = self._window - start
        self._busy = self._busy + rows["host_ns"].to_numpy(np.int64)  # one of them is 0
        self._engine, self._basis = (
            convert_categories(rows["engine"], ENGINES),
            convert_categories(rows["basis"], BASES),
        )

    def build_columns(self, lead: IntArray) -> dict[str, IntArray | BoolArray]:
        """Return the columns of ``Transitions`` without ``edges``."""
        counts = np.bincount(self._window, minlength=self._count)
        number = np.arange(len(self._window)) - (np.cumsum(counts) - counts)[self._window]
        overlaps = (number > 0) & (self._starts < np.roll(self._ends, 1))
        is_listed = number < MOST_LISTED
        position = np.zeros((len(SERVING), self._count), np.int64)
        stretches = position.copy()
        for leading in np.unique(lead[lead >= 0]).tolist():
            rows = np.flatnonzero(lead == leading)
            for engine in {*range(len(SERVING))} - {leading}:
                places, pieces = self._find_positions(engine, leading)
                position[engine, rows], stretches[engine, rows] = places[rows], pieces[rows]
        return {
            "counts": counts,
            "engine": self._engine[is_listed],
            "busy_ns": self._busy[is_listed],
            "basis": self._basis[is_listed],
            "overlaps": overlaps[is_listed],
            "position": position,
            "stretches": stretches,
        }

    def _find_positions(self, engine: int, lead: int) -> tuple[IntArray, IntArray]:
        """Return the position of an engine, seen from the leading one, and its stretches, of every window."""
        # Only segments of the two engines count. In a window, segments of one engine never share time, so a
        # new stretch begins wherever the engine changes:
        #   engine      C  C  A  A  C  |  A  C
        #   stretch     1     2     3  |  1  2     (opens: the first of its window)
        rows = np.flatnonzero((self._engine == engine) | (self._engine == lead))
        window, is_engine = self._window[rows], self._engine[rows] == engine
        opens, changes = np.diff(window, prepend=-1) > 0, np.diff(is_engine, prepend=False)
        # ``changes`` also compares the last row of a window with the first of the next; ``opens`` marks that
        # row anyway.
        begins = opens | changes
        # A stretch that begins before the row above it has ended: both engines worked at once.
        meets = begins & ~opens & (self._starts[rows] < np.roll(self._ends[rows], 1))

        def count(mask: BoolArray) -> IntArray:
            return np.bincount(window[mask], minlength=self._count)

        stretches, lead_stretches = count(begins & is_engine), count(begins & ~is_engine)
        is_single = stretches == 1
        # The last row of a window is the one before an opening; of the last window, the roll brings the first
        # opening round.
        closes = np.roll(opens, -1)
        cases: dict[str, BoolArray] = {  # the first that holds
            "": (stretches == 0) | (lead_stretches == 0),
            "at the same time": count(meets) > 0,
            "start": is_single & (count(opens & is_engine) > 0),
            "end": is_single & (count(closes & is_engine) > 0),
            "middle": is_single,
            "around": (stretches == 2) & (lead_stretches == 1),
        }
        codes = [POSITIONS.index(name) for name in cases]
        position = np.select(list(cases.values()), codes, POSITIONS.index("several"))
        return position.astype(np.int64), stretches
