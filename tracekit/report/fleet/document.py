"""The document of an answer from a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from tracekit.fleet.dataset_answer import DatasetAnswer
from tracekit.report.document.blocks import Block, Column, Paragraph, Section, Table
from tracekit.report.fleet.cells import is_number, texts
from tracekit.text import plural

_WIDEST = 60


def build_answer(answer: DatasetAnswer, most_rows: int) -> Section:
    """Return the first rows of an answer with its notes."""
    columns = [
        Column(column.name, cells[:most_rows], "number")
        if is_number(column, answer)
        else Column(column.name, cells[:most_rows], is_clipped=True, width=_WIDEST)
        for column, cells in zip(answer.columns, texts(answer), strict=True)
    ]
    count = answer.rows.num_rows
    blocks: list[Block] = (
        [Table(tuple(columns), narrow=_leave_out_common(columns))] if count else [Paragraph("No rows.")]
    )
    if count > most_rows:
        left_out = plural(count - most_rows, "more row")
        blocks.append(Paragraph(f"… and {left_out}: -o FILE.csv has all {count:,}."))
    return Section("answer", "Answer", (*blocks, *map(Paragraph, answer.notes)), is_lead=True)


def build_meanings(answer: DatasetAnswer) -> Section:
    """Return the meaning of each column."""
    rows = [(column.name, column.meaning) for column in answer.columns if column.meaning]
    return Section("columns", "Columns", (Table.from_rows(("column", "meaning"), rows),))


def _leave_out_common(columns: Sequence[Column]) -> Table | None:
    """Return the columns that differ below the values that all rows have; None without such values."""
    varies = [len(set(column.texts)) > 1 for column in columns]
    common = [
        f"{column.name}: {column.texts[0] or 'empty'}" for column in columns if len(set(column.texts)) == 1
    ]
    if not any(varies) or not common:
        return None
    return Table(tuple(compress(columns, varies)), f"In all rows: {', '.join(common)}.")
