"""A pack as a ``Source``. It may come from anybody: see ``layout`` for what is read at most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import cast, get_args

from tracekit.errors import InputError
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, Severity, TraceInfo
from tracekit.parsers.in_memory import Place, Unreadable, issues_of
from tracekit.parsers.pack.decode import TableDecoder
from tracekit.parsers.pack.layout import MANIFEST, MOST_ROWS, DamagedPackError
from tracekit.parsers.pack.members import PackMembers
from tracekit.parsers.pack.shape import Node

_ADVICE = "Make or fetch the pack again."
_MOST_PID = 2**31 - 1
_MOST_NS = 2**63 - 1
_TEXTS = tuple(one.name for one in fields(TraceInfo) if one.type == "str" and one.name != "name")


class PackSource:
    """The runs of one pack. Implements ``parsers.source.Source``.

    ``origin`` is the kind of what was packed. A table that could not be read when it was packed raises the
    error of that time; until it is asked for, an issue tells of it.
    """

    def __init__(self, path: str, shown: str) -> None:
        """Open a pack; ``shown`` is its name. Raises ``InputError`` for one that is damaged or too new."""
        self.name = shown
        self._path = path
        try:
            self._members = PackMembers(path)
            manifest = self._members.manifest
            self.origin = manifest.text("source")
            self.has_toc = manifest.flag("has_toc")
            self._nodes = _by_run(manifest.nodes("runs"))
            self._runs = tuple(_run(node, shown) for node in self._nodes.values())
            self._noted = {run: _issues(node) for run, node in self._nodes.items()}
            self._places = _places(self._nodes)
            self._unreadable = _unreadable(self._nodes)
            self._check_rows()
            self._decoder = TableDecoder(self._members)
        except DamagedPackError as error:
            raise self._refused(error) from error
        self._unasked = dict(self._unreadable)

    def toc(self) -> tuple[RunInfo, ...]:
        """See ``Source.toc``."""
        return self._runs

    def tables(self, schema: str, run: int = 1) -> Iterator[Table]:
        """See ``Source.tables``."""
        place = (run, schema)
        if place in self._unreadable:
            self._unasked.pop(place, None)
            raise InputError(self._path, self._unreadable[place].problem, self._unreadable[place].advice)
        for node in self._places.get(place, ()):
            try:
                table = self._decoder.table(node, run)
            except DamagedPackError as error:
                raise self._refused(error) from error
            yield table

    def issues(self, run: int | None = None) -> tuple[Issue, ...]:
        """See ``Source.issues``."""
        unread = {
            at: tuple(
                Issue("warning", "table-unreadable", reason.problem.rstrip("."))
                for (of, _), reason in self._unasked.items()
                if of == at
            )
            for at in self._nodes
        }
        return (*issues_of(self._noted, run), *issues_of(unread, run))

    def _check_rows(self) -> None:
        """Refuse a list of tables that names other rows than the tables have."""
        for run in self._runs:
            for schema in {table.schema for table in run.tables} | {of for _, of in self._places}:
                place = (run.info.run, schema)
                listed = [t.row_count for t in run.tables if t.schema == schema and t.row_count is not None]
                rows = [node.whole("rows", MOST_ROWS) for node in self._places.get(place, ())]
                if listed != rows and place not in self._unreadable:
                    raise DamagedPackError(MANIFEST, f"lists other rows of '{schema}' than it holds")

    def _refused(self, error: DamagedPackError) -> InputError:
        advice = "" if error.problem.endswith("update tracekit") else _ADVICE
        return InputError(self._path, f"{error.problem}.", advice)


def _by_run(nodes: list[Node]) -> dict[int, Node]:
    by_run = {node.whole("run", MOST_ROWS): node for node in nodes}
    if len(by_run) < len(nodes):
        raise DamagedPackError(MANIFEST, "lists a run twice")
    return by_run


def _run(node: Node, name: str) -> RunInfo:
    info, number = node.node("info"), node.whole("run", MOST_ROWS)
    return RunInfo(
        TraceInfo(
            name=name,
            kind="pack",
            run=number,
            duration_ns=info.whole_or_none("duration_ns", _MOST_NS),
            pid=info.whole_or_none("pid", _MOST_PID),
            **{field: info.text(field) for field in _TEXTS},
        ),
        tuple(_listed(one, number) for one in node.nodes("contents")),
        frozenset(node.wholes("pids", _MOST_NS)),
    )


def _listed(node: Node, run: int) -> TableInfo:
    return TableInfo(
        node.text("schema"),
        run,
        node.whole("index", MOST_ROWS),
        node.texts("attributes"),
        node.whole_or_none("row_count", MOST_ROWS),
        node.text("location"),
    )


def _issues(node: Node) -> tuple[Issue, ...]:
    return tuple(
        Issue(_severity(one), one.text("code"), one.text("message"), one.whole("count"))
        for one in node.nodes("issues")
    )


def _severity(node: Node) -> Severity:
    severity = node.text("severity")
    if severity not in get_args(Severity):
        raise DamagedPackError(MANIFEST, f"has an issue of no known severity at {node.place}")
    return cast(Severity, severity)


def _places(runs: dict[int, Node]) -> dict[Place, list[Node]]:
    places: dict[Place, list[Node]] = {}
    for run, node in runs.items():
        for table in node.nodes("tables"):
            places.setdefault((run, table.text("schema")), []).append(table)
    return places


def _unreadable(runs: dict[int, Node]) -> dict[Place, Unreadable]:
    return {
        (run, one.text("schema")): Unreadable(one.text("problem"), one.text("advice"))
        for run, node in runs.items()
        for one in node.nodes("unreadable")
    }
