"""The evidence of each part of a call's budget: rows, samples, or the absence of both."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tracekit.analysis.budget.parts import BudgetPart

BUDGET_EVIDENCE: Mapping[BudgetPart, str] = MappingProxyType(
    {
        BudgetPart.ANE: "the Neural Engine's rows that the call owns",
        BudgetPart.GPU: "the GPU's rows of inference that the call owns",
        BudgetPart.CPU: "Core ML's rows of the CPU; in a call without one, samples in kernels of a model",
        BudgetPart.LOAD: "rows of load and compile; in a call without one, samples",
        BudgetPart.CONTESTED: "rows that may be of the call and of another owner",
        BudgetPart.COPY: "samples of the call in copies",
        BudgetPart.RUNTIME: (
            "samples of the call in a runtime, in preparations for an engine too, "
            "and of kernels and loads beyond their rows"
        ),
        BudgetPart.APP: "samples of the call outside of all runtimes",
        BudgetPart.UNNAMED: "samples of the call in frames that no symbol names",
        BudgetPart.RUNNING: "rows of `thread-state`, where the call has no sample",
        BudgetPart.OTHER_PROCESS: (
            "rows of an engine whose process is known and another one, "
            "up to the begin of the call's last own row there"
        ),
        BudgetPart.OTHER_CALL: (
            "all other rows of an engine up to there: a label that fits no model of the app shows no process"
        ),
        BudgetPart.RUNNABLE: "rows of `thread-state`: Runnable, Preempted, Interrupted",
        BudgetPart.WAITING: "the waiting time of the call, unless every engine that it may use is measured",
        BudgetPart.BLOCKED: "rows of `thread-state`; in a call without one, blocked samples",
        BudgetPart.HAND_OVER: "none: no row and no sample between two engines' work",
        BudgetPart.OTHER_THREADS: "samples of the app's threads that do not count for the call",
        BudgetPart.IDLE: (
            "none: no row of an engine for the app and no sample of it, for two sampling periods or more"
        ),
        BudgetPart.UNKNOWN: "none",
    }
)
