"""The list of a recording's tables: schema, rows, attributes, and what is known about each schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from tracekit.errors import InputError, TracekitError
from tracekit.model.tables import NOT_COUNTED, Table, TableInfo
from tracekit.model.trace import RunInfo
from tracekit.parsers.source import Source
from tracekit.report.tables.meanings import meaning_of
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.library.outside_names import make_one_line

_MOST_LETTERS = 300
_MOST_ISSUES = 100


def build_contents_document(source: Source, run: int | None) -> dict[str, Any]:
    """Return the list of tables of every run as plain data; ``run`` is the one that the page shows.

    A table's number is its position in its run, from 1. ``rows`` is null for a table whose rows the input
    does not hold.
    """
    runs = source.toc()
    schemas = dict.fromkeys(table.schema for run_info in runs for table in run_info.tables)
    with_rows = [
        run_info for run_info in runs if any((table.row_count or 0) > 0 for table in run_info.tables)
    ]
    shown_run = run if run is not None else (with_rows or list(runs))[0].info.run if runs else 1
    issues = [issue.message for issue in source.issues() if issue.severity != "info"]
    return {
        "run": shown_run,
        "runs": [_describe_run(run_info) for run_info in runs],
        "meanings": {schema: text for schema in schemas if (text := meaning_of(schema))},
        "issues": [make_one_line(message)[:1_000] for message in issues[:_MOST_ISSUES]],
    }


def _describe_run(run_info: RunInfo) -> dict[str, Any]:
    info = run_info.info
    tables = [
        {
            "number": number,
            "schema": table.schema[:_MOST_LETTERS],
            "is_cut": len(table.schema) > _MOST_LETTERS,
            "rows": None if table.row_count in (None, NOT_COUNTED) else table.row_count,
            "attributes": " ".join(f"{name}={value}" for name, value in table.attributes.items())[
                :_MOST_LETTERS
            ],
        }
        for number, table in enumerate(run_info.tables, 1)
    ]
    return {"run": info.run, "process": info.process, "duration_ns": info.duration_ns, "tables": tables}


def read_table(source: Source, run: int, number: int) -> Table:
    """Return the table of that number in the list.

    Raises ``NotFound`` if there is none, ``InputError`` if its rows are not in the input or are damaged.
    """
    run_info = next((run_info for run_info in source.toc() if run_info.info.run == run), None)
    if run_info is None or not 1 <= number <= len(run_info.tables):
        raise NotFound("There is no such table in this recording.")
    info = run_info.tables[number - 1]
    place = _find_place(run_info.tables, number)
    table = None if place is None else _take_nth(source.tables(info.schema, run), place)
    if table is None:
        raise InputError(
            source.name,
            f"lists a table '{info.schema[:_MOST_LETTERS]}' whose rows are not in it, or cannot be read.",
            _explain_missing(source, run, info.schema),
        )
    return table


def _take_nth(tables: Iterator[Table], place: int) -> Table | None:
    """Return a table by its place; a damaged one before it takes its place as well."""
    for _ in range(place):
        with suppress(TracekitError):
            next(tables, None)
    return next(tables, None)


def _find_place(tables: Sequence[TableInfo], number: int) -> int | None:
    """Return the table's place among those of its schema that the source yields; None if it yields none."""
    info = tables[number - 1]
    if info.row_count is None:
        return None
    # A source yields tables in the order of the table of contents, without those that it does not hold.
    held = [
        (table.index, position)
        for position, table in enumerate(tables, 1)
        if table.schema == info.schema and table.row_count is not None
    ]
    return sorted(held).index((info.index, number))


def _explain_missing(source: Source, run: int, schema: str) -> str:
    issues = [issue.message for issue in source.issues(run) if f"'{schema}'" in issue.message]
    return f"{issues[0].rstrip('.')}." if issues else "Export it together with the others to see it here."
