"""Routes of a recording's tables: the list, pages, rows, lanes, and files of what is shown."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from typing import IO, Any, cast

import numpy as np
from flask import Flask, Response, jsonify, request, send_file

from tracekit.errors import UsageError
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.jobs.queue import JobStatus
from tracekit_dashboard.jobs.table_jobs import TablePlace
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.run_inventory import INVENTORY, read_inventory
from tracekit_dashboard.routes.caching import make_cacheable, make_private
from tracekit_dashboard.routes.downloads import make_file_stem
from tracekit_dashboard.routes.parameters import WHOLE, parse_whole_number
from tracekit_dashboard.tables.cache import TableCache
from tracekit_dashboard.tables.pages import (
    MAX_ROWS,
    build_row_document,
    build_table_document,
    iter_csv_pieces,
    list_page_cells,
    write_parquet,
)
from tracekit_dashboard.tables.row_lanes import (
    MAX_PIXELS,
    LaneChoice,
    build_lane_document,
    list_members,
    next_row,
)
from tracekit_dashboard.tables.row_selection import RowQuery
from tracekit_dashboard.tables.stored import StoredTable

_TIME = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,20})?")
_TABLE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_COLUMNS = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4})*")
_SORT = re.compile(r"(-?)([0-9]{1,4})")
_WHERE = re.compile(r"([0-9]{1,4}):(.*)", re.DOTALL)
_MOST_LETTERS = 1_000
_MOST_CONDITIONS = 64
_ADDRESS = "/api/recordings/<recording>/tables"
_PARAMETERS = {
    "page": "again columns count first from sort text to where row",
    "file": "columns from sort text to where",
    "lane": "again from group member pixels to value",
    "step": "again direction from group member row value",
    "": "again",
    "row": "",
    "members": "",
}


class _OpenTables:
    """The tables of a library as requests ask for them."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.cache = TableCache()

    def open_table(self, recording: str, name: str) -> StoredTable | JobStatus:
        """Return a table, or the status of its reading."""
        kept = self._library.tables.find_or_read(recording, _parse_place(name), _is_again())
        return kept if isinstance(kept, JobStatus) else self.cache.find_table(kept)

    def respond(self, recording: str, name: str, answer: Callable[[StoredTable], Any]) -> Response:
        """Return what a function makes of a table as JSON; with 202, the status of its reading."""
        table = self.open_table(recording, name)
        return (
            _respond_with_progress(table)
            if isinstance(table, JobStatus)
            else make_private(jsonify(answer(table)))
        )


def register(server: Flask, library: Library) -> None:
    """Add the routes below ``/api/recordings/<id>/tables``, and ``/recordings/<id>/table/<table>.csv``."""
    tables = _OpenTables(library)
    _register_pages(server, library, tables)
    _register_lanes(server, library, tables)
    _register_files(server, library, tables)


def _register_pages(server: Flask, library: Library, tables: _OpenTables) -> None:
    @server.get(_ADDRESS)
    def list_tables(recording: str) -> Response:
        _check_parameters("")
        kept = library.tables.find_or_read(recording, TablePlace(0, 0), _is_again())
        if isinstance(kept, JobStatus):
            return _respond_with_progress(kept)
        document = json.loads(kept.read_bytes())
        document["run"] = _find_shown_run(library, recording) or document["run"]
        return make_cacheable(jsonify(document))

    @server.get(f"{_ADDRESS}/<table>")
    def table(recording: str, table: str) -> Response:
        _check_parameters("")
        return tables.respond(recording, table, build_table_document)

    @server.get(f"{_ADDRESS}/<table>/page")
    def page(recording: str, table: str) -> Response:
        _check_parameters("page")

        def answer(stored: StoredTable) -> dict[str, Any]:
            first, count = parse_whole_number("first", 0), parse_whole_number("count", 100)
            if count > MAX_ROWS:
                raise UsageError(f"count is at most {MAX_ROWS}.")
            selected = tables.cache.select_rows(stored, _parse_query(stored))
            rows = selected.rows[first : first + count]
            document: dict[str, Any] = {
                "total": stored.rows,
                "matching": selected.matching,
                "selected": len(selected.rows),
                "first": first,
                "rows": rows.tolist(),
                "cells": list_page_cells(stored, rows, _parse_columns(stored)),
            }
            if request.args.get("row"):
                place = np.flatnonzero(selected.rows == _check_row(stored, parse_whole_number("row")))
                document["place"] = int(place[0]) if len(place) else None
            return document

        return tables.respond(recording, table, answer)

    @server.get(f"{_ADDRESS}/<table>/rows/<row>")
    def one_row(recording: str, table: str, row: str) -> Response:
        _check_parameters("row")
        if not WHOLE.fullmatch(row):
            raise NotFound("There is no such row in this table.")
        return tables.respond(
            recording, table, lambda stored: build_row_document(stored, _check_row(stored, int(row)))
        )


def _register_lanes(server: Flask, library: Library, tables: _OpenTables) -> None:
    @server.get(f"{_ADDRESS}/<table>/members/<column>")
    def column_members(recording: str, table: str, column: str) -> Response:
        _check_parameters("members")
        if not WHOLE.fullmatch(column):
            raise NotFound("There is no such column in this table.")
        return tables.respond(
            recording, table, lambda stored: list_members(stored, _check_column(stored, int(column)))
        )

    @server.get(f"{_ADDRESS}/<table>/lane")
    def lane(recording: str, table: str) -> Response:
        _check_parameters("lane")
        pixels = parse_whole_number("pixels", 1_000)
        if not 1 <= pixels <= MAX_PIXELS:
            raise UsageError(f"pixels is from 1 to {MAX_PIXELS:,}.")
        start, end = _parse_time("from"), _parse_time("to")
        if start is None or end is None or start >= end:
            raise UsageError("from and to are nanoseconds, from before to.")

        run = _find_shown_run(library, recording)
        if run not in (None, _parse_place(table).run):
            raise UsageError(f"This table is of run {_parse_place(table).run}, the timeline of run {run}.")

        def answer(stored: StoredTable) -> dict[str, Any]:
            choice = _parse_lane_choice(stored)
            return build_lane_document(
                stored, choice, tables.cache.find_lane(stored, choice), start, end, pixels
            )

        return tables.respond(recording, table, answer)

    @server.get(f"{_ADDRESS}/<table>/step")
    def step(recording: str, table: str) -> Response:
        _check_parameters("step")
        time_ns, direction = _parse_time("from"), request.args.get("direction")
        if time_ns is None or direction not in ("-1", "1"):
            raise UsageError("from is in nanoseconds, and direction is 1 or -1.")

        def answer(stored: StoredTable) -> dict[str, Any]:
            row = _check_row(stored, parse_whole_number("row")) if request.args.get("row") else None
            return next_row(
                tables.cache.find_lane(stored, _parse_lane_choice(stored)), row, time_ns, int(direction)
            )

        return tables.respond(recording, table, answer)


def _register_files(server: Flask, library: Library, tables: _OpenTables) -> None:
    @server.get("/recordings/<recording>/table/<name>")
    def file(recording: str, name: str) -> Response:
        _check_parameters("file")
        stem, _, ending = name.rpartition(".")
        if ending not in ("csv", "parquet"):
            raise NotFound("There is no such download; there are .csv and .parquet.")
        stored = tables.open_table(recording, stem)
        if isinstance(stored, JobStatus):
            raise NotFound("This table is being read. Try again when its page shows it.")
        rows, columns = tables.cache.select_rows(stored, _parse_query(stored)).rows, _parse_columns(stored)
        stem = make_file_stem(library.find_recording(recording).name)
        file_name = f"{stem}.{make_file_stem(stored.schema)}.{ending}"
        if ending == "csv":
            response = Response(iter_csv_pieces(stored, rows, columns), mimetype="text/csv")
            response.headers["Content-Disposition"] = f'attachment; filename="{_make_ascii(file_name)}"'
        else:
            content = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the response
            write_parquet(stored, rows, columns, cast(IO[bytes], content))
            content.seek(0)
            response = send_file(
                cast(IO[bytes], content),
                "application/vnd.apache.parquet",
                as_attachment=True,
                download_name=file_name,
            )
        response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return make_private(response)


def _find_shown_run(library: Library, analysis_id: str) -> int | None:
    """Return the run of an analysis, whose times the page's timeline has; None if it is not known."""
    run = read_inventory(library.find_results(analysis_id) / INVENTORY).get("run")
    return run if isinstance(run, int) else None


def _respond_with_progress(state: JobStatus) -> Response:
    response = jsonify({"stage": state.stage, "progress": state.progress})
    response.status_code = 202
    return make_private(response)


def _make_ascii(name: str) -> str:
    return name.encode("ascii", "replace").decode().replace("?", "-").replace('"', "-")


def _check_parameters(route: str) -> None:
    """Refuse unknown parameters: a misspelt filter would show rows that it was meant to hide."""
    known = _PARAMETERS[route].split()
    for name in request.args:
        if name not in known:
            raise UsageError(
                f"'{name[:40]}' is no parameter of this address; it has {', '.join(known) or 'none'}."
            )


def _is_again() -> bool:
    return request.args.get("again", "") == "1"


def _parse_place(name: str) -> TablePlace:
    match = _TABLE.fullmatch(name)
    if match is None:
        raise NotFound("There is no such table in this recording.")
    return TablePlace(int(match[1]), int(match[2]))


def _parse_query(table: StoredTable) -> RowQuery:
    text = request.args.get("text", "")
    conditions = request.args.getlist("where")
    if max(map(len, (text, *conditions))) > _MOST_LETTERS or len(conditions) > _MOST_CONDITIONS:
        raise UsageError(f"A filter has no more than {_MOST_LETTERS:,} characters.")
    start, end = _parse_time("from"), _parse_time("to")
    if (start is None) != (end is None):
        raise UsageError("A range of time needs both from and to.")
    where = tuple(_parse_condition(table, condition) for condition in conditions)
    return RowQuery(text, where, _parse_sort(table), start, end)


def _parse_condition(table: StoredTable, text: str) -> tuple[int, str]:
    match = _WHERE.fullmatch(text)
    if match is None:
        raise UsageError("where is a column's number, a colon and a condition.")
    return _check_column(table, int(match[1])), match[2]


def _parse_sort(table: StoredTable) -> tuple[int, bool] | None:
    text = request.args.get("sort", "")
    if not text:
        return None
    match = _SORT.fullmatch(text)
    if match is None:
        raise UsageError("sort is a column's number, with - before it for the opposite order.")
    return _check_column(table, int(match[2])), bool(match[1])


def _parse_columns(table: StoredTable) -> list[int]:
    text = request.args.get("columns", "")
    if not text:
        return list(range(len(table.columns)))
    if not _COLUMNS.fullmatch(text[: 6 * len(table.columns)]) or len(text) > 6 * len(table.columns):
        raise UsageError("columns are numbers with full stops between them.")
    return [_check_column(table, int(number)) for number in text.split(".")]


def _check_column(table: StoredTable, column: int) -> int:
    if column >= len(table.columns):
        raise UsageError(f"This table has {len(table.columns)} columns; their numbers begin at 0.")
    return column


def _check_row(table: StoredTable, row: int) -> int:
    if row >= table.rows:
        raise NotFound("There is no such row in this table.")
    return row


def _parse_lane_choice(table: StoredTable) -> LaneChoice:
    value = _check_column(table, parse_whole_number("value")) if request.args.get("value") else None
    group = _check_column(table, parse_whole_number("group")) if request.args.get("group") else None
    member = parse_whole_number("member") if request.args.get("member") else None
    if value is not None and table.is_text(value):
        raise UsageError("Only a column of numbers can be drawn as values.")
    if group is not None and not table.is_text(group):
        raise UsageError("Lanes are made per thread, per process or per text.")
    return LaneChoice(value, group, member)


def _parse_time(name: str) -> int | None:
    text = request.args.get(name, "")
    if not text:
        return None
    if not _TIME.fullmatch(text):
        raise UsageError(f"{name} is a number of nanoseconds.")
    whole, _, fraction = text.partition(".")
    # Rows have whole nanoseconds: the first one at or after the time.
    return int(whole) + (1 if fraction.strip("0") and not whole.startswith("-") else 0)
