"""A pack as a ``Source``. It is untrusted input: ``format`` has the limits of reading one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import cast, get_args

from tracekit.errors import InputError
from tracekit.model.issue_codes import parse_issue_code
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, Severity, TraceInfo
from tracekit.parsers.in_memory import TableKey, UnreadableTables, select_issues
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits, require_at_most
from tracekit.parsers.pack.format import MANIFEST, MAX_ROWS, DamagedPackError, ManifestObject
from tracekit.parsers.pack.pack_reader import PackMembers, TableDecoder

_ADVICE = "Make the pack again, or download it again."
_MAX_PID = 2**31 - 1
_MAX_NS = 2**63 - 1
_TEXT_FIELDS = tuple(
    field.name for field in fields(TraceInfo) if field.type == "str" and field.name not in ("name", "kind")
)


class PackSource:
    """The runs of one pack. Implements ``parsers.source.Source``.

    ``origin`` is the kind of input that was packed. A table that could not be read when it was packed raises
    the recorded error; until it is requested, an issue reports it.
    """

    def __init__(self, path: str, display_name: str, limits: Limits = DEFAULT_LIMITS) -> None:
        """Open a pack and name it ``display_name``. Raises ``InputError`` for a damaged or too new one."""
        self.name = display_name
        self._path = path
        self._max_cells = limits.max_cells(Path(path).stat().st_size)
        self._cells: dict[TableKey, int] = {}  # of the tables that were read
        try:
            self._members = PackMembers(path, limits)
            manifest = self._members.manifest
            self.origin = manifest.text("source")
            self.has_toc = manifest.flag("has_toc")
            # Everything but the tables' values is checked now: a damaged pack fails when it is opened.
            runs = _index_runs(manifest.objects("runs"))
            self._runs = tuple(_build_run(run, display_name) for run in runs.values())
            self._issues = {number: _build_issues(run) for number, run in runs.items()}
            self._tables = _group_tables(runs)
            self._unreadable = _list_unreadable(runs)
            self._check_rows()
            self._decoder = TableDecoder(self._members)
        except DamagedPackError as error:
            raise self._make_input_error(error) from error
        self._unreported = dict(self._unreadable)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self._runs

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        key = (run, schema)
        if key in self._unreadable:
            self._unreported.pop(key, None)
            raise InputError(self._path, self._unreadable[key].problem, self._unreadable[key].advice)
        descriptions = self._tables.get(key, ())
        try:
            self._cells[key] = sum(
                table.integer("rows", MAX_ROWS) * len(table.objects("columns")) for table in descriptions
            )
        except DamagedPackError as error:
            raise self._make_input_error(error) from error
        require_at_most(self._path, sum(self._cells.values()), self._max_cells, "cells in its tables")
        return map(partial(self._read_table, run), descriptions)

    def _read_table(self, run: int, description: ManifestObject) -> Table:
        try:
            return self._decoder.table(description, run)
        except DamagedPackError as error:
            raise self._make_input_error(error) from error

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        unreported = {
            number: tuple(
                Issue("warning", "table-unreadable", reason.problem.rstrip("."))
                for (table_run, _), reason in self._unreported.items()
                if table_run == number
            )
            for number in self._issues
        }
        return (*select_issues(self._issues, run), *select_issues(unreported, run))

    def _check_rows(self) -> None:
        """Raise if the list of tables disagrees with the tables about their numbers of rows."""
        for run in self._runs:
            for schema in {table.schema for table in run.tables} | {schema for _, schema in self._tables}:
                key = (run.info.run, schema)
                listed_rows = [
                    t.row_count for t in run.tables if t.schema == schema and t.row_count is not None
                ]
                rows = [table.integer("rows", MAX_ROWS) for table in self._tables.get(key, ())]
                if listed_rows != rows and key not in self._unreadable:
                    raise DamagedPackError(MANIFEST, f"lists other rows of '{schema}' than it holds")

    def _make_input_error(self, error: DamagedPackError) -> InputError:
        advice = "" if error.problem.endswith("update tracekit") else _ADVICE
        return InputError(self._path, f"{error.problem}.", advice)


def _index_runs(runs: list[ManifestObject]) -> dict[int, ManifestObject]:
    by_run = {run.integer("run", MAX_ROWS): run for run in runs}
    if len(by_run) < len(runs):
        raise DamagedPackError(MANIFEST, "lists a run twice")
    return by_run


def _build_run(run: ManifestObject, name: str) -> RunInfo:
    info, number = run.object("info"), run.integer("run", MAX_ROWS)
    return RunInfo(
        TraceInfo(
            name=name,
            kind="pack",
            run=number,
            duration_ns=info.integer_or_none("duration_ns", _MAX_NS),
            pid=info.integer_or_none("pid", _MAX_PID),
            **{field: info.text(field) for field in _TEXT_FIELDS},
        ),
        tuple(_build_table_info(table, number) for table in run.objects("contents")),
        frozenset(run.integers("pids", _MAX_NS)),
        frozenset(run.strings("process_names") if "process_names" in run else ()),  # absent in older packs
    )


def _build_table_info(table: ManifestObject, run: int) -> TableInfo:
    return TableInfo(
        table.text("schema"),
        run,
        table.integer("index", MAX_ROWS),
        table.texts("attributes"),
        table.integer_or_none("row_count", MAX_ROWS),
        table.text("location"),
    )


def _build_issues(run: ManifestObject) -> tuple[Issue, ...]:
    return tuple(
        Issue(
            _get_severity(issue),
            parse_issue_code(issue.text("code")),
            issue.text("message"),
            issue.integer("count"),
        )
        for issue in run.objects("issues")
    )


def _get_severity(issue: ManifestObject) -> Severity:
    severity = issue.text("severity")
    if severity not in get_args(Severity):
        raise DamagedPackError(MANIFEST, f"has an issue of an unknown severity at {issue.path}")
    return cast(Severity, severity)


def _group_tables(runs: dict[int, ManifestObject]) -> dict[TableKey, list[ManifestObject]]:
    tables: dict[TableKey, list[ManifestObject]] = {}
    for number, run in runs.items():
        for table in run.objects("tables"):
            tables.setdefault((number, table.text("schema")), []).append(table)
    return tables


def _list_unreadable(runs: dict[int, ManifestObject]) -> dict[TableKey, UnreadableTables]:
    return {
        (number, entry.text("schema")): UnreadableTables(entry.text("problem"), entry.text("advice"))
        for number, run in runs.items()
        for entry in run.objects("unreadable")
    }
