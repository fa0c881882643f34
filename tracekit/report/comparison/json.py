"""``tracekit-compare/1``: the comparison as JSON. The schema is docs/tracekit-compare-1.schema.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import tracekit
from tracekit.checks.results import ChangeResult
from tracekit.comparison.grid import Grid
from tracekit.comparison.result import (
    Comparison,
    Difference,
    FunctionChange,
    Group,
    ModelParts,
    OneSided,
    RunDescription,
    Side,
)
from tracekit.mlmodels.plans.differences import PlanDifferences
from tracekit.report import wording
from tracekit.report.analysis.json_findings import finding_summary
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.decision import decide_model, decide_outcome
from tracekit.report.comparison.findings import SIGN
from tracekit.report.comparison.headline import sentence
from tracekit.report.plans import differences_json
from tracekit.report.wording.budget import PART_WORDS
from tracekit.text import escape_json

SCHEMA = "tracekit-compare/1"


def to_json(
    comparison: Comparison, changes: Sequence[ChangeResult] = (), plans: PlanDifferences | None = None
) -> str:
    """Return the document as indented JSON text with a final newline; ``plans`` are those of the model."""
    document = to_dict(comparison, changes, plans)
    return escape_json(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def to_dict(
    comparison: Comparison, changes: Sequence[ChangeResult] = (), plans: PlanDifferences | None = None
) -> dict[str, Any]:
    """Return the document as plain data; differences are new minus base."""
    return {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "sentence": sentence(comparison),
        "outcome": decide_outcome(comparison),
        "findings": _findings(comparison),
        "base": _side(comparison.base),
        "new": _side(comparison.new),
        "cautions": [
            {"code": caution.code, "message": caution_text(caution)} for caution in comparison.cautions
        ],
        "lengths": [
            {
                "model": model.model or None,
                "outcome": decide_model(model, comparison.min_change),
                "rows": [_row(row) for row in model.rows],
                "energy": [_row(row) for row in model.energy],
                "engines": [_row(row) for row in model.engines],
                "grid": _grid(model.grid),
            }
            for model in comparison.first_sentence.lengths
        ],
        "groups": [_group(group) for group in comparison.groups],
        "parts": [_parts(model) for model in comparison.parts],
        "groups_left_out": comparison.groups_left_out,
        "one_sided": [_one_sided(group) for group in comparison.one_sided],
        "runs": [_row(row) for row in comparison.preparing],
        "functions": [_function(function) for function in comparison.functions],
        "functions_missing": comparison.functions_missing or None,
        "largest_functions": [_function(function) for function in comparison.largest_functions],
        "functions_compared": comparison.functions_compared,
        "run_noise": comparison.run_noise.get("p50"),
        "run_noise_by_percentile": dict(comparison.run_noise) or None,
        "noise_runs": comparison.noise_runs,
        "noise_builds": comparison.noise_builds,
        "session_noise": comparison.session_noise,
        "min_change": comparison.min_change,
        "without_times": list(comparison.without_times),
        "samples": [
            {
                **asdict(row),
                "thread": row.thread or None,
                "phase": row.phase or None,
                "base_share": row.base_share,
                "new_share": row.new_share,
                "difference": row.difference,
            }
            for row in comparison.samples
        ],
        "fail_on": [_change(result) for result in changes],
        "plans": None if plans is None else differences_json.to_dict(plans),
    }


def _findings(comparison: Comparison) -> dict[str, list[dict[str, Any]]]:
    """Return the findings of both sides by what became of them."""
    by_change: dict[str, list[dict[str, Any]]] = {change.replace(" ", "_"): [] for change in SIGN}
    for change in comparison.findings:
        by_change[change.change.replace(" ", "_")].append(
            {
                **finding_summary(change.finding, change.recording),
                "base": asdict(change.base),
                "new": asdict(change.new),
            }
        )
    return by_change


def _side(side: Side) -> dict[str, Any]:
    runs = [_run(run) for run in side.runs]
    return {"windows": side.windows, "verdicts": side.verdicts, "runs": runs}


def _group(group: Group) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "name": group.name,
        "source": group.source,
        "base_windows": group.base_windows,
        "new_windows": group.new_windows,
        "also": [{"kind": kind, "name": name, "source": source} for kind, name, source in group.also],
        "rows": [_row(row) for row in group.rows],
        "grid": _grid(group.grid),
    }


def _grid(grid: Grid | None) -> dict[str, float | None] | None:
    """Return the period of a grid, null for a few values, and the limit above which calls are counted."""
    return None if grid is None else {"period_ns": grid.period_ns or None, "limit_ns": grid.limit_ns}


def _parts(model: ModelParts) -> dict[str, Any]:
    parts = [
        {"part": str(change.part), "name": PART_WORDS[change.part].name, "row": _row(change.row)}
        for change in model.parts
    ]
    return {
        "model": model.model or None,
        "whole": _row(model.whole),
        "parts": parts,
        "level": model.level,
        "missing": model.missing or None,
    }


def _one_sided(group: OneSided) -> dict[str, Any]:
    names = ("kind", "name", "source", "side", "windows")
    return {name: getattr(group, name) for name in names}


def _run(run: RunDescription) -> dict[str, Any]:
    facts = {name: value for name, value in vars(run).items() if name != "answer"}
    sources = list(run.window_sources)
    return {**facts, "window_sources": sources, "sentence": wording.headline(run.answer)}


def _function(function: FunctionChange) -> dict[str, Any]:
    return {
        "binary": function.binary,
        "symbol": function.symbol,
        "engine": function.engine,
        "model": function.model or None,
        "change": function.change,
        **_row(function.row),
    }


def _row(row: Difference) -> dict[str, Any]:
    # Properties are left out by asdict; the estimate is in the numbers.
    plain = {name: value for name, value in asdict(replace(row, estimate=None)).items() if name != "estimate"}
    return {**plain, "ratio": row.ratio, "smallest": row.smallest, "drift": row.drift}


def _change(result: ChangeResult) -> dict[str, Any]:
    group = result.group
    return {
        "text": result.change.text,
        "outcome": result.outcome,
        "reason": result.reason,
        "group": None if group is None else group.name or group.kind,
        "difference": None if result.row is None else result.row.difference,
        "low": None if result.row is None else result.row.low,
        "high": None if result.row is None else result.row.high,
    }
