"""Requests as Foundation Models reports them in a fleet: rows by their source, a question, and the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fleet_rows import write_dataset
from generation_support import generate
from reported_support import Reported, analyze_reported
from sample_recordings import sample_analysis
from trace_support import MS

from tracekit import Analysis
from tracekit.cli import main
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.dataset_rows import Origin, build_analysis_tables
from tracekit.fleet.history.build_series import read_history
from tracekit.fleet.questions.registry import ask

ORIGIN = Origin("/lab/chat.trace", "ab" * 32, {"build": "7"})
PLACE = {"app": "Chat", "device": "Phone", "device_model": "iPhone 17", "system": "iOS 27.0"}
TABLE = "ModelInferenceTable"


def request_rows(analysis: Analysis, *names: str) -> list[tuple[Any, ...]]:
    rows = build_analysis_tables(analysis, ORIGIN)["requests"].to_pylist()
    return [tuple(row[name] for name in names) for row in rows]


@pytest.mark.integration
def test_rows_of_the_sample_are_as_reported() -> None:
    names = (
        "request",
        "source",
        "basis",
        "start_ns",
        "length_ns",
        "errors",
        "prompt_tokens",
        "cached_tokens",
    )
    assert request_rows(sample_analysis("foundation-models-macos27"), *names, "tokens") == [
        (1, TABLE, "measured", 5647916, 134693709, 0, 100, 0, 41),
        (2, TABLE, "measured", 172733250, 159611416, 0, 100, 90, 42),
        (3, TABLE, "measured", 364687916, 184705584, 1, 100, 90, 43),
    ]


def test_both_kinds_of_requests_have_their_source() -> None:
    analysis = analyze_reported([Reported(1000, 20), Reported(None, -1, errors=-1)], generate(10, 500, 4))
    names = ("source", "request", "cut", "length_ns", "tokens", "errors", "first_token_ns", "decode_tokens")
    assert request_rows(analysis, *names) == [
        ("os-signpost", 1, False, None, 4, None, 50 * MS, 3),
        (TABLE, 1, False, 1000 * MS, 20, 0, None, None),
        (TABLE, 2, True, None, None, None, None, None),
    ]


def reported(recording: str, length_ms: float | None, tokens: int | None, **changed: Any) -> dict[str, Any]:
    row: dict[str, Any] = {**PLACE, "recording": recording, "build": "1", "model": "fm", "source": TABLE}
    length_ns = None if length_ms is None else int(length_ms * MS)
    row |= {"basis": "measured", "length_ns": length_ns, "tokens": tokens, "errors": 0}
    return row | {"cut": length_ms is None} | changed


def marked(recording: str) -> dict[str, Any]:
    row = {**PLACE, "recording": recording, "build": "1", "model": "fm", "source": "os-signpost"}
    row |= {"basis": "measured", "tokens": 11, "decode_tokens": 10, "cut": False}
    return row | {"first_token_ns": 100 * MS, "decode_ns": 100 * MS}


def write_requests(folder: Path, requests: list[dict[str, Any]]) -> Dataset:
    names = dict.fromkeys(row["recording"] for row in requests)
    recordings = [{**PLACE, "recording": name, "build": "1"} for name in names]
    return write_dataset(folder, recordings=recordings, requests=requests)


REQUESTS = [
    *(reported("a", 1000, 20), reported("a", 3000, 60), reported("a", 9000, 900, errors=1)),
    *(reported("b", 4000, 80), reported("b", None, 5), reported("b", 50, None, errors=None)),
]
"""Both recordings have 20 tokens per second; the lower of two lengths is 1 s in a, and 50 ms in b."""


@pytest.mark.integration
def test_the_question_leaves_incomplete_requests_out_and_counts_them(tmp_path: Path) -> None:
    dataset = write_requests(tmp_path / "results", [*REQUESTS, marked("a")])
    (row,) = ask(dataset, "reported-request-speed", {}).rows.to_pylist()
    names = ("model", "build", "recordings", "requests", "failed_requests", "requests_without_end")
    assert tuple(row[name] for name in names) == ("fm", "1", 2, 6, 1, 1)
    assert row["length_ms"] == pytest.approx((1000 * 50) ** 0.5)
    ends = [row[f"response_tokens_per_second{end}"] for end in ("", "_low", "_high")]
    assert ends == pytest.approx([20, 20, 20])


@pytest.mark.integration
def test_questions_about_phases_have_only_what_signposts_mark(tmp_path: Path) -> None:
    dataset = write_requests(tmp_path / "results", [*REQUESTS, marked("a")])
    (row,) = ask(dataset, "request-speed", {}).rows.to_pylist()
    assert (row["recordings"], row["requests"], row["requests_without_first_token"]) == (1, 1, 0)
    assert row["tokens_per_second"] == pytest.approx(100)
    assert {key.source for key in read_history(dataset).keys} == {"os-signpost"}


@pytest.mark.integration
def test_responses_without_tokens_have_no_rate(tmp_path: Path) -> None:
    dataset = write_requests(tmp_path / "results", [reported("a", 1000, 0)])
    (row,) = ask(dataset, "reported-request-speed", {}).rows.to_pylist()
    assert (row["length_ms"], row["response_tokens_per_second"]) == (pytest.approx(1000), None)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("requirement", "code"),
    [
        ("response tokens per second >= 15 in fm", 0),
        ("response tokens per second >= 25", 1),
        ("request length <= 4s", 0),
        ("request length <= 3s", 1),
        ("incomplete requests <= 1", 0),
        ("incomplete requests == 0", 1),
        ("tokens per second >= 1", 5),
    ],
)
def test_the_gate_judges_them(tmp_path: Path, requirement: str, code: int) -> None:
    write_requests(tmp_path / "results", REQUESTS)
    command = ["fleet", "check", str(tmp_path / "results"), "--require", requirement, "--format", "json"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == code, result.stdout
    (entry,) = json.loads(result.stdout)["requirements"]
    assert (entry["outcome"] == "not measurable") is (code == 5)
