"""All named questions, what a dataset lacks for each, and their results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from tracekit.errors import NotMeasurableError, UsageError
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.dataset_answer import DatasetAnswer
from tracekit.fleet.dataset_query import Parameter, connect_tables, select
from tracekit.fleet.history.build_order import order_builds
from tracekit.fleet.questions import costs, engines, language_models, lengths, quality
from tracekit.fleet.questions.question import Question
from tracekit.fleet.schema import ENGINES, METRICKIT, TABLES
from tracekit.frozen import frozen
from tracekit.text import printable

QUESTIONS: Mapping[str, Question] = {
    question.name: question
    for question in (
        *engines.QUESTIONS,
        *lengths.QUESTIONS,
        *language_models.QUESTIONS,
        *costs.QUESTIONS,
        *quality.QUESTIONS,
    )
}

_BUILD_PLACES = pa.schema([("app", pa.string()), ("build", pa.string()), ("place", pa.int64())])
_FIRST_RECORDED = f"""
    SELECT coalesce(app, '') AS app, build, epoch_us(min(recorded)) AS first_us
    FROM recordings WHERE build <> '' AND state = 'analyzed'
        AND coalesce(kind, '') <> '{METRICKIT}' GROUP BY ALL"""


@frozen
class Offer:
    """A question, and the columns (``table.column``) that it needs and that hold no value in a dataset."""

    question: Question
    missing: tuple[str, ...]


def find_question(name: str) -> Question:
    """Return a question. Raises ``UsageError`` for a name of none."""
    if name not in QUESTIONS:
        close = get_close_matches(name, QUESTIONS, 1)
        hint = f" Is it {close[0]}?" if close else ""
        raise UsageError(f"There is no question '{name}'.{hint}", *QUESTIONS)
    return QUESTIONS[name]


def list_offers(dataset: Dataset) -> list[Offer]:
    """Return all questions with what the dataset lacks for them."""
    with connect_tables(dataset) as connection:
        needed = {need for question in QUESTIONS.values() for need in _list_needs(question)}
        empty = _find_empty_columns(connection, needed)
    return [
        Offer(question, tuple(need for need in _list_needs(question) if need in empty))
        for question in QUESTIONS.values()
    ]


def ask(dataset: Dataset, name: str, values: Mapping[str, str]) -> DatasetAnswer:
    """Return the result of a question with these parameters, the others at their defaults.

    Raises ``UsageError`` for parameters that it lacks, and ``NotMeasurableError`` where the dataset has none
    of what the question needs.
    """
    question = find_question(name)
    parameters = _parse_parameters(question, values)
    with connect_tables(dataset) as connection:
        if missing := _find_empty_columns(connection, set(_list_needs(question))):
            missing_columns = [f"{need}: {describe_column(need)}" for need in sorted(missing)]
            raise NotMeasurableError(
                f"{dataset.path} cannot answer {name}: no recording has a value of", *missing_columns
            )
        _register_build_places(connection)
        rows = select(connection, question.sql, parameters)
    return DatasetAnswer(question.title, question.columns, rows, question.notes, parameters)


def _list_needs(question: Question) -> list[str]:
    return [f"{table}.{column}" for table, columns in question.needs.items() for column in columns]


def describe_column(need: str) -> str:
    """Return the meaning of ``table.column``."""
    table, _, column = need.partition(".")
    return TABLES[table][column].meaning


def _find_empty_columns(connection: Any, needs: set[str]) -> set[str]:
    """Return the columns that hold no value; an empty text is none."""
    found: set[str] = set()
    for table in {need.partition(".")[0] for need in needs}:
        columns = sorted(need.partition(".")[2] for need in needs if need.startswith(f"{table}."))
        tests = ", ".join(f"bool_or(CAST({column} AS VARCHAR) <> '')" for column in columns)
        # Names of the schema, not of a user.
        (row,) = select(connection, f"SELECT {tests} FROM {table}", {}).to_pylist()
        found |= {f"{table}.{column}" for column, has in zip(columns, row.values(), strict=True) if has}
    return needs - found


def _register_build_places(connection: Any) -> None:
    """Give SQL the place of each build in the order of its app's builds."""
    by_app: dict[str, dict[str, int | None]] = {}
    for row in select(connection, _FIRST_RECORDED, {}).to_pylist():
        by_app.setdefault(row["app"], {})[row["build"]] = row["first_us"]
    places = [
        {"app": app, "build": build, "place": place}
        for app, first_recorded in by_app.items()
        for place, build in enumerate(order_builds(first_recorded)[0])
    ]
    connection.register("build_places", pa.Table.from_pylist(places, _BUILD_PLACES))


def _parse_parameters(question: Question, values: Mapping[str, str]) -> dict[str, Parameter]:
    unknown = sorted(values.keys() - question.parameters.keys())
    if unknown:
        raise UsageError(
            f"{question.name} has no parameter '{unknown[0]}'; it has {', '.join(question.parameters)}."
        )
    return {
        name: _parse_value(name, default, values[name]) if name in values else default
        for name, (default, _) in question.parameters.items()
    }


def _parse_value(name: str, default: Parameter, text: str) -> Parameter:
    if name == "engine" and text not in ENGINES:
        raise UsageError(f"engine is {', '.join(ENGINES)}, not '{printable(text)}'.")
    if isinstance(default, str):
        return text
    try:
        number = type(default)(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name} is a number, not '{printable(text)}'.")
    return number


def iter_parameters(question: Question) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the default and the meaning of each parameter."""
    for name, (default, meaning) in question.parameters.items():
        yield name, str(default), meaning
