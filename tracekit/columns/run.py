"""The columns of the frames about a run: engines, attribution, evidence, issues, findings."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

import pandas as pd

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.result import Analysis
from tracekit.columns.frame import FrameColumn, FrameColumns, make_listed_column
from tracekit.model.columns import with_missing
from tracekit.report import wording
from tracekit.report.wording.findings import FindingText, finding_text

_Objects: TypeAlias = Sequence[Any]

_WEIGHT = "the weight of these samples, in `trace.weight_unit`"
_SAMPLED = "the same as time; missing where the recorder did not count time"
_WAITING = "time that threads waited for the engine; missing where no evidence shows it"
_WAITING_BASIS = "how `waiting_ns` is known: measured, sampled or inferred; missing with it"


def _build_engine_rows(analysis: Analysis) -> list[dict[str, Any]]:
    rows = [{name: getattr(row, name) for name in ENGINE_COLUMNS.columns} for row in analysis.engine_totals]
    unknown = {} if analysis.trace.samples_source else dict.fromkeys(("samples", "sampled_ns", "weight"))
    return [row | unknown for row in rows]


ENGINE_COLUMNS: FrameColumns[_Objects] = FrameColumns(
    _build_engine_rows,
    {
        name: make_listed_column(type_, meaning, itemgetter(name), basis)
        for name, type_, meaning, basis in (
            ("engine", "str", "the engine", ""),
            ("samples", "Int64", "host samples; missing where the input has none", "sampled"),
            ("sampled_ns", "Int64", _SAMPLED, "sampled"),
            ("weight", "Int64", _WEIGHT, "sampled"),
            (
                "busy_ns",
                "Int64",
                "work for inferences; missing where no table measured the engine",
                "measured",
            ),
            ("waiting_ns", "Int64", _WAITING, "column `waiting_basis`"),
            ("waiting_basis", "str", _WAITING_BASIS, ""),
            ("measured", "bool", "True where a table with rows covers the engine", ""),
        )
    },
)


def build_budget_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the rows of the frame of budgets."""
    names = wording.call_names(analysis).names
    return [
        {
            "name": names[total.position],
            "part": str(total.kind.part),
            "basis": None if total.kind.basis is None else str(total.kind.basis),
            **{name: getattr(total, name) for name in ("calls", "total_ns", "median_ns", "overlap_ns")},
        }
        for total in analysis.budget_totals
    ]


BUDGET_COLUMNS: FrameColumns[_Objects] = FrameColumns(
    build_budget_rows,
    {
        name: make_listed_column(type_, meaning, itemgetter(name), basis)
        for name, type_, meaning, basis in (
            ("name", "str", "the model, as column `name` of the calls' table has it", ""),
            ("part", "str", "the part of the calls' time ([evidence](evidence.md#budget))", ""),
            ("basis", "str", "how its time is known; missing for what the recording does not show", ""),
            ("calls", "int64", "the calls of the model that have time of it", ""),
            ("total_ns", "int64", "its time in all calls of the model", "column `basis`"),
            ("median_ns", "int64", "the median of all calls of the model", "column `basis`"),
            (
                "overlap_ns",
                "int64",
                "for how long it happened while a part of higher precedence had the moment",
                "column `basis`",
            ),
        )
    },
)

ATTRIBUTION_COLUMNS: FrameColumns[pd.DataFrame] = FrameColumns(
    lambda analysis: with_missing(analysis.attribution_rows, ("window_id",)),
    {
        name: FrameColumn(type_, meaning, itemgetter(name), basis)
        for name, type_, meaning, basis in (
            ("window_id", "Int64", "the call; missing outside every call", ""),
            ("engine", "category", "the engine", ""),
            ("phase", "category", "the phase of its work; missing for engines whose work has none", ""),
            ("samples", "int64", "host samples", "sampled"),
            ("sampled_ns", "Int64", _SAMPLED, "sampled"),
            ("busy_ns", "Int64", "work; missing where no table measured the engine", "measured"),
            ("waiting_ns", "Int64", _WAITING, "column `waiting_basis`"),
            ("weight", "int64", _WEIGHT, "sampled"),
            ("waiting_basis", "category", _WAITING_BASIS, ""),
        )
    },
)

EVIDENCE_COLUMNS: FrameColumns[_Objects] = FrameColumns(
    lambda analysis: [wording.build_evidence_document(row) for row in analysis.evidence],
    {
        name: make_listed_column(type_, meaning, itemgetter(name))
        for name, type_, meaning in (
            ("source", "str", "the table, by its schema"),
            ("state", "str", "absent, empty or rows"),
            ("rows", "Int64", "the number of its rows"),
            ("scope", "str", "whose work its rows show: system or process"),
            ("shows", "str", "what such a table shows"),
            ("remark", "str", "what follows from its state"),
        )
    },
)

ISSUE_COLUMNS: FrameColumns[_Objects] = FrameColumns(
    lambda analysis: wording.issues(analysis.diagnostics),
    {
        name: make_listed_column(type_, meaning, attrgetter(name))
        for name, type_, meaning in (
            ("severity", "str", "error, warning or info"),
            ("code", "str", "its code ([findings](findings.md) has all of them)"),
            ("message", "str", "the limit in a sentence"),
            ("count", "Int64", "how often it occurred"),
        )
    },
)

FINDING_COLUMNS: FrameColumns[_Objects] = FrameColumns(
    lambda analysis: [(finding, finding_text(finding, analysis.trace.info)) for finding in analysis.findings],
    {
        name: make_listed_column(type_, meaning, value)
        for name, type_, meaning, value in (
            ("kind", "str", "its kind ([findings](findings.md))", lambda row: row[0].kind),
            ("severity", "str", "error, warning or info", lambda row: row[0].severity),
            ("confidence", "str", "certain, likely or possible", lambda row: row[0].confidence),
            ("basis", "str", "how its numbers are known", lambda row: row[0].basis),
            (
                "model",
                "str",
                "the model; missing where it is about the run",
                lambda row: row[0].model or None,
            ),
            ("title", "str", "what happened, in a sentence", lambda row: row[1].title),
            (
                "cost",
                "str",
                "the time lost and the numbers; missing without any",
                lambda row: row[1].whole_cost or None,
            ),
            ("detail", "str", "what else is known of it", lambda row: row[1].detail or None),
            ("known_by", "str", "the tables on which it rests", lambda row: row[1].basis or None),
            (
                "next",
                "str",
                "the command of the next step, where there is one",
                lambda row: _find_command(row[1]),
            ),
            ("windows", "Int64", "the number of calls", lambda row: row[0].windows.count),
            ("pid", "Int64", "the process; missing where it is not known", lambda row: _get_pid(row[0])),
            ("start_ns", "Int64", "where to look: the begin", lambda row: row[0].start_ns),
            ("end_ns", "Int64", "and the end", lambda row: row[0].end_ns),
            ("lost_ns", "Int64", "time lost; missing where it is not known", lambda row: row[0].lost_ns),
        )
    },
)


def _get_pid(finding: Finding[Any]) -> int | None:
    return finding.pid if finding.pid >= 0 else None


def _find_command(text: FindingText) -> str | None:
    return next((step.command for step in text.next_steps if step.command), None)
