"""Literal stacks: frames are written "binary | symbol", leaf first."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.classification.classify import Classification, classify_stacks
from tracekit.analysis.classification.rule_set import RuleSet, load_rules
from tracekit.cli.stack_records import StackRecord, classify_records

MARKERS = load_rules()

WORKER = ["libdispatch.dylib | _dispatch_lane_invoke", "libsystem_pthread.dylib | start_wqthread"]
ASLEEP = ["libsystem_kernel.dylib | __psynch_cvwait", "libsystem_pthread.dylib | _pthread_cond_wait"]
PREDICT = ["CoreML | -[MLModel predictionFromFeatures:options:error:]", "App | Model.prediction(input:)"]
LOAD = ["CoreML | +[MLLoader loadModelFromAssetAtURL:configuration:error:]", "App | Model.init()"]
E5_ANE = "Espresso | E5RT::Ops::AneInferenceOperation::ExecuteSync()"
E5_CPU = "Espresso | E5RT::Ops::BnnsCpuInferenceOperation::ExecuteSync()"
E5_TASK = "Espresso | E5RT::AsyncTask::SafeExecuteTask()"


def frame(text: str) -> tuple[str, str]:
    binary, _, symbol = text.partition(" | ")
    return binary, symbol


def classified(stacks: list[list[str]], markers: RuleSet = MARKERS) -> Classification:
    rows = [frame(text) for stack in stacks for text in stack] or [("", "")]
    offsets = np.cumsum([0] + [len(stack) for stack in stacks])
    ids = np.arange(offsets[-1], dtype=np.int32)
    names = np.array(rows, object)
    return classify_stacks(offsets, ids, names[:, 0], names[:, 1], markers)


def verdict(*frames: str, thread: str = "", markers: RuleSet = MARKERS) -> tuple[str, str | None]:
    record = StackRecord(tuple(frame(text) for text in frames), thread)
    (verdict,) = classify_records([record], markers)
    return verdict["engine"], verdict["phase"]
