"""Texts within a budget: trees cost their lines, whatever their depth; what would cost more is refused first."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from text_support import counted, per_thread, trace_of_text

from tracekit.detect import open_source
from tracekit.load import open_trace
from tracekit.model.trace import IssueCounter
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError, Limits
from tracekit.parsers.text import call_tree_reader, ips
from tracekit.parsers.text.call_paths import CallPaths
from tracekit.parsers.text.call_tree_reader import CallTreeReader
from tracekit.parsers.text.json_text import _MEMORY_BYTES
from tracekit.parsers.text.stack_counts import StackCounts

pytestmark = pytest.mark.integration


def few(**limits: int) -> Limits:
    return replace(DEFAULT_LIMITS, **limits)


def refusal(folder: Path, text: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the sentence with which a text is refused."""
    path = folder / "report.txt"
    path.write_text(text)
    with pytest.raises(LimitError) as raised:
        open_trace(path, limits=limits)
    return raised.value.problem


def sample(*lines: str) -> str:
    return "Analysis of sampling App (pid 1) every 1 millisecond\n\nCall graph:\n" + "\n".join(lines) + "\n"


SPINDUMP = "Date/Time: 2026-01-01 12:00:00.000 +0000\n\nProcess: App [1]\n\n  Thread 0x1    9 samples (1-9)\n"
COPY = "Weight\tSelf Weight\t\tSymbol Name\n9.00 ms  100.0%\t0 s\t \tApp (1)\n"
TREES = {
    "sample": sample("    9 Thread_1", "    + 9 main", "    +   4 a", "    +     4 b", "    +   5 b"),
    "spindump": SPINDUMP
    + "  9  main (App + 1) [0x1]\n    4  a (App + 2) [0x2]\n      4  b (App + 3) [0x3]\n    5  b (App + 3) [0x3]\n",
    "deep copy": COPY
    + "9.00 ms  100.0%\t0 s\t \t main\n4.00 ms  40.0%\t0 s\t \t  a\n4.00 ms  40.0%\t4.00 ms\t \t   b\n"
    + "5.00 ms  50.0%\t5.00 ms\t \t  b\n",
}
"""One tree: main called a, which called b, and b itself; two stacks of five frames, three frames' names."""


@pytest.mark.parametrize("text", TREES.values(), ids=TREES)
def test_a_call_tree_is_limited_by_frames_lines_and_written_stacks(tmp_path: Path, text: str) -> None:
    assert sorted(counted(trace_of_text(tmp_path, text))) == [(4, ("main", "a", "b")), (5, ("main", "b"))]
    assert refusal(tmp_path, text, few(frames=2)) == "holds more than 2 different frames and was not read."
    problem = "holds more than 1 frames in its call trees and was not read."
    assert refusal(tmp_path, text, few(call_paths=1)) == problem
    problem = "holds more than 4 frames in its different stacks and was not read."
    assert refusal(tmp_path, text, few(stack_frames=4)) == problem
    path = tmp_path / "report.txt"
    assert len(open_trace(path, limits=few(frames=3, call_paths=2, stack_frames=5)).samples) == 2


def test_counted_stacks_are_limited_too(tmp_path: Path) -> None:
    text = sample("    9 Thread_1", *["    + 1 f"] * 9)
    assert counted(trace_of_text(tmp_path, text)) == [(9, ("f",))]
    problem = "holds more than 8 counted stacks and was not read."
    assert refusal(tmp_path, text, few(call_paths=8)) == problem


def test_a_deep_and_wide_tree_costs_its_lines_until_its_stacks_are_written_out(tmp_path: Path) -> None:
    depth, leaves = 300, 9000
    lines = ["    9999 Thread_1", *(f"    {' ' * (2 * n + 2)}9999 f{n}" for n in range(depth))]
    lines += [f"    {' ' * (2 * depth + 2)}1 g{n}" for n in range(leaves)]
    path, text = tmp_path / "report.txt", sample(*lines)
    refusal(tmp_path, sample("    1 Thread_1", "    + 1 f"), few(stack_frames=0))  # what is loaded once
    tracemalloc.start()
    problem = refusal(tmp_path, text, few(stack_frames=depth * leaves - 1))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "frames in its different stacks" in problem
    assert peak_bytes < 8 * depth * leaves
    trace = open_trace(path)
    assert len(trace.stacks) == leaves + 1  # the last frame of the stair has samples of its own
    assert len(trace.stacks.frame_ids) == leaves * (depth + 1) + depth


def test_equal_stacks_of_several_threads_are_one_stack_and_stay_apart_by_thread(tmp_path: Path) -> None:
    text = sample(
        "    2 Thread_1", "    + 2 main", "    +   2 f", "    3 Thread_2", "    + 3 main", "    +   3 f"
    )
    assert refusal(tmp_path, text, few(threads=1)) == "holds more than 1 threads and was not read."
    trace = trace_of_text(tmp_path, text)
    assert (len(trace.stacks), len(trace.stacks.frames)) == (1, 2)
    assert per_thread(trace) == {(1, ""): 2, (2, ""): 3}


@pytest.mark.parametrize("seed", range(5))
def test_paths_are_the_stacks_that_were_added(seed: int) -> None:
    dice = random.Random(seed)
    stacks = [[dice.randrange(3) for _ in range(dice.randrange(6))] for _ in range(200)]
    paths = CallPaths("x", DEFAULT_LIMITS)
    parts = [(stack[0] if stack else -1, paths.add_stack(stack[:0:-1])) for stack in stacks]
    leaves, callers = (np.array(column, np.int32) for column in zip(*parts, strict=True))
    offsets, frames, rows = paths.build_stacks(leaves, callers)
    written = [frames[begin:end].tolist() for begin, end in pairwise(offsets)]
    assert written == [list(stack) for stack in dict.fromkeys(tuple(stack) for stack in stacks if stack)]
    assert [written[row] if row >= 0 else [] for row in rows] == stacks


def test_lines_below_many_cuts_keep_their_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_tree_reader, "_MAX_LOOKUPS", 50)
    counts, issues = StackCounts(), IssueCounter()
    tree = CallTreeReader(counts, issues)
    tree.begin(counts.add_thread(1), 0, 100)
    for number in range(20):
        tree.add_line(2, 5, f"f{number}")
        tree.cut()
        tree.add_line(4, 3, f"g{number}")
    tree.flush(lambda text, _: counts.add_frame(text))
    assert int(counts.build_table().rows["weight"].sum()) == 100


# Reports after one another ----------------------------------------------------------------------------------

IPS = '{"app_name":"App","bug_type":"309"}\n'
REPORTS = {
    "sample": sample("    1 Thread_1", "    + 1 f", ""),
    "spindump": SPINDUMP + "  9  f (App + 1) [0x1]\n\n",
    "deep copy": COPY + "9.00 ms  100.0%\t9.00 ms\t \t f\n",
    "ips": IPS + '{"threads":[{"frames":[{"symbol":"f"}]}]}\n',
    "crash": "Process:   App [1]\nException Type:  E\nThread 0:\n0   App  \t0x0000000100000000 f + 1\n\n",
    "hits": '{"tracekit": "lldb-hits", "version": 1}\n{"time": 1, "tid": 1, "rule": "r", "stack": [[0, 1, "f", false]]}\n',
}


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_reports_in_a_text_are_limited(tmp_path: Path, report: str) -> None:
    problem = "holds more than 4 reports and was not read."
    assert refusal(tmp_path, report * 5, few(documents=4)) == problem
    assert len(open_source(tmp_path / "report.txt", limits=few(documents=5)).toc()) == 5


def test_a_report_becomes_a_table_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    table = StackCounts.build_table
    monkeypatch.setattr(
        StackCounts, "build_table", lambda counts, run=1: made.append(run) or table(counts, run)
    )
    path = tmp_path / "report.ips"
    path.write_text("".join(REPORTS["ips"].replace("App", f"App{n}") for n in range(40)))
    source = open_source(path)
    runs = source.toc()
    assert [run.info.process for run in runs[:3]] == ["App0", "App1", "App2"]
    assert [table.row_count for run in runs for table in run.tables] == [1] * 40
    assert made == []
    (trace_table,) = source.tables("stack-counts", 7)
    (again,) = source.tables("stack-counts", 7)
    assert (made, trace_table.run) == ([7], 7)
    assert again is trace_table


def test_many_runs_are_named_by_the_first_and_the_last(tmp_path: Path) -> None:
    path = tmp_path / "report.ips"
    path.write_text(REPORTS["ips"] * 40)
    (message,) = [issue.message for issue in open_trace(path).issues if issue.code == "several-runs"]
    assert message.startswith("the recording has runs 1, 2, 3,")
    assert ", … 40; this is run 1" in message


# JSON before it is decoded ----------------------------------------------------------------------------------


def test_json_is_refused_by_its_values_before_it_is_decoded(tmp_path: Path) -> None:
    text = IPS + '{"threads":[' + "{}," * 500_000  # it would be cut off
    assert refusal(tmp_path, text, few(json_bytes=64 << 20)) == (
        "has so many values in its JSON that they could take more than 64 MB and was not read."
    )


@pytest.mark.parametrize(
    "element",
    ["{},", "[],", '{"":0},', "[[0]],", "1.5,", "[0,123456],", '"\u0100b",', '{"imageOffset":71234,"imageIndex":3},', "KEYS"],
)  # fmt: skip
def test_no_json_takes_more_memory_than_its_characters_claim(element: str) -> None:
    count = 44_000  # just after the last resize of an object with so many keys
    text = "[" + element * count + "0]"
    if element == "KEYS":
        text = "{" + ",".join(f'"{number:x}\u0100":0' for number in range(count)) + "}"
    claimed = sum(size * text.count(character) for character, size in _MEMORY_BYTES.items())
    tracemalloc.start()
    json.loads(text)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < claimed + 4 * len(text)


def test_a_stackshot_of_a_whole_system_is_within_the_limit(tmp_path: Path) -> None:
    frames = ",".join(f"[{n % 7},{n * 4096}]" for n in range(40))
    threads = ",".join(
        f'"{tid}":{{"id":{tid},"name":"worker","state":["TH_WAIT"],"userTime":0.25,"userFrames":[{frames}]}}'
        for tid in range(200)
    )
    text = '{"bug_type":"288"}\n{"processByPid":{"1":{"procname":"p","threadById":{' + threads
    text += '}}},"binaryImages":[["' + "0" * 32 + '",65536,"P"]]}'
    claimed = sum(size * text.count(character) for character, size in _MEMORY_BYTES.items())
    assert claimed / len(text) * 40e6 < DEFAULT_LIMITS.json_bytes
    trace = trace_of_text(tmp_path, text)
    assert len(trace.samples) == 200
    assert Counter(len(stack) for _, stack in counted(trace)) == {40: 200}


def test_a_stack_that_is_too_long_keeps_the_frames_at_its_leaf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ips, "_MAX_DEPTH", 2)
    frames = ",".join(f'{{"symbol":"f{number}"}}' for number in range(4))
    trace = trace_of_text(tmp_path, IPS + f'{{"threads":[{{"frames":[{frames}]}}]}}')
    assert counted(trace) == [(1, ("(callers missing)", "f1", "f0"))]
    assert [issue.count for issue in trace.issues if issue.code == "callers-missing"] == [1]
