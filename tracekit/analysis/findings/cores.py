"""CPU inference that ran on efficiency cores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from tracekit.analysis.engines.codes import is_engine, is_phase, sum_by_code
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.lengths import (
    compute_typical_length,
    hold_length,
    measure_extra_length,
    sum_extra_length,
)
from tracekit.model.columns import IntArray
from tracekit.model.vocabulary import Basis, Engine, Phase


class CoreNumbers(TypedDict):
    """The CPU's inference on efficiency cores; ``slow`` calls ran mostly there, ``fast`` ones did not."""

    is_named: bool
    calls: int
    slow: int
    share: float
    slow_ns: int
    fast_ns: int | None
    extra_ns: int | None


ON_EFFICIENCY_CORES = Kind[CoreNumbers]("on-efficiency-cores", Need.CORES)

_MOSTLY = 0.5
_NEARLY_ALL = 0.9
"""Where calls on both kinds of cores are no different, the cores cost nothing that this recording shows."""
_FEWEST_SAMPLES = 20
_EFFICIENCY, _PERFORMANCE = 0, 1


def find_efficiency_cores(calls: Calls) -> Iterator[Finding[CoreNumbers]]:
    """Yield a finding per model whose inference on the CPU ran mostly, or slower, on efficiency cores."""
    types = calls.trace.core_types
    if set(types.values()) != {"E", "P"} or not calls.serves(Engine.CPU).any():
        return
    labels, samples = calls.analysis.labels, calls.trace.samples
    of_core = np.full(1 << 16, -1, np.int64)  # any int16, the negative ones from the end
    for core, kind in types.items():
        if 0 <= core < 1 << 15:
            of_core[core] = _EFFICIENCY if kind == "E" else _PERFORMANCE
    is_inference = is_engine(labels.engine, Engine.CPU) & is_phase(labels.phase, Phase.EXECUTE)
    kinds: IntArray = np.where(is_inference, of_core[samples["core"].to_numpy(np.int64)], -1)
    tally = calls.analysis.members.tally(kinds)
    slow, fast = (
        sum_by_code(tally.window[tally.code == kind], tally.count[tally.code == kind], len(calls.starts))
        for kind in (_EFFICIENCY, _PERFORMANCE)
    )
    for model in calls.iter_models(slow > 0):
        rows = model.rows[(slow + fast)[model.rows] > 0]
        on_slow, counted = int(slow[rows].sum()), int((slow + fast)[rows].sum())
        is_mostly_slow = slow[rows] > _MOSTLY * (slow + fast)[rows]
        slow_rows, fast_rows = rows[is_mostly_slow], rows[~is_mostly_slow]
        if counted < _FEWEST_SAMPLES or not len(slow_rows):
            continue
        extra_ns = measure_extra_length(calls, slow_rows, fast_rows)
        if not extra_ns and on_slow < _NEARLY_ALL * counted:
            continue
        fast_ns = compute_typical_length(calls, fast_rows) if len(fast_rows) else None
        numbers: CoreNumbers = {
            "is_named": model.is_named,
            "calls": len(model.rows),
            "slow": len(slow_rows),
            "share": on_slow / counted,
            "slow_ns": compute_typical_length(calls, slow_rows),
            "fast_ns": fast_ns,
            "extra_ns": extra_ns or None,
        }
        yield Finding(
            kind=ON_EFFICIENCY_CORES,
            severity="warning" if extra_ns else "info",
            confidence="likely",
            basis=Basis.SAMPLED,
            **calls.locate(slow_rows, model),
            lost_ns=sum_extra_length(calls, slow_rows, fast_rows) or None,
            numbers=numbers,
            support=(Support("table", calls.trace.samples_source, "inference on efficiency cores", on_slow),),
            actions=(
                Action("raise-qos"),
                *([hold_length(model, "p90", fast_ns)] if extra_ns and fast_ns is not None else []),
            ),
        )
