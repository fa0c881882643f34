"""The native reader of ``.trace`` bundles against what others made of the same recordings.

Beside the bundles lie exports that xctrace wrote, and Gecko profiles that another tool made from such exports.
What none of them shows is held against a decoder of its own, written below from the description of the format.
"""

from __future__ import annotations

import io
import plistlib
import re
import struct
import tarfile
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gecko import GeckoThread, read_gecko
from support import SHARED

from tracekit.load import open_trace
from tracekit.model import Column, RunInfo, Table
from tracekit.parsers.source import Source
from tracekit.sources import open_source

BUNDLES = SHARED / "traces" / "bundles"
UNIPROF = "shadi-gamal__uniprof/test-simple.trace.zip"
FINDER = "robtaylor__apple-profiler/finder.trace.zip"
SIGNPOST = "robtaylor__apple-profiler/signpost.trace.zip"
WEBKIT = "mstyura__webkit-profiler-data/00-one-video.tar.gz"
UNFINISHED = "OSzhou__XCTraceParser/yuan_whole_class.trace.tar.gz"
RUNS = [(UNIPROF, 1), (FINDER, 1), (SIGNPOST, 1), (WEBKIT, 1), (WEBKIT, 2), (UNFINISHED, 1)]
ROWS = {
    (UNIPROF, 1): (40, 8730),
    (FINDER, 1): (19, 5917),
    (SIGNPOST, 1): (9, 30653),
    (WEBKIT, 1): (36, 47503),
    (WEBKIT, 2): (36, 12183),
    (UNFINISHED, 1): (13, 197908),
}
"""Tables, and rows of all of them together."""

ALL_ONES = 2**64 - 1
PLAIN_NUMBERS = ("uint64", "address", "vnode", "kdebug-arg")
"""Types whose exports show 2^64-1 as the number that it is: see ``test_all_ones_are_a_number``."""
TEXTS = ("NarrativeText", "PrototypeString", "ThermalState", "ApplicationPeriod")
"""Types of composite cells that are stored as numbers of strings."""


@cache
def opened(bundle: str) -> Source:
    return open_source(BUNDLES / bundle)


@cache
def tables(bundle: str, schema: str, run: int = 1) -> tuple[Table, ...]:
    return tuple(opened(bundle).tables(schema, run))


def table(bundle: str, schema: str, run: int = 1) -> Table:
    (only,) = tables(bundle, schema, run)
    return only


def run_of(bundle: str, run: int) -> RunInfo:
    return next(one for one in opened(bundle).toc() if one.info.run == run)


def exported(file: str, schema: str) -> Table:
    (only,) = open_source(BUNDLES / file).tables(schema)
    return only


def cells(table: Table, column: Column) -> list[Any]:
    """A column with its references resolved; None for null."""
    values = table.rows[column.mnemonic]
    if column.kind in ("thread", "process"):
        frame = table.threads if column.kind == "thread" else table.processes
        held = [*frame.itertuples(index=False, name=None), None]
        return [held[at] for at in values]
    if column.kind == "stack":
        stacks = frames_of(table)
        return [stacks[at] if at >= 0 else None for at in values]
    return [None if value is pd.NA or value != value else value for value in values.astype(object)]


def frames_of(table: Table) -> list[list[tuple[Any, ...]]]:
    """Each stack's frames, leaf first: (address, symbol, binary, source file, source line, inlined)."""
    binaries = [*table.stacks.binaries.itertuples(index=False, name=None), None]
    frames = [
        (address, symbol, binaries[binary_id], *source)
        for symbol, binary_id, address, *source in table.stacks.frames.itertuples(index=False)
    ]
    return [[frames[at] for at in table.stacks.stack(one)] for one in range(len(table.stacks))]


# --- xctrace's exports ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bundle", "schema", "export", "rows"),
    [
        (FINDER, "cpu-profile", "finder_cpu_profile.xml", 91),
        (SIGNPOST, "os-signpost", "signpost_events.xml", 50),  # the exports hold the first 50 rows
        (SIGNPOST, "os-signpost-interval", "signpost_intervals.xml", 50),
    ],
)
def test_every_cell_equals_the_export(shared: Path, bundle: str, schema: str, export: str, rows: int) -> None:
    """All columns of all rows: names, addresses, binaries, os_log arguments one by one."""
    ours, theirs = table(bundle, schema), exported(f"robtaylor__apple-profiler/xml/{export}", schema)
    assert ours.columns == theirs.columns
    assert len(theirs) == rows
    for column in ours.columns:
        assert cells(ours, column)[:rows] == cells(theirs, column), column.mnemonic


def test_finder_has_all_frames_of_its_export(shared: Path) -> None:
    profile = table(FINDER, "cpu-profile")
    assert sum(len(stack) for stack in cells(profile, profile.columns[-1])) == 2292


@pytest.mark.parametrize(("bundle", "toc"), [(FINDER, "finder_toc.xml"), (SIGNPOST, "signpost_toc.xml")])
def test_toc_equals_the_export(shared: Path, bundle: str, toc: str) -> None:
    run = ET.parse(BUNDLES / "robtaylor__apple-profiler/xml" / toc).getroot().find("run")
    assert run is not None
    device, process = run.find("info/target/device"), run.find("info/target/process")
    assert device is not None
    ours = run_of(bundle, 1)
    summary = {field.tag: field.text for field in run.iterfind("info/summary/*")}
    assert (ours.info.device, ours.info.model) == (device.get("name"), device.get("model"))
    assert (ours.info.os, ours.info.platform) == (device.get("os-version"), device.get("platform"))
    if process is None:  # <all-processes/>
        assert (ours.info.process, ours.info.pid) == ("", None)
    else:
        assert (ours.info.process, str(ours.info.pid)) == (process.get("name"), process.get("pid"))
    assert summary == {
        "start-date": ours.info.start,
        "end-date": ours.info.end,
        "duration": f"{(ours.info.duration_ns or 0) / 1e9:.6f}",
        "end-reason": ours.info.end_reason,
        "instruments-version": ours.info.instruments,
        "template-name": ours.info.template,
        "recording-mode": ours.info.recording_mode,
        "time-limit": ours.info.time_limit,
    }
    assert ours.pids == {int(one.get("pid", "")) for one in run.iter("process") if one.get("path")}
    listed = [{"schema": one.schema, **one.attributes} for one in ours.tables]
    assert unordered(listed) == unordered([dict(one.attrib) for one in run.iter("table")])


def unordered(listed: list[dict[str, str]]) -> Counter[frozenset[tuple[str, str]]]:
    return Counter(frozenset(one.items()) for one in listed)


@pytest.mark.parametrize(("bundle", "run"), [(UNIPROF, 1), (WEBKIT, 1), (WEBKIT, 2)])
def test_lists_in_attributes_are_quoted_as_in_exports(shared: Path, bundle: str, run: int) -> None:
    """No export of these runs has a table of contents; all seven of the collection write this table's so."""
    seen = re.findall(
        r'<table[^>]* category="(&quot;Hang Risk[^"]*)"',
        (BUNDLES / "robtaylor__apple-profiler/xml/hangs_toc.xml").read_text(),
    )
    ours = [
        one.attributes["category"] for one in run_of(bundle, run).tables if "message-type" in one.attributes
    ]
    assert ours == [one.replace("&quot;", '"') for one in seen]


def test_time_profile_equals_the_export(shared: Path) -> None:
    ours, theirs = (
        table(UNIPROF, "time-profile"),
        exported("shadi-gamal__uniprof/test-simple-export.xml", "time-profile"),
    )
    assert ours.columns == theirs.columns
    assert len(ours) == len(theirs) == 518
    for column in ours.columns[:-1]:
        assert cells(ours, column) == cells(theirs, column), column.mnemonic
    stacks, exports = cells(ours, ours.columns[-1]), cells(theirs, theirs.columns[-1])
    assert [at for at, stack in enumerate(stacks) if stack is None] == [517]
    assert exports[517] is None
    differences: Counter[str] = Counter()
    for stack, export in zip(stacks[:517], exports[:517], strict=True):
        for frame, shown in zip(stack, export, strict=True):
            differences[uniprof_difference(frame, shown)] += 1
    assert differences == {
        "equal": 1045,
        # The export does not say what is inlined; the archive of symbols does.
        "inlined": 121,
        # Inlined as well; the export repeats the first line that it met in a function, the bundle has each's.
        "inlined, line 7 for 6": 394,
        # The first sample, taken while dyld was alone in the process: xctrace found no binary there.
        "dyld without a binary": 5,
    }


def uniprof_difference(frame: tuple[Any, ...], shown: tuple[Any, ...]) -> str:
    assert frame[0] == shown[0]
    if frame == shown:
        return "equal"
    if shown[1].startswith("0x"):
        assert (frame[2][1], shown[2:]) == ("/usr/lib/dyld", (None, "", -1, False))
        assert int(shown[1], 16) in (frame[0], frame[0] - 1)
        assert not frame[1].startswith("0x")
        return "dyld without a binary"
    assert frame[1] == "expensive_loop"
    assert frame[:4] == shown[:4]
    assert (frame[5], shown[5]) == (True, False)
    if frame[4] == shown[4]:
        return "inlined"
    return f"inlined, line {frame[4]} for {shown[4]}"


# --- Gecko profiles ---------------------------------------------------------------------------------------


@cache
def gecko(run: int) -> list[GeckoThread]:
    name = {1: "gpu", 2: "webcontent"}[run]
    return read_gecko(BUNDLES / f"mstyura__webkit-profiler-data/ff-00-one-video-{name}.json.gz")


@cache
def by_thread(run: int) -> dict[int, list[tuple[int, list[tuple[Any, ...]] | None]]]:
    """Native samples (time, stack) by tid."""
    profile = table(WEBKIT, "time-profile", run)
    held = defaultdict(list)
    columns = {column.mnemonic: cells(profile, column) for column in profile.columns}
    for time, thread, stack in zip(columns["time"], columns["thread"], columns["stack"], strict=True):
        held[thread[0]].append((time, stack))
    return dict(held)


@pytest.mark.parametrize(("run", "threads", "samples", "without_stack"), [(1, 21, 10181, 55), (2, 3, 547, 0)])
def test_gecko_profile_has_the_same_samples(
    shared: Path, run: int, threads: int, samples: int, without_stack: int
) -> None:
    """Times and depths. The profile leaves out samples without a stack, and puts in idle rows of its own."""
    ours = by_thread(run)
    profile = table(WEBKIT, "time-profile", run)
    names = {
        tid: f"{name} {tid:#x} ({process}, pid: {pid})"
        for tid, name, pid, process in profile.threads.itertuples(index=False)
    }
    assert names == {thread.tid: thread.name for thread in gecko(run)}
    assert len(names) == threads
    compared = 0
    for thread in gecko(run):
        stacks = [(one.time_ns, len(one.stack)) for one in thread.samples if one.stack is not None]
        assert [(time, len(stack)) for time, stack in ours[thread.tid] if stack] == stacks
        compared += len(stacks)
        times = [one.time_ns for one in thread.samples]
        for before, one in zip(times, thread.samples[1:], strict=False):
            # an idle row stands one interval after the last sample before a gap
            assert one.stack is not None or one.time_ns == before + 100_000
    assert compared == samples
    assert sum(stack is None for stacks in ours.values() for _, stack in stacks) == without_stack
    assert len(profile) == samples + without_stack


@pytest.mark.parametrize(("run", "frames"), [(1, 155_481), (2, 6971)])
def test_gecko_profile_has_the_same_names(shared: Path, run: int, frames: int) -> None:
    equal = 0
    others: Counter[tuple[str, str]] = Counter()
    for ours, theirs in paired_stacks(run):
        for frame, (name, _) in zip(ours, theirs, strict=True):
            if frame[1] == name:
                equal += 1
            else:
                others[frame[1], name] += 1
    assert not others
    assert equal == frames


@pytest.mark.parametrize(("run", "frames"), [(1, 155_481), (2, 6971)])
def test_gecko_profile_has_the_same_kinds_of_binaries(shared: Path, run: int, frames: int) -> None:
    """The other tool sorts frames by where their binary lies, as it was where a thread first met the name.

    It does not take signatures off addresses, and calls what it finds nowhere a framework.
    """
    agreed = 0
    for thread in gecko(run):
        kinds: dict[str, str] = {}
        stacks = [one.stack for one in thread.samples if one.stack is not None]
        ours = [stack for _, stack in by_thread(run)[thread.tid] if stack]
        for stack, shown in zip(ours, stacks, strict=True):
            for frame, (name, kind) in zip(stack, shown, strict=True):
                assert kinds.setdefault(name, kind_of(frame)) == kind
                agreed += 1
    assert agreed == frames


def paired_stacks(run: int) -> list[tuple[list[tuple[Any, ...]], tuple[tuple[str, str], ...]]]:
    pairs = []
    for thread in gecko(run):
        stacks = [one.stack for one in thread.samples if one.stack is not None]
        ours = [stack for _, stack in by_thread(run)[thread.tid] if stack]
        pairs += list(zip(ours, stacks, strict=True))
    return pairs


def kind_of(frame: tuple[Any, ...]) -> str:
    address, path = frame[0], frame[2][1]
    if address >= 2**47 or path.startswith("/System/Library/"):
        return "Framework"
    return "System" if path.startswith("/usr/lib/") else "Other"


# --- what a bundle says twice -----------------------------------------------------------------------------


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

    A profile's leaf is the program counter plus 1; the link register, where it is a caller of its own, stands
    second in the profile and is left out of raw stacks, as exports do.
    """
    stacks = dict(sampled(table(bundle, raw, run), "cp-user-callstack"))
    found: Counter[str] = Counter()
    for key, stack in sampled(table(bundle, derived, run), "stack"):
        if stack is None:
            assert stacks[key] is None
            continue
        (counter, name), *callers = stacks[key]
        if stack == [(counter + 1, name), *callers]:
            found["same"] += 1
        else:
            assert [stack[0], *stack[2:]] == [(counter + 1, name), *callers]
            found["without register"] += 1
    assert (found["same"], found["without register"]) == (same, without_register)


def known(frame: tuple[int, str]) -> str:
    """A frame's name; "" for one that has none and is shown by its address, or by the one below it."""
    return "" if frame[1] in (hex(frame[0]), hex(frame[0] - 1)) else frame[1]


def sampled(table: Table, stack: str) -> list[tuple[tuple[int, int], list[tuple[int, str]] | None]]:
    columns = {column.mnemonic: column for column in table.columns}
    stacks = [
        None if one is None else [(frame[0], known(frame)) for frame in one]
        for one in cells(table, columns[stack])
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
    """Bare ones lie in stripped binaries (Gecko profiles and exports show the same) or have no symbol stored."""
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
    held = sampled(table(WEBKIT, "time-sample", run), "cp-user-callstack")
    zero = [(key, stack) for key, stack in held if stack and any(address == 0 for address, _ in stack)]
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


# --- the unfinished recording -----------------------------------------------------------------------------


def test_unfinished_recording_says_so(shared: Path) -> None:
    (issue,) = [one for one in opened(UNFINISHED).issues() if one.code == "recording-unfinished"]
    assert issue.severity == "warning"
    assert "Document Missing Template Error" in issue.message
    info = run_of(UNFINISHED, 1).info
    assert (info.os, info.platform, info.template, info.pid) == ("16.2", "iOS", "", None)


@pytest.mark.parametrize("bundle", [UNIPROF, FINDER, SIGNPOST, WEBKIT])
def test_finished_recordings_are_not_called_unfinished(shared: Path, bundle: str) -> None:
    assert not [one for one in opened(bundle).issues() if one.code == "recording-unfinished"]


def test_system_load_stands_in_two_tables(shared: Path) -> None:
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
    for at, duration in enumerate(rows["duration"].tolist()):
        expected = (events[at] - events[at - 1]) * 1e9 / duration if at else 0
        assert at == 0 or abs(rates[at] - expected) < 2e-9


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
    for ours, theirs in {
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
        assert living[ours].tolist() == shown[theirs].tolist(), ours
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
    held = table(UNFINISHED, schema)
    pids = np.append(held.processes["pid"].to_numpy(), -1)[held.rows[process].to_numpy()]
    assert pids.tolist() == held.rows[pid].fillna(-1).tolist()
    assert len(pids) == rows
    assert (held.processes["name"] != "").all()


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
    assert table(UNFINISHED, "tick").rows["time"].tolist() == [10**8 * at for at in range(1, 11376)]


def test_threads_of_a_row_are_the_threads_it_names(shared: Path) -> None:
    held = table(UNFINISHED, "thread-info")
    rows = held.rows["thread"].to_numpy()
    assert held.threads["tid"].to_numpy()[rows].tolist() == held.rows["tid"].tolist()
    assert held.threads["pid"].to_numpy()[rows].tolist() == held.rows["pid"].tolist()


# --- every table of every run, against a decoder of its own -----------------------------------------------


@cache
def raw_files(bundle: str) -> dict[str, bytes]:
    path = BUNDLES / bundle
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            return {name: packed.read(name) for name in packed.namelist() if is_real(name)}
    with tarfile.open(path) as packed:
        members = [member for member in packed if member.isfile() and is_real(member.name)]
        return {member.name: packed.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def is_real(name: str) -> bool:
    return not name.endswith("/") and "__MACOSX" not in name and "/._" not in f"/{name}"


def unarchived(data: bytes) -> Any:
    """An NSKeyedArchiver's root as dicts and lists."""
    objects = plistlib.loads(data)["$objects"]

    def value(at: Any) -> Any:
        one = objects[at.data] if isinstance(at, plistlib.UID) else at
        if isinstance(one, list):
            return [value(item) for item in one]
        if not isinstance(one, dict):
            return one
        if "NS.string" in one:
            return one["NS.string"]
        if "NS.objects" in one:
            held = value(one["NS.objects"])
            return dict(zip(value(one["NS.keys"]), held, strict=True)) if "NS.keys" in one else held
        return {key: value(item) for key, item in one.items() if key != "$class"}

    return value(plistlib.loads(data)["$top"]["root"])


class RawRun:
    """One run's rows, straight from the files: strings, lists of numbers, and the rows of each store."""

    def __init__(self, bundle: str, run: int) -> None:
        part = f"/corespace/run{run}/core/"
        self.files = {
            name.partition(part)[2]: data for name, data in raw_files(bundle).items() if part in name
        }
        self.strings = plistlib.loads(
            re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"\xef\xbf\xbd", self.file("uniquing/strings"))
        )
        self.types = unarchived(self.file("uniquing/EngineeringTypes.etypes"))
        self.lists = {
            kind: [self.file(f"uniquing/{kind}/integeruniquer.{part}") for part in ("index", "data")]
            for kind in ("arrayUniquer", "typedArrayUniquer")
        }
        stores = {int(m[1]) for name in self.files if (m := re.match(r"stores/indexed-store-(\d+)/", name))}
        self.stores = [RawStore(self, f"stores/indexed-store-{number}") for number in sorted(stores)]

    def file(self, name: str) -> bytes:
        return zlib.decompress(self.files[name])

    def list_of(self, ref: int, kind: str = "arrayUniquer") -> tuple[int, ...]:
        index, data = self.lists[kind]
        offset, block = struct.unpack_from("<2I", index, 40 + 8 * ref)
        at = offset + block * struct.unpack_from("<I", index, 28)[0]
        (count,) = struct.unpack_from("<I", data, at)
        return struct.unpack_from(f"<{count}Q", data, at + 4)

    def typed(self, ref: int) -> tuple[Any, ...]:
        """The values of a composite cell, those of composite parts as tuples."""
        held = self.list_of(ref, "typedArrayUniquer")
        return tuple(self.part(*pair) for pair in zip(held[::2], held[1::2], strict=True))

    def part(self, kind: int, value: int) -> Any:
        name = self.types[kind].removeprefix("XR").removesuffix("TypeID")
        if name == "OSLogMetadata":
            return self.typed(value)
        return self.strings[value] if name in TEXTS else value

    def process(self, ref: int) -> int | None:
        return self.list_of(ref)[0] if ref != 0xFFFF_FFFF else None

    def thread(self, ref: int) -> tuple[int, int | None]:
        tid, process = self.list_of(ref)
        return tid, self.process(process)


class RawStore:
    """One store's rows: a dict of mnemonic to values, None where the value is all ones."""

    def __init__(self, run: RawRun, folder: str) -> None:
        root = ET.fromstring(run.file(f"{folder}/schema.xml"))
        self.schema = root.get("name", "")
        described = unarchived(run.file(f"{folder}/bulkstore_descriptor"))["$0"]
        fields = sorted((field["$0"] for field in described["_fields"]), key=lambda field: field["_index"])
        self.count = described["_props"]["next_event_id"]
        parts = ["time", "category1", "category2"]
        if fields[0]["_type"] == 6:
            parts.insert(1, "duration")
        names = parts + [field["_name"] for field in fields[1:]]
        codes = ("QQII" if fields[0]["_type"] == 6 else "QII") + "".join(
            "_IQ"[f["_type"]] for f in fields[1:]
        )
        self.row = struct.Struct(f"<{codes}")
        assert fields[0]["_type"] in (6, 7)
        assert self.row.size == described["_maxEventSize"]
        self.types = {one.get("mnemonic", ""): one.get("engineeringType") for one in root.iter("column")}
        self.columns: dict[str, list[int | None]] = {}
        if not self.count:
            return
        data = run.file(f"{folder}/bulkstore")
        magic, version, _, start, width = struct.unpack_from("<5I", data)
        assert (magic, version, width) == (0x1234_0A0A, 3, self.row.size)
        end = start + self.count * width
        assert not any(data[end:])  # no row after the last
        rows = sorted(self.row.iter_unpack(data[start:end]), key=lambda row: row[0])
        values = dict(zip(names, zip(*rows, strict=True), strict=True))
        for column in root.iter("column"):
            topology = re.fullmatch(
                r"XR(?:TraceRelative)?(\w+?)(?:stamp)?FieldID", column.get("topologyField", "")
            )
            name = topology[1].lower() if topology else column.get("mnemonic", "")
            none = {"I": 2**32 - 1, "Q": ALL_ONES}[codes[names.index(name)]]
            self.columns[column.get("mnemonic", "")] = [None if v == none else v for v in values[name]]

    def decoded(self, column: Column, run: RawRun) -> list[Any]:
        raw = self.columns.get(column.mnemonic, [])
        if column.kind == "float":
            return [None if one is None else (one - (2**63 - 1)) / 1e9 for one in raw]
        if self.types[column.mnemonic] == "XRAnyTypeID" and column.kind == "text":
            return [None if one is None else str(*run.typed(one)) for one in raw]
        if column.kind == "text":
            high = 32 if column.engineering_type == "thread-name" else 0
            return [None if one is None else run.strings[one >> high] for one in raw]
        if self.types[column.mnemonic] == "XRReturnLocationTypeID":  # (uuid, offset)
            return [None if one is None else (run.list_of(one >> 32), one & 0xFFFF_FFFF) for one in raw]
        reads = {"thread": run.thread, "process": run.process, "ints": run.list_of, "parts": run.typed}
        read = reads.get(column.kind)
        return raw if read is None else [None if one is None else read(one) for one in raw]


@cache
def raw_run(bundle: str, run: int) -> RawRun:
    return RawRun(bundle, run)


def plain(table: Table, column: Column) -> list[Any]:
    """A column as ``RawStore.decoded`` gives it."""
    values = table.rows[column.mnemonic]
    if column.kind == "thread":
        threads = [*zip(table.threads["tid"].tolist(), table.threads["pid"].tolist(), strict=True), None]
        return [threads[at] for at in values.tolist()]
    if column.kind == "process":
        pids = [*table.processes["pid"].tolist(), None]
        return [pids[at] for at in values.tolist()]
    if column.kind == "int":
        numbers = values.to_numpy(object, na_value=None).tolist()
        if column.engineering_type in PLAIN_NUMBERS:
            return [None if one == ALL_ONES else one for one in numbers]
        return numbers
    if column.kind == "parts":
        return [None if one is None else values_of(one) for one in values.tolist()]
    return [None if one is None or one != one else one for one in values.tolist()]


def values_of(parts: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
    return tuple(values_of(value) if isinstance(value, tuple) else value for _, value in parts)


@pytest.mark.parametrize(("bundle", "run"), RUNS)
def test_every_table_has_every_row(shared: Path, bundle: str, run: int) -> None:
    stored = Counter((store.schema, store.count) for store in raw_run(bundle, run).stores)
    listed = run_of(bundle, run).tables
    assert Counter((info.schema, info.row_count) for info in listed) == stored
    read = [one for schema in {info.schema for info in listed} for one in tables(bundle, schema, run)]
    assert Counter((one.schema, len(one)) for one in read) == stored
    assert (len(read), sum(len(one) for one in read)) == ROWS[bundle, run]


@pytest.mark.parametrize(("bundle", "run"), RUNS)
def test_every_cell_equals_an_independent_decoder(shared: Path, bundle: str, run: int) -> None:
    """Every column of every table but stacks: numbers, text, times, processes, threads, composite values."""
    raw = raw_run(bundle, run)
    compared = 0
    for schema in {store.schema for store in raw.stores}:
        stores = [store for store in raw.stores if store.schema == schema]
        for held, store in zip(tables(bundle, schema, run), stores, strict=True):
            for column in held.columns:
                if column.kind == "stack":
                    continue
                assert plain(held, column) == store.decoded(column, raw), (schema, column.mnemonic)
                compared += len(held)
    assert compared > 3 * ROWS[bundle, run][1]


@pytest.mark.parametrize(
    ("run", "column"),
    [(1, "timeout"), (1, "other-arg"), (2, "timeout"), (2, "other-arg"), (2, "runloop-pointer")],
)
def test_all_ones_are_a_number(shared: Path, run: int, column: str) -> None:
    """An export of the same table shows 2^64-1 as a uint64 and an address, and no cell without a value."""
    export = open_source(
        SHARED / "traces/xml/sforteln__xctrace-query-mcp-server/schema-table__runloop-events.xml"
    )
    (theirs,) = export.tables("runloop-events")
    ours = table(WEBKIT, "runloop-events", run)
    assert (theirs.rows[column] == ALL_ONES).any()
    assert not theirs.rows[column].isna().any()
    assert not ours.rows[column].isna().any()


@pytest.mark.parametrize("form", ["folder", "zip", "tar"])
@pytest.mark.parametrize("bundle", [UNIPROF, FINDER, SIGNPOST, WEBKIT, UNFINISHED])
def test_folder_zip_and_tar_are_read_the_same(shared: Path, tmp_path: Path, bundle: str, form: str) -> None:
    known = opened(bundle)
    source = open_source(packed_as(form, raw_files(bundle), tmp_path), via="native")
    assert source.toc() == known.toc()
    for run in known.toc():
        for schema in {info.schema for info in run.tables}:
            again = tuple(source.tables(schema, run.info.run))
            pairs = zip(again, tables(bundle, schema, run.info.run), strict=True)
            assert all(same(*pair) for pair in pairs), schema
    assert sorted(map(str, source.issues())) == sorted(map(str, known.issues()))


def packed_as(form: str, files: dict[str, bytes], folder: Path) -> Path:
    if form == "folder":
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return next(folder.iterdir())
    path = folder / f"packed.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for name, data in files.items():
                zipped.writestr(name, data)
        return path
    with tarfile.open(path, "w") as tarred:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tarred.addfile(member, io.BytesIO(data))
    return path


def same(one: Table, other: Table) -> bool:
    assert (one.columns, one.attributes, one.run) == (other.columns, other.attributes, other.run)
    assert np.array_equal(one.stacks.offsets, other.stacks.offsets)
    assert np.array_equal(one.stacks.frame_ids, other.stacks.frame_ids)
    frames = [
        (one.rows, other.rows),
        (one.threads, other.threads),
        (one.processes, other.processes),
        (one.stacks.frames, other.stacks.frames),
        (one.stacks.binaries, other.stacks.binaries),
    ]
    return all(ours.equals(theirs) for ours, theirs in frames)
