"""On the sample recordings, what tables measured equals the truth that their generator stated, exactly."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sample_recordings import sample_analysis, sample_trace
from verdict_support import verdicts_of

from tracekit import Analysis, analyze
from tracekit.analysis.engines.submissions import SEPARATOR
from tracekit.load import open_trace
from tracekit.model.vocabulary import Engine

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[1] / "sample_traces"
TRUTHS = {path.parent.name: json.loads(path.read_text()) for path in SAMPLES.glob("*/truth.json")}
WITH_INTERVALS = sorted(name for name, truth in TRUTHS.items() if truth.get("intervals"))

# One window per inference: how the recording tells them.
CALLS: dict[str, dict[str, Any]] = {
    "fallback-midway-ios27": {"windows": "coreml"},
    "concurrent-models-ios27": {"windows": "coreml"},
    "ane-intervals-macos26": {"signposts": ["Inference/encode"]},
    "gpu-mpsgraph-macos15": {"windows": "stacks"},
    "failing-requests-macos27": {"signposts": ["Inference/encode"]},
    "coreai-one-region-ios27": {"windows": "coreai"},
    "coreai-thirteen-regions-macos27": {"windows": "coreai"},
    "coreai-gpu-fallback-macos27": {"windows": "coreai"},
    "coreai-and-coreml-ios27": {"windows": "auto"},
    "language-model-macos27": {"windows": "coreai"},
    "language-model-leaves-engine-macos27": {"windows": "coreai"},
    "waiting-app-ios27": {"windows": "coreml"},
    "same-name-two-processes-macos27": {"windows": "coreml"},
    "two-copies-ios27": {"windows": "coreml"},
    "spill-into-next-call-macos27": {"windows": "coreml"},
    "concurrent-engines-macos27": {"windows": "coreml"},
    "operators-leave-macos27": {"windows": "coreml"},
}
NAME_SHARED = "same-name-two-processes-macos27"
CORE_AI = sorted(name for name in CALLS if name.startswith("coreai"))


@cache
def calls_of(recording: str) -> Analysis:
    return analyze(sample_trace(recording), **CALLS[recording])


def in_time_order(recording: str) -> Sequence[tuple[dict[str, Any], dict[str, Any]]]:
    """(inference, measured) in the order in which windows are numbered."""
    truth = TRUTHS[recording]
    pairs = zip(truth["inferences"], truth["measured"], strict=True)
    return sorted(pairs, key=lambda pair: (pair[0]["start_ns"], pair[0]["end_ns"]))


def test_every_recording_that_states_measured_times_is_tried() -> None:
    assert sorted(CALLS) == sorted(name for name, truth in TRUTHS.items() if truth.get("measured"))


@pytest.mark.parametrize("recording", WITH_INTERVALS)
def test_intervals(recording: str) -> None:
    frame = sample_trace(recording).intervals
    names = ["start_ns", "end_ns", "engine", "phase", "model", "pid", "source", "depth"]
    busy = [
        {name: None if pd.isna(row[name]) else row[name] for name in names}
        for row in frame[names].astype(object).to_dict("records")
    ]
    order = lambda row: [str(row[name]) for name in names]  # noqa: E731
    stated = [{name: row[name] for name in names} for row in TRUTHS[recording]["intervals"]]
    assert sorted(busy, key=order) == sorted(stated, key=order)


@pytest.mark.parametrize("recording", sorted(name for name, truth in TRUTHS.items() if "signposts" in truth))
def test_signposts(recording: str) -> None:
    kinds = sample_trace(recording).signposts["kind"].value_counts()
    assert {
        "intervals": int(kinds.get("interval", 0)),
        "events": int(kinds.get("event", 0)),
        "unpaired": int(kinds.get("begin", 0) + kinds.get("end", 0)),
    } == TRUTHS[recording]["signposts"]


@pytest.mark.parametrize("recording", CALLS)
def test_busy_time_of_each_inference(recording: str) -> None:
    analysis = calls_of(recording)
    rows = analysis.attribution_rows[analysis.attribution_rows["phase"] == "execute"]
    shares = [
        {
            str(row["engine"]): int(row["busy_ns"])
            for row in window_rows.to_dict("records")
            if pd.notna(row["busy_ns"])
        }
        for _, window_rows in rows[rows["window_id"] >= 0].groupby("window_id")
    ]
    # Core ML reports the CPU's part where there is one: without a row, nothing says that it was idle.
    assert shares == [
        {engine: busy for engine, busy in measured["busy_ns"].items() if busy or engine != "CPU"}
        for _, measured in in_time_order(recording)
    ]
    foreign_ns = [measured["foreign_ns"] for _, measured in in_time_order(recording)]
    found = analysis.times["foreign_ns"]
    # A label that two processes share leaves open whose the work was; nothing of it counts in a call.
    found = found + analysis.times["contested_ns"] if recording == NAME_SHARED else found
    assert found.tolist() == foreign_ns


@pytest.mark.parametrize("recording", CALLS)
def test_busy_time_of_the_run_is_that_of_the_app(recording: str) -> None:
    models = {"", *(inference["label"] for inference in TRUTHS[recording]["inferences"])}
    spans: dict[str, list[tuple[int, int]]] = {}
    for row in TRUTHS[recording]["intervals"]:
        is_work = (row["phase"], row["depth"]) == ("execute", 0)
        if is_work and row["model"] in models and row.get("by_app", True):
            spans.setdefault(row["engine"], []).append((row["start_ns"], row["end_ns"]))
    totals = calls_of(recording).totals
    work = totals[(totals["phase"] == "execute") & totals["busy_ns"].notna() & (totals["busy_ns"] > 0)]
    busy = {
        str(engine): int(busy_ns) for engine, busy_ns in zip(work["engine"], work["busy_ns"], strict=True)
    }
    assert busy == {engine: length_of_union(of_engine) for engine, of_engine in spans.items()}


def length_of_union(spans: list[tuple[int, int]]) -> int:
    length, reached = 0, 0
    for start, end in sorted(spans):
        length += max(0, end - max(start, reached))
        reached = max(reached, end)
    return length


@pytest.mark.parametrize(
    "recording",
    sorted(name for name, truth in TRUTHS.items() if any("copy" in call for call in truth["inferences"])),
)
def test_copy_of_each_inference(recording: str) -> None:
    copies = calls_of(recording).window_rows["copy"].astype("str").tolist()
    assert copies == [inference["copy"] for inference, _ in in_time_order(recording)]


@pytest.mark.parametrize(
    "recording",
    sorted(name for name in {*CALLS} - {NAME_SHARED} if "submissions" in TRUTHS[name]["measured"][0]),
)
def test_submissions_of_each_inference(recording: str) -> None:
    analysis = calls_of(recording)
    names = ("submissions", "segments", "longest_ns", "gaps_ns", "longest_gap_ns")
    rows = [
        {name: None if pd.isna(row[name]) else row[name] for name in names}
        | {"names": [name for name in row["names"].split(SEPARATOR) if name]}
        for row in analysis.submissions.astype({"names": "str"}).astype(object).to_dict("records")
    ]
    stated = [measured["submissions"] for _, measured in in_time_order(recording)]
    assert rows == [
        {("submissions" if name == "count" else name): n for name, n in s.items()} for s in stated
    ]


def test_a_name_that_two_processes_share_leaves_submissions_open() -> None:
    analysis = calls_of(NAME_SHARED)
    assert analysis.submissions["submissions"].isna().all()
    on_ane = [row for row in TRUTHS[NAME_SHARED]["intervals"] if row["engine"] == "ANE"]
    codes = {diagnostic.code: diagnostic.count for diagnostic in analysis.diagnostics}
    assert codes["model-name-shared"] == len(on_ane)


@pytest.mark.parametrize(
    ("windows", "missing"),
    [
        ("coreml", ""),
        ("coreml", "mps-hw-intervals"),
        ("coreml", "time-profile"),
        ("ane", ""),
        ("auto", "coreml-os-signpost"),
    ],
)
def test_no_model_has_the_engine_of_another_one(windows: str, missing: str, tmp_path: Path) -> None:
    recording = "concurrent-engines-macos27"
    for path in (SAMPLES / recording).glob("*.xml"):
        if path.stem != missing:
            shutil.copy(path, tmp_path)
    analysis = analyze(open_trace(tmp_path), windows=windows)
    engines = {call["label"]: {call["engine"], "UNKNOWN"} for call in TRUTHS[recording]["inferences"]}
    named = [
        (model, engine)
        for model, engine in zip(analysis.window_rows["model"], analysis.verdicts.names, strict=True)
        if model
    ]
    assert named
    assert [(model, engine) for model, engine in named if engine not in engines[model]] == []


@pytest.mark.parametrize("recording", CORE_AI)
def test_rows_of_core_ai_are_the_calls(recording: str) -> None:
    """Both runtimes' calls are windows, with their models; another app's rows are counted apart."""
    analysis = calls_of(recording)
    assert analysis.window_rows["model"].tolist() == [call["label"] for call, _ in in_time_order(recording)]
    assert set(analysis.window_rows["basis"]) == {"measured"}
    tids = analysis.trace.threads["tid"].to_numpy()[analysis.window_rows["thread_id"]]
    assert tids.tolist() == [call["thread"] for call, _ in in_time_order(recording)]
    models = {call["label"] for call, _ in in_time_order(recording)}
    on_ane = [row for row in TRUTHS[recording]["intervals"] if row["source"] == "ane-hw-intervals"]
    others = [row for row in on_ane if not row.get("by_app", True) or row["model"] not in {"", *models}]
    codes = {diagnostic.code: diagnostic.count for diagnostic in analysis.diagnostics}
    assert codes.get("ane-work-of-others", 0) == len(others)
    assert not {"ane-process-unknown", "ane-labels-unmatched", "core-ai-rows-overlap"} & set(codes)


@pytest.mark.parametrize("recording", CALLS)
def test_hand_offs_of_each_inference(recording: str) -> None:
    analysis = calls_of(recording)
    orders = [list(verdict.order) for verdict in verdicts_of(analysis)]
    assert orders == [measured["handoffs"] for _, measured in in_time_order(recording)]


@pytest.mark.parametrize("recording", CALLS)
def test_verdicts(recording: str) -> None:
    verdicts = calls_of(recording).verdicts.names
    assert verdicts == [inference["engine"] for inference, _ in in_time_order(recording)]


@pytest.mark.parametrize(
    "recording", ["fallback-midway-ios27", "concurrent-models-ios27", "ane-intervals-macos26", *CORE_AI]
)
def test_windows_are_the_calls(recording: str) -> None:
    windows = calls_of(recording).window_rows
    inferences = [inference for inference, _ in in_time_order(recording)]
    assert windows["start_ns"].tolist() == [inference["start_ns"] for inference in inferences]
    assert windows["end_ns"].tolist() == [inference["end_ns"] for inference in inferences]
    assert set(windows["basis"]) == {"measured"}
    if recording != "ane-intervals-macos26":
        assert windows["model"].tolist() == [inference["label"] for inference in inferences]
        firsts = {inference["label"]: index for index, inference in reversed(list(enumerate(inferences)))}
        assert [index for index, first in enumerate(windows["first"]) if first] == sorted(firsts.values())


@pytest.mark.integration
def test_signposts_make_a_window_per_call_on_whatever_engine() -> None:
    """The call that stayed on the CPU has no interval of the engine, and is one of the model's all the same."""
    analysis = sample_analysis("ane-intervals-macos26")
    truth = TRUTHS["ane-intervals-macos26"]
    assert set(analysis.window_rows["source"].astype("str")) == {"signpost"}
    assert set(analysis.window_rows["model"]) == {"SpeechEncoder"}
    assert [list(verdict.order) for verdict in verdicts_of(analysis)] == [
        measured["handoffs"] for measured in truth["measured"]
    ]


def test_waiting_of_the_calling_thread() -> None:
    """It is blocked inside E5RT, whose stack does not show for which engine; thread states measure it."""
    rows = calls_of("ane-intervals-macos26").attribution_rows
    waits = rows[(rows["engine"] == Engine.RUNTIME) & rows["waiting_ns"].notna() & (rows["window_id"] >= 0)]
    assert set(waits["waiting_basis"]) == {"measured"}
    truth = [measured["waiting_ns"] for measured in TRUTHS["ane-intervals-macos26"]["measured"]]
    waiting_ns = waits.set_index("window_id")["waiting_ns"].to_dict()
    assert [waiting_ns.get(index, 0) for index in range(len(truth))] == truth


@pytest.mark.parametrize("recording", WITH_INTERVALS)
def test_compile_and_load(recording: str) -> None:
    analysis = sample_analysis(recording, windows="run")
    measured = int(analysis.times["preparing_ns"].sum())
    if analysis.times["preparing_basis"].iloc[0] != "measured":
        measured = 0
    assert measured == TRUTHS[recording]["load_ns"]


def test_counters_that_accumulate_per_core() -> None:
    events = sample_analysis("counters-cumulative-macos26").events
    sums = events.groupby(["event", "engine"], observed=True)["value"].sum()
    truth = TRUTHS["counters-cumulative-macos26"]["counter_deltas"]
    assert sums.to_dict() == {(event, engine): n for event, by in truth.items() for engine, n in by.items()}


@pytest.mark.parametrize("recording", sorted(name for name, truth in TRUTHS.items() if truth.get("tracks")))
def test_tracks(recording: str) -> None:
    trace = sample_trace(recording)
    end_ns = trace.info.duration_ns or 0
    for name, expected in TRUTHS[recording]["tracks"].items():
        rows = trace.tracks[trace.tracks["name"] == name]
        lengths = [*rows["time_ns"].iloc[1:], end_ns] - rows["time_ns"]
        length_by_value = lengths.groupby(rows["value"]).sum()
        stated = {float(value): length for value, length in expected.items()}
        assert {
            value: pytest.approx(length, abs=1_000_000) for value, length in stated.items()
        } == length_by_value.to_dict()


@pytest.mark.integration
def test_prompts_never_show() -> None:
    from tracekit.report.analysis.json import to_json

    trace = sample_trace("foundation-models-macos27")
    analysis = sample_analysis("foundation-models-macos27")
    shown = [
        to_json(analysis),
        analysis.to_text(verbose=True),
        trace.intervals.to_csv(),
        trace.signposts.to_csv(),
    ]
    assert len(analysis.window_rows) == 3
    assert all("SECRETPROMPT" not in text for text in shown)


@pytest.mark.parametrize("recording", [name for name, truth in TRUTHS.items() if "log" in truth])
def test_requests_in_the_log(recording: str) -> None:
    """Every request has its process, its call and its status; nothing else in the log is taken for one."""
    requests, truth = calls_of(recording).requests, TRUTHS[recording]["log"]
    assert {str(p.pid): {"requests": p.requests, "failed": p.failed} for p in requests.processes} == truth[
        "processes"
    ]
    statuses = truth["inferences"]
    assert requests.served.tolist() == [of_call.count(0) for of_call in statuses]
    assert requests.failed.tolist() == [len(of_call) - of_call.count(0) for of_call in statuses]
    assert requests.window_statuses == {
        call: tuple(of_call) for call, of_call in enumerate(statuses) if any(of_call)
    }
    refused = [vars(refusal) for refusal in requests.refused]
    assert refused == truth["refused"]


def test_rows_of_another_app_are_none_of_the_apps_calls_without_its_runtimes_table(tmp_path: Path) -> None:
    for path in (SAMPLES / "fallback-midway-ios27").glob("*.xml"):
        if path.stem != "coreml-os-signpost":
            shutil.copy(path, tmp_path)
    analysis = analyze(open_trace(tmp_path))
    rows = analysis.window_rows.assign(verdict=list(analysis.verdicts.names))
    assert rows[rows["model"] == "PersonSegmenter"]["pid"].tolist() == [-1, -1]
    counts = rows.groupby(["model", "verdict"]).size().to_dict()
    assert counts == {("", "CPU"): 6, ("PersonSegmenter", "ANE"): 2, ("SpeechEncoder", "ANE"): 6}
