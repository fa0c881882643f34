"""Rows that another owner may have: what a call's stacks, its model's and its thread's leave open."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evidence_support import Interval, ane, gpu, prediction, with_evidence
from trace_support import ANE, BNNS, CALL, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.model.vocabulary import SERVING, Engine

ON_GPU = ("MetalPerformanceShadersGraph | -[MPSGraphExecutable encodeToCommandBuffer:]", *CALL)
NET, OTHER = "Net_main__Op0_AneInference", "Photos_main__Op0_AneInference"
CAMERA = 99


def analysis_of(*rows: Interval, samples: list[Sample], processes: dict[str, int] | None = None) -> Analysis:
    return analyze(with_evidence(trace_of(sorted(samples), processes=processes), rows))


def work_ms(analysis: Analysis, engine: Engine = Engine.ANE) -> list[tuple[float, float]]:
    """What an engine worked for each call for certain, and what it may have."""
    work = analysis.verdicts.works[SERVING.index(engine)]
    return [
        (int(busy) / MS, int(contested) / MS)
        for busy, contested in zip(work.busy_ns, work.contested_ns, strict=True)
    ]


@pytest.mark.parametrize(("stack", "work"), [(UI, (13, 0)), (ON_GPU, (0, 13))])
def test_rows_of_a_model_whose_calls_never_show_the_engine_may_be_another_owners(
    stack: tuple[str, ...], work: tuple[float, float]
) -> None:
    starts = (10, 70, 130)
    samples: list[Sample] = [(0, "a", UI), *((start + 1, "a", stack) for start in starts), (160, "a", UI)]
    calls = [prediction(start, start + 20) for start in starts]
    rows = [ane(start + 3, start + 16) for start in starts]
    assert work_ms(analysis_of(*calls, *rows, ane(200, 210), samples=samples)) == [work] * 3


def test_a_row_of_a_model_needs_a_stack_in_a_call_without_a_name_that_shows_other_engines_alone() -> None:
    samples: list[Sample] = [(0, "a", UI), *((time, "a", BNNS) for time in (11, 12, 13)), (30, "a", UI)]
    nameless = prediction(10, 30, "")
    assert work_ms(analysis_of(nameless, ane(14, 29), samples=samples)) == [(0, 15)]
    assert work_ms(analysis_of(nameless, ane(14, 29), samples=[*samples, (14, "a", ANE)])) == [(15, 0)]
    assert work_ms(analysis_of(nameless, ane(14, 29, ""), samples=samples)) == [(15, 0)]
    assert work_ms(analysis_of(prediction(10, 30), ane(14, 29), samples=samples)) == [(15, 0)]


@pytest.mark.parametrize(("beside", "work"), [([], (24, 3)), ([ane(13, 40, OTHER)], (0, 27))])
def test_a_stack_that_begins_a_row_is_no_evidence_for_another_one(
    beside: list[Interval], work: tuple[float, float]
) -> None:
    samples: list[Sample] = [(0, "a", UI), *((start + 1, "a", ANE) for start in (10, 70)), (95, "a", UI)]
    calls = [prediction(10, 40), prediction(70, 90)]
    rows = [ane(12, 36), ane(30, 39), ane(45, 55), ane(72, 86), *beside]  # that at 45 ms is in no call
    assert work_ms(analysis_of(*calls, *rows, samples=samples))[0] == work


@pytest.mark.parametrize(("model", "work"), [("Net", (0, 12)), ("Seg", (12, 0))])
def test_a_cut_call_of_another_thread_may_be_of_the_same_model(model: str, work: tuple[float, float]) -> None:
    samples: list[Sample] = [(5, "a", CALL), (29, "a", CALL), (31, "a", UI), (61, "a", CALL), (79, "a", CALL)]
    samples += [(20, "b", CALL), (22, "b", UI), (101, "b", CALL), (119, "b", CALL), (121, "b", UI)]
    calls = [prediction(4, 30), prediction(60, 80), prediction(100, 120, model)]
    row = replace(gpu(8, 20), model="Net", label="Net_main__Op0_MpsGraphInference")
    assert work_ms(analysis_of(*calls, row, samples=samples), Engine.GPU)[0] == work


def test_a_stack_shows_no_window_that_begins_beside_another_models_row() -> None:
    """The app hands over the second row of its call as the camera's row begins."""
    app: list[Sample] = [(time, "a", CALL) for time in range(10, 40)]
    app[2] = app[16] = (0, "a", UI)
    app += [(12, "a", ANE), (26, "a", ANE), (45, "a", UI)]
    camera: list[Sample] = [
        (time, "c", stack) for time, stack in ((61, CALL), (62, ANE), (80, CALL), (85, UI))
    ]
    net = [ane(12.5, 20), ane(26.5, 38, NET.replace("Op0", "Op2"))]
    photos = [ane(27.5, 36, OTHER), ane(62.5, 79, OTHER)]
    analysis = analysis_of(*net, *photos, samples=[*app, *camera], processes={"c": CAMERA})
    windows = analysis.window_rows
    pids = [int(pid) for pid in windows["pid"][windows["model"] == "Photos"]]
    assert pids == [-1, CAMERA]
