"""Results of ``verify-native``: a matrix for the terminal, and a report without recorded content."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import tracekit
from tracekit.model.trace import RunInfo
from tracekit.text import align, escape_json, plural, printable
from tracekit.verify.table_match import ColumnMatch, Status, TableMatch

_SHOWN: tuple[Status, ...] = ("equal", "other order", "different", "missing", "unreadable")


def format_matrix(matches: Sequence[TableMatch]) -> str:
    """Return one line per table, and the columns of those that differ."""
    rows = [
        [
            str(match.run),
            printable(match.schema),
            _format_count(match.native_rows),
            _format_count(match.export_rows),
            match.status,
            _describe_difference(match),
        ]
        for match in matches
    ]
    header = ["run", "table", "native rows", "export rows", "result", "differing cells"]
    return (
        align(header, rows, [True, False, True, True, False, False]) + "\n" + summarize_tables(matches) + "\n"
    )


def summarize_tables(matches: Sequence[TableMatch]) -> str:
    """Return the counts of tables by result as one line."""
    counts = Counter(match.status for match in matches)
    parts = ", ".join(f"{counts[status]} {status}" for status in _SHOWN if counts[status])
    return f"{plural(len(matches), 'table')} compared: {parts}." if matches else "No table was compared."


def format_report(matches: Sequence[TableMatch], runs: Sequence[RunInfo]) -> str:
    """Return the report as JSON: versions, schemas, columns, types and counts, no recorded content."""
    document: dict[str, Any] = {
        "schema": "tracekit-verify-native/1",
        "tracekit": tracekit.__version__,
        "recorded": [
            {
                "run": run.info.run,
                "instruments": run.info.instruments,
                "os": run.info.os,
                "platform": run.info.platform,
            }
            for run in runs
        ],
        "tables": [asdict(match) for match in matches],
        "summary": summarize_tables(matches),
    }
    return escape_json(json.dumps(document, ensure_ascii=False, indent=1)) + "\n"


def _format_count(rows: int | None) -> str:
    return "" if rows is None else f"{rows:,}"


def _describe_difference(match: TableMatch) -> str:
    if match.note:
        return printable(match.note)
    parts = [
        _format_column(column) for column in match.columns if column.different or any(column.aspects.values())
    ]
    if match.native_rows != match.export_rows:
        parts.insert(0, "different numbers of rows")
    return "; ".join(parts)


def _format_column(column: ColumnMatch) -> str:
    aspects = ", ".join(f"{name} {count}" for name, count in column.aspects.items() if count)
    what = f"{column.different} ({aspects})" if aspects else str(column.different)
    return f"{printable(column.mnemonic)} {what}"
