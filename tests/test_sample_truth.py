"""On the sample recordings the analysis equals the truth that their generator stated, to the sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sample_recordings import sample_analysis, sample_trace

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.model.vocabulary import Basis

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[1] / "sample_traces"
RECORDINGS = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))


def truth_of(recording: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((SAMPLES / recording / "truth.json").read_text())
    return truth


def counts(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Engine → phase → samples, with "none" for work that has no phase."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows.to_dict("records"):
        phase = "none" if pd.isna(row["phase"]) else str(row["phase"])
        if row["samples"]:
            counts.setdefault(str(row["engine"]), {})[phase] = int(row["samples"])
    return counts


def in_window(analysis: Analysis, window: int) -> dict[str, dict[str, int]]:
    return counts(analysis.attribution_rows[analysis.attribution_rows["window_id"] == window])


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 10


@pytest.mark.parametrize("recording", RECORDINGS)
def test_samples_and_weights(recording: str) -> None:
    truth, trace = truth_of(recording), sample_trace(recording)
    assert trace.samples_source == truth["table"]
    assert len(trace.samples) == truth["samples"]
    assert (trace.samples["stack_id"] < 0).sum() == truth["null_stacks"]
    assert trace.samples.loc[trace.samples["stack_id"] >= 0, "stack_id"].nunique() == truth["unique_stacks"]
    if truth["weight_unit"] is not None:
        assert (trace.weight_unit, int(trace.weights.sum())) == (truth["weight_unit"], truth["weight"])
    counters = {event: sum(by.values()) for event, by in truth.get("counter_deltas", {}).items()}
    assert {name: int(trace.counters[name].sum()) for name in trace.counters} == (
        truth.get("counters", {}) or counters
    )


@pytest.mark.parametrize("recording", RECORDINGS)
def test_engines_and_phases(recording: str) -> None:
    truth, analysis = truth_of(recording), sample_analysis(recording)
    assert counts(analysis.totals) == {
        engine: {phase: of["samples"] for phase, of in stated["phases"].items()}
        for engine, stated in truth["engines"].items()
    }
    if truth["weight_unit"] is not None:
        weights = analysis.totals.groupby("engine", observed=True)["weight"].sum()
        assert weights[weights > 0].to_dict() == {
            engine: stated["weight"] for engine, stated in truth["engines"].items()
        }


@pytest.mark.parametrize("recording", RECORDINGS)
def test_windows_from_stacks(recording: str) -> None:
    truth, analysis = truth_of(recording), sample_analysis(recording, windows="stacks")
    threads = analysis.trace.threads["tid"].to_numpy()
    verdicts = [
        {
            "start_ns": row["start_ns"],
            "end_ns": row["end_ns"],
            "thread": int(threads[row["thread_id"]]),
            "engines": in_window(analysis, row["window_id"]),
        }
        for row in analysis.window_rows.to_dict("records")
        if row["source"] == "stacks"
    ]
    assert verdicts == [{key: window[key] for key in verdicts[0]} for window in truth["stack_windows"]]


@pytest.mark.parametrize("recording", RECORDINGS)
def test_verdicts_name_the_engine_that_the_model_ran_on(recording: str) -> None:
    truth, analysis = truth_of(recording), sample_analysis(recording, windows="stacks")
    ran_on = [inference["engine"] for inference in truth["inferences"]]
    expected = [{ran_on[index] for index in window["inference_indexes"]} for window in truth["stack_windows"]]
    if expected:
        assert [{name} for name in analysis.verdicts.names] == expected
    else:
        assert set(analysis.verdicts.names) <= {"UNKNOWN"}


@pytest.mark.parametrize("recording", RECORDINGS)
def test_windows_that_the_user_gives_count_every_sample_in_them(recording: str) -> None:
    inferences = truth_of(recording)["inferences"]
    given = [
        Window(i["start_ns"], i["end_ns"], str(index), "manual", Basis.GIVEN)
        for index, i in enumerate(inferences)
    ]
    analysis = analyze(sample_trace(recording), windows=given)
    for row in analysis.window_rows.to_dict("records"):
        assert in_window(analysis, row["window_id"]) == inferences[int(row["label"])]["all_threads"]


@pytest.mark.parametrize("recording", RECORDINGS)
def test_windows_and_the_rest_add_up_to_the_whole(recording: str) -> None:
    analysis = sample_analysis(recording)
    assert analysis.attribution_rows["samples"].sum() == len(analysis.trace.samples)
    assert analysis.attribution_rows["weight"].sum() == analysis.trace.weights.sum()
