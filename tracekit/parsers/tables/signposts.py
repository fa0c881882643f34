"""Signposts of apps and frameworks → ``Trace.signposts``.

``os-signpost`` holds a row per event, with separate rows for Begin and End; newer tables hold intervals. Both
are read, and an interval that both report is kept once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import SIGNPOSTS, IntArray
from tracekit.model.schemas import SIGNPOST_EVENTS, SIGNPOST_INTERVAL_TABLES
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.parsers.tables.column_values import (
    Mask,
    TextColumn,
    extract_entity_numbers,
    extract_pids,
    extract_texts,
    extract_words,
    join_rows,
    number_rows,
    sort_rows,
)
from tracekit.parsers.tables.row_times import RowTimes, read_times
from tracekit.text import plural

_KINDS = {
    "Begin": "begin",
    "Begin Interval": "begin",
    "End": "end",
    "End Interval": "end",
    "Event": "event",
}
_KIND_OF = {word.lower(): kind for word, kind in _KINDS.items()}
_ALL_KINDS = pd.Index(["interval", "event", "begin", "end"], dtype="str")
_INTERVAL, _EVENT, _BEGIN, _END = range(4)
_NAMED = ("name", "subsystem", "category", "identifier")
_ANYWHERE = -2


def read_signposts(
    tables: Callable[[str], Iterable[Table]],
) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the rows of every table of ``SIGNPOST_TABLES`` that ``tables`` yields, Begin and End paired.

    An unknown end is ``row_times.OPEN_NS``.
    """
    findings = IssueCounter()
    reported = [
        _read_intervals(table, findings) for schema in SIGNPOST_INTERVAL_TABLES for table in tables(schema)
    ]
    paired = _pair_events(_read_events(list(tables(SIGNPOST_EVENTS)), findings), findings)
    return SIGNPOSTS.check(_merge_tables([*reported, paired], findings), "signposts"), findings.issues()


def _read_intervals(table: Table, findings: IssueCounter) -> pd.DataFrame:
    """Return the rows of a table of intervals, or of events, unchanged."""
    spans = read_times(table, findings)
    kind = np.full(len(spans.table), _INTERVAL if spans.timed else _EVENT)
    tid = extract_entity_numbers(spans.table, "thread", "tid", "start-thread", "thread")
    return _build_frame(spans, kind, tid, extract_texts(spans.table, "start-message", "message"))


def _read_events(tables: Sequence[Table], findings: IssueCounter) -> pd.DataFrame:
    """Return the rows of ``os-signpost`` in order of time.

    ``in_pid`` and ``in_tid`` limit where a partner may be: the same process, the same thread, or anywhere
    (scope System: a client begins an interval that the window server ends).
    """
    frames = []
    for position, given in enumerate(tables):
        spans = read_times(given, findings)
        table = spans.table
        words = extract_texts(table, "event-type")
        strange = words.compute(lambda word: word.lower() not in _KIND_OF, np.bool_)
        text = f"{{n}} rows of '{table.schema}' are neither Begin, End nor Event; they count as events"
        findings.add("warning", "signpost-type-unknown", text, int(strange.sum()))
        kind = words.compute(lambda word: _ALL_KINDS.get_loc(_KIND_OF.get(word.lower(), "event")), np.int64)
        tid = extract_entity_numbers(table, "thread", "tid", "thread")
        scope = extract_texts(table, "scope")
        frame = _build_frame(spans, kind, tid, extract_texts(table, "message"))
        # With the same constant for "anywhere", rows of any process or thread agree in that part of the key.
        anywhere, in_thread = (scope.compute(word.__eq__, np.bool_) for word in ("System", "Thread"))
        in_pid = np.where(anywhere, _ANYWHERE, frame["pid"].to_numpy(np.int64))
        in_tid = np.where(in_thread, tid, _ANYWHERE)
        frames.append(frame.assign(in_pid=in_pid, in_tid=in_tid, table=position))
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        return SIGNPOSTS.empty().assign(in_pid=0, in_tid=0)
    events = join_rows(frames, SIGNPOSTS)
    if len(frames) > 1:
        columns = ("start_ns", "kind", *_NAMED, "pid", "tid")
        repeated = _mark_repeated(
            [_get_codes(events, name) for name in columns], events["table"].to_numpy(np.int64)
        )
        text = f"{{n}} rows of '{SIGNPOST_EVENTS}' repeat rows of another such table and count once"
        findings.add("info", "signposts-repeated", text, int(repeated.sum()))
        events = events[~repeated]
    return sort_rows(events.drop(columns="table"), "start_ns")


def _pair_events(events: pd.DataFrame, findings: IssueCounter) -> pd.DataFrame:
    """Join each Begin and its End into an interval, innermost first: an End closes the latest open Begin.

    Partners agree in name, subsystem, category and identifier, and in process or thread as their scope
    requires. A row without a partner stays a "begin" or an "end".
    """
    kind = events["kind"].cat.codes.to_numpy(np.int64).copy()
    ends = events["end_ns"].to_numpy(np.int64).copy()
    marks = np.flatnonzero((kind == _BEGIN) | (kind == _END))
    if len(marks):
        # Only Begin and End are brackets: an event of the same name does not separate a pair.
        key = number_rows([_get_codes(events, name)[marks] for name in (*_NAMED, "in_pid", "in_tid")])
        begin, end = (marks[positions] for positions in _match_brackets(key, kind[marks] == _BEGIN))
        ends[begin] = events["start_ns"].to_numpy(np.int64)[end]
        kind[begin] = _INTERVAL
        unpaired = len(marks) - 2 * len(begin)
        opened = int((kind == _BEGIN).sum())
        pair = f"{opened:,} Begin, {unpaired - opened:,} End"
        text = (
            f"{plural(unpaired, 'row')} of '{SIGNPOST_EVENTS}' without a partner ({pair}). The partner is"
            " before or after the recording, or was not recorded"
        )
        findings.add("warning" if 2 * unpaired > len(marks) else "info", "signposts-unpaired", text, unpaired)
        keep = np.ones(len(events), bool)
        keep[end] = False
        events = events.assign(end_ns=ends, kind=_make_kinds(kind))[keep]
    return events.drop(columns=["in_pid", "in_tid"]).reset_index(drop=True)


def _match_brackets(key: IntArray, opens: Mask) -> tuple[IntArray, IntArray]:
    """Return the positions of matching brackets within each key; rows are in order of time.

    A closing bracket without an open one is skipped.
    """
    # The matching runs without a loop: ``height`` counts the brackets that are open after each row,
    # ``ground`` is the lowest height so far (below 0 after skipped brackets), and ``level`` is the nesting of
    # a bracket above the ground. Within a key and a level, brackets that match are neighbors:
    #   rows    (  (  )  (  )  )  )  (        the last two have no partner
    #   height  1  2  1  2  1  0 -1  0
    #   ground  0  0  0  0  0  0 -1 -1
    #   level   1  2  2  2  2  1  1  1
    order = np.argsort(key, kind="stable")
    group, opening = key[order], opens[order]
    step = np.where(opening, 1, -1)
    height = np.cumsum(step)
    is_first = np.append(True, group[1:] != group[:-1])
    lane = np.cumsum(is_first) - 1
    height -= (height - step)[is_first][lane]  # heights start from 0 in each key
    # Each key is lifted below all earlier ones, so that one running minimum serves all keys.
    lift = -(2 * len(key) + 2) * lane
    lowest = np.minimum.accumulate(height + lift) - lift
    ground = np.minimum(lowest, 0)
    level = np.where(opening, height - ground, height - ground + 1)
    # An End has a partner if it does not go below the ground before it; at the first row of a key the ground
    # is 0.
    has_partner = opening | (height > np.where(is_first, 0, np.append(0, ground[:-1])) - 1)
    inner = np.flatnonzero(has_partner)
    # ``lexsort`` is stable: within a key and a level, rows stay in order of time, so Begin and its End are
    # neighbors.
    by_level = inner[np.lexsort((level[inner], group[inner]))]
    side_by_side = (
        opening[by_level[:-1]]
        & ~opening[by_level[1:]]
        & (group[by_level[:-1]] == group[by_level[1:]])
        & (level[by_level[:-1]] == level[by_level[1:]])
    )
    pairs = np.flatnonzero(side_by_side)
    return order[by_level[pairs]], order[by_level[pairs + 1]]


def _merge_tables(frames: Sequence[pd.DataFrame], findings: IssueCounter) -> pd.DataFrame:
    """Join tables; an interval that an earlier table reports as well is kept once.

    Equal starts and names suffice: a table of intervals cuts those that continue at the end of the run,
    where ``os-signpost`` may have their End (seen in a real recording).
    """
    signposts = join_rows(frames, SIGNPOSTS)
    filled = [frame for frame in frames if len(frame)]
    if len(filled) < 2:
        return signposts
    origin = np.repeat(np.arange(len(filled)), [len(frame) for frame in filled])
    spans = (signposts["kind"] == "interval").to_numpy(bool)
    interval_rows = np.flatnonzero(spans)
    keys = [_get_codes(signposts, name)[interval_rows] for name in ("start_ns", *_NAMED, "pid")]
    repeated_rows = interval_rows[_mark_repeated(keys, origin[interval_rows])]
    text = "{n} signpost intervals are in two tables and count once"
    findings.add("info", "signposts-repeated", text, len(repeated_rows))
    keep = np.ones(len(signposts), bool)
    keep[repeated_rows] = False
    return signposts[keep].reset_index(drop=True)


def _mark_repeated(keys: Sequence[npt.NDArray[np.generic]], origin: IntArray) -> Mask:
    """Mark rows that an earlier table has as well; ``origin`` is the table of each row."""
    key = number_rows(keys)
    first_origin = np.full(int(key.max()) + 1 if len(key) else 0, len(origin), np.int64)
    np.minimum.at(first_origin, key, origin)
    return np.asarray(origin > first_origin[key], bool)


def _get_codes(frame: pd.DataFrame, name: str) -> npt.NDArray[np.generic]:
    values = frame[name]
    return values.cat.codes.to_numpy() if isinstance(values.dtype, pd.CategoricalDtype) else values.to_numpy()


def _make_kinds(codes: npt.NDArray[np.integer[Any]]) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, categories=_ALL_KINDS)


def _build_frame(spans: RowTimes, kind: IntArray, tid: IntArray, message: TextColumn) -> pd.DataFrame:
    table = spans.table
    return pd.DataFrame(
        {
            "start_ns": spans.start_ns,
            "end_ns": spans.end_ns,
            "kind": _make_kinds(kind),
            "name": extract_texts(table, "name").to_category(),
            "subsystem": extract_texts(table, "subsystem").to_category(),
            "category": extract_texts(table, "category").to_category(),
            "identifier": _read_identifiers(table),
            "pid": extract_pids(table),
            "tid": tid,
            "message": message.to_strings(),
            "source": TextColumn.repeat(table.schema, len(table)).to_category(),
        }
    )


def _read_identifiers(table: Table) -> npt.NDArray[np.uint64]:
    """Return the identifiers; a signpost without one has 0, the value of ``OS_SIGNPOST_ID_NULL``."""
    # All bits set is a missing cell, and ``OS_SIGNPOST_ID_INVALID`` of Apple's os/signpost.h.
    words = extract_words(table, "identifier")
    return np.where(words == np.uint64(2**64 - 1), np.uint64(0), words)
