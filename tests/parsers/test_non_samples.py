"""A recording's evidence beside its samples, or without any: read, sorted, compared with the run's time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents_support import write
from table_support import records, rows_of

from tracekit.detect import open_source
from tracekit.errors import InputError, UsageError, XctraceError
from tracekit.load import open_trace, trace_of
from tracekit.model.columns import INTERVALS, METRICS, SIGNPOSTS, THREAD_STATES, TRACKS
from tracekit.model.schemas import NON_SAMPLE_TABLES
from tracekit.model.trace import Issue, Trace
from tracekit.parsers.tables.non_samples import load_non_samples

SECOND = 1_000_000_000
PROFILE = {"time": "sample-time", "thread": "thread", "weight": "weight"}
ANE = {"start": "start-time", "duration": "duration", "event-label": "formatted-label"}
STATES = {"start": "start-time", "thread": "thread", "state": "thread-state", "duration": "duration"}
EVENTS = {"time": "event-time", "thread": "thread", "event-type": "event-type", "name": "signpost-name"}
GPU_STATE = {"start": "start-time", "duration": "duration", "state": "gpu-state"}
METRIC = {**ANE, "thread": "thread", "uint64": "uint64", "metric-name": "string", "is-precise": "boolean"}
MAIN = (31, "Main Thread", 7, "App")
WORKER = (32, "Worker", 7, "App")


def profile(*times: int) -> str:
    return rows_of("time-profile", PROFILE, *((time, MAIN, 1_000_000) for time in times))


def ane(*spans: tuple[int | None, int | None]) -> str:
    return rows_of("ane-hw-intervals", ANE, *((*span, "m_main__Op0_AneInference") for span in spans))


def opened(folder: Path, *documents: str, toc: str = "", **options: Any) -> Trace:
    for number, text in enumerate(documents, start=1):
        write(folder, text.replace("table[1]", f"table[{number}]"), f"{number}.xml")
    if toc:
        write(folder, toc, "toc.xml")
    return open_trace(folder, **options)


def contents(*schemas: str, duration: float = 1.0) -> str:
    tables = "".join(f'<table schema="{schema}" target-pid="SINGLE"/>' for schema in schemas)
    return (
        '<trace-toc><run number="1"><info><target><process name="App" pid="7"/></target>'
        f"<summary><duration>{duration}</duration></summary></info><data>{tables}</data></run></trace-toc>"
    )


def codes(trace: Trace) -> list[str]:
    return [issue.code for issue in trace.issues]


def issue_of(trace: Trace, code: str) -> Issue:
    (issue,) = [issue for issue in trace.issues if issue.code == code]
    return issue


def test_everything_is_read_and_sorted_by_time(tmp_path: Path) -> None:
    trace = opened(
        tmp_path,
        profile(0, 50),
        ane((20, 5), (10, 30), (10, 5)),
        rows_of("os-signpost", EVENTS, (9, WORKER, "Event", "b"), (3, MAIN, "Event", "a")),
        rows_of("thread-state", STATES, (40, WORKER, "Blocked", 5), (0, MAIN, "Running", 5)),
        rows_of("metal-gpu-state-intervals", GPU_STATE, (5, 5, "Active")),
        rows_of("MetricAggregationForThread", METRIC, (7, 1, "", MAIN, 3, "Cycles", 1)),
    )
    assert records(INTERVALS.check(trace.intervals, ""), "start_ns", "end_ns") == [
        (10, 15),
        (10, 40),
        (20, 25),
    ]
    assert trace.intervals.index.tolist() == [0, 1, 2]
    assert records(SIGNPOSTS.check(trace.signposts, ""), "start_ns", "name") == [(3, "a"), (9, "b")]
    assert records(THREAD_STATES.check(trace.thread_states, ""), "start_ns", "state") == [
        (0, "Running"),
        (40, "Blocked"),
    ]
    assert records(TRACKS.check(trace.tracks, ""), "time_ns", "value") == [(5, 1.0), (10, None)]
    assert records(METRICS.check(trace.metrics, ""), "start_ns", "name", "value") == [(7, "Cycles", 3.0)]
    assert codes(trace) == ["null-stacks"]


def test_a_recording_without_evidence_has_empty_frames(tmp_path: Path) -> None:
    trace = opened(tmp_path, profile(1))
    for columns, frame in (
        (INTERVALS, trace.intervals),
        (SIGNPOSTS, trace.signposts),
        (THREAD_STATES, trace.thread_states),
        (TRACKS, trace.tracks),
        (METRICS, trace.metrics),
    ):
        assert len(columns.check(frame, "")) == 0


def test_threads_that_were_never_sampled_come_after_those_that_were(tmp_path: Path) -> None:
    trace = opened(
        tmp_path,
        profile(1),
        rows_of("os-signpost", EVENTS, (2, WORKER, "Event", "a"), (3, None, "Event", "b")),
        rows_of("thread-state", STATES, (2, (33, "Third", 7, "App"), "Running", 1), (2, MAIN, "Running", 1)),
    )
    assert trace.threads.to_dict("records") == [
        {"tid": 31, "name": "Main Thread", "pid": 7, "process": "App"},
        {"tid": 32, "name": "Worker", "pid": 7, "process": "App"},
        {"tid": 33, "name": "Third", "pid": 7, "process": "App"},
    ]
    assert trace.samples["thread_id"].tolist() == [0]


def test_a_recording_of_hardware_alone_opens(tmp_path: Path) -> None:
    trace = opened(tmp_path, ane((10, 5)))
    assert (len(trace.samples), trace.samples_source, len(trace.intervals)) == (0, "", 1)
    assert (len(trace.stacks), len(trace.threads), len(trace.counters), trace.weights.tolist()) == (
        0,
        0,
        0,
        [],
    )
    assert codes(trace) == ["no-samples"]


def test_an_empty_table_is_reported(tmp_path: Path) -> None:
    trace = opened(tmp_path, ane())
    assert (len(trace.intervals), codes(trace)) == (0, ["no-samples"])
    assert [(table.schema, table.row_count) for table in trace.tables] == [("ane-hw-intervals", 0)]


def test_samples_that_were_recorded_and_left_behind_are_requested(tmp_path: Path) -> None:
    trace = opened(tmp_path, ane((1, 2)), toc=contents("ane-hw-intervals", "cpu-profile", "time-profile"))
    issue = issue_of(trace, "no-samples")
    assert issue.severity == "warning"
    assert "'time-profile', 'cpu-profile'" in issue.message


def test_nothing_to_analyse_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no samples; it holds tick"):
        opened(tmp_path, rows_of("tick", {"time": "sample-time"}))
    with pytest.raises(UsageError, match="holds no table 'time-profile'; it holds ane-hw-intervals"):
        opened(tmp_path, ane((1, 2)), samples="time-profile")
    with pytest.raises(UsageError):
        opened(tmp_path, ane((1, 2)), samples="ane-hw-intervals")


@pytest.mark.parametrize(
    ("toc", "end"),
    [("", 50), (contents("time-profile", "ane-hw-intervals", duration=0.5), SECOND // 2)],
    ids=["the last thing known", "the run's own end"],
)
def test_an_interval_that_never_ended_ends_with_the_recording(tmp_path: Path, toc: str, end: int) -> None:
    trace = opened(tmp_path, profile(0, 50), ane((10, 2**64 - 1), (20, 5)), toc=toc)
    assert records(trace.intervals, "start_ns", "end_ns") == [(10, end), (20, 25)]
    assert issue_of(trace, "interval-open").count == 1


def test_rows_outside_the_recording_are_kept_and_counted(tmp_path: Path) -> None:
    toc = contents("time-profile", "ane-hw-intervals", duration=1.0)
    spans = [
        (-50, 20),
        (-50, 50),
        (-50, 80),
        (SECOND + 900_000_000, 5),
        (SECOND + 1_100_000_000, 5),
        *[(start, 5) for start in range(40)],
    ]
    trace = opened(tmp_path, profile(0, SECOND), ane(*spans), toc=toc)
    assert len(trace.intervals) == len(spans)
    issue = issue_of(trace, "interval-outside")
    assert (issue.severity, issue.count) == ("warning", 3)
    assert "'ane-hw-intervals'" in issue.message


def test_no_row_is_outside_where_all_times_count_from_the_boot_of_the_device(tmp_path: Path) -> None:
    boot = 9 * SECOND
    toc = contents("time-profile", "ane-hw-intervals", duration=1.0)
    trace = opened(tmp_path, profile(boot, boot + 100), ane((boot + 20, 5)), toc=toc)
    assert records(trace.intervals, "start_ns", "end_ns") == [(20, 25)]
    codes = {issue.code for issue in trace.issues}
    assert "times-from-boot" in codes
    assert "interval-outside" not in codes


def test_clocks_that_disagree(tmp_path: Path) -> None:
    trace = opened(
        tmp_path, profile(0, SECOND), ane(*((9 * SECOND + start, 5) for start in range(19)), (1, 2))
    )
    issue = issue_of(trace, "clocks-disagree")
    assert (issue.severity, issue.count) == ("warning", 19)
    for part in ("'ane-hw-intervals'", "0.000 s to 9.000 s", "0.000 s to 1.000 s"):
        assert part in issue.message


@pytest.mark.parametrize("away", [9, 0])
def test_clocks_that_agree(tmp_path: Path, away: int) -> None:
    spans = [(9 * SECOND, 5)] * away + [(5, 5)] * (10 - away)
    assert "clocks-disagree" not in codes(opened(tmp_path, profile(0, SECOND), ane(*spans)))


def test_one_span_over_the_samples_is_no_other_clock(tmp_path: Path) -> None:
    trace = opened(tmp_path, profile(4 * SECOND, 5 * SECOND), ane((0, 9 * SECOND)))
    assert "clocks-disagree" not in codes(trace)


class Damaged:
    """A source of which some tables cannot be read."""

    def __init__(self, path: str, *schemas: str, whole: int = 0) -> None:
        self._source = open_source(path)
        self._damaged = schemas
        self._whole = whole
        self.name, self.has_toc = self._source.name, self._source.has_toc
        self.toc, self.issues = self._source.toc, self._source.issues

    def tables(self, schema: str, run: int = 1) -> Any:
        yield from list(self._source.tables(schema, run))[: self._whole if schema in self._damaged else None]
        if schema in self._damaged:
            raise InputError("rec.trace", f"'{schema}' cannot be read: a file is damaged.", "Record again.")


def test_a_damaged_table_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, profile(1, 2), "1.xml")
    write(tmp_path, ane((1, 2)).replace("table[1]", "table[2]"), "2.xml")
    trace = trace_of(Damaged(str(tmp_path), "ane-hw-intervals"))
    assert (len(trace.samples), len(trace.intervals)) == (2, 0)
    issue = issue_of(trace, "table-unreadable")
    assert issue.severity == "warning"
    assert "'ane-hw-intervals' cannot be read" in issue.message
    assert "a file is damaged" in issue.message
    with pytest.raises(InputError, match="time-profile"):
        trace_of(Damaged(str(tmp_path), "time-profile"))


def test_where_nothing_else_is_there_the_damage_is_what_is_wrong(tmp_path: Path) -> None:
    path = write(tmp_path, ane((1, 2)))
    with pytest.raises(InputError, match="'ane-hw-intervals' cannot be read: a file is damaged"):
        trace_of(Damaged(path, "ane-hw-intervals"))


def test_a_table_that_xctrace_cannot_export_stops_nothing(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, ane((1, 2))))
    (run,) = source.toc()

    def tables(schema: str) -> Any:
        raise XctraceError("xctrace export failed.")

    evidence = load_non_samples(tables, run.tables, run.info, np.zeros(0, np.int64))
    assert (len(evidence.intervals), evidence.unreadable) == (0, {"ane-hw-intervals"})
    assert [issue.code for issue in evidence.issues] == ["table-unreadable"]


def test_the_tables_before_the_damage_are_kept(tmp_path: Path) -> None:
    for number, text in enumerate((profile(1), ane((1, 2)), ane((3, 4))), start=1):
        write(tmp_path, text.replace("table[1]", f"table[{number}]"), f"{number}.xml")
    trace = trace_of(Damaged(str(tmp_path), "ane-hw-intervals", whole=1))
    assert records(trace.intervals, "start_ns") == [(1,)]
    assert issue_of(trace, "table-damaged").message.endswith("is damaged; the others of this schema are used")


def test_nothing_but_damage_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, ane((1, 2)))
    with pytest.raises(InputError, match="holds no samples"):
        trace_of(Damaged(path, "ane-hw-intervals"))


def test_only_tables_with_rows_are_requested(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, ane((1, 2))))
    (run,) = source.toc()
    schemas_read: list[str] = []

    def tables(schema: str) -> Any:
        schemas_read.append(schema)
        return source.tables(schema)

    load_non_samples(tables, run.tables, run.info, np.zeros(0, np.int64))
    assert schemas_read == ["ane-hw-intervals"]
    load_non_samples(tables, [replace(run.tables[0], row_count=0)], run.info, np.zeros(0, np.int64))
    load_non_samples(tables, [replace(run.tables[0], row_count=None)], run.info, np.zeros(0, np.int64))
    assert schemas_read == ["ane-hw-intervals"]


WITHOUT_ROWS = ("metal-gpu-submission-to-command-buffer-id", "gpu-counter-info")
"""Tables whose rows explain those of others."""


@pytest.mark.slow
@pytest.mark.parametrize("schema", [schema for schema in NON_SAMPLE_TABLES if schema != "os-log"])
def test_any_table_may_hold_anything(tmp_path: Path, schema: str) -> None:
    """Every table with the most awkward values that its columns can have: read, or dropped and counted."""
    numbers = (None, 0, 2**64 - 1, -1, 5)
    columns = {
        "start": "start-time",
        "duration": "duration",
        "event-type": "event-type",
        "thread": "thread",
        "process": "process",
        "identifier": "uint64",
        "cmdbuffer-id": "metal-command-buffer-id",
        "event-label": "formatted-label",
        "name": "string",
        "state": "string",
        "uint64": "uint64",
        "event-depth": "uint64",
        "is-precise": "boolean",
    }
    rows = [
        (start, duration, "Begin", thread, None, number, number, label, "", None, number, number, None)
        for start in numbers
        for duration, number in zip(numbers, reversed(numbers), strict=True)
        for thread, label in ((None, None), ((0, "", 2**40, ""), ["", 2**64 - 1]))
    ]
    trace = opened(tmp_path, profile(1), rows_of(schema, columns, *rows))
    frames = (trace.intervals, trace.signposts, trace.thread_states, trace.metrics)
    read = sum(len(frame) for frame in frames) + int(trace.tracks["value"].notna().sum())
    reasons = {"interval-without-start", "metrics-without-value"} & set(codes(trace))
    dropped = sum(issue_of(trace, code).count for code in reasons)
    if schema in ("device-thermal-state-intervals", "power-rails", "engine-floors", *WITHOUT_ROWS):
        return  # an unknown level, no power, no share of time, and a table that holds no interval
    assert read + dropped == len(rows)


def test_tables_are_requested_of_the_chosen_run(tmp_path: Path) -> None:
    write(tmp_path, ane((1, 2)), "1.xml")
    write(tmp_path, ane((5, 6), (7, 8)).replace("run[1]", "run[2]"), "2.xml")
    assert len(open_trace(tmp_path, run=2).intervals) == 2
