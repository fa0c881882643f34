"""The list of a source's tables, as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from tracekit.model.tables import TableInfo
from tracekit.model.trace import RunInfo
from tracekit.parsers.source import Source
from tracekit.text import align, clip, printable

_ATTRIBUTES_WIDTH = 70


def list_text(source: Source, runs: Sequence[RunInfo]) -> str:
    """Return one line per table, run by run."""
    sections = [_run_text(run) for run in runs]
    if not sections:
        sections = [f"{printable(source.name)} holds no table."]
    sections += [f"{issue.severity}: {printable(issue.message)}" for issue in source.issues()]
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
            _rows_text(table),
            printable(table.location),
            clip(printable(" ".join(f"{k}={v}" for k, v in table.attributes.items())), _ATTRIBUTES_WIDTH),
        ]
        for table in run.tables
    ]
    table = align(
        ["#", "schema", "rows", "file", "attributes"], rows, [True, False, True, False, False], "  "
    )
    return f"{title} ({described})\n{table}" if described else f"{title}\n{table}"


def _rows_text(table: TableInfo) -> str:
    return "not here" if table.row_count is None else f"{table.row_count:,}" if table.row_count else "empty"


def list_json(source: Source, runs: Sequence[RunInfo]) -> str:
    """Return runs with their tables; ``row_count`` is null for a table whose rows are not in the input."""
    document = {
        "input": source.name,
        "runs": [{**asdict(run.info), "tables": [asdict(table) for table in run.tables]} for run in runs],
        "issues": [asdict(issue) for issue in source.issues()],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
