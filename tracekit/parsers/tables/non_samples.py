"""Everything in a recording but its samples: intervals, signposts, thread states, tracks, metrics.

A table that cannot be read becomes an issue: the samples are useful without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import pandas as pd

from tracekit.errors import TracekitError
from tracekit.frozen import frozen
from tracekit.model.columns import INTERVALS, MODEL_REQUESTS, SIGNPOSTS, THREADS, IntArray
from tracekit.model.schemas import (
    LIFE_CYCLE,
    MODEL_INFERENCE,
    OS_LOG,
    SIGNPOST_TABLES,
    THREAD_METRICS,
    THREAD_STATE,
)
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, IssueCounter, TraceInfo
from tracekit.parsers.source import iter_readable, make_left_out_issue
from tracekit.parsers.tables.app_states import read_app_states
from tracekit.parsers.tables.column_values import join_rows, sort_rows
from tracekit.parsers.tables.engine_intervals import read_intervals
from tracekit.parsers.tables.engine_log import read_engine_log
from tracekit.parsers.tables.log_messages import CLIENT_PHASES
from tracekit.parsers.tables.log_owners import with_logged_process
from tracekit.parsers.tables.row_times import close_open_ends, find_last_time
from tracekit.parsers.tables.signposts import read_signposts
from tracekit.parsers.tables.thread_metrics import read_metrics
from tracekit.parsers.tables.thread_states import read_thread_states
from tracekit.parsers.tables.tracks import read_tracks
from tracekit.text import format_seconds

SLACK_NS = 100_000_000
"""A recording may end a little after its last tick, and begin a little before its first."""

_LATE_NS = 1_000_000_000
"""Rows may continue beyond the recorded duration: by half a second in a real recording."""

_MAX_SHARE_OUTSIDE = 0.9
_MIN_COMPARED_ROWS = 3


@frozen
class NonSampleRows:
    """The rows of one run in the model's columns, sorted by time.

    ``threads`` are those of signposts and thread states; ``unreadable`` the schemas that could not be read.
    """

    intervals: pd.DataFrame
    signposts: pd.DataFrame
    engine_log: pd.DataFrame
    thread_states: pd.DataFrame
    tracks: pd.DataFrame
    metrics: pd.DataFrame
    model_requests: pd.DataFrame
    threads: pd.DataFrame
    issues: tuple[Issue, ...]
    unreadable: frozenset[str]


def load_non_samples(
    tables: Callable[[str], Iterator[Table]],
    infos: Sequence[TableInfo],
    info: TraceInfo,
    sample_times: IntArray,
) -> NonSampleRows:
    """Return the rows of the run's tables other than its samples.

    ``sample_times`` are compared with the tables' times. Issues: those of the readers, ``table-unreadable``,
    ``interval-outside``, ``clocks-disagree``.
    """
    reader = _TableReader(tables, {table.schema for table in infos if table.row_count})
    intervals, interval_issues = read_intervals(reader, info)
    signposts, signpost_issues = read_signposts(reader)
    if intervals.empty and signposts["name"].isin(CLIENT_PHASES).any():
        # Few recordings need it: a quick start leaves it out.
        from tracekit.parsers.tables.client_intervals import read_client_intervals

        intervals = INTERVALS.check(join_rows([read_client_intervals(signposts)], INTERVALS), "intervals")
    log, log_issues = read_engine_log(reader, signposts)
    app_states, app_issues = read_app_states(reader)
    signposts = join_rows([signposts, app_states], SIGNPOSTS)
    states, state_issues = read_thread_states(reader)
    tracks, track_issues = read_tracks(reader)
    metrics, metric_issues = read_metrics(reader)
    requests, request_issues = _read_requests(reader, info)
    spans = [intervals, signposts, states, metrics]
    end_ns = info.duration_ns
    if end_ns is None:
        last_sample = int(sample_times.max()) if len(sample_times) else 0
        last_value = int(tracks["time_ns"].max()) if len(tracks) else 0
        end_ns = max(last_sample, last_value, *(find_last_time(frame) for frame in spans))
    spans = [sort_rows(close_open_ends(frame, end_ns), "start_ns", "end_ns") for frame in spans]
    requests = sort_rows(close_open_ends(requests, end_ns), "start_ns", "end_ns")
    time_issues = _check_times(spans, info.duration_ns, sample_times)
    intervals, signposts, states, metrics = spans
    intervals, owner_issues = with_logged_process(intervals, log)
    issues = (
        *interval_issues,
        *owner_issues,
        *signpost_issues,
        *log_issues,
        *app_issues,
        *state_issues,
        *track_issues,
        *metric_issues,
        *request_issues,
    )
    threads = reader.find_threads(
        {tid for frame in (signposts, states, log) for tid in frame["tid"].unique()}
    )
    return NonSampleRows(
        intervals,
        signposts,
        log,
        states,
        tracks,
        metrics,
        requests,
        threads,
        (*reader.findings.issues(), *issues, *time_issues),
        frozenset(reader.unreadable),
    )


def with_new_threads(threads: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Return ``threads``, followed by those of ``more`` with a new tid."""
    new = more[~more["tid"].isin(threads["tid"]) & (more["tid"] >= 0)].drop_duplicates("tid")
    if not len(new):
        return threads
    all_threads = pd.concat([threads, new], ignore_index=True).astype(dict(THREADS.required))
    return THREADS.check(all_threads, "threads")


def _read_requests(reader: _TableReader, info: TraceInfo) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    if not reader.has_rows(MODEL_INFERENCE):
        return MODEL_REQUESTS.empty(), ()
    # Few recordings need it, either.
    from tracekit.parsers.tables.model_requests import read_model_requests

    return read_model_requests(reader, info)


class _TableReader:
    """Yields tables that have rows, and records those that cannot be read."""

    def __init__(self, tables: Callable[[str], Iterator[Table]], filled: Collection[str]) -> None:
        self.findings = IssueCounter()
        self.unreadable: set[str] = set()
        self._tables = tables
        self._filled = filled
        self._threads: list[pd.DataFrame] = []

    def __call__(self, schema: str) -> Iterator[Table]:
        if not self.has_rows(schema):
            return
        damage: list[TracekitError] = []
        is_read = False
        try:
            for table in iter_readable(self._tables(schema), damage.append):
                is_read = True
                if schema in (*SIGNPOST_TABLES, THREAD_STATE, OS_LOG):
                    self._threads.append(table.threads)
                yield table
        except TracekitError as error:
            damage.append(error)
        for problem in damage:
            issue = make_left_out_issue(schema, problem, is_read)
            self.findings.add(issue.severity, issue.code, issue.message)
        if damage and not is_read:
            self.unreadable.add(schema)

    def has_rows(self, schema: str) -> bool:
        """Return True where the run has a table of this schema with rows."""
        return schema in self._filled

    def find_threads(self, tids: set[int]) -> pd.DataFrame:
        """Return the threads of these numbers, each once, in the order of the tables."""
        if not self._threads:
            return THREADS.empty()
        all_threads = pd.concat(self._threads, ignore_index=True)
        selected_threads = all_threads[all_threads["tid"].isin(tids - {-1})].drop_duplicates(
            "tid", ignore_index=True
        )
        return selected_threads.astype(dict(THREADS.required))


def _check_times(
    frames: Sequence[pd.DataFrame], duration_ns: int | None, sample_times: IntArray
) -> tuple[Issue, ...]:
    """Return warnings about rows outside of the recorded time."""
    findings = IssueCounter()
    for frame, only_schema in zip(frames, ("", "", THREAD_STATE, THREAD_METRICS), strict=True):
        sources = [only_schema] if only_schema else list(frame["source"].cat.categories)
        codes = (
            np.zeros(len(frame), np.int64) if only_schema else frame["source"].cat.codes.to_numpy(np.int64)
        )
        starts, ends = (frame[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
        is_outside = (starts < 0) & (ends <= 0)
        if duration_ns is not None:
            is_outside |= starts > duration_ns + _LATE_NS
        for code, schema in enumerate(sources):
            of_schema = codes == code
            text = f"{{n}} rows of '{schema}' are outside the recorded time"
            findings.add("warning", "interval-outside", text, int((is_outside & of_schema).sum()))
            # An app is launched before its first sample, even where the clocks agree.
            if len(sample_times) and of_schema.any() and schema != LIFE_CYCLE:
                _compare_clocks(schema, starts[of_schema], ends[of_schema], sample_times, findings)
    return findings.issues()


def _compare_clocks(
    schema: str, starts: IntArray, ends: IntArray, sample_times: IntArray, findings: IssueCounter
) -> None:
    first_ns, last_ns = int(sample_times.min()), int(sample_times.max())
    apart = (ends < first_ns - SLACK_NS) | (starts > last_ns + SLACK_NS)
    if len(starts) >= _MIN_COMPARED_ROWS and apart.mean() > _MAX_SHARE_OUTSIDE:
        text = (
            f"'{schema}' covers another time than the samples: {{n}} of its {len(starts)} rows are"
            f" outside it. The table is from {format_seconds(starts.min())} to"
            f" {format_seconds(ends.max())}, the samples from {format_seconds(first_ns)} to"
            f" {format_seconds(last_ns)}. The clocks may disagree"
        )
        findings.add("warning", "clocks-disagree", text, int(apart.sum()))
