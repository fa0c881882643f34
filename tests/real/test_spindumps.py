"""Real spindumps: drivers' sleeping threads are idle, and a system without ML work shows no inference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracekit.analysis.classification.rule_set import load_rules
from tracekit.cli.stack_records import StackRecord, classify_records

DUMPS = Path(__file__).resolve().parents[3] / "shared" / "evidence" / "stack_dumps"
pytestmark = pytest.mark.skipif(not DUMPS.is_dir(), reason="no collection of spindumps beside the checkout")

FRAME = re.compile(r"( +)\*?(\d+) +(.+?) \(([^()]+) \+ \d+\) \[0x")


def stacks_of(name: str) -> list[StackRecord]:
    """Return the stacks of a spindump, one per leaf of its trees."""
    stacks: list[StackRecord] = []
    path: list[tuple[int, tuple[str, str]]] = []

    def end_of_stack() -> None:
        if path:
            stacks.append(StackRecord(tuple(frame for _, frame in reversed(path))))

    for line in (DUMPS / name).read_text(encoding="utf-8", errors="replace").splitlines():
        match = FRAME.match(line)
        indent = len(match[1]) - ("*" not in line[: line.index("0x")].split()[0]) if match else -1
        if not match or (path and indent <= path[-1][0]):
            end_of_stack()
        if not match:
            path.clear()
            continue
        while path and path[-1][0] >= indent:
            path.pop()
        path.append((indent, (match[4], re.sub(r" \+ \d+$", "", match[3]))))
    end_of_stack()
    return stacks


def verdicts(name: str) -> list[dict]:
    return list(classify_records(stacks_of(name), load_rules()))


def test_every_thread_of_the_neural_engines_driver_is_idle():
    found = verdicts("spindump_ane_kernel_excerpt.txt")
    assert len(found) == 1
    assert {(verdict["engine"], verdict["phase"]) for verdict in found} == {("ANE", "idle")}


def test_a_system_without_ml_work_shows_no_inference_on_the_neural_engine():
    found = verdicts("spindump_ventura_shutdownstall.txt")
    assert len(found) > 200
    on_ane = [
        verdict
        for verdict in found
        if verdict["engine"] == "ANE" and verdict["phase"] not in ("idle", "load", "compile")
    ]
    assert on_ane == []


def test_threads_that_the_kernel_put_to_sleep_are_seen_asleep():
    """Of the threads in a prediction, those whose leaf is a sleeping primitive wait; none of them computes."""
    asleep = [
        verdict
        for record, verdict in zip(
            stacks_of("spindump_ventura_shutdownstall.txt"),
            verdicts("spindump_ventura_shutdownstall.txt"),
            strict=True,
        )
        if record.frames[0][1] in ("machine_switch_context", "thread_block_reason")
        and verdict["engine"] in ("ANE", "GPU", "CPU", "RUNTIME")
    ]
    assert all(verdict["phase"] not in ("dispatch", "execute") for verdict in asleep)


def test_a_model_that_is_being_released_is_no_work_of_the_gpu():
    assert {verdict["engine"] for verdict in verdicts("spindump_ventura_shutdownstall.txt")} >= {
        "CPU",
        "RUNTIME",
    }
    assert not [v for v in verdicts("spindump_ventura_shutdownstall.txt") if v["engine"] == "GPU"]
