"""Intervals of the Neural Engine's client, among the signposts of a log."""

from __future__ import annotations

from pathlib import Path

from log_streams import FAILED, SERVED, call, entry, signpost

from tracekit import analyze, open_trace
from tracekit.analysis.budget.parts import BudgetPart
from tracekit.api import Analysis
from tracekit.parsers.tables.log_messages import find_client_phase

EVALUATE = "_ANEF_MODEL_EVALUATE"


def interval(begin_us: int, end_us: int, name: str, subsystem: str = "com.apple.ane") -> list[bytes]:
    owner = {"subsystem": subsystem, "category": "client"}
    return [
        signpost(time_us, kind, name, begin_us, **owner)
        for time_us, kind in ((begin_us, "begin"), (end_us, "end"))
    ]


def analyzed(folder: Path, *lines: bytes) -> Analysis:
    path = folder / "saved.ndjson"
    path.write_bytes(b"".join(lines))
    return analyze(open_trace(path), signposts="encode")


def sums(analysis: Analysis, *parts: BudgetPart) -> list[list[float]]:
    """Return the ms of each part in the calls."""
    return [(analysis.budget.sums.sum_part(part) / 1e6).tolist() for part in parts]


def test_a_call_waits_in_evaluations_and_loads_in_what_makes_a_program_ready(tmp_path: Path) -> None:
    begin, end = call(0, 5_000)
    client = [
        *interval(200, 500, "_ANEF_MODEL_COMPILE"),
        *interval(500, 900, "_ANEF_MODEL_LOAD"),
        *interval(1_000, 4_000, EVALUATE),
    ]
    analysis = analyzed(tmp_path, begin, *client, end)
    assert sums(analysis, BudgetPart.LOAD, BudgetPart.WAITING, BudgetPart.UNKNOWN) == [[0.7], [3.0], [1.3]]
    assert analysis.verdicts.names == ["ANE"]
    assert "Core ML" not in analysis.to_text().partition("Evidence")[0]


def test_an_evaluation_whose_request_failed_is_time_and_no_evidence(tmp_path: Path) -> None:
    begin, end = call(0, 5_000)
    analysis = analyzed(tmp_path, begin, *interval(1_000, 4_000, EVALUATE), entry(3_900, FAILED), end)
    assert sums(analysis, BudgetPart.WAITING) == [[3.0]]
    assert analysis.verdicts.names == ["UNKNOWN"]


def test_signposts_of_that_name_from_an_app_are_not_the_clients(tmp_path: Path) -> None:
    begin, end = call(0, 5_000)
    others = interval(1_000, 4_000, EVALUATE, "com.example.app")
    analysis = analyzed(tmp_path, begin, *others, entry(3_900, SERVED), end)
    assert analysis.trace.intervals.empty
    assert sums(analysis, BudgetPart.UNKNOWN) == [[5.0]]


def test_the_phase_of_an_interval_is_found_by_its_name_and_subsystem() -> None:
    assert find_client_phase("com.apple.ANE", EVALUATE) == "wait"
    assert find_client_phase("com.apple.ane", "_ANEF_MODEL_EVAL") is None
    assert find_client_phase("com.example", "_ANEF_MODEL_LOAD") is None
