"""Texts laid over a recording: their place on the time line, what is stated about it, and refusals."""

from __future__ import annotations

import os
import socket
import sys
import zipfile
from contextlib import chdir
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from tracekit import Analysis, analyze
from tracekit.analysis.energy import Power
from tracekit.detect import open_source
from tracekit.errors import InputError
from tracekit.load import open_trace, trace_of
from tracekit.model.schemas import OS_LOG
from tracekit.model.trace import RunInfo, Trace
from tracekit.overlays.overlaid_source import OverlaidSource
from tracekit.parsers.in_memory import InMemorySource
from tracekit.parsers.source import Source

pytestmark = pytest.mark.integration

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "failing-requests-macos27"
"""From 2026-01-01T12:00:00.000Z to 12:00:00.398, 0.398255 s."""
MS, S = 10**6, 10**9
SPINDUMP = """\
Analysis of sampling Other (pid 9) every 1 millisecond
Date/Time:       {date}
Call graph:
    5 Thread_1
    + 5 main  (in Other) + 1  [0x1]
"""


def recording() -> Source:
    """Return the sample without its log."""
    return open_source([path for path in sorted(SAMPLE.glob("*.xml")) if path.stem != OS_LOG])


def text(start: str, shift_ns: int = 0, rows: int | None = None, stretch: int = 1) -> InMemorySource:
    """Return the sample's log as a text that begins at a wall clock, its times stretched and moved."""
    source = open_source([SAMPLE / "toc.xml", SAMPLE / f"{OS_LOG}.xml"])
    (table,) = source.tables(OS_LOG)
    kept = table.rows.head(len(table) if rows is None else rows)
    table = replace(table, rows=kept.assign(time=kept["time"] * stretch + shift_ns))
    (run,) = source.toc()
    infos = tuple(info for info in run.tables if info.schema == OS_LOG)
    info = replace(run.info, name="app.log", kind="log", start=start, end="", duration_ns=None)
    return InMemorySource("app.log", "log", True, (RunInfo(info, infos),), {(1, OS_LOG): (table,)})


def laid(*texts: Source, offset_ns: int = 0, over: Source | None = None) -> Trace:
    return trace_of(OverlaidSource(over or recording(), texts, offset_ns))


def statement(trace: Trace) -> str:
    return next(issue.message for issue in trace.issues if issue.code == "laid-over")


def columns(log: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(log[["time_ns", "kind", "status", "pid"]].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("start", "shift_ns", "offset_ns"),
    [
        ("2026-01-01T12:00:00.000Z", 0, 0),
        ("2026-01-01T11:59:57.500Z", 2_500 * MS, 0),
        ("2026-01-01T04:00:00.000-08:00", 0, 0),
        ("2026-01-01 12:00:00", 0, 0),  # no zone: the recording's
        ("2026-01-01T13:00:00.000Z", 0, -3_600 * S),
    ],
)
def test_a_log_laid_over_is_where_the_recorded_one_was(start: str, shift_ns: int, offset_ns: int) -> None:
    recorded = open_trace(SAMPLE).engine_log
    trace = laid(text(start, shift_ns), offset_ns=offset_ns)
    assert columns(trace.engine_log) == columns(recorded)
    assert set(trace.engine_log["source"]) == {"app.log"}


def test_the_place_of_a_text_is_stated() -> None:
    trace = laid(text("2026-01-01 12:00:00", rows=3), offset_ns=-2 * MS)
    last_ns = int(recorded_times().iloc[2])
    assert statement(trace) == (
        "app.log is laid over the recording by wall clock: it covers from 0.007 s to"
        f" {(last_ns - 2 * MS) / 1e9:.3f} s of the recording, which began at 2026-01-01 12:00:00.000 +0000;"
        " the clocks are stated to 1.00 s. Its times were moved by -2.00 ms as requested. It states no time"
        " zone, so the recording's is assumed. The recording's clock and the wall clock differ by 255 µs"
        " between its start and its end"
    )


def recorded_times() -> pd.Series:
    (table,) = open_source([SAMPLE / "toc.xml", SAMPLE / f"{OS_LOG}.xml"]).tables(OS_LOG)
    return table.rows["time"].sort_values()


def test_rows_outside_of_the_recording_are_left_out_and_counted() -> None:
    trace = laid(text("2026-01-01T12:00:00.000Z", stretch=5))
    inside = int((recorded_times() * 5 <= 398_255_000 + S).sum())
    assert 0 < inside < len(recorded_times())
    assert f"{len(recorded_times()) - inside} of its rows are outside of the recorded time" in statement(
        trace
    )


@pytest.mark.parametrize(
    ("start", "problem", "advice"),
    [
        ("2026-01-01T12:00:05.000Z", "4.61 s after the recording", "correct the text's times with --offset."),
        ("2026-01-01T09:00:00.000Z", "3.0 hours before the recording", "with --offset=3h."),
        ("2026-03-05T12:00:00.000Z", "63.0 days after the recording", "with --offset=-1512h."),
        ("2026-01-01T14:00:00.000Z", "after the recording", "with --offset=-2h."),
        ("boot", "states no date and time", "Analyze it alone."),
    ],
)
def test_a_text_of_another_time_is_refused(start: str, problem: str, advice: str) -> None:
    with pytest.raises(InputError) as refused:
        laid(text(start))
    assert problem in refused.value.problem
    assert refused.value.advice.endswith(advice)


def test_what_a_mac_measured_is_not_laid_over_a_phone() -> None:
    power = text("2026-01-01T12:00:00.000Z")  # of a Mac, as its recording is
    with pytest.raises(InputError, match=r"is of a Mac, and .* is a recording of Synthetic iPhone \(iOS\)"):
        laid(power, over=open_source(SAMPLE.with_name("fallback-midway-ios27")))


def test_a_recording_without_a_start_takes_no_text() -> None:
    exports = open_source([SAMPLE / "time-profile.xml"])
    with pytest.raises(InputError, match="does not state when the recording began"):
        laid(text("2026-01-01T12:00:00.000Z"), over=exports)


def analysis(trace: Trace) -> Analysis:
    return analyze(trace, signposts=["Inference/encode"])


def test_a_line_near_the_edge_of_a_call_is_of_no_call() -> None:
    """Two clocks agree to some milliseconds: a line that a millisecond could move to the next call has none."""
    recorded, trace = analysis(open_trace(SAMPLE)), analysis(laid(text("2026-01-01T12:00:00.000Z")))
    assert recorded.requests.requests == trace.requests.requests == 10
    starts, ends = (recorded.window_rows[name].to_numpy() for name in ("start_ns", "end_ns"))
    log = recorded.trace.engine_log
    failed = log[(log["status"] > 0).to_numpy()]["time_ns"]
    inside = [int(((starts + 10 * MS <= time) & (time <= ends - 10 * MS)).any()) for time in failed.tolist()]
    assert trace.requests.failed.sum() == sum(inside)
    assert recorded.requests.failed.sum() == len(inside)


def test_a_line_laid_over_names_no_process_of_the_engines_rows() -> None:
    ane = laid(text("2026-01-01T12:00:00.000Z")).intervals.query("source == 'ane-hw-intervals'")
    assert set(ane["pid"]) == {-1}


def test_samples_without_times_become_one_interval(tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_text(SPINDUMP.format(date="2026-01-01 12:00:00.100 +0000"))
    trace = open_trace(SAMPLE, overlays=[path])
    marks = trace.signposts[trace.signposts["name"] == "other.txt"]
    assert marks[["start_ns", "subsystem"]].to_numpy().tolist() == [[100 * MS, "sample"]]
    assert "tracekit analyze other.txt shows its threads" in statement(trace)
    assert len(trace.samples) == len(open_trace(SAMPLE).samples), "its samples count nowhere"
    added = {issue.code for issue in trace.issues} - {issue.code for issue in open_trace(SAMPLE).issues}
    assert added == {"laid-over"}, "what limits its samples limits none of the recording's"


def test_what_is_damaged_in_a_text_names_the_text(tmp_path: Path) -> None:
    path = tmp_path / "power.json"
    first = '{"timestamp":"2026-01-01T12:00:00.500000+00:00","cpu_power":0.2,"gpu_power":0.1,"ane_power":0.5}'
    path.write_text(
        f'{first}\n{first.replace("0.500000", "1.500000")}\n{{"timestamp":"x","cpu_power":"y"}}\n'
    )
    trace = open_trace(SAMPLE, overlays=[path])
    (damaged,) = (issue for issue in trace.issues if issue.code == "power-samples-damaged")
    assert damaged.message.startswith("power.json: samples of power")


def test_a_zip_of_texts_is_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "texts.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(2):
            name = f"folder/dump{number}.txt"
            archive.writestr(name, SPINDUMP.format(date=f"2026-01-01 12:00:00.{number}00 +0000"))
    names = open_trace(SAMPLE, overlays=[path]).signposts["name"].astype("str")
    assert sorted(names[names.str.startswith("dump")]) == ["dump0.txt", "dump1.txt"]


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match=r"picture\.png: is no text that can be laid over"):
        open_trace(SAMPLE, overlays=[path])
    with pytest.raises(InputError, match="does not exist"):
        open_trace(SAMPLE, overlays=[tmp_path / "missing.log"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_what_is_no_file_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # nobody writes into it: opening it would wait
    with socket.socket(socket.AF_UNIX) as bound, chdir(tmp_path):
        bound.bind("socket")
        for path, kind in (("/dev/zero", "a device"), (str(pipe), "a pipe"), ("socket", "a socket")):
            with pytest.raises(InputError) as refused:
                open_trace(SAMPLE, overlays=[path])
            assert refused.value.problem == f"is {kind}, not a file."
            assert refused.value.advice.endswith("pipe it to tracekit and name it as -.")
    with pytest.raises(InputError, match=r"is a folder\."):
        open_trace(SAMPLE, overlays=[tmp_path])


def test_a_text_is_joined_with_the_run_of_its_time() -> None:
    """Every run has a wall clock of its own."""
    first = recording()
    (run,) = first.toc()
    second = replace(run, info=replace(run.info, run=2, start="2026-01-01T12:00:10.000Z", end=""))
    two = InMemorySource("X.trace", "xctrace-xml", True, (run, second), {})
    source = OverlaidSource(two, [text("2026-01-01T12:00:10.000Z")])
    assert [len(list(source.tables(OS_LOG, number))) for number in (1, 2)] == [0, 1]


def macmon(path: Path, begin_s: float, samples: int, step_s: float = 0.1, ane: float = 2.0) -> Path:
    """Write samples of macmon from a moment relative to the recording's start, 2026-01-01T12:00:00Z."""
    start = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(seconds=begin_s)
    moments = [start + timedelta(seconds=step_s * number) for number in range(1, samples + 1)]
    lines = (
        f'{{"timestamp": "{moment:%Y-%m-%dT%H:%M:%S.%f}+00:00", "ane_power": {ane}, "all_power": {ane}}}\n'
        for moment in moments
    )
    path.write_text("".join(lines))
    return path


def power_of(*paths: Path) -> Power:
    power = analyze(open_trace(SAMPLE, overlays=paths)).power
    assert power is not None
    return power


def test_energy_is_of_the_recorded_time(tmp_path: Path) -> None:
    """Samples before and after it are drawn and not added up; those across its ends count their part."""
    rail = power_of(macmon(tmp_path / "power.json", -1.05, 30)).rail("ANE")
    assert rail.energy_mj == pytest.approx(2000 * 0.398255)
    assert (rail.samples, rail.mean_mw) == (5, 2000)


def test_power_of_macmon_is_of_a_mac(tmp_path: Path) -> None:
    power = macmon(tmp_path / "power.json", 0, 3)
    with pytest.raises(InputError, match="is of a Mac, and"):
        open_trace(SAMPLE.with_name("fallback-midway-ios27"), overlays=[power])


def test_power_given_twice_counts_once(tmp_path: Path) -> None:
    once = macmon(tmp_path / "once.json", 0, 4)
    again = macmon(tmp_path / "again.json", 0, 4)
    other = macmon(tmp_path / "other.json", 0.05, 3, ane=1.5)
    for second in (again, other):
        assert power_of(once, second) == power_of(once)
    later = power_of(macmon(tmp_path / "first.json", 0, 2), macmon(tmp_path / "second.json", 0.2, 2))
    assert (later.rail("ANE").samples, later.interval_ns) == (4, 100 * MS)
    (issue,) = (
        issue
        for issue in open_trace(SAMPLE, overlays=[once, again]).issues
        if issue.code == "laid-over-repeated"
    )
    assert issue.message.startswith("again.json repeats what a text before it has")


def test_a_log_given_twice_counts_once() -> None:
    log = text("2026-01-01T12:00:00.000Z")
    assert columns(laid(log, log).engine_log) == columns(laid(log).engine_log)
    assert [issue.count for issue in laid(log, log).issues if issue.code == "laid-over-repeated"] == [
        len(recorded_times())
    ]
