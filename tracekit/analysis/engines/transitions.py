"""Transitions: the engines of each window in their order, and where in a window an engine worked.

A run can have as many segments as samples: they stay columns, and only the few that a sentence names become
records.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import BASES
from tracekit.analysis.engines.segments import SEGMENTS, Segments
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, Basis, Engine

MOST_LISTED = 6
"""How many transitions of a window become records; the others are counted."""
Position: TypeAlias = Literal["", "at the same time", "start", "end", "middle", "around", "several"]
"""Where an engine worked in a window, seen from the leading engine; "" where one of them did not work."""
_POSITIONS: tuple[Position, ...] = ("", "at the same time", "start", "end", "middle", "around", "several")


class Transition(NamedTuple):
    """One stretch of a window on one engine; ``overlaps`` if it begins before the previous one ended."""

    engine: Engine
    busy_ns: int
    basis: Basis
    overlaps: bool


class Transitions:
    """The segments of a run by window."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._latest: tuple[range, _Block] = range(0), _Block(SEGMENTS.empty(), range(0))

    def order(self, window: int) -> tuple[Engine, ...]:
        """Return the engines of a window's segments."""
        return self._block(window).order(window)

    def count(self, window: int) -> int:
        """Return how many segments a window has."""
        return self._block(window).count(window)

    def first(self, window: int) -> tuple[Transition, ...]:
        """Return a window's first segments, at most ``MOST_LISTED``."""
        return self._block(window).first(window)

    def position(self, window: int, engine: Engine, lead: Engine) -> tuple[Position, int]:
        """Return where in a window an engine worked, seen from the leading one, and in how many stretches."""
        return self._block(window).position(window, engine, lead)

    def _block(self, window: int) -> _Block:
        windows, block = self._latest
        if window not in windows:
            windows = self._segments.windows_around(window)
            block = _Block(self._segments.around(window), windows)
            self._latest = windows, block
        return block


class _Block:
    """A ``SEGMENTS`` frame by window."""

    def __init__(self, segments: pd.DataFrame, windows: range) -> None:
        self._windows, self._count = windows, len(windows)
        self._window = segments["window_id"].to_numpy(np.int64) - windows.start
        self._starts, self._ends, self._busy = (
            segments[name].to_numpy(np.int64) for name in ("start_ns", "end_ns", "busy_ns")
        )
        self._engine = _recoded(segments["engine"], ENGINE_CODE)
        self._basis = _recoded(segments["basis"], {basis: code for code, basis in enumerate(BASES)})
        # The segments of window w are those from edges[w] to edges[w + 1].
        edges = np.searchsorted(self._window, np.arange(self._count + 1))
        self._edges: list[int] = edges.tolist()
        self._positions: dict[tuple[Engine, Engine], tuple[IntArray, IntArray]] = {}

    def order(self, window: int) -> tuple[Engine, ...]:
        rows = self._rows(window)
        return tuple([ENGINES[code] for code in self._engine[rows.start : rows.stop].tolist()])

    def count(self, window: int) -> int:
        return len(self._rows(window))

    def first(self, window: int) -> tuple[Transition, ...]:
        rows = self._rows(window)
        return tuple(
            Transition(
                ENGINES[self._engine[row]],
                int(self._busy[row]),
                BASES[self._basis[row]],
                bool(row > rows.start and self._starts[row] < self._ends[row - 1]),
            )
            for row in rows[:MOST_LISTED]
        )

    def position(self, window: int, engine: Engine, lead: Engine) -> tuple[Position, int]:
        if (engine, lead) not in self._positions:
            self._positions[engine, lead] = self._positions_of(engine, lead)
        codes, stretches = self._positions[engine, lead]
        row = window - self._windows.start
        return _POSITIONS[codes[row]], int(stretches[row])

    def _rows(self, window: int) -> range:
        row = window - self._windows.start
        return range(self._edges[row], self._edges[row + 1])

    def _positions_of(self, engine: Engine, lead: Engine) -> tuple[IntArray, IntArray]:
        """Return the code of the position, and the number of stretches, of every window."""
        # Only segments of the two engines count. In a window, segments of one engine never share time, so a
        # new stretch begins wherever the engine changes:
        #   engine      C  C  A  A  C  |  A  C
        #   stretch     1     2     3  |  1  2     (opens: the first of its window)
        rows = np.flatnonzero(np.isin(self._engine, [ENGINE_CODE[engine], ENGINE_CODE[lead]]))
        window, is_engine = self._window[rows], self._engine[rows] == ENGINE_CODE[engine]
        opens, changes = np.diff(window, prepend=-1) > 0, np.diff(is_engine, prepend=False)
        # ``changes`` also compares the last row of a window with the first of the next; ``opens`` marks that
        # row anyway.
        begins = opens | changes
        # A stretch that begins before the row above it has ended: both engines worked at once.
        meets = begins & ~opens & (self._starts[rows] < np.roll(self._ends[rows], 1))

        def count(marked: BoolArray) -> IntArray:
            return np.bincount(window[marked], minlength=self._count)

        stretches, lead_stretches = count(begins & is_engine), count(begins & ~is_engine)
        is_single = stretches == 1
        # The last row of a window is the one before an opening; of the last window, the roll brings the first
        # opening round.
        closes = np.roll(opens, -1)
        cases: dict[Position, BoolArray] = {  # the first that holds
            "": (stretches == 0) | (lead_stretches == 0),
            "at the same time": count(meets) > 0,
            "start": is_single & (count(opens & is_engine) > 0),
            "end": is_single & (count(closes & is_engine) > 0),
            "middle": is_single,
            "around": (stretches == 2) & (lead_stretches == 1),
        }
        codes = [_POSITIONS.index(name) for name in cases]
        position = np.select(list(cases.values()), codes, _POSITIONS.index("several"))
        return position.astype(np.int64), stretches


def _recoded(column: pd.Series[str], code_of: dict[Engine, int] | dict[Basis, int]) -> IntArray:
    """Return a category column as the vocabulary's codes."""
    by_name = {str(word): code for word, code in code_of.items()}
    codes = np.array([by_name[str(name)] for name in column.cat.categories], np.int64)
    recoded: IntArray = codes[column.cat.codes.to_numpy()]
    return recoded
