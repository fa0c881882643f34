"""The form in which a question is declared: its SQL, what it needs, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping

from tracekit.fleet.dataset_answer import AnswerColumn
from tracekit.fleet.dataset_query import Parameter
from tracekit.frozen import frozen
from tracekit.statistics.distributions import t_quantile

MODEL = "coalesce(nullif(model, ''), label, '')"
"""The name of a row's model: calls that name none have the label of what showed them."""
PLACE = "coalesce(app, '') AS app, coalesce(device, '') AS device, coalesce(device_model, '') AS device_model"
IN_PLACE = """
    ($app = '' OR app = $app)
    AND ($device = '' OR device = $device OR device_model = $device)
    AND ($system = '' OR system = $system)
    AND ($build = '' OR build = $build)"""
"""The condition of the parameters that every question has."""
OF_MODEL = f"{IN_PLACE} AND ($model = '' OR {MODEL} = $model)"
"""The same for tables with the columns of a model."""

MOST_DEGREES = 100
STUDENT = ", ".join(f"({df}, {t_quantile(0.975, df):.6f})" for df in range(1, MOST_DEGREES + 1))
"""Student's t of 95 % intervals; with more recordings that of 101, which is a little too wide."""
_COMMON = {
    "app": ("", "Only this app."),
    "device": ("", "Only this device, by its name or its model."),
    "system": ("", "Only this system."),
    "build": ("", "Only this build."),
}
_MODEL_PARAMETER = {"model": ("", "Only this model.")}


@frozen
class Question:
    """A named question. Values of parameters are bound by DuckDB, and never become SQL."""

    name: str
    title: str
    sql: str
    """A SELECT over the tables, and over ``build_places`` (app, build, place): each app's builds in order."""
    columns: tuple[AnswerColumn, ...]
    needs: Mapping[str, tuple[str, ...]]
    """Columns by table of which at least one row must hold a value, else the question has no answer."""
    parameters: Mapping[str, tuple[Parameter, str]]
    """The default and the meaning of each parameter; the type of the default is that of its values."""
    notes: tuple[str, ...] = ()


def declare_question(
    name: str,
    title: str,
    sql: str,
    columns: Mapping[str, tuple[str, str]],
    needs: Mapping[str, tuple[str, ...]],
    parameters: Mapping[str, tuple[Parameter, str]] | None = None,
    notes: tuple[str, ...] = (),
) -> Question:
    """Return a question with the parameters of every question that its SQL uses; columns: (meaning, unit)."""
    common = {key: value for key, value in (_COMMON | _MODEL_PARAMETER).items() if f"${key}" in sql}
    answer_columns = tuple(AnswerColumn(column, meaning, unit) for column, (meaning, unit) in columns.items())
    return Question(name, title, sql, answer_columns, needs, {**(parameters or {}), **common}, notes)


WHERE = {
    "app": ("The program that was recorded.", ""),
    "device": ("The device's name.", ""),
    "device_model": ("The device's model.", ""),
}
SYSTEM = {"system": ("Platform, version and build of the system.", "")}
BUILD = {"build": ("The app's build.", "")}
OF = {"model": ("The model, or the label of calls that name none.", "")}
