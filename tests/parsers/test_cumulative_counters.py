"""Counters that count up per core: differences between neighbours on a core, attached where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from documents_support import write
from table_support import rows_of

from tracekit.load import open_trace
from tracekit.model.trace import Trace

RAW = "kdebug-counters-with-time-sample"
COLUMNS = {
    "time": "sample-time",
    "thread": "thread",
    "core-index": "core",
    "thread-state": "thread-state",
    "counters-array": "pmc-events",
}
PROFILE = {
    "time": "sample-time",
    "thread": "thread",
    "core": "core",
    "thread-state": "thread-state",
    "weight": "weight",
}
MAIN = (31, "Main Thread", 7, "App")
WORKER = (32, "Worker", 7, "App")


def row(
    time: int, core: int | None, counters: str | None, thread: Any = MAIN, state: str = "Running"
) -> tuple[Any, ...]:
    return time, thread, core, state, counters


def opened(
    folder: Path,
    *rows: tuple[Any, ...],
    profile: list[tuple[Any, ...]] | None = None,
    events: str = '"CYCLES" "INSTRUCTIONS"',
) -> Trace:
    toc = f'<table schema="{RAW}" pmc-events="{events.replace(chr(34), "&quot;")}" sample-rate-micro-seconds="1000"/>'
    if profile is not None:
        toc += '<table schema="time-profile"/>'
        write(
            folder, rows_of("time-profile", PROFILE, *profile).replace("table[1]", "table[2]"), "profile.xml"
        )
    write(folder, f'<trace-toc><run number="1"><data>{toc}</data></run></trace-toc>', "toc.xml")
    write(folder, rows_of(RAW, COLUMNS, *rows), "raw.xml")
    return open_trace(folder)


def counts(trace: Trace) -> dict[str, int]:
    return {issue.code: issue.count for issue in trace.issues}


def test_each_core_counts_for_itself(tmp_path: Path) -> None:
    trace = opened(
        tmp_path,
        row(1, 0, "1000 10"),
        row(2, 1, "500 5"),
        row(3, 0, "1700 15"),
        row(4, 1, "600 9"),
        row(5, 0, "1701 15"),
    )
    assert trace.samples_source == RAW
    assert trace.counters.to_dict("list") == {"CYCLES": [0, 0, 700, 100, 1], "INSTRUCTIONS": [0, 0, 5, 4, 0]}
    # It stands for samples as time-sample does.
    assert trace.weights.tolist() == [1_000_000] * 5
    assert counts(trace) == {"weight-assumed": 1, "null-stacks": 5}


def test_rows_out_of_order_are_distinguished_by_time(tmp_path: Path) -> None:
    trace = opened(tmp_path, row(3, 0, "1700 15"), row(1, 0, "1000 10"))
    assert trace.counters["CYCLES"].tolist() == [0, 700]


def test_threads_that_waited_have_no_values_and_break_no_row(tmp_path: Path) -> None:
    trace = opened(
        tmp_path,
        row(1, 0, "1000 10"),
        row(2, None, None, WORKER, "Blocked"),
        row(3, 0, "1100 11"),
    )
    assert trace.counters["CYCLES"].tolist() == [0, 0, 100]
    assert trace.weights.tolist() == [1_000_000, 0, 1_000_000]
    assert "null-counters" not in counts(trace)


def test_what_ran_and_has_no_values_or_no_core_is_counted(tmp_path: Path) -> None:
    trace = opened(
        tmp_path,
        row(1, 0, "1000 10"),
        row(2, 0, None),
        row(3, None, "5000 1"),
        row(3, None, "5100 2"),
        row(4, 0, "1100 11"),
    )
    assert trace.counters["CYCLES"].tolist() == [0, 0, 0, 0, 100]
    assert counts(trace)["null-counters"] == 3


@pytest.mark.parametrize("after", ["999 11", "1000001001 11", "1500 9"])
def test_a_reset_counts_nothing_and_is_reported(tmp_path: Path, after: str) -> None:
    first, second = (int(word) for word in after.split())
    trace = opened(tmp_path, row(1, 0, "1000 10"), row(2, 0, after), row(3, 0, f"{first + 7} {second + 1}"))
    assert trace.counters.to_dict("list") == {"CYCLES": [0, 0, 7], "INSTRUCTIONS": [0, 0, 1]}
    assert counts(trace)["counter-resets"] == 1


def test_a_list_that_is_written_twice_counts_once(tmp_path: Path) -> None:
    trace = opened(tmp_path, row(1, 0, "1000 10 1000 10"), row(2, 0, "1200 11 1200 11"))
    assert trace.counters.to_dict("list") == {"CYCLES": [0, 200], "INSTRUCTIONS": [0, 1]}
    assert "counters-repeated" in counts(trace)


def test_two_halves_that_differ_are_other_counters(tmp_path: Path) -> None:
    trace = opened(tmp_path, row(1, 0, "1000 10 1000 10"), row(2, 0, "1200 11 1200 12"))
    assert list(trace.counters.columns) == [f"counter-{number}" for number in (1, 2, 3, 4)]
    assert "counter-names-unknown" in counts(trace)


def test_the_table_goes_last_and_its_counts_to_the_samples_that_fit(tmp_path: Path) -> None:
    profile = [
        (1, MAIN, 0, "Running", 1_000_000),
        (2, MAIN, 0, "Running", 1_000_000),
        (3, MAIN, 0, "Running", 1_000_000),
        (4, WORKER, 0, "Running", 1_000_000),
        (5, MAIN, 1, "Running", 1_000_000),
    ]
    trace = opened(
        tmp_path,
        row(1, 0, "1000 10"),
        row(2, 0, "1100 20"),
        row(4, 0, "1300 30", MAIN),  # another thread than the sample's
        row(5, 0, "1600 40"),  # another core
        row(6, 0, "1600 40"),  # counted nothing: no gap to report
        profile=profile,
    )
    assert trace.samples_source == "time-profile"
    assert trace.counters.to_dict("list") == {"CYCLES": [0, 100, 0, 0, 0], "INSTRUCTIONS": [0, 10, 0, 0, 0]}
    assert counts(trace)["counters-not-attached"] == 2
    assert trace.weights.tolist() == [1_000_000] * 5


def test_samples_of_the_same_moment_get_the_counts_once(tmp_path: Path) -> None:
    profile = [(2, MAIN, 0, "Running", 1_000_000), (2, MAIN, 0, "Running", 1_000_000)]
    trace = opened(tmp_path, row(1, 0, "1 1"), row(2, 0, "9 2"), profile=profile)
    assert trace.counters["CYCLES"].sum() == 8


def test_counters_that_cannot_be_read_stop_nothing(tmp_path: Path) -> None:
    profile = [(2, MAIN, 0, "Running", 1_000_000)]
    trace = opened(tmp_path, row(1, 0, "1 x"), profile=profile)
    assert (len(trace.samples), len(trace.counters.columns)) == (1, 0)
    (issue,) = [issue for issue in trace.issues if issue.code == "table-unreadable"]
    assert RAW in issue.message


def test_samples_of_no_thread_get_no_counts(tmp_path: Path) -> None:
    profile = [(2, None, 0, "Running", 1_000_000)]
    trace = opened(tmp_path, row(1, 0, "1 1", None), row(2, 0, "9 2", None), profile=profile)
    assert trace.counters["CYCLES"].tolist() == [0]
    assert counts(trace)["counters-not-attached"] == 1


def test_other_raw_samples_go_before(tmp_path: Path) -> None:
    columns = {name: kind for name, kind in COLUMNS.items() if kind != "pmc-events"}
    raw = rows_of("time-sample", columns, (1, MAIN, 0, "Running")).replace("table[1]", "table[3]")
    write(tmp_path, raw, "samples.xml")
    trace = opened(tmp_path, row(1, 0, "1 1"), row(2, 0, "9 2"))
    assert trace.samples_source == "time-sample"
    assert counts(trace)["samples-not-used"] == 2
    trace = open_trace(tmp_path, samples=RAW)
    assert trace.counters["CYCLES"].tolist() == [0, 8]
