"""A recording's tables in memory: the content of a pack, and a source for comparisons and tests.

``read_into_memory`` keeps the tables that an analysis can use (``READ_TABLES``); ``redact`` changes
them, and ``pack`` writes them to a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tracekit.errors import InputError, TracekitError
from tracekit.frozen import frozen
from tracekit.model.schemas import READ_TABLES
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.source import Source, iter_readable, make_left_out_issue

TableKey: TypeAlias = tuple[int, str]
"""A run's number and a schema."""


@frozen
class UnreadableTables:
    """The reason why the tables of one schema could not be read."""

    problem: str
    advice: str = ""


@dataclass
class InMemorySource:
    """Implements ``parsers.source.Source``. An ``unreadable`` table raises its error again."""

    name: str
    origin: str
    """The kind of input that the tables were first read from; see ``TraceInfo.kind``."""
    has_toc: bool
    runs: tuple[RunInfo, ...]
    contents: Mapping[TableKey, tuple[Table, ...]]
    unreadable: Mapping[TableKey, UnreadableTables] = field(default_factory=dict)
    issues_by_run: Mapping[int, tuple[Issue, ...]] = field(default_factory=dict)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self.runs

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        key = (run, schema)
        if key in self.unreadable:
            raise InputError(self.name, self.unreadable[key].problem, self.unreadable[key].advice)
        return iter(self.contents.get(key, ()))

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        return select_issues(self.issues_by_run, run)


def select_issues(issues_by_run: Mapping[int, tuple[Issue, ...]], run: int | None) -> tuple[Issue, ...]:
    """Return the issues of one run, or of all, each once."""
    issues = (issue for of, issues in issues_by_run.items() if run in (None, of) for issue in issues)
    return tuple(dict.fromkeys(issues))


def read_into_memory(source: Source) -> InMemorySource:
    """Read every run's tables of ``READ_TABLES``.

    Unreadable tables are recorded if some table can be read. Raises the first error if none can, and
    ``InputError`` when the source has no such table.
    """
    contents: dict[TableKey, tuple[Table, ...]] = {}
    errors: dict[TableKey, TracekitError] = {}
    left_out: dict[int, list[Issue]] = {}
    for run in source.toc():
        listed_schemas = {table.schema for table in run.tables}
        for schema in (schema for schema in READ_TABLES if schema in listed_schemas):
            key = (run.info.run, schema)
            damage: list[TracekitError] = []
            try:
                tables = tuple(iter_readable(source.tables(schema, run.info.run), damage.append))
            except TracekitError as error:
                tables, damage = (), [error]
            if tables:
                contents[key] = tables
                left_out.setdefault(run.info.run, []).extend(make_left_out_issue(schema, e) for e in damage)
            elif damage:
                errors[key] = damage[0]
    if not contents:
        raise next(
            iter(errors.values()), InputError(source.name, "holds no table that an analysis could use.")
        )
    runs = tuple(_without_others(run, contents.keys() | errors.keys()) for run in source.toc())
    unreadable = {key: _describe_error(key[1], error) for key, error in errors.items()}
    issues = {run.info.run: (*source.issues(run.info.run), *left_out.get(run.info.run, ())) for run in runs}
    copy = InMemorySource(
        source.name, find_origin(source), source.has_toc, runs, contents, unreadable, issues
    )
    return update_row_counts(copy)


def update_row_counts(source: InMemorySource) -> InMemorySource:
    """Return the source with the row counts of its list of tables updated from its rows."""
    return replace(source, runs=tuple(_count_rows(source, run) for run in source.runs))


def _count_rows(source: InMemorySource, run: RunInfo) -> RunInfo:
    number, infos = run.info.run, list(run.tables)
    for (table_run, schema), tables in source.contents.items():
        if table_run != number:
            continue
        positions = [
            position
            for position, info in enumerate(infos)
            if info.schema == schema and info.row_count is not None
        ]
        if len(positions) == len(tables):
            for position, table in zip(positions, tables, strict=True):
                infos[position] = replace(infos[position], row_count=len(table))
        else:  # read differently than they were listed, so the listed ones cannot be matched
            infos = [info for position, info in enumerate(infos) if position not in positions]
            infos += [TableInfo(schema, number, 0, table.attributes, len(table)) for table in tables]
    return replace(run, tables=tuple(infos))


def find_origin(source: Source) -> str:
    """Return the kind of input that a source's tables were first read from, before packing."""
    return str(getattr(source, "origin", "") or next((run.info.kind for run in source.toc()), ""))


def _without_others(run: RunInfo, keys: set[TableKey]) -> RunInfo:
    """Return the run with no row count for the tables that are not in ``keys``."""
    number = run.info.run
    tables = (t if (number, t.schema) in keys else replace(t, row_count=None) for t in run.tables)
    return replace(run, tables=tuple(tables))


def _describe_error(schema: str, error: TracekitError) -> UnreadableTables:
    if isinstance(error, InputError):
        return UnreadableTables(error.problem, error.advice)
    return UnreadableTables(f"'{schema}' cannot be read: {error}")
