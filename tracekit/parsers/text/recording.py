"""``TextRecording``: one report of a text file, as a reader of ``kinds`` returns it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.parsers.in_memory import InMemorySource, TableKey
from tracekit.parsers.text.lines import TextFile


@dataclass(frozen=True)
class TextRecording:
    """The facts, tables and issues of one report; several reports in one file are several runs."""

    info: TraceInfo
    tables: tuple[Table, ...]
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True)
class TextKind:
    """One kind of text: the name in ``TraceInfo.kind``, how it is recognised, and its reader.

    ``recognises`` gets the first characters of the file. ``read`` raises ``InputError`` for a text that has
    nothing to read, with what is missing.
    """

    name: str
    recognises: Callable[[str], bool]
    read: Callable[[TextFile], Iterable[TextRecording]]


Recognised: TypeAlias = tuple[TextKind, str]
"""A kind and the file's encoding."""


def source_of(name: str, kind: str, recordings: Iterable[TextRecording]) -> InMemorySource:
    """Return reports as a source whose runs are numbered from 1."""
    runs: list[RunInfo] = []
    contents: dict[TableKey, tuple[Table, ...]] = {}
    issues: dict[int, tuple[Issue, ...]] = {}
    for number, recording in enumerate(recordings, start=1):
        tables = [replace(table, run=number) for table in recording.tables]
        infos = tuple(
            TableInfo(table.schema, number, index, table.attributes, len(table))
            for index, table in enumerate(tables, start=1)
        )
        pids = frozenset(int(pid) for table in tables for pid in table.processes["pid"] if pid >= 0)
        names = frozenset(str(process) for table in tables for process in table.processes["name"])
        runs.append(RunInfo(replace(recording.info, run=number), infos, pids, names))
        for table in tables:
            key = (number, table.schema)
            contents[key] = (*contents.get(key, ()), table)
        issues[number] = recording.issues
    return InMemorySource(name, kind, True, tuple(runs), contents, {}, issues)
