"""The tables of a recording that an analysis can use, held in memory: what goes into a pack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tracekit.errors import InputError, TracekitError
from tracekit.model.schemas import READ_TABLES
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.source import Source

Place: TypeAlias = tuple[int, str]
"""A run's number and a schema."""


@dataclass(frozen=True)
class Unreadable:
    """Why the tables of one schema could not be read."""

    problem: str
    advice: str = ""


@dataclass
class HeldSource:
    """Implements ``parsers.source.Source``. An ``unreadable`` table raises its error again."""

    name: str
    origin: str
    """The kind of what the tables were read from in the first place; see ``TraceInfo.kind``."""
    has_toc: bool
    runs: tuple[RunInfo, ...]
    held: Mapping[Place, tuple[Table, ...]]
    unreadable: Mapping[Place, Unreadable] = field(default_factory=dict)
    noted: Mapping[int, tuple[Issue, ...]] = field(default_factory=dict)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self.runs

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        place = (run, schema)
        if place in self.unreadable:
            raise InputError(self.name, self.unreadable[place].problem, self.unreadable[place].advice)
        yield from self.held.get(place, ())

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        return issues_of(self.noted, run)


def issues_of(noted: Mapping[int, tuple[Issue, ...]], run: int | None) -> tuple[Issue, ...]:
    """Return the issues of one run, or of all, each once."""
    return tuple(dict.fromkeys(one for at, issues in noted.items() if run in (None, at) for one in issues))


def hold(source: Source) -> HeldSource:
    """Read every run's tables of ``READ_TABLES``.

    Where some cannot be read, the rest is held. Raises the first error when none can, and ``InputError`` when
    there is none.
    """
    held: dict[Place, tuple[Table, ...]] = {}
    errors: dict[Place, TracekitError] = {}
    for run in source.toc():
        listed = {table.schema for table in run.tables}
        for schema in (one for one in READ_TABLES if one in listed):
            place = (run.info.run, schema)
            try:
                tables = tuple(source.tables(schema, run.info.run))
            except TracekitError as error:
                errors[place] = error
            else:
                held.update({place: tables} if tables else {})
    if not held:
        raise next(
            iter(errors.values()), InputError(source.name, "holds no table that an analysis could use.")
        )
    runs = tuple(_only(run, held.keys() | errors.keys()) for run in source.toc())
    unreadable = {place: _reason(place[1], error) for place, error in errors.items()}
    noted = {run.info.run: source.issues(run.info.run) for run in runs}
    return recount(HeldSource(source.name, origin_of(source), source.has_toc, runs, held, unreadable, noted))


def recount(source: HeldSource) -> HeldSource:
    """Return the source with the rows that it holds counted in its list of tables."""
    return replace(source, runs=tuple(_counted(source, run) for run in source.runs))


def _counted(source: HeldSource, run: RunInfo) -> RunInfo:
    number, listed = run.info.run, list(run.tables)
    for (at, schema), tables in source.held.items():
        places = [
            place for place, one in enumerate(listed) if one.schema == schema and one.row_count is not None
        ]
        if at != number:
            continue
        if len(places) == len(tables):
            for place, table in zip(places, tables, strict=True):
                listed[place] = replace(listed[place], row_count=len(table))
        else:  # read in another way than it was listed: which is which, nobody knows
            listed = [one for place, one in enumerate(listed) if place not in places]
            listed += [TableInfo(schema, number, 0, table.attributes, len(table)) for table in tables]
    return replace(run, tables=tuple(listed))


def origin_of(source: Source) -> str:
    """Return the kind of what a source was read from in the first place; a pack tells what it was made of."""
    return str(getattr(source, "origin", "") or next((run.info.kind for run in source.toc()), ""))


def _only(run: RunInfo, places: set[Place]) -> RunInfo:
    """Say of the tables that are not held that they are not here."""
    number = run.info.run
    tables = (t if (number, t.schema) in places else replace(t, row_count=None) for t in run.tables)
    return replace(run, tables=tuple(tables))


def _reason(schema: str, error: TracekitError) -> Unreadable:
    if isinstance(error, InputError):
        return Unreadable(error.problem, error.advice)
    return Unreadable(f"'{schema}' cannot be read: {error}")
