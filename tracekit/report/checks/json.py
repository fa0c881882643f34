"""The results of checks as JSON, ``tracekit-check/1``. The schema is docs/tracekit-check-1.schema.json."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import tracekit
from tracekit.checks.requirements import Kind
from tracekit.checks.results import CheckResult, MetricValue, OpenCounts, PlanPart, choose_exit_code
from tracekit.model.trace import Issue
from tracekit.report.analysis.json_findings import finding_summary
from tracekit.report.checks.wording import reason, sentence
from tracekit.text import escape_json

SCHEMA = "tracekit-check/1"
MOST_FINDINGS = 60
MOST_OPERATIONS = 100


def to_json(
    results: Sequence[CheckResult],
    name: str,
    issues: Sequence[Issue] = (),
    open_counts: OpenCounts | None = None,
) -> str:
    """Return the document as indented JSON text with a final newline."""
    document = {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "input": name,
        "exit_code": choose_exit_code((result.outcome for result in results), open_counts),
        "sentence": sentence(results),
        "results": [_result(result) for result in results],
        "issues": [asdict(issue) for issue in issues],
    }
    return escape_json(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def _result(result: CheckResult) -> dict[str, Any]:
    return {
        "kind": "forbid" if result.requirement.forbids else "require",
        "text": result.requirement.text,
        "outcome": result.outcome,
        "reason": reason(result),
        "actual": _actual(result.actual),
    }


def _actual(actual: MetricValue) -> dict[str, Any]:
    return {
        "unit": name_unit(actual.kind),
        "low": actual.low,
        # JSON has no infinity: an open upper end is null.
        "high": _finite(actual.high),
        "basis": actual.basis or None,
        "windows": actual.windows,
        "worst": None if actual.worst is None else asdict(actual.worst),
        "missing": actual.missing or None,
        "note": actual.note or None,
        "interval_low": None if actual.interval is None else _finite(actual.interval[0]),
        "interval_high": None if actual.interval is None else _finite(actual.interval[1]),
        "confidence": actual.confidence or None,
        "runs": actual.runs,
        "findings": [
            finding_summary(finding, actual.recording)
            for finding in actual.findings[:MOST_FINDINGS]
            if actual.recording is not None
        ],
        "plan": None if actual.plan is None else _plan(actual.plan),
    }


def name_unit(kind: Kind) -> str:
    """Return the unit of a kind of numbers; shares and counts are named as such."""
    return {"time": "ns", "energy": "mJ", "rate": "tokens/s", "thermal": "level"}.get(kind, kind)


def _plan(part: PlanPart) -> dict[str, Any]:
    return {
        "function": part.function,
        "operations": part.count,
        "unlisted": part.unlisted,
        "limits": list(part.limits),
        "explained_by": [
            {
                "name": operation.name,
                "kind": operation.kind,
                "engine": operation.engine,
                "device": operation.device or None,
                "source": operation.source or None,
                "messages": [asdict(message) for message in operation.messages],
            }
            for operation in part.operations[:MOST_OPERATIONS]
        ],
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value
