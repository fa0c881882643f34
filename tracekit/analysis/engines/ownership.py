"""Ownership: the process and the model that each interval of a table belongs to.

The Neural Engine's table is system-wide and names no process. Where Core ML's own table names the target's
models, labels separate them from other processes' work; elsewhere ownership cannot be checked. The GPU's rows
have a process. MPS rows mostly have none and belong to the recording's target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import is_engine
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import ANE_TABLES, CORE_ML
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINE_CODE, Engine

_BOUNDARIES = "_ .-:/"
_MANY_ELSEWHERE = 20
_MANY_QUIET = 100
"""Choices: an inference on the Neural Engine leaves a sample or more of it on the host, at 1 ms."""


class Ownership:
    """The model of each interval, as far as rows and labels name it.

    ``model`` is "" where it is not known. Where Core ML names the target's models, ANE labels are compared
    with them, and ``other_process`` marks labels that fit none. When no label at all fits one, the two tables
    name models differently (``unmatched``), and no row is called another process's. Without Core ML's names,
    a label's own model separates models, but not processes; where the target's stacks show that the Neural
    Engine did not work for it (``ane_is_target`` is False), all of its rows are another process's
    (``unattributed``). ``models`` are those by which windows can be separated.
    """

    def __init__(self, frame: pd.DataFrame, ane_is_target: bool = True) -> None:
        core_ml = (frame["source"] == CORE_ML).to_numpy(bool)
        names = frame["model"].astype("str").to_numpy(object)
        # Core ML nests the models of a pipeline in the pipeline's row: parts, which own no window.
        nested = core_ml & (frame["depth"] > 0).to_numpy(bool)
        outermost = core_ml & ~nested
        models = set(names[outermost]) - {""}
        parts = set(names[nested]) - {""} - models
        self.named_by_core_ml = bool(models or parts)
        is_ane = frame["source"].isin(ANE_TABLES).to_numpy(bool)
        self.model = np.full(len(frame), "", object)
        self.other_process: BoolArray = np.zeros(len(frame), bool)
        self.unmatched = False
        self.unattributed = False
        self.model[outermost] = names[outermost]
        if self.named_by_core_ml:
            self._match_labels(frame["label"].astype("str").to_numpy(object)[is_ane], is_ane, models, parts)
        elif not ane_is_target:
            self.other_process = is_ane
            self.unattributed = bool(is_ane.any())
        else:
            self.model[is_ane] = names[is_ane]
            models = set(names[is_ane]) - {""}
        self.models = frozenset(models)

    def _match_labels(
        self, labels: np.ndarray[Any, Any], is_ane: BoolArray, models: set[str], parts: set[str]
    ) -> None:
        distinct, label_of_row = np.unique(labels, return_inverse=True)
        owners = [owner_of(label, models | parts) for label in distinct.tolist()]
        # One label that fits proves that both tables name models alike, so that a label that fits none is
        # another process's. Without any fit, a difference in naming is as likely, and no row is excluded.
        if any(owner is not None for owner in owners):
            # Several pipelines may have the same part, so a part's row belongs to no model in particular.
            names = [owner if owner in models else "" for owner in owners]
            self.model[is_ane] = np.array(names, object)[label_of_row]
            self.other_process[is_ane] = np.array([owner is None for owner in owners])[label_of_row]
        else:
            self.unmatched = bool(len(distinct))


def owner_of(label: str, models: set[str]) -> str | None:
    """Return the longest model name that the label begins with, up to a boundary; None for none."""
    if label in models:
        return label
    # The longest name wins: of the models "Net" and "Net_large", the label "Net_large_1" is the second's.
    ends = [position for position, character in enumerate(label) if character in _BOUNDARIES]
    return next((label[:end] for end in reversed(ends) if label[:end] in models), None)


def ane_may_be_target(labels: SampleLabels) -> bool:
    """Return False where the target's stacks show that the ANE's work is another process's.

    They do if most of them have symbols, none shows the Neural Engine in any phase, and either
    ``_MANY_QUIET`` show no machine learning at all, or ``_MANY_ELSEWHERE`` show which other engine it ran on.
    A runtime with no engine visible may be waiting for the Neural Engine.
    """
    engines = labels.engine
    unknown = int((engines == ENGINE_CODE[Engine.UNKNOWN]).sum())
    if 2 * unknown > len(engines) or (engines == ENGINE_CODE[Engine.ANE]).any():
        return True
    elsewhere = int(is_engine(engines, Engine.CPU, Engine.GPU).sum())
    quiet = not (labels.is_ml | labels.in_call).any() and len(engines) - unknown >= _MANY_QUIET
    return not quiet and elsewhere < _MANY_ELSEWHERE


def target_pids(trace: Trace) -> frozenset[int]:
    """Return the process that the recording is about; none when there are several, or it is not known."""
    thread_ids = np.unique(trace.samples["thread_id"].to_numpy())
    pids = {int(pid) for pid in trace.threads["pid"].to_numpy()[thread_ids[thread_ids >= 0]] if pid >= 0}
    if len(pids) == 1:
        return frozenset(pids)
    if trace.info.pid is not None and (not pids or trace.info.pid in pids):
        return frozenset([trace.info.pid])
    return frozenset()


def only_pid(pids: frozenset[int]) -> int:
    """Return the process if there is only one, else -1."""
    return next(iter(pids)) if len(pids) == 1 else -1
