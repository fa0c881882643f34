"""Consistency of real bundles: facts that are stored twice, or that can be computed, agree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from real_bundles import (
    BUNDLES,
    FINDER,
    SIGNPOST,
    UNFINISHED,
    UNIPROF,
    WEBKIT,
    cells,
    opened,
    run_of,
    table,
)

from tracekit.load import open_trace
from tracekit.model.tables import Table

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("bundle", "run", "raw", "derived", "same", "without_register"),
    [
        (UNIPROF, 1, "time-sample", "time-profile", 516, 1),
        (FINDER, 1, "kdebug-counters-with-pmi-sample", "cpu-profile", 48, 43),
        (WEBKIT, 1, "time-sample", "time-profile", 2896, 7285),
        (WEBKIT, 2, "time-sample", "time-profile", 264, 283),
    ],
)
def test_raw_samples_have_the_stacks_of_the_profile(
    shared: Path, bundle: str, run: int, raw: str, derived: str, same: int, without_register: int
) -> None:
    """Instruments made each profile from the raw samples, which store stacks in another form.

    A profile's leaf is the program counter plus 1; the link register, where it is a caller of its own, is
    second in the profile and is left out of raw stacks, as exports do.
    """
    stacks = dict(sampled(table(bundle, raw, run), "cp-user-callstack"))
    counts: Counter[str] = Counter()
    for key, stack in sampled(table(bundle, derived, run), "stack"):
        if stack is None:
            assert stacks[key] is None
            continue
        (counter, name), *callers = stacks[key]
        if stack == [(counter + 1, name), *callers]:
            counts["same"] += 1
        else:
            assert [stack[0], *stack[2:]] == [(counter + 1, name), *callers]
            counts["without register"] += 1
    assert (counts["same"], counts["without register"]) == (same, without_register)


def known(frame: tuple[int, str]) -> str:
    """A frame's name; "" for one that has none and is shown by its address, or by the one below it."""
    return "" if frame[1] in (hex(frame[0]), hex(frame[0] - 1)) else frame[1]


def sampled(table: Table, stack: str) -> list[tuple[tuple[int, int], list[tuple[int, str]] | None]]:
    columns = {column.mnemonic: column for column in table.columns}
    stacks = [
        None if cell is None else [(frame[0], known(frame)) for frame in cell]
        for cell in cells(table, columns[stack])
    ]
    times = cells(table, table.columns[0])
    tids = [thread[0] for thread in cells(table, columns["thread"])]
    return list(zip(zip(times, tids, strict=True), stacks, strict=True))


@pytest.mark.parametrize(
    ("bundle", "run", "schema", "frames", "bare"),
    [
        (UNIPROF, 1, "time-profile", 100, {}),
        (UNIPROF, 1, "time-sample", 100, {"dyld": 1}),
        (FINDER, 1, "cpu-profile", 433, {"libicucore.A.dylib": 3}),  # so in the export
        (WEBKIT, 1, "time-profile", 5552, {"MediaToolbox": 986, "VideoToolbox": 111, "CoreAudio": 75}),
        (WEBKIT, 2, "time-profile", 707, {}),
    ],
)
def test_frames_have_binaries_and_few_stay_bare(
    shared: Path, bundle: str, run: int, schema: str, frames: int, bare: dict[str, int]
) -> None:
    """Addresses without names are in stripped binaries (as in Gecko profiles and exports) or lack a stored symbol."""
    stacks = table(bundle, schema, run).stacks
    assert (len(stacks.frames), (stacks.frames["binary_id"] < 0).sum()) == (frames, 0)
    assert not (stacks.frames["symbol"] == "").any()
    assert ((stacks.frames["source_line"] >= 0) == (stacks.frames["source_file"] != "")).all()
    assert stacks.binaries["uuid"].str.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}").all()
    assert stacks.binaries["path"].str.startswith("/").all()
    assert (stacks.binaries["load_address"] > 0).all()
    assert stacks.binaries["arch"].isin(["arm64", "arm64e"]).all()
    nameless = stacks.frames["symbol"].str.startswith("0x")
    assert Counter(stacks.binary_names[nameless]) == bare


@pytest.mark.parametrize("run", [1, 2])
def test_only_threads_that_begin_have_no_program_counter(shared: Path, run: int) -> None:
    """Address 0 is no frame of any profile; raw samples have it where a thread had not begun to run."""
    stacks = sampled(table(WEBKIT, "time-sample", run), "cp-user-callstack")
    zero = [(key, stack) for key, stack in stacks if stack and any(address == 0 for address, _ in stack)]
    assert [stack for _, stack in zero] == [[(0, "")]] * 2
    profiled = {key for key, _ in sampled(table(WEBKIT, "time-profile", run), "stack")}
    assert not profiled & {key for key, _ in zero}


@pytest.mark.parametrize(("bundle", "run"), [(UNIPROF, 1), (FINDER, 1), (WEBKIT, 1), (WEBKIT, 2)])
def test_the_model_holds_every_sample(shared: Path, bundle: str, run: int) -> None:
    trace = open_trace(BUNDLES / bundle, run=run)
    schema = "cpu-profile" if bundle == FINDER else "time-profile"
    assert trace.samples_source == schema
    assert len(trace.samples) == len(table(bundle, schema, run))
    weights = table(bundle, schema, run).rows
    assert trace.weights.sum() == weights["weight" if "weight" in weights else "cycle-weight"].sum()


def test_an_unfinished_recording_is_reported(shared: Path) -> None:
    (issue,) = [issue for issue in opened(UNFINISHED).issues() if issue.code == "recording-unfinished"]
    assert issue.severity == "warning"
    assert "Document Missing Template Error" in issue.message
    info = run_of(UNFINISHED, 1).info
    assert (info.os, info.platform, info.template, info.pid) == ("16.2", "iOS", "", None)


@pytest.mark.parametrize("bundle", [UNIPROF, FINDER, SIGNPOST, WEBKIT])
def test_finished_recordings_are_not_called_unfinished(shared: Path, bundle: str) -> None:
    assert not [issue for issue in opened(bundle).issues() if issue.code == "recording-unfinished"]


def test_system_load_is_equal_in_two_tables(shared: Path) -> None:
    """activity-monitor-system is made from sysmon-system: intervals that end where its samples are."""
    shown, raw = table(UNFINISHED, "activity-monitor-system").rows, table(UNFINISHED, "sysmon-system").rows
    assert len(shown) == len(raw) == 1093
    assert (shown["start"] + shown["duration"] == raw["time"]).all()
    assert (shown["start"].to_numpy()[1:] == raw["time"].to_numpy()[:-1]).all()
    common = [name for name in shown if name in raw]
    assert len(common) == 13
    for name in common:
        assert shown[name].equals(raw[name]), name
    assert (shown["memory-wired"] == raw["vm-wire-count"] * 16384).all()
    assert shown["cpu-total-load"].between(0, 200).all()  # two cores
    assert raw["time"].diff().dropna().between(0.97 * 10**9, 1.16 * 10**9).all()


@pytest.mark.parametrize("counter", ["disk-read-ops", "disk-write-ops", "net-packets-in", "net-packets-out"])
def test_rates_are_their_counters_over_time(shared: Path, counter: str) -> None:
    """A fixed point number that can be computed: events per second, cut after the ninth decimal."""
    rows = table(UNFINISHED, "activity-monitor-system").rows
    assert pd.isna(rows[f"{counter}-per-second"][0])
    events, rates = rows[counter].tolist(), rows[f"{counter}-per-second"].tolist()
    for row, duration in enumerate(rows["duration"].tolist()):
        expected = (events[row] - events[row - 1]) * 1e9 / duration if row else 0
        assert row == 0 or abs(rates[row] - expected) < 2e-9


def test_processes_stand_in_two_tables(shared: Path) -> None:
    """activity-monitor-process-live has the living of sysmon-process, row for row within a process."""
    raw, shown = (
        table(UNFINISHED, "sysmon-process").rows,
        table(UNFINISHED, "activity-monitor-process-live").rows,
    )
    assert raw["recently-died"].sum() == 124
    living = raw[raw["recently-died"] == 0].sort_values(["pid", "time"], kind="stable")
    shown = shown.sort_values(["pid", "start"], kind="stable")
    assert len(living) == len(shown) == 52502
    for left, right in {
        "pid": "pid",
        "uid": "uid",
        "thread-count": "thread-count",
        "cpu-total-user": "cpu-total",
        "memory-resident-size": "memory-real",
        "memory-physical-footprint": "memory-physical-footprint",
        "memory-real-private": "memory-real-private",
        "interrupt-wakeups": "idle-wakeups",
        "disk-bytes-read": "disk-bytes-read",
        "arch-kind": "arch-kind",
        "sandbox": "sandbox",
    }.items():
        assert living[left].tolist() == shown[right].tolist(), left
    percent, again = living["cpu-percent"].to_numpy(), shown["cpu-percent"].to_numpy()
    assert np.array_equal(percent, again, equal_nan=True)
    assert np.isnan(percent).sum() == 287  # 286 processes, one of which came back
    assert np.nanmin(percent) >= 0
    assert np.nanmax(percent) <= 200


@pytest.mark.parametrize(
    ("schema", "process", "pid", "rows"),
    [
        ("sysmon-process", "process", "pid", 52626),
        ("sysmon-process", "parent-process", "ppid", 52626),
        ("sysmon-process", "responsible-process", "responsible-pid", 52626),
        ("activity-monitor-process-live", "process", "pid", 52502),
        ("activity-monitor-process-ledger", "process", "pid", 286),
        ("process-info", "process", "pid", 309),
        ("thread-info", "process", "pid", 5951),
    ],
)
def test_pid_columns_agree_with_process_columns(
    shared: Path, schema: str, process: str, pid: str, rows: int
) -> None:
    read = table(UNFINISHED, schema)
    pids = np.append(read.processes["pid"].to_numpy(), -1)[read.rows[process].to_numpy()]
    assert pids.tolist() == read.rows[pid].fillna(-1).tolist()
    assert len(pids) == rows
    assert (read.processes["name"] != "").all()


def test_frames_per_second_and_percentages(shared: Path) -> None:
    """The same driver's numbers as fixed point in one table and as integers in another."""
    shown = table(UNFINISHED, "core-animation-fps-estimate").rows
    raw = table(UNFINISHED, "graphics-statistic").rows
    assert (len(shown), len(raw)) == (1124, 11240)
    statistic = {
        name: raw[raw["stat"] == name]["value"].astype(float).tolist() for name in raw["stat"].cat.categories
    }
    times = raw[raw["stat"] == "Device Utilization %"]["timestamp"]
    assert (shown["interval"] + shown["period"]).tolist() == times.tolist()
    assert shown["fps"].tolist() == statistic["CoreAnimationFramesPerSecond"]
    assert shown["device-utilization"].tolist() == statistic["Device Utilization %"]
    assert shown["fps"].between(0, 60).all()
    assert shown["device-utilization"].between(0, 100).all()


def test_ticks_tick(shared: Path) -> None:
    assert table(UNFINISHED, "tick").rows["time"].tolist() == [10**8 * tick for tick in range(1, 11376)]


def test_threads_of_a_row_are_the_threads_it_names(shared: Path) -> None:
    info = table(UNFINISHED, "thread-info")
    rows = info.rows["thread"].to_numpy()
    assert info.threads["tid"].to_numpy()[rows].tolist() == info.rows["tid"].tolist()
    assert info.threads["pid"].to_numpy()[rows].tolist() == info.rows["pid"].tolist()


@pytest.mark.parametrize(
    ("bundle", "run", "states"),
    [
        (
            UNIPROF,
            1,
            [
                (0, 499846874, "Initializing - Process Creation", 49230),
                (499846875, 501323707, "Initializing - System Interface Initialization", 49230),
                (500149291, 501415000, "Initializing - System Interface Initialization", 49230),
                (501323708, 501415000, "Initializing - Static Runtime Initialization", 49230),
            ],
        ),
        (FINDER, 1, [(0, 3398756980, "Unknown", 751)]),
        (WEBKIT, 1, [(0, 12272455692, "Unknown", 7561)]),
    ],
)
def test_states_of_the_app(
    shared: Path, bundle: str, run: int, states: list[tuple[int, int, str, int]]
) -> None:
    rows = open_trace(shared / "traces" / "bundles" / bundle, run=run).signposts
    rows = rows[(rows["source"] == "life-cycle-period").to_numpy(bool)]
    columns = ["start_ns", "end_ns", "name", "pid"]
    assert list(rows[columns].itertuples(index=False, name=None)) == states
