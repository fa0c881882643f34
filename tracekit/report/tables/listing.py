"""The list of a recording's tables, as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from tracekit.model.tables import NOT_COUNTED, TableInfo
from tracekit.model.trace import Issue, RunInfo
from tracekit.text import align, clip, escape_json, printable

_ATTRIBUTES_WIDTH = 70


def list_text(name: str, runs: Sequence[RunInfo], issues: Iterable[Issue]) -> str:
    """Return one line per table, run by run, then the issues of the input ``name``."""
    sections = [_run_text(run) for run in runs]
    if not sections:
        sections = [f"{printable(name)} holds no table."]
    sections += [f"{issue.severity}: {printable(issue.message)}" for issue in issues]
    return "\n\n".join(sections) + "\n"


def _run_text(run: RunInfo) -> str:
    info = run.info
    facts = [info.template, info.instruments and f"Instruments {info.instruments}", info.os, info.process]
    title = f"Run {info.run} of {printable(info.name)}"
    described = ", ".join(printable(fact) for fact in facts if fact)
    rows = [
        [
            str(table.index) if table.index else "",
            printable(table.schema),
            _describe_rows(table),
            printable(table.location),
            clip(printable(_describe_attributes(table)), _ATTRIBUTES_WIDTH),
        ]
        for table in run.tables
    ]
    table_text = align(
        ["#", "schema", "rows", "file", "attributes"], rows, [True, False, True, False, False], "  "
    )
    return f"{title} ({described})\n{table_text}" if described else f"{title}\n{table_text}"


def _describe_attributes(table: TableInfo) -> str:
    return " ".join(f"{name}={value}" for name, value in table.attributes.items())


def _describe_rows(table: TableInfo) -> str:
    """Return the number of rows; a table of contents may list a table whose rows are in no input file."""
    if table.row_count is None:
        return "not here"
    if table.row_count == NOT_COUNTED:
        return "not counted"
    return f"{table.row_count:,}" if table.row_count else "empty"


def list_json(name: str, runs: Sequence[RunInfo], issues: Iterable[Issue]) -> str:
    """Return runs with their tables; ``row_count`` is null for a table whose rows are not in the input."""
    document = {
        "input": name,
        "runs": [{**asdict(run.info), "tables": [asdict(table) for table in run.tables]} for run in runs],
        "issues": [asdict(issue) for issue in issues],
    }
    return escape_json(json.dumps(document, ensure_ascii=False, indent=1)) + "\n"
