"""Commands of next steps: a shell reads them back, and ``check`` accepts each requirement."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import ModelCalls
from tracekit.analysis.findings.lengths import hold_length
from tracekit.analysis.selection import Selection
from tracekit.checks.parser import parse_requirement
from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import Engine
from tracekit.report.wording.findings.actions import next_steps


def words(action: Action, name: str = "a recording.trace") -> list[str]:
    (step,) = next_steps([action], TraceInfo(name, "trace-bundle"))
    return shlex.split(step.command)


NAMES = [
    "Net",
    "in",
    "a'b",
    'a"b',
    "$(rm)",
    "--run",
    "a\nb",
    "x" * 1000,
    "==",
    "100%",
    "first in x",
    "a\\",
    "Ü ",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_check_accepts_the_requirement_of_any_model(name: str) -> None:
    for action in (
        Action("check-engine", {"engine": Engine.ANE, "model": name}),
        Action("check-first", {"model": name, "warm_ns": 3}),
        Action("check-latency", {"model": name, "statistic": "p99", "limit_ns": 5}),
        Action("check-no-engine", {"engine": Engine.CPU, "model": name}),
        Action("check-segments", {"model": name, "is_named": True}),
    ):
        tracekit, check, recording, option, requirement = words(action)
        assert (tracekit, check, recording) == ("tracekit", "check", "a recording.trace")
        parse_requirement(requirement, forbids=option == "--forbid")


@pytest.mark.parametrize(
    "limit_ns, limit",
    [
        (0, "1us"),
        (120_001, "121us"),
        (17_810_000, "17.9ms"),
        (16_000_000, "16ms"),
        (1_234_567_800_000, "1234567.8ms"),
        (2**62, "4611686018427.4ms"),
    ],
)
def test_a_limit_of_any_size_is_written_as_check_reads_it(limit_ns: int, limit: str) -> None:
    action = Action("check-latency", {"model": "Net", "statistic": "p90", "limit_ns": limit_ns})
    requirement = words(action)[-1]
    assert requirement == f"warm p90 in Net <= {limit}"
    parse_requirement(requirement)


def test_a_time_range_holds_the_call_at_any_clock_and_keeps_the_process() -> None:
    start_ns, end_ns = 2**62 + 1, 2**62 + 1  # floats are 1,024 ns apart there
    chosen = Selection("App", None, "stacks")
    action = Action("analyze-time", {"start_ns": start_ns, "end_ns": end_ns, "selection": chosen})
    assert words(action)[3:] == ["--process", "App", "--window", "4611686018427.387ms-4611686018427.388ms"]


@pytest.mark.parametrize(
    "calls, statistics", [(8, ("max", "p50")), (100, ("max", "p90")), (400, ("p99", "p90"))]
)
def test_calls_are_held_by_a_statistic_that_their_number_carries(
    calls: int, statistics: tuple[str, str]
) -> None:
    model = ModelCalls("Net", "Net", True, 7, np.arange(calls))
    held = tuple(hold_length(model, name, 1).arguments["statistic"] for name in ("p99", "p90"))
    assert held == statistics
