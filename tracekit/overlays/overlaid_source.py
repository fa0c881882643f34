"""``OverlaidSource``: a recording with the tables of texts laid over it by wall clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import PROCESSES, THREADS, BoolArray
from tracekit.model.schemas import REGIONS_OF_INTEREST, STACK_COUNTS
from tracekit.model.tables import OVERLAID, Column, ColumnKind, StackTable, Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.overlays.alignment import Alignment, align
from tracekit.overlays.repeats import mark_repeated_rows
from tracekit.overlays.row_spans import read_spans
from tracekit.parsers.in_memory import find_origin
from tracekit.parsers.source import Source
from tracekit.parsers.tables.row_times import is_time
from tracekit.text import plural

_SLACK_NS = 1_000_000_000
"""Rows this far outside of the recording stay: clocks differ slightly, and the cause of a fallback may
precede it."""


class OverlaidSource:
    """Adds the tables of texts to every run that they overlap. Implements ``Source``.

    Each run has its own wall clock; a text that overlaps none of the runs raises ``InputError`` with both
    times. A text whose samples have no times (a spindump) becomes one interval on the time line.
    """

    def __init__(self, source: Source, texts: Sequence[Source], offset_ns: int = 0) -> None:
        self.name = source.name
        self.has_toc = source.has_toc
        self.origin = find_origin(source)
        self._source = source
        self._tables: dict[int, list[Table]] = {}
        self._issues: dict[int, list[Issue]] = {}
        self._runs = source.toc()
        for text in texts:
            self._add_text(text, offset_ns)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return tuple(self._with_texts(run) for run in self._runs)

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        is_listed = any(
            info.schema == schema
            for run_info in self._runs
            if run_info.info.run == run
            for info in run_info.tables
        )
        overlaid_tables = (table for table in self._tables.get(run, ()) if table.schema == schema)
        return chain(self._source.tables(schema, run), overlaid_tables) if is_listed else overlaid_tables

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        overlay_issues = (
            issue for number, issues in self._issues.items() if run in (None, number) for issue in issues
        )
        return (*self._source.issues(run), *overlay_issues)

    def _with_texts(self, run: RunInfo) -> RunInfo:
        tables = self._tables.get(run.info.run, [])
        infos = (TableInfo(t.schema, run.info.run, 0, t.attributes, len(t)) for t in tables)
        return replace(run, tables=(*run.tables, *infos))

    def _add_text(self, text: Source, offset_ns: int) -> None:
        """Add each report of a text to the runs that it overlaps."""
        for report in text.toc():
            number = report.info.run
            schemas = list(dict.fromkeys(info.schema for info in report.tables))
            tables = [table for schema in schemas for table in text.tables(schema, number)]
            is_marked = False
            if not tables or all(table.schema == STACK_COUNTS for table in tables):
                tables, is_marked = [_make_interval_table(report.info)], True
            refusals = []
            for run in self._runs:
                alignment = align(run.info, report.info, tables, offset_ns)
                if isinstance(alignment, Alignment):
                    # The samples count nowhere, so their issues limit none of the recording's numbers.
                    issues = () if is_marked else text.issues(report.info.run)
                    self._add_tables(run, text.name, tables, alignment, issues, is_marked)
                else:
                    refusals.append(alignment)
            if len(refusals) == len(self._runs):
                raise InputError(text.name, *refusals[0])

    def _add_tables(
        self,
        run: RunInfo,
        text_name: str,
        tables: Sequence[Table],
        alignment: Alignment,
        issues: Sequence[Issue],
        is_marked: bool,
    ) -> None:
        number = run.info.run
        left_out, repeated = 0, 0
        for table in tables:
            shifted = _shift_times(table, alignment.shift_ns)
            is_inside = _mark_recorded_rows(shifted, alignment.duration_ns)
            left_out += int((~is_inside).sum())
            attributes = {**table.attributes, OVERLAID: text_name}
            shifted = replace(shifted, rows=shifted.rows[is_inside].reset_index(drop=True))
            is_repeated = mark_repeated_rows(shifted, self._tables.get(number, ()))
            repeated += int(is_repeated.sum())
            kept = shifted.rows[~is_repeated].reset_index(drop=True)
            self._tables.setdefault(number, []).append(
                replace(shifted, rows=kept, run=number, attributes=attributes)
            )
        message = alignment.describe(text_name, left_out)
        if is_marked:
            message += f". Its samples have no times: tracekit analyze {text_name} shows its threads"
        self._issues.setdefault(number, []).append(Issue("info", "laid-over", message))
        if repeated:
            text = (
                f"{text_name} repeats what a text before it has, or states the power of the same time:"
                f" {plural(repeated, 'row')} left out"
            )
            self._issues[number].append(Issue("info", "laid-over-repeated", text, repeated))
        issues_with_name = (replace(issue, message=f"{text_name}: {issue.message}") for issue in issues)
        self._issues[number].extend(issues_with_name)


def _make_interval_table(info: TraceInfo) -> Table:
    """Return an interval for a text whose samples have no times: from its start, for its duration."""
    values: dict[str, tuple[str, ColumnKind, int | str]] = {
        "start": ("start-time", "int", 0),
        "duration": ("duration", "int", info.duration_ns or 0),
        "name": ("string", "text", info.name),
        "subsystem": ("string", "text", info.kind),
        "category": ("string", "text", "laid over"),
    }
    columns = tuple(Column(name, name, kind, shape) for name, (kind, shape, _) in values.items())
    rows = pd.DataFrame({name: [value] for name, (_, _, value) in values.items()})
    rows = rows.astype({c.mnemonic: "Int64" if c.kind == "int" else "category" for c in columns})
    none = StackTable.empty()
    return Table(REGIONS_OF_INTEREST, columns, rows, THREADS.empty(), PROCESSES.empty(), none)


def _shift_times(table: Table, shift_ns: int) -> Table:
    """Return the table with every moment moved by ``shift_ns``; durations stay."""
    rows = table.rows.copy(deep=False)
    for column in table.columns:
        if column.kind == "int" and is_time(column):
            rows[column.mnemonic] = rows[column.mnemonic] + shift_ns
    return replace(table, rows=rows)


def _mark_recorded_rows(table: Table, duration_ns: int | None) -> BoolArray:
    """Mark the rows that are in the recorded time or near it."""
    starts, ends = read_spans(table)
    is_recorded = ends >= -_SLACK_NS
    if duration_ns is not None:
        is_recorded &= starts <= duration_ns + _SLACK_NS
    return is_recorded
