"""Requests to language models in a fleet: rows of an analysis, questions about them, and their history."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from evidence_support import ane, core_ai
from fleet_rows import arrow_rows, write_dataset
from generation_support import analysis_of, generate, span
from sample_recordings import sample_analysis
from trace_support import MS

from tracekit import Analysis
from tracekit.errors import NotMeasurableError
from tracekit.fleet.dataset import Dataset, create_dataset, open_dataset
from tracekit.fleet.dataset_rows import Origin, build_analysis_tables
from tracekit.fleet.history.build_series import read_history
from tracekit.fleet.history.change_gate import check_fleet, parse_gate
from tracekit.fleet.questions.registry import ask
from tracekit.report.analysis.text import to_text as print_analysis
from tracekit.report.fleet.gate import to_text
from tracekit.report.fleet.history_view import history_view, read_history_data

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
ORIGIN = Origin("/lab/chat.trace", "ab" * 32, {"build": "7"})
PLACE = {"app": "Chat", "device": "Phone", "device_model": "iPhone 17", "system": "iOS 27.0"}


def request_rows(analysis: Analysis) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = build_analysis_tables(analysis, ORIGIN)["requests"].to_pylist()
    return rows


def columns(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["language-model-macos27", "language-model-leaves-engine-macos27"])
def test_rows_of_samples_are_their_truth(name: str) -> None:
    truth = json.loads((SAMPLES / name / "truth.json").read_text())["requests"]
    times = [[time_ns for time_ns, *_ in request["tokens"]] for request in truth]
    rows = request_rows(sample_analysis(name))
    assert columns(
        rows, "request", "model", "start_ns", "prompt_tokens", "tokens", "first_token_ns", "decode_tokens"
    ) == [
        (
            number,
            request["model"],
            request["start_ns"],
            request["prompt_tokens"],
            len(of_request),
            of_request[0] - request["start_ns"],
            len(of_request) - 1,
        )
        for number, (request, of_request) in enumerate(zip(truth, times, strict=True), 1)
    ]
    assert [row["decode_ns"] for row in rows] == [of_request[-1] - of_request[0] for of_request in times]
    assert columns(rows, "build", "source", "basis", "cut") == [
        ("7", "os-signpost", "measured", False)
    ] * len(truth)


def test_the_time_of_an_engine_in_a_phase_is_known_where_a_table_measured_it() -> None:
    # 50 ms of prefill with 20 ms on the Neural Engine, 30 ms of decode with 9 ms; no table is about the GPU.
    calls = [core_ai(5, 30, model="Net"), *(core_ai(51 + n * 10, 58 + n * 10, model="Net") for n in range(3))]
    work = [ane(8, 28), *(ane(52 + n * 10, 55 + n * 10) for n in range(3))]
    (row,) = request_rows(analysis_of(generate(0, 100, 4), [*calls, *work]))
    assert (row["model"], row["first_token_ns"], row["decode_ns"]) == ("Net", 50 * MS, 30 * MS)
    assert (row["prefill_ane_ns"], row["decode_ane_ns"]) == (20 * MS, 9 * MS)
    assert (row["prefill_gpu_ns"], row["decode_gpu_ns"]) == (None, None)


def test_what_requests_do_not_show_is_null() -> None:
    # Two at once with prompts of one length, one with a single token, and one that the recording's end cuts.
    posts = [*generate(0, 100, 8), *generate(20, 100, 4), *generate(300, 70, 1)]
    posts.append(span("Prompt", 500, 500, "tokens=50", kind="begin"))
    rows = request_rows(analysis_of(posts, [ane(8, 28)]))
    assert columns(rows, "request", "tokens", "first_token_ns", "decode_tokens", "decode_ns", "cut") == [
        (1, None, None, None, None, False),
        (2, None, None, None, None, False),
        (3, 1, 50 * MS, 0, None, False),
        (4, 0, None, 0, None, True),
    ]
    engines = columns(rows, "prefill_ane_ns", "decode_ane_ns")
    assert engines == [(None, None), (None, None), (0, None), (None, None)]


def test_requests_at_once_have_speeds_and_no_engines() -> None:
    rows = request_rows(analysis_of([*generate(0, 100, 8), *generate(20, 300, 4)], [ane(8, 28)]))
    assert columns(rows, "tokens", "decode_ns", "prefill_ane_ns", "decode_ane_ns") == [
        (8, 70 * MS, None, None),
        (4, 30 * MS, None, None),
    ]


@pytest.mark.integration
def test_a_recording_without_requests_has_no_rows() -> None:
    assert request_rows(sample_analysis("fallback-midway-ios27")) == []


# Questions --------------------------------------------------------------------------------------------------


def make_request(
    recording: str, build: str, first_ms: float, token_ms: float, **other: Any
) -> dict[str, Any]:
    """Return a request with 10 tokens after its first one."""
    row = {**PLACE, "recording": recording, "build": build, "model": "Chat", "request": 1}
    row |= {"source": "os-signpost", "basis": "measured", "tokens": 11, "decode_tokens": 10}
    return row | {"first_token_ns": int(first_ms * MS), "decode_ns": int(token_ms * MS) * 10} | other


def write_requests(folder: Path, requests: list[dict[str, Any]]) -> Dataset:
    recordings = {row["recording"]: row["build"] for row in requests}
    return write_dataset(
        folder,
        recordings=[{**PLACE, "recording": name, "build": build} for name, build in recordings.items()],
        requests=requests,
    )


@pytest.mark.integration
def test_the_speed_of_a_build_is_the_mean_of_its_recordings(tmp_path: Path) -> None:
    unknown = {"first_token_ns": None, "decode_ns": None, "decode_tokens": None, "tokens": None}
    requests = [
        make_request("a", "1", 100, 10),
        make_request("a", "1", 200, 30),
        make_request("a", "1", 400, 20, decode_tokens=0, decode_ns=None),
        make_request("b", "1", 800, 20),
        make_request("c", "2", 50, 5),
        make_request("c", "2", 1, 1, **unknown),
    ]
    rows = ask(write_requests(tmp_path / "results", requests), "request-speed", {}).rows.to_pylist()
    half = 12.706205 * math.log(4) / math.sqrt(2) / math.sqrt(2)  # Student's t of one degree
    assert [row.pop("first_token_ms") for row in rows] == pytest.approx([400, 50])
    assert rows[0].pop("first_token_low_ms") == pytest.approx(400 * math.exp(-half), rel=1e-4)
    assert rows[0].pop("first_token_high_ms") == pytest.approx(400 * math.exp(half), rel=1e-4)
    # 20 tokens in 400 ms, and 10 in 200 ms: both recordings have 50 a second.
    assert [row.pop("tokens_per_second") for row in rows] == pytest.approx([50, 200])
    ends = [rows[0].pop(f"tokens_per_second_{end}") for end in ("low", "high")]
    assert ends == pytest.approx([50, 50])
    assert rows == [
        {
            "model": "Chat", **PLACE, "build": "1", "recordings": 2, "requests": 4,
            "requests_without_first_token": 0, "requests_without_decode": 1,
        },
        {
            "model": "Chat", **PLACE, "build": "2", "recordings": 1, "requests": 2,
            "first_token_low_ms": None, "first_token_high_ms": None, "requests_without_first_token": 1,
            "tokens_per_second_low": None, "tokens_per_second_high": None, "requests_without_decode": 1,
        },
    ]  # fmt: skip


@pytest.mark.integration
def test_the_share_of_an_engine_in_a_phase_is_of_measured_time(tmp_path: Path) -> None:
    requests = [
        make_request("a", "1", 100, 10, prefill_ane_ns=60 * MS, decode_ane_ns=20 * MS),
        make_request("b", "1", 300, 10, prefill_ane_ns=60 * MS, decode_ane_ns=None),
        make_request("b", "1", 50, 10, prefill_ane_ns=None, decode_ane_ns=None),
    ]
    dataset = write_requests(tmp_path / "results", requests)
    rows = ask(dataset, "phase-engines", {"model": "Chat"}).rows.to_pylist()
    assert [tuple(row.values())[6:] for row in rows] == [
        ("prefill", pytest.approx(0.3), pytest.approx(0.2), pytest.approx(0.6), 2, 1, 2, 0),
        ("decode", pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.2), 1, 2, 1, 1),
    ]
    gpu = ask(dataset, "phase-engines", {"engine": "GPU"}).rows.to_pylist()
    assert [(row["share"], row["measured_requests"], row["unmeasured_requests"]) for row in gpu] == [
        (None, 0, 3),
        (None, 0, 3),
    ]
    assert ask(dataset, "phase-engines", {"model": "Other"}).rows.num_rows == 0


@pytest.mark.integration
def test_results_of_an_earlier_version_have_no_requests_and_take_new_ones(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "results", recordings=[{**PLACE, "recording": "old", "build": "1"}])
    manifest = json.loads((tmp_path / "results" / "tracekit-fleet.json").read_text())
    assert [list(part["rows"]) for part in manifest["parts"]] == [["recordings"]]
    with pytest.raises(NotMeasurableError, match="cannot answer request-speed"):
        ask(dataset, "request-speed", {})
    new = make_request("n", "2", 100, 10)
    recording = {**PLACE, "recording": "n", "build": "2", "content": "n", "run": 1, "state": "analyzed"}
    dataset.append(
        {"recordings": arrow_rows("recordings", [recording]), "requests": arrow_rows("requests", [new])}
    )
    assert [row["build"] for row in ask(dataset, "request-speed", {}).rows.to_pylist()] == ["2"]
    assert open_dataset(tmp_path / "results").count("recordings") == 2


# History ----------------------------------------------------------------------------------------------------


def write_builds(folder: Path, slower_from: int) -> Dataset:
    """Write thirty builds with five recordings each, whose tokens take 1.2 times as long from a build on."""
    noise = np.random.default_rng(7).normal(1, 0.01, (30, 5, 2))
    return write_requests(
        folder,
        [
            make_request(
                f"{build}-{run}",
                str(400 + build),
                100 * noise[build, run, 0],
                10 * noise[build, run, 1] * (1.2 if build >= slower_from else 1),
            )
            for build in range(30)
            for run in range(5)
        ],
    )


@pytest.mark.integration
def test_a_recording_has_its_median_first_token_and_its_time_per_token(tmp_path: Path) -> None:
    requests = [
        make_request("a", "1", 100, 10),
        make_request("a", "1", 300, 30),
        make_request("a", "1", 200, 20, decode_tokens=0, decode_ns=None),
    ]
    history = read_history(write_requests(tmp_path / "results", requests))
    values = dict(zip([key.metric for key in history.keys], history.points["low"], strict=True))
    assert values == {
        "time to first token": pytest.approx(math.log(200 * MS)),
        "time per token": pytest.approx(math.log(20 * MS)),
    }
    assert {(key.model, key.source, key.basis, key.is_length) for key in history.keys} == {
        ("Chat", "os-signpost", "measured", True)
    }


@pytest.mark.integration
def test_the_median_of_two_requests_is_that_of_an_analysis(tmp_path: Path) -> None:
    """The text of the sample has the lower of 16.2 and 33.2 ms."""
    lines = [line.split() for line in print_analysis(sample_analysis("language-model-macos27")).splitlines()]
    assert [line[2:4] for line in lines if line[:2] == ["Chat", "all"]] == [["16.2", "ms"]]
    requests = [make_request("a", "1", 16.2, 10), make_request("a", "1", 33.2, 10)]
    dataset = write_requests(tmp_path / "results", requests)
    (row,) = ask(dataset, "request-speed", {}).rows.to_pylist()
    assert row["first_token_ms"] == pytest.approx(16.2)
    history = read_history(dataset, ["time to first token"])
    assert history.points["low"].tolist() == [pytest.approx(math.log(16.2 * MS))]


@pytest.mark.integration
def test_a_build_with_slower_tokens_is_a_change_that_fails_the_gate(tmp_path: Path) -> None:
    dataset = write_builds(tmp_path / "results", slower_from=24)
    gate = check_fleet(dataset, [parse_gate("no regressions in Chat")])
    (result,) = gate.of_changes
    assert result.outcome == "failed"
    assert [
        (gate.history.keys[entry.change.series].metric, entry.is_worse, entry.change.first)
        for entry in result.found
    ] == [("time per token", True, 24)]
    text = to_text(gate, "results")
    assert "time per token +" in text and "from build 424 (10." in text
    assert "Chat on Phone (iPhone 17): time to first token shows 5 %" in " ".join(text.split())


@pytest.mark.integration
def test_the_page_has_a_row_for_each_speed(tmp_path: Path) -> None:
    view = history_view(read_history_data(write_builds(tmp_path / "results", slower_from=24)), "Chat")
    assert [(row["model"], row["metric"], row["source"], row["basis"]) for row in view["rows"]] == [
        ("Chat", "time per token", "os-signpost", "measured"),
        ("Chat", "time to first token", "os-signpost", "measured"),
    ]
    levels = view["rows"][0]["main"]["level"]
    assert [round(level) for level in (levels[0], levels[-1])] == [10, 12]
    assert view["rows"][1]["main"]["level"] == []
    (change,) = view["changes"]
    assert (change["row"], change["metric"], change["first"], change["sign"]) == (0, "time per token", 24, 1)
    assert change["label"].startswith("time per token +")
    json.dumps(view, allow_nan=False)


@pytest.mark.integration
def test_requests_that_name_no_model_are_named_so(tmp_path: Path) -> None:
    dataset = write_requests(tmp_path / "results", [make_request("a", "1", 100, 10, model="")])
    view = history_view(read_history_data(dataset), "Chat")
    assert [row["model"] for row in view["rows"]] == ["requests without a model"] * 2


def test_an_empty_table_makes_no_series(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path / "results")
    assert isinstance(dataset.open_table("requests").to_table(), pa.Table)
    assert read_history(dataset, ["time to first token"]).keys == ()
