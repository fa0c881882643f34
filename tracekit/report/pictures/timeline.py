"""The timeline as a picture: windows, measured intervals, threads with their engines, tracks, time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.vocabulary import ENGINES
from tracekit.report import wording
from tracekit.report.pictures.call_lanes import CallLane, call_lanes
from tracekit.report.pictures.shapes import Line, Picture, Rect, Words
from tracekit.report.viewmodel.lanes import Track, build_span_lanes, build_thread_lanes, build_tracks
from tracekit.report.viewmodel.notes import Note
from tracekit.report.viewmodel.occupancy import FULL, Plane
from tracekit.report.viewmodel.view import measure_duration
from tracekit.report.wording import call_names
from tracekit.text import clip, format_thread, printable

_MARGIN = 14
_HEAD = 46
_LANE = 22
_GAP = 5
_CALL = 14
"""The height of a call in a lane with several lines."""
_STEP = 2
"""Points of width of one bin of occupancy."""
_NICE = (1, 2, 5)
_FAINT = 0.3
_LETTER = 6.2
"""The mean width of a letter of a flag."""
_TICK_ROOM = 24
"""Half the width of a time that is written in the middle of its tick."""
_SHORTEST_FLAG, _LONGEST_FLAG = 6, 40
_LETTERS = {"MIXED": "M", "UNKNOWN": "?"}
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))


@frozen
class TimelineLayout:
    """The width of a picture, of the names of its lanes, and what it draws beside calls and engines."""

    width: int
    labels: int
    name_letters: int
    most_threads: int
    most_tracks: int
    note: str


WIDE = TimelineLayout(
    1200, 250, 30, 12, 4,
    "samples show which code called an engine, measured lanes when it worked (faint: for other apps)",
)  # fmt: skip
NARROW = TimelineLayout(760, 200, 18, 0, 0, "measured lanes: when an engine worked (faint: for other apps)")
"""Calls and measured engines alone, for a column of text."""


def timeline_picture(
    analysis: Analysis, notes: Sequence[Note] = (), layout: TimelineLayout = WIDE
) -> Picture:
    """Return a picture of the whole run: a lane per line, only the busiest threads, with a legend.

    ``notes`` are flags above the lanes, with a line down to the last one.
    """
    return _Drawing(analysis, notes, layout).picture()


class _Drawing:
    def __init__(self, analysis: Analysis, notes: Sequence[Note], layout: TimelineLayout) -> None:
        self._analysis, self._notes, self._layout = analysis, notes, layout
        self._duration_ns = measure_duration(analysis)
        self._plot = layout.width - layout.labels - 2 * _MARGIN
        self._bins = self._plot // _STEP
        self._picture = Picture(
            layout.width,
            0,
            f"Timeline of {analysis.trace.info.name}: {wording.headline(analysis.answer)}",
        )
        self._y = float(_HEAD)
        self._seen: set[str] = set()

    def picture(self) -> Picture:
        picture, analysis = self._picture, self._analysis
        lines = list(self._draw_lanes())
        height = int(self._y) + 2 * _LANE + _MARGIN
        ticks = self._list_ticks()
        last_middle = self._layout.width - _TICK_ROOM
        picture.height = height
        picture.add(Rect(0, 0, self._layout.width, height, "surface"))
        for x, text in ticks:
            picture.add(
                Line(((x, _HEAD - 6), (x, self._y)), "line"),
                Words(x, _HEAD - 12, text, 11, "muted", "end" if x > last_middle else "middle"),
            )
        title = clip(printable(analysis.trace.info.name), 60)
        picture.add(Words(_MARGIN, 22, title, 14, "text", bold=True))
        picture.add(*lines)
        for note in self._notes:
            x = self._scale_time(note.time_ns)
            picture.add(Line(((x, _HEAD), (x, self._y)), "text"))
        self._draw_legend(height - _LANE)
        return picture

    def _draw_lanes(self) -> Sequence[Rect | Line | Words]:
        shapes: list[Rect | Line | Words] = []
        shapes += self._draw_flags()
        shapes += self._draw_calls()
        for lane in build_span_lanes(self._analysis, self._bins, self._duration_ns):
            shapes += self._draw_lane(
                lane.title, "measured", [(str(lane.engine), lane.plane)], lane.other_plane
            )
        most = self._layout.most_threads
        threads = build_thread_lanes(self._analysis, self._bins, self._duration_ns) if most else []
        for thread in threads[:most]:
            row = self._analysis.trace.threads.iloc[thread.thread] if thread.thread >= 0 else None
            name = "no thread" if row is None else format_thread(row["name"], int(row["tid"]))
            process = "" if row is None else str(row["process"])
            planes = [
                (str(ENGINES[code]), plane) for code, plane in zip(thread.engines, thread.planes, strict=True)
            ]
            shapes += self._draw_lane(name, process, planes, is_scaled=True)
        if len(threads) > most:
            text = f"and {len(threads) - most} more threads"
            shapes.append(Words(_MARGIN, self._y + 14, text, 11, "muted"))
            self._y += _LANE
        for track in build_tracks(self._analysis)[: self._layout.most_tracks]:
            shapes += self._draw_track(track)
        return shapes

    def _draw_label(self, name: str, detail: str) -> list[Rect | Line | Words]:
        layout, y = self._layout, self._y + 15
        return [
            Words(_MARGIN, y, clip(printable(name), layout.name_letters), 12),
            Words(_MARGIN + layout.labels - 10, y, clip(printable(detail), 14), 10, "muted", "end"),
        ]

    def _draw_flags(self) -> list[Rect | Line | Words]:
        """Return a lane of the notes' texts; one that would lie over the one before stays a line."""
        if not self._notes:
            return []
        shapes = self._draw_label("Notes", "")
        right = 0.0
        for note in self._notes:
            x = self._scale_time(note.time_ns)
            room = int((self._layout.width - _MARGIN - x) / _LETTER)
            if x < right or room < _SHORTEST_FLAG:
                continue
            text = clip(note.text, min(room, _LONGEST_FLAG))
            right = x + _LETTER * len(text) + _GAP
            shapes.append(Words(x + 4, self._y + 15, text, 11))
        self._y += _LANE + _GAP
        return shapes

    def _draw_calls(self) -> list[Rect | Line | Words]:
        windows = self._analysis.window_rows
        if not len(windows) or (windows["source"] == "run").all():
            return []
        return [
            shape
            for lane in call_lanes(windows, call_names(self._analysis))
            for shape in self._call_lane(lane)
        ]

    def _call_lane(self, lane: CallLane) -> list[Rect | Line | Words]:
        windows, verdicts = self._analysis.window_rows, self._analysis.verdicts.names
        shapes = self._draw_label(lane.name, f"{lane.folded:,} more at once" if lane.folded else "calls")
        starts, ends = (windows[name].to_numpy(np.int64)[lane.rows] for name in ("start_ns", "end_ns"))
        height = _LANE - 4 if lane.lines == 1 else _CALL
        # Calls are in order of time, so one bound per line suffices: a call within pixels that are drawn
        # already adds a shape and no picture.
        right = [-1.0] * lane.lines
        calls = zip(lane.rows.tolist(), lane.line.tolist(), starts.tolist(), ends.tolist(), strict=True)
        for row, line, start, end in calls:
            x, width = self._scale_time(start), max(1.0, self._scale_time(end) - self._scale_time(start))
            if line < 0 or x + width <= right[line] or (width <= 1 and x < right[line]):
                continue
            right[line] = x + width
            verdict = verdicts[row]
            self._seen.add(verdict)
            y = self._y + 2 + line * (_CALL + 2)
            shapes.append(Rect(x, y, max(0.6, width - 0.6), height, verdict))
            if width > 10:
                letter = _LETTERS.get(verdict, verdict[:1])
                middle = y + height / 2 + 5
                shapes.append(Words(x + width / 2, middle, letter, 10, "surface", "middle", bold=True))
        self._y += (_LANE if lane.lines == 1 else 2 + lane.lines * (_CALL + 2)) + _GAP
        return shapes

    def _draw_lane(
        self,
        name: str,
        detail: str,
        planes: Sequence[tuple[str, Plane]],
        other_plane: Plane | None = None,
        is_scaled: bool = False,
    ) -> list[Rect | Line | Words]:
        """Return a lane with stacked engines, and other processes' work (``other_plane``) faint behind.

        With ``is_scaled``, the lane's height stands for a round share of time that holds its highest bin.
        """
        full = _scale([plane for _, plane in planes]) if is_scaled else 1.0
        shapes = self._draw_label(name, detail if full == 1 else f"max {100 * full:g} %")
        base = self._y + _LANE
        if other_plane is not None:
            share = other_plane.astype(np.float64) / FULL
            shapes += self._draw_pieces(planes[0][0], np.zeros(self._bins), share, base, _FAINT)
        shapes.append(Line(((self._scale_time(0), base), (self._layout.width - _MARGIN, base)), "line"))
        # Engines of one bin are stacked, and cut where together they exceed the lane: two may share a
        # rounded-up bin.
        stacked = np.zeros(self._bins)
        for engine, plane in planes:
            share = plane.astype(np.float64) / FULL / full
            share = np.minimum(share, 1 - stacked)
            shapes += self._draw_pieces(engine, stacked, share, base)
            stacked += share
        self._y += _LANE + _GAP
        return shapes

    def _draw_pieces(
        self,
        engine: str,
        offset: npt.NDArray[np.float64],
        share: npt.NDArray[np.float64],
        base: float,
        opacity: float = 1.0,
    ) -> list[Rect | Line | Words]:
        """Return the rectangles of one engine: a run of equal bins is one rectangle.

        ``share`` is the height of each bin and ``offset`` the height of the engines beneath it, of 0 to 1.
        """
        height = np.round(share * _LANE, 1)
        low = np.round(offset * _LANE, 1)
        # Compared after rounding, so that runs of nearly equal bins become one rectangle.
        changed = np.flatnonzero((np.diff(height) != 0) | (np.diff(low) != 0)) + 1
        edges = [0, *changed.tolist(), self._bins]
        pieces: list[Rect | Line | Words] = []
        for start, end in pairwise(edges):
            if height[start] > 0:
                x = _MARGIN + self._layout.labels + start * _STEP
                top = base - low[start] - height[start]
                pieces.append(Rect(x, top, (end - start) * _STEP, height[start], engine, opacity))
        if pieces:
            self._seen.add(engine)
        return pieces

    def _draw_track(self, track: Track) -> list[Rect | Line | Words]:
        shapes = self._draw_label(track.name, track.unit)
        if not np.isnan(track.value).all():
            low, high = float(np.nanmin(track.value)), float(np.nanmax(track.value))
            spread = (high - low) or 1.0
            points: list[tuple[float, float]] = []
            ends = np.append(track.time[1:], self._duration_ns)
            for start, end, value in zip(track.time, ends, track.value, strict=True):
                if not math.isnan(value):
                    y = self._y + _LANE - 3 - (value - low) / spread * (_LANE - 6)
                    points += [(self._scale_time(start), y), (self._scale_time(end), y)]
            shapes.append(Line(tuple(points), "accent"))
        self._y += _LANE + _GAP
        return shapes

    def _scale_time(self, time_ns: float) -> float:
        return _MARGIN + self._layout.labels + min(max(time_ns / self._duration_ns, 0.0), 1.0) * self._plot

    def _list_ticks(self) -> list[tuple[float, str]]:
        # About eight ticks, at 1, 2 or 5 times a power of ten.
        rough = self._duration_ns / 8
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (*_NICE, 10) if factor * power >= rough)
        scale, unit = next(((size, name) for size, name in _UNITS if step >= size), _UNITS[-1])
        times = [index * step for index in range(int(self._duration_ns // step) + 1)]
        return [(self._scale_time(time), f"{time / scale:g} {unit}") for time in times]

    def _draw_legend(self, y: float) -> None:
        x = float(_MARGIN)
        for name in [*(str(engine) for engine in ENGINES), "MIXED"]:
            if name in self._seen:
                self._picture.add(Rect(x, y - 10, 12, 12, name), Words(x + 17, y, name, 11))
                x += 30 + 7.5 * len(name)
        self._picture.add(Words(self._layout.width - _MARGIN, y, self._layout.note, 11, "muted", "end"))


def _scale(planes: Sequence[Plane]) -> float:
    """Return the share of time that a lane's height stands for, as ``scale.js`` chooses it."""
    highest = (
        np.sum([plane.astype(np.float64) for plane in planes], axis=0).max(initial=0.0) if planes else 0.0
    )
    return next((share for share in _SHARES if highest <= share * FULL), 1.0)
