"""A notebook of a question: its rows, and a drawing of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.fleet.dataset_answer import AnswerColumn
from tracekit.fleet.questions.question import Question

_DRAWN_UNITS = ("share", "ms", "mJ", "percent")
_X = ("build", "system", "system_after", "build_after", "first_build_off", "chip", "part", "issue", "device")
"""Columns for the horizontal axis, the first that a result has."""
_COLORS = ("model", "engine", "rail", "severity", "device")


def to_notebook(question: Question, dataset: Path, values: Mapping[str, str]) -> str:
    """Return a notebook (nbformat 4) without outputs; the dataset's path is in its first cell."""
    cells = [
        _make_markdown_cell(f"# {question.title}", *question.notes),
        _make_code_cell(
            "from tracekit.fleet.dataset import open_dataset",
            "from tracekit.fleet.questions.registry import ask",
            "",
            f"dataset = open_dataset({str(dataset)!r})",
            f"answer = ask(dataset, {question.name!r}, {dict(values)!r})",
            "rows = answer.rows.to_pandas()",
            "rows",
        ),
        _make_markdown_cell(*_list_meanings(question)),
        _make_code_cell(*_plot_answer(question)),
    ]
    document = {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=True, indent=1) + "\n"


def _make_markdown_cell(*paragraphs: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": "\n\n".join(paragraphs)}


def _make_code_cell(*lines: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": "\n".join(lines),
    }


def _list_meanings(question: Question) -> list[str]:
    return ["\n".join(f"- `{column.name}`: {column.meaning}" for column in question.columns)]


def _plot_answer(question: Question) -> list[str]:
    names = [column.name for column in question.columns]
    x = next(name for name in (*_X, *names) if name in names)
    color = next((name for name in _COLORS if name in names and name != x), None)
    y = _choose_drawn_column(question.columns)
    interval = (
        ["    error_y=rows.high_ms - rows.length_ms,", "    error_y_minus=rows.length_ms - rows.low_ms,"]
        if "low_ms" in names
        else []
    )
    return [
        "import plotly.express as px",
        "",
        "figure = px.scatter(",
        "    rows,",
        f"    x={x!r},",
        f"    y={y.name!r},",
        *([f"    color={color!r},"] if color else []),
        *interval,
        f"    title={question.title!r},",
        ")",
        "figure.update_xaxes(type='category')",
        "figure",
    ]


def _choose_drawn_column(columns: tuple[AnswerColumn, ...]) -> AnswerColumn:
    """Return the first column with a unit; the first count of recordings where there is none."""
    with_unit = [column for column in columns if column.unit in _DRAWN_UNITS]
    counts = [column for column in columns if column.name in ("undetermined", "no_engine", "recordings")]
    return (with_unit or counts)[0]
