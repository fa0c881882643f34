"""Hand-offs: each window's engines in their order, in words.

A run can have as many segments as samples: they stay columns, and only the few that a sentence names are
looked at one by one.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import ENGINE_CODE, ENGINES, Basis, Engine
from tracekit.text import format_ms_or_us

_MOST_TOLD = 6
_JOINTS = ("", " → ", " ∥ ")


class HandOffs:
    """A ``timeline.SEGMENTS`` frame by window; windows are numbered from 0."""

    def __init__(self, segments: pd.DataFrame, windows: int) -> None:
        self._segments, self._count = segments, windows
        self._window = segments["window_id"].to_numpy(np.int64)
        self._starts, self._ends = (segments[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        codes = np.array([ENGINE_CODE[Engine(name)] for name in segments["engine"].cat.categories], np.int64)
        self._engine = codes[segments["engine"].cat.codes.to_numpy()]
        self._edges = np.searchsorted(self._window, np.arange(windows + 1))
        self._places: dict[tuple[Engine, Engine], list[str]] = {}

    def order(self, window: int) -> tuple[Engine, ...]:
        """Return the engines of a window's segments."""
        edges, engines = self._order
        return tuple(engines[edges[window] : edges[window + 1]])

    def words(self, window: int) -> str:
        """Return ``ANE 2.0 ms → CPU 2.1 ms (sampled) → ANE 18.0 ms``; engines at once are joined by ``∥``."""
        edges, told = self._told
        own = told[edges[window] : edges[window + 1]]
        text = "".join(
            [f"{joint}{engine} {format_ms_or_us(busy)}{basis}" for joint, engine, busy, basis in own]
        )
        more = int(self._edges[window + 1] - self._edges[window]) - _MOST_TOLD
        return f"{text} → {more} more" if more > 0 else text

    def place(self, window: int, engine: Engine, lead: Engine) -> str:
        """Say where in a window an engine worked, seen from the leading one; "" where one of them did not."""
        if (engine, lead) not in self._places:
            self._places[engine, lead] = self._places_of(engine, lead)
        return self._places[engine, lead][window]

    @cached_property
    def _order(self) -> tuple[list[int], list[Engine]]:
        return self._edges.tolist(), np.array(ENGINES, object)[self._engine].tolist()

    @cached_property
    def _told(self) -> tuple[list[int], list[tuple[str, Engine, int, str]]]:
        """Return where each window's segments to tell begin, and these: joint, engine, busy time, basis."""
        number = np.arange(len(self._window)) - self._edges[self._window]
        at = np.flatnonzero(number < _MOST_TOLD)
        at_once = self._starts[at] < self._ends[at - 1]
        joints = np.array(_JOINTS, object)[np.where(number[at] > 0, 1 + at_once, 0)]
        basis = self._segments["basis"].cat
        words = ["" if name == Basis.MEASURED else f" ({name})" for name in basis.categories]
        columns = (
            joints,
            np.array(ENGINES, object)[self._engine[at]],
            self._segments["busy_ns"].to_numpy(np.int64)[at],
            np.array(words, object)[basis.codes.to_numpy()[at]],
        )
        edges = np.append(0, np.cumsum(np.minimum(np.diff(self._edges), _MOST_TOLD)))
        return edges.tolist(), list(zip(*(column.tolist() for column in columns), strict=True))

    def _places_of(self, engine: Engine, lead: Engine) -> list[str]:
        """Return ``place`` for every window. In a window, segments of one engine never share time."""
        at = np.flatnonzero(np.isin(self._engine, [ENGINE_CODE[engine], ENGINE_CODE[lead]]))
        window, own = self._window[at], self._engine[at] == ENGINE_CODE[engine]
        opens, hands_over = np.diff(window, prepend=-1) > 0, np.diff(own, prepend=False)
        turns = opens | hands_over
        meets = turns & ~opens & (self._starts[at] < np.roll(self._ends[at], 1))

        def count(marked: BoolArray) -> IntArray:
            return np.bincount(window[marked], minlength=self._count)

        own_turns, other_turns = count(turns & own), count(turns & ~own)
        once = own_turns == 1
        cases = {
            "": (own_turns == 0) | (other_turns == 0),
            " at the same time": count(meets) > 0,
            " at the start": once & (count(opens & own) > 0),
            " at the end": once & (count(np.roll(opens, -1) & own) > 0),
            " in the middle": once,
            " around it": (own_turns == 2) & (other_turns == 1),
        }
        places: list[str] = np.select(list(cases.values()), list(cases), "more").tolist()
        return [
            f" in {turns} places" if place == "more" else place
            for place, turns in zip(places, own_turns.tolist(), strict=True)
        ]
