"""``tracekit-analysis/1``: every analysis validates against the published schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents_support import SHARED, TIME_PROFILE, one_table, strict, write
from evidence_support import prediction, with_evidence
from export_support import awkward
from json_oracle import plain_windows
from jsonschema import Draft202012Validator
from trace_support import UI, trace_of

from tracekit import analyze
from tracekit.analysis import parse_window
from tracekit.load import open_trace
from tracekit.report.analysis import json_windows
from tracekit.report.analysis.json import json_pieces, to_dict, to_json
from tracekit.text import escape_json

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "tracekit-analysis-1.schema.json").read_text())
SAMPLES = sorted(path.parent for path in (ROOT / "sample_traces").glob("*/truth.json"))
REAL = [
    SHARED / "traces" / "xml" / name
    for name in (
        "jonhoo__inferno/basic.xml",
        "CharlesWiltgen__Axiom/cpu-profile.xml",
        "robtaylor__apple-profiler/real_finder_cpu_profile.xml",
        "fzhinkin__xctraceprof/counters-profile.xml",
    )
]


VALIDATOR = Draft202012Validator(strict(SCHEMA))


def validate(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    VALIDATOR.validate(document)
    return document


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.integration
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("windows", ["auto", "stacks", "run"])
def test_sample_recordings_validate(path: Path, windows: Any) -> None:
    document = validate(to_json(analyze(open_trace(path), windows=windows)))
    assert sum(engine["samples"] for engine in document["engines"].values()) == document["samples"]["count"]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_recordings_validate(shared: Path, path: Path) -> None:
    validate(to_json(analyze(open_trace(path), windows=[parse_window("1ms-2s")])))


@pytest.mark.parametrize(
    "recording", ["fallback-midway-ios27", "counters-bnns-macos15", "cpu-profile-ane-macos26", *awkward()]
)
def test_windows_are_written_as_they_are_one_by_one(recording: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_windows, "_BLOCK", 3)
    analysis = awkward().get(recording) or analyze(open_trace(ROOT / "sample_traces" / recording))
    pieces = list(json_pieces(analysis))
    text = b"".join(pieces).decode()
    plain = {**json.loads(text), "windows": plain_windows(analysis)}
    assert text == escape_json(json.dumps(plain, ensure_ascii=False, indent=2)) + "\n"
    assert len(pieces) == 2 + -(-len(analysis.window_rows) // 3)


def test_an_empty_table_of_samples_validates(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, one_table("time-profile", TIME_PROFILE)))
    document = validate(to_json(analyze(trace)))
    assert document["samples"]["count"] == 0
    assert document["summary"]["p50_ns"] is None


def test_uncounted_time_is_null_and_not_zero() -> None:
    document = to_dict(analyze(open_trace(ROOT / "sample_traces" / "cpu-profile-ane-macos26")))
    assert document["samples"]["weight_ns"] is None
    assert document["samples"]["weight_unit"] == "cycles"
    assert document["engines"]["ANE"]["sampled_ns"] is None
    assert document["engines"]["ANE"]["weight"] > 0
    assert document["engines"]["ANE"]["busy_ns"] is None


def test_the_loaded_copy_of_each_call() -> None:
    rows = [
        replace(prediction(0, 9), copy="Net-1"),
        replace(prediction(20, 29), copy="Net-2"),
        prediction(40, 49, "Tagger"),
    ]
    analysis = analyze(with_evidence(trace_of([(0, "a", UI)]), rows))
    calls = [(call["model"], call["copy"]) for call in to_dict(analysis)["windows"]]
    assert calls == [("Net", "Net-1"), ("Net", "Net-2"), ("Tagger", None)]
    assert analysis.windows["copy"].isna().tolist() == [False, False, True]


@pytest.mark.integration
def test_the_same_input_gives_the_same_bytes() -> None:
    assert to_json(analyze(open_trace(SAMPLES[0]))) == to_json(analyze(open_trace(SAMPLES[0])))


def test_no_path_of_the_machine_is_in_the_output() -> None:
    assert str(ROOT) not in to_json(analyze(open_trace(SAMPLES[0])))
