"""Joined stacks: a worker's work below the prediction that it served, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from evidence_support import Interval, prediction, with_evidence
from trace_support import ANE, BNNS, CALL, E5_CPU, E5_WORKER, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.call_tree import CallTree
from tracekit.analysis.engines import joined as module
from tracekit.model.vocabulary import Basis

PREDICTION = "-[MLModel predictionFromFeatures:error:]"
WORKER = ["_dispatch_worker_thread2", "E5RT::AsyncTask::SafeExecuteTask()"]
E5_ANE_PATH = [*WORKER, "E5RT::Ops::AneInferenceOperation::ExecuteSync()"]
E5_CPU_PATH = [*WORKER, "E5RT::Ops::BnnsCpuInferenceOperation::ExecuteSync()"]
BUTTON = ("CoreML | -[MLModel predictionFromFeatures:error:]", "App | tap", "App | main")
TIMER = ("CoreML | -[MLModel predictionFromFeatures:error:]", "App | tick", "App | main")


def mark(label: str) -> str:
    return f"(worker of {label}, joined: inferred)"


def path(tree: CallTree, node: int) -> list[str]:
    names: list[str] = []
    while node >= 0:
        names.insert(0, str(tree.symbols[tree.function[node]]))
        node = int(tree.parent[node])
    return names


def joined_paths(analysis: Analysis) -> list[list[str]]:
    """The joined path of each sample in order of time, root first."""
    tree = analysis.call_tree
    return [path(tree, int(node)) for node in np.append(tree.leaf, -1)[analysis.joined.stack]]


def analysed(samples: Sequence[Sample], *intervals: Interval) -> Analysis:
    return analyze(with_evidence(trace_of(samples), intervals))


def test_a_worker_hangs_below_the_prediction_frame_of_its_caller() -> None:
    samples: list[Sample] = [
        (0, "main", UI),
        (1, "main", ANE),  # below the prediction frame, the caller's own frames stay the caller's
        (2, "queue", E5_WORKER),
        (3, "queue", E5_CPU),
        (4, "main", BNNS),
        (5, "main", UI),
    ]
    analysis = analysed(samples)
    assert joined_paths(analysis) == [
        ["main", "-[NSView drawRect:]"],
        ["main", PREDICTION, *(frame.split(" | ")[1] for frame in reversed(ANE[:2]))],
        ["main", PREDICTION, mark(PREDICTION), *E5_ANE_PATH],
        ["main", PREDICTION, mark(PREDICTION), *E5_CPU_PATH],
        ["main", PREDICTION, *(frame.split(" | ")[1] for frame in reversed(BNNS[:2]))],
        ["main", "-[NSView drawRect:]"],
    ]
    assert analysis.joined.call.tolist() == [-1, 0, 0, 0, 0, -1]
    inferred = list(Basis).index(Basis.INFERRED)
    assert analysis.joined.basis.tolist() == [-1, *4 * [inferred], -1]  # the window is inferred as well


def test_the_callers_own_samples_have_the_basis_of_the_call() -> None:
    samples: list[Sample] = [(0, "main", UI), (1, "main", CALL), (2, "queue", E5_WORKER), (4, "main", UI)]
    joined = analysed(samples, prediction(0.5, 3.5, "Net")).joined
    measured, inferred = (list(Basis).index(basis) for basis in (Basis.MEASURED, Basis.INFERRED))
    assert joined.basis.tolist() == [-1, measured, inferred, -1]
    assert joined.labels == ("Net",)


def test_work_that_two_calls_may_own_stays_at_its_root() -> None:
    samples: list[Sample] = [
        *((time, thread, UI) for time in (0, 9) for thread in ("a", "b")),
        *((time, thread, CALL) for time in (1, 2, 3) for thread in ("a", "b")),
        (2.5, "queue", E5_WORKER),
    ]
    analysis = analysed(samples)
    assert len(analysis.joined) == 0
    assert (analysis.joined.stack == analysis.trace.samples["stack_id"]).all()


def test_a_worker_outside_of_every_call_stays_at_its_root() -> None:
    analysis = analyze(trace_of([(0, "main", UI), (1, "queue", E5_WORKER)]), windows=["5ms-6ms"])
    assert len(analysis.joined) == 0


def test_a_window_of_the_user_is_no_caller() -> None:
    samples: list[Sample] = [(0, "main", CALL), (1, "queue", E5_WORKER)]
    assert len(analyze(trace_of(samples), windows=["0ms-5ms"]).joined) == 0


def test_each_call_has_the_stack_of_its_own_place() -> None:
    """Two places of one thread: a worker hangs below the one that called it."""
    samples: list[Sample] = [
        (1, "main", BUTTON),
        (2, "queue", E5_WORKER),
        (3, "main", BUTTON),
        (4, "main", UI),
        (11, "main", TIMER),
        (12, "queue", E5_WORKER),
        (13, "main", TIMER),
    ]
    paths = joined_paths(analysed(samples))
    assert paths[1] == ["main", "tap", PREDICTION, mark(PREDICTION), *E5_ANE_PATH]
    assert paths[5] == ["main", "tick", PREDICTION, mark(PREDICTION), *E5_ANE_PATH]


@pytest.mark.parametrize(
    ("others", "caller"),
    [
        ([(21, BUTTON)], ["main", "tap", PREDICTION]),
        ([(21, BUTTON), (31, TIMER)], ["main"]),  # the part that both places share
        ([], []),
    ],
)
def test_a_caller_that_was_not_sampled_in_its_call(
    others: list[tuple[float, tuple[str, ...]]], caller: list[str]
) -> None:
    """The other calls of the thread show it; without any, the mark is the root."""
    samples: list[Sample] = [(0, "main", UI), (2, "queue", E5_WORKER)]
    samples += [(time, "main", stack) for time, stack in others]
    calls = [prediction(1, 4, "Net"), *(prediction(time - 1, time + 2, "Net") for time, _ in others)]
    analysis = analysed(samples, *calls)
    analysis = replace(analysis, window_rows=analysis.window_rows.assign(thread_id=np.int32(0)))
    assert joined_paths(analysis)[1] == [*caller, mark("Net"), *E5_ANE_PATH]


def test_joined_stacks_beyond_the_limit_stay_as_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    samples: list[Sample] = [
        (1, "main", CALL),
        (2, "queue", E5_WORKER, 3 * MS),
        (3, "queue", E5_CPU),
        (6, "main", CALL),
    ]
    monkeypatch.setattr(module, "_MAX_FRAMES", 7)  # room for one joined stack of 3 + 1 + 2 frames
    analysis = analysed(samples)
    assert joined_paths(analysis)[1] == ["main", PREDICTION, mark(PREDICTION), *E5_ANE_PATH]
    assert joined_paths(analysis)[2] == E5_CPU_PATH
    assert analysis.joined.left_out == 1
