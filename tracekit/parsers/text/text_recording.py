"""``TextRecording``: one report of a text file, as a reader of ``kinds`` returns it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from tracekit.frozen import frozen
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.parsers.in_memory import InMemorySource, TableKey
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits, require_at_most
from tracekit.parsers.text.stack_counts import StackCounts
from tracekit.parsers.text.text_file import TextFile


@frozen
class TextRecording:
    """The facts, tables and issues of one report; several reports in one file are several runs.

    Counts become a table only when it is read: of a thousand reports, one is analyzed.
    """

    info: TraceInfo
    tables: tuple[Table | StackCounts, ...]
    issues: tuple[Issue, ...] = ()


@frozen
class TextKind:
    """One kind of text: the name in ``TraceInfo.kind``, how it is recognised, and its reader.

    ``words`` name a text in a sentence, such as ``a report of sample``. ``recognises`` gets the first
    characters of the file. ``read`` raises ``InputError`` for a text without content, naming
    what is missing.
    """

    name: str
    words: str
    recognises: Callable[[str], bool]
    read: Callable[[TextFile], Iterable[TextRecording]]


Recognised: TypeAlias = tuple[TextKind, str]
"""A kind and the file's encoding."""


class _RecordingTables(Mapping[TableKey, tuple[Table, ...]]):
    """The tables of the reports, each built from its counts when it is first read."""

    def __init__(self) -> None:
        self._contents: dict[TableKey, tuple[Table | StackCounts, ...]] = {}

    def add(self, run: int, table: Table | StackCounts) -> None:
        """Add a table to those of its schema."""
        key = (run, table.schema)
        self._contents[key] = (*self._contents.get(key, ()), table)

    def __getitem__(self, key: TableKey) -> tuple[Table, ...]:
        run, _ = key
        tables = tuple(
            table.build_table(run) if isinstance(table, StackCounts) else table
            for table in self._contents[key]
        )
        self._contents[key] = tables
        return tables

    def __iter__(self) -> Iterator[TableKey]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)


def build_source(
    name: str, kind: str, recordings: Iterable[TextRecording], limits: Limits = DEFAULT_LIMITS
) -> InMemorySource:
    """Return reports as a source whose runs are numbered from 1. Raises ``LimitError`` for too many."""
    runs: list[RunInfo] = []
    contents = _RecordingTables()
    issues: dict[int, tuple[Issue, ...]] = {}
    for number, recording in enumerate(recordings, start=1):
        require_at_most(name, number, limits.documents, "reports")
        infos = tuple(
            TableInfo(table.schema, number, index, table.attributes, len(table))
            for index, table in enumerate(recording.tables, start=1)
        )
        processes = [process for table in recording.tables for process in _list_processes(table)]
        pids = frozenset(pid for pid, _ in processes if pid >= 0)
        names = frozenset(name for _, name in processes)
        runs.append(RunInfo(replace(recording.info, run=number), infos, pids, names))
        for table in recording.tables:
            contents.add(number, table if isinstance(table, StackCounts) else replace(table, run=number))
        issues[number] = recording.issues
    return InMemorySource(name, kind, True, tuple(runs), contents, {}, issues)


def _list_processes(table: Table | StackCounts) -> Iterable[tuple[int, str]]:
    """Return number and name of a table's processes; a number of -1 is unknown."""
    if isinstance(table, StackCounts):
        return table.processes
    return zip(table.processes["pid"].tolist(), table.processes["name"].tolist(), strict=True)
