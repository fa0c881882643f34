"""The Neural Engine's submissions: how many requests one inference makes, and for which of its segments.

A model that the engine can run in one piece is one segment: one submission per inference. A partitioned model
hands over to the host, or to another engine, between its segments. The table has one row per submission; its
label names the segment, in most forms of labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.codes import is_among, sum_by_code
from tracekit.analysis.engines.interval_sets import merge_by_group
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, Columns, IntArray, take_texts
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import Engine

SUBMISSIONS = Columns(
    {
        "window_id": "int64",
        "submissions": "Int64",  # <NA>: the ANE was not measured, or the window is no single inference
        "segments": "Int64",  # distinct ones; <NA>: as above, or the labels name none
        "names": "category",  # of the segments, in order, joined by ``SEPARATOR``; "" where one has none
        "covered_ns": "Int64",  # of the window
        "longest_ns": "Int64",  # submission
        "gaps_ns": "Int64",  # between the first submission and the last, without any
        "longest_gap_ns": "Int64",
    }
)
"""One row per window, in their order."""
_NUMBERS = ("submissions", "segments", "covered_ns", "longest_ns", "gaps_ns", "longest_gap_ns")
SEPARATOR = "\x1f"
_REGION = "region "
_MAX_ABSENT = 16
"""A number further beyond the others counts something else than regions."""


@frozen
class ModelSubmissions:
    """The submissions of one model's inferences; ``model`` is "" where the recording names none.

    Of ``windows``, ``without`` make no submission, ``first_without`` first. ``submissions`` and ``segments``
    count the others with each number of them, the most frequent first; ``usual`` is the median window of the
    most frequent number, ``unlike`` the first window with another one.
    ``names`` are the segments of the usual window. ``absent`` are numbers of regions that no submission has,
    although there are higher ones: these regions ran elsewhere, or are not in the recording. ``covered`` is
    a share of the usual window.
    """

    model: str
    windows: int
    without: int
    first_without: int | None
    submissions: tuple[tuple[int, int], ...]
    segments: tuple[tuple[int, int], ...]
    usual: int
    unlike: int | None
    names: tuple[str, ...]
    absent: tuple[str, ...]
    covered: float
    longest_ns: int
    gaps_ns: int
    longest_gap_ns: int


def count_submissions(windows: pd.DataFrame, measured: Measured) -> pd.DataFrame:
    """Return the submissions of each window (``SUBMISSIONS``).

    A submission is of the call that owns its interval; a call in whose time a contested one lies has no
    number.
    """
    single = _mark_single_inferences(windows) & (Engine.ANE in measured.engines)
    of_calls = _OfCalls(windows, measured.submissions)
    numbers = of_calls.numbers()
    known = single & ~measured.contested_submissions
    has_names = of_calls.named
    texts: dict[str, int] = {"": 0}
    patterns = np.array([texts.setdefault(text, len(texts)) for text in of_calls.names()], np.int64)
    # Windows that are the engine's own rows begin where a label repeats: without names, each row is a window.
    of_engine = is_among(windows["source"], *ANE_TABLES)
    has_names = known & (has_names | ((numbers["submissions"] <= 1) & ~of_engine))
    columns = {name: _mask_unknown(values, known) for name, values in numbers.items()}
    frame = pd.DataFrame(
        {
            "window_id": windows["window_id"].to_numpy(np.int64),
            **columns,
            "segments": _mask_unknown(numbers["segments"], has_names),
            "names": take_texts(np.where(known, patterns, 0), list(texts)),
        }
    )
    return SUBMISSIONS.check(frame[list(SUBMISSIONS.required)], "submissions")


def _mark_single_inferences(windows: pd.DataFrame) -> BoolArray:
    """Mark the windows that are one inference each: not those from stacks, which may be several."""
    mask: BoolArray = ~is_among(windows["source"], *GIVEN_SOURCES, "stacks")
    return mask


def _mask_unknown(values: IntArray, is_known: BoolArray) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(values, ~is_known)


class _OfCalls:
    """The submissions that calls own, as parallel arrays in order of window and time."""

    def __init__(self, windows: pd.DataFrame, rows: pd.DataFrame) -> None:
        count = len(windows)
        self._starts, self._ends = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        window, starts, ends = (rows[name].to_numpy(np.int64) for name in ("window", "start_ns", "end_ns"))
        order = np.lexsort((ends, starts, window))
        self._window, self._row_starts, self._row_ends = window[order], starts[order], ends[order]
        self._counts = np.bincount(window, minlength=count)
        segments = rows["segment"].astype("category")
        self._words = [str(word) for word in segments.cat.categories]
        self._segment = segments.cat.codes.to_numpy(np.int64)[order]
        is_named = np.array([bool(word) for word in self._words] + [False])[self._segment]
        self.named = np.bincount(self._window[~is_named], minlength=count) == 0

    def numbers(self) -> dict[str, IntArray]:
        """Return the amounts of each window."""
        count = len(self._counts)
        longest, longest_gap = np.zeros(count, np.int64), np.zeros(count, np.int64)
        np.maximum.at(longest, self._window, self._row_ends - self._row_starts)
        pieces = merge_by_group(self._window, self._row_starts, self._row_ends)
        window, starts, ends = pieces
        follows = np.flatnonzero(window[1:] == window[:-1]) + 1
        gaps = starts[follows] - ends[follows - 1]
        np.maximum.at(longest_gap, window[follows], gaps)
        inside_ns = np.minimum(ends, self._ends[window]) - np.maximum(starts, self._starts[window])
        distinct = np.unique(self._window * (len(self._words) + 1) + self._segment)
        return {
            "submissions": self._counts,
            "segments": np.bincount(distinct // (len(self._words) + 1), minlength=count),
            "covered_ns": sum_by_code(window, np.maximum(inside_ns, 0), count),
            "longest_ns": longest,
            "gaps_ns": sum_by_code(window[follows], gaps, count),
            "longest_gap_ns": longest_gap,
        }

    def names(self) -> Iterator[str]:
        """Yield the segments of each window in order of their first submission; few orders are distinct."""
        edges = np.concatenate([[0], np.cumsum(self._counts)]).tolist()
        codes = self._segment.astype(np.int32)
        content, width = codes.tobytes(), codes.itemsize
        texts: dict[bytes, str] = {}
        for start, stop in pairwise(edges):
            key = content[start * width : stop * width]
            if key not in texts:
                words = [self._words[code] for code in codes[start:stop].tolist()]
                texts[key] = SEPARATOR.join(dict.fromkeys(words)) if all(words) else ""
            yield texts[key]


def summarize_submissions(windows: pd.DataFrame, submissions: pd.DataFrame) -> tuple[ModelSubmissions, ...]:
    """Return a summary of each model with a submission, of the windows whose submissions are known."""
    rows = submissions[submissions["submissions"].notna().to_numpy(bool)]
    models = windows["model"].to_numpy(object)[rows.index.to_numpy()]
    groups = rows.groupby(models, sort=True) if len(rows) else ()
    return tuple(
        _summarize_model(str(model), members, windows)
        for model, members in groups
        if members["submissions"].sum()
    )


def _summarize_model(model: str, every: pd.DataFrame, windows: pd.DataFrame) -> ModelSubmissions:
    made_any = (every["submissions"] > 0).to_numpy(bool)
    rows, without = every[made_any], every[~made_any]
    counts = rows["submissions"].to_numpy(np.int64)
    (usual_count, _), *_others = submissions = _count_values(counts)
    usual_rows, other_rows = rows[counts == usual_count], rows[counts != usual_count]
    usual = usual_rows.iloc[
        np.argsort(usual_rows["covered_ns"].to_numpy(np.int64), kind="stable")[(len(usual_rows) - 1) // 2]
    ]
    window = windows.loc[usual.name]
    names = tuple(filter(None, str(usual["names"]).split(SEPARATOR)))
    return ModelSubmissions(
        model,
        len(every),
        len(without),
        int(without["window_id"].iloc[0]) if len(without) else None,
        submissions,
        _count_values(rows["segments"].dropna().to_numpy(np.int64)),
        int(usual["window_id"]),
        int(other_rows["window_id"].iloc[0]) if len(other_rows) else None,
        names,
        _find_absent_regions(names),
        int(usual["covered_ns"]) / max(1, int(window["end_ns"] - window["start_ns"])),
        *(int(usual[name]) for name in ("longest_ns", "gaps_ns", "longest_gap_ns")),
    )


def _count_values(numbers: IntArray) -> tuple[tuple[int, int], ...]:
    counts = Counter(numbers.tolist())
    return tuple(sorted(counts.items(), key=lambda entry: (-entry[1], -entry[0])))


def _find_absent_regions(names: Sequence[str]) -> tuple[str, ...]:
    """Return the regions that are missing between those of a window: ``0.1`` of 0.0, 0.2.

    Only where all regions differ in one number is it known which of them counts. The operations of Core ML's
    programs (``Op1``) are numbered with those of other engines, and jump anyway.
    """
    parts = [name.rpartition(_REGION) for name in names]
    numbers = [tuple(map(int, number.split("."))) for _, mark, number in parts if mark]
    if len({head for head, _, _ in parts}) != 1 or len(numbers) != len(names):
        return ()
    columns = [
        position for position, values in enumerate(zip(*numbers, strict=False)) if len(set(values)) > 1
    ]
    if len(columns) > 1 or len({len(number) for number in numbers}) > 1:
        return ()
    column = columns[0] if columns else len(numbers[0]) - 1
    present = {number[column] for number in numbers}
    if max(present) >= 2 * len(present) + _MAX_ABSENT:
        return ()
    missing = sorted(set(range(max(present))) - present)
    return tuple(".".join(map(str, (*numbers[0][:column], n, *numbers[0][column + 1 :]))) for n in missing)
