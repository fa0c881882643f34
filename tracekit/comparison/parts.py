"""The parts of the calls of both sides: which of them grew, each with its interval.

Means are compared, because those of all parts sum to that of the length, and so do their differences. A
median of a part would be 0, or all of it, in a model that runs on two engines by turns. The first call of a
model is left out: it loads the model, and is compared by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracekit.analysis.budget.parts import BUDGET_PARTS
from tracekit.comparison.metrics import GroupMetric, GroupSide
from tracekit.comparison.observations import Observations
from tracekit.comparison.result import ModelParts, PartChange
from tracekit.comparison.rows import Sides, iter_group_rows
from tracekit.model.vocabulary import Engine
from tracekit.statistics.share_intervals import LEVEL

_WHOLE = GroupMetric("length", "length", "mean", part="warm", always=True, is_summed=True)
_PARTS = {
    str(part): GroupMetric(str(part), "part", "mean", str(part), part="warm", is_summed=True)
    for part in BUDGET_PARTS
}
_ACCELERATORS = {Engine.ANE, Engine.GPU}


def compare_parts(models: Iterable[tuple[str, Sides]]) -> Iterator[ModelParts]:
    """Yield the parts of the calls of each model, the one that grew most first.

    Their intervals hold together at 95 %: each part has its share of the 5 %.
    """
    for name, sides in models:
        (whole,) = iter_group_rows(sides, [_WHOLE])
        missing = _explain_problem(sides) or whole.base.missing or whole.new.missing
        if missing:
            yield ModelParts(name, whole, missing=missing)
            continue
        present = [metric for metric in _PARTS.values() if _has_time(sides, metric)]
        level = 1 - (1 - LEVEL) / max(1, len(present))
        changes = [
            PartChange(part, row)
            for part, row in zip(
                (part for part in BUDGET_PARTS if _PARTS[part] in present),
                iter_group_rows(sides, present, level),
                strict=True,
            )
        ]
        changes.sort(key=lambda change: -(change.row.difference or 0.0))
        yield ModelParts(name, whole, tuple(changes), level)


def _has_time(sides: Sides, metric: GroupMetric) -> bool:
    return any(
        bool((run.quantity(metric.quantity, metric.of).values[rows & ~run.first] > 0).any())
        for side in (sides.base, sides.new)
        for run, rows in zip(side.runs, side.rows, strict=True)
    )


def _explain_problem(sides: Sides) -> str:
    """Return the reason why time may be in other parts of one side because its recording shows less."""
    evidence = [_list_evidence(side) for side in (sides.base, sides.new)]
    if evidence[0] == evidence[1]:
        return ""
    base, new = (" and ".join(sorted(names)) or "nothing" for names in evidence)
    return f"{base} in BASE and {new} in NEW show the parts of a call"


def _list_evidence(side: GroupSide) -> set[str]:
    """Return what all runs of a side can show of a call: host samples, states of threads, and engines."""
    runs = [_list_evidence_of_run(run) for run in side.runs]
    return set.intersection(*runs) if runs else set()


def _list_evidence_of_run(run: Observations) -> set[str]:
    trace = run.analysis.trace
    evidence = {f"a table of the {engine}" for engine in run.analysis.measured.engines & _ACCELERATORS}
    if trace.weight_unit == "ns" and (trace.samples["stack_id"] >= 0).any():
        evidence.add("samples")
    return evidence | ({"states of threads"} if len(trace.thread_states) else set())
