"""The models of a recording as a short table: where each ran, its calls, and what costs most."""

from __future__ import annotations

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.findings.answer import ModelAnswer
from tracekit.analysis.result import Analysis
from tracekit.report.document.blocks import BarPart, Column, Table
from tracekit.report.wording.budget import PART_WORDS
from tracekit.report.wording.findings.cost import name_cost
from tracekit.report.wording.names import shorten_model_name
from tracekit.report.wording.summary import distinguish_models, name_engines
from tracekit.text import format_duration

_FEWEST = 2


def list_models(analysis: Analysis) -> tuple[Table, ...]:
    """Return the table of the headline's models where there are several."""
    answer = analysis.answer
    if answer.kind != "models" or len(answer.models) < _FEWEST:
        return ()
    models = distinguish_models(answer.models)
    parts = [_sum_parts(analysis, model) for model in models]
    costs = [_name_costliest(model, sums) for model, sums in zip(models, parts, strict=True)]
    names = [shorten_model_name(model.model) for model in models]
    engines = [name_engines(model) for model in models]
    lengths = [format_duration(model.length_ns) if model.length_ns else "" for model in models]
    columns = (
        Column("model", names, is_clipped=True),
        Column("engine", engines, is_clipped=True, bars=_draw_bars(parts)),
        Column("calls", [f"{model.calls:,}" for model in models], "number", rank=1),
        Column("median", lengths, "number"),
        Column("costs most", costs, is_clipped=True),
    )
    return (Table(columns, caption="Models"),)


def _sum_parts(analysis: Analysis, model: ModelAnswer) -> dict[BudgetPart, int]:
    """Return the parts of the budgets of a model's calls, by whatever basis, in order of precedence."""
    sums: dict[BudgetPart, int] = {}
    for total in analysis.budget_totals:
        if total.position == model.position and total.total_ns:
            sums[total.kind.part] = sums.get(total.kind.part, 0) + total.total_ns
    return sums


def _name_costliest(model: ModelAnswer, sums: dict[BudgetPart, int]) -> str:
    """Return the costliest warning about a model; without one, the largest part of its calls' time."""
    if model.costliest is not None:
        return name_cost(model.costliest)
    part = max(sums, key=lambda name: sums[name], default=None)
    return f"{format_duration(sums[part])}: {PART_WORDS[part].name}" if part else ""


def _draw_bars(parts: list[dict[BudgetPart, int]]) -> list[tuple[BarPart, ...]]:
    bars = []
    for sums in parts:
        length_ns = max(sum(sums.values()), 1)
        bars.append(
            tuple(
                BarPart(PART_WORDS[part].name, amount_ns / length_ns, str(PART_WORDS[part].engine or ""))
                for part, amount_ns in sums.items()
            )
        )
    return bars
