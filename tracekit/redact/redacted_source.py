"""Removal of private content from a recording in memory, before it is packed or reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tracekit.analysis import analyze
from tracekit.analysis.engines.ownership import Ownership, find_target_pids, is_region
from tracekit.errors import TracekitError
from tracekit.load import trace_of
from tracekit.model.columns import IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_AI, OS_LOG
from tracekit.model.vocabulary import Phase
from tracekit.parsers.in_memory import InMemorySource, update_row_counts
from tracekit.parsers.tables.engine_log import select_framework_lines
from tracekit.parsers.tables.interval_labels import parse_ane_label
from tracekit.parsers.tables.row_times import without_spans
from tracekit.redact.private_cells import hide_private
from tracekit.redact.redaction import (
    Redaction,
    plan_redaction,
    redact_issues,
    redact_run,
    redact_table,
    replace_labels,
)

_REGION = "_ANE_region_0"


def hide_private_cells(source: InMemorySource) -> tuple[InMemorySource, tuple[str, ...]]:
    """Return the source with prompts and answers hidden, and the names of the columns that contained any."""
    hidden: dict[str, None] = {}
    tables = {}
    for place, schema_tables in source.contents.items():
        pairs = [hide_private(table) for table in schema_tables]
        tables[place] = tuple(table for table, _ in pairs)
        hidden.update(dict.fromkeys(name for _, names in pairs for name in names))
    return replace(source, contents=tables), tuple(hidden)


def redact_source(source: InMemorySource, process: str | None = None) -> InMemorySource:
    """Return the source without other processes, home folders and the device's name.

    ``process`` is the process to keep, a name or a pid; by default the recording's target. Raises
    ``UsageError`` if there is no such process.
    """
    return apply_redaction(source, plan_source_redaction(source, process))


def plan_source_redaction(
    source: InMemorySource, process: str | None = None, more_texts: Sequence[str] = ()
) -> Redaction:
    """Return the plan of ``redact_source``. ``more_texts`` are further texts for its ``rewriter``."""
    by_run = {
        run.info.run: [
            t
            for (number, _), schema_tables in source.contents.items()
            if number == run.info.run
            for t in schema_tables
        ]
        for run in source.runs
    }
    return plan_redaction(source.runs, by_run, process, more_texts)


def apply_redaction(source: InMemorySource, plan: Redaction) -> InMemorySource:
    """Return the source redacted as planned by ``plan_source_redaction``."""
    redacted_source = _redact_contents(_drop_foreign_rows(source, plan), plan)
    labels = _find_foreign_labels(redacted_source)
    if not labels:
        return redacted_source
    contents = {
        place: tuple(
            replace_labels(table, labels) if table.schema in ANE_TABLES else table for table in schema_tables
        )
        for place, schema_tables in redacted_source.contents.items()
    }
    return replace(redacted_source, contents=contents)


def _redact_contents(source: InMemorySource, plan: Redaction) -> InMemorySource:
    text = plan.rewriter.rewrite_text
    redacted = replace(
        source,
        runs=tuple(redact_run(run, plan) for run in source.runs),
        contents={
            place: tuple(redact_table(t, plan) for t in schema_tables)
            for place, schema_tables in source.contents.items()
        },
        issues_by_run={run: redact_issues(issues, plan) for run, issues in source.issues_by_run.items()},
        unreadable={
            place: replace(why, problem=text(why.problem), advice=text(why.advice))
            for place, why in source.unreadable.items()
        },
    )
    return update_row_counts(redacted)


def _drop_foreign_rows(source: InMemorySource, plan: Redaction) -> InMemorySource:
    """Return the source without Neural Engine rows of other processes.

    The process of these rows follows from other tables, whose rows are removed afterwards. Of the log, only
    lines that the analysis reads stay: the app's own lines may contain anything.
    """
    contents = dict(source.contents)
    for (number, schema), schema_tables in source.contents.items():
        if schema in ANE_TABLES:
            starts, ends = _find_foreign_spans(source, number, plan.own_pids.get(number, frozenset()))
            contents[number, schema] = tuple(without_spans(table, starts, ends) for table in schema_tables)
        elif schema == OS_LOG:
            contents[number, schema] = tuple(select_framework_lines(table) for table in schema_tables)
    return replace(source, contents=contents)


def _find_foreign_spans(
    source: InMemorySource, run: int, own_pids: frozenset[int]
) -> tuple[IntArray, IntArray]:
    """Return start and end of the Neural Engine rows whose process is known and not in ``own_pids``."""
    try:
        rows = trace_of(source, run).intervals
    except TracekitError:  # no rows to assign
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    is_other = rows["source"].isin(ANE_TABLES) & ~rows["pid"].isin([-1, *own_pids]) & bool(own_pids)
    starts, ends = (rows[name].to_numpy(np.int64)[is_other] for name in ("start_ns", "end_ns"))
    return starts, ends


def _find_foreign_labels(source: InMemorySource) -> dict[str, str]:
    """Return replacements for labels of Neural Engine rows that the analysis assigns to other processes.

    The table names no process, so an analysis is needed first. The words for loading and compiling stay,
    because they alone show the phase of a row. So does the mark of a Core AI region: regions are compared
    only with regions.
    """
    words = {
        Phase.LOAD: " Neural Engine Load",
        Phase.COMPILE: " Neural Engine Compile",
        Phase.EXECUTE: " Neural Engine Prediction",
        None: " Neural Engine",  # as cut off as the label was
    }
    labels: set[str] = set()
    models: set[str] = set()
    for run in source.runs:
        if not any(table.schema in ANE_TABLES and table.row_count for table in run.tables):
            continue
        try:
            trace = trace_of(source, run.info.run)
            unclaimed = analyze(trace).measured.owner.unattributed
        except TracekitError:  # no analysis: the labels cannot be assigned to a process
            continue
        rows = trace.intervals
        is_other = Ownership(rows, not unclaimed, find_target_pids(trace)).other_process
        # A label of which the target has rows as well shows nothing of another process.
        labels |= {str(label) for label in rows["label"][is_other].unique()} - {
            str(label) for label in rows["label"][~is_other].unique()
        }
        models |= {str(model) for model in rows["model"].unique()}
        models |= {str(function) for function in rows["label"][rows["source"] == CORE_AI].unique()}
    prefix = "other"
    while prefix in models:
        prefix += "s"
    replaced = {}
    for number, label in enumerate(sorted(labels), 1):
        kind = _REGION if is_region(label) else ""
        replaced[label] = f"{prefix}-{number}{kind}{words.get(parse_ane_label(label).phase, '')}"
    return replaced
