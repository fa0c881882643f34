"""``Trace``, ``Analysis`` and ``Comparison`` as users hold them: the data, with the methods that draw it.

Only this module joins data and reports; ``model``, ``analysis`` and ``comparison`` import neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tracekit import analysis, comparison, load
from tracekit.errors import UsageError
from tracekit.model import trace
from tracekit.text import PARAGRAPH_WIDTH, without_commands

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from tracekit.report.document.blocks import Section

_P = ParamSpec("_P")
_Held = TypeVar("_Held")


class Trace(trace.Trace):
    """One run of one recording; ``frame(name)`` returns its rows (docs/columns.md).

    Two traces are equal when all their values are. A trace can be pickled.
    """

    def _repr_html_(self) -> str:
        from tracekit.report.html.notebook import trace_html

        return trace_html(self)


class Analysis(analysis.Analysis):
    """One analyzed run.

    The frames for people are ``windows``, ``engines``, ``attribution`` and the others of ``to_frame``, with
    ``<NA>`` for missing (docs/python.md). Two analyses are equal when their recordings and results are. An
    analysis can be pickled.
    """

    def _repr_html_(self) -> str:
        from tracekit.report.html.notebook import analysis_html

        return analysis_html(self)

    @property
    def windows(self) -> pd.DataFrame:
        """One row per window: edges, label, thread, verdict, why, and the times of each engine."""
        return self._windows.copy(deep=False)

    @cached_property
    def _windows(self) -> pd.DataFrame:
        return self.to_frame("windows")

    @property
    def engines(self) -> pd.DataFrame:
        """One row per engine over the whole run."""
        return self.to_frame("engines")

    @property
    def attribution(self) -> pd.DataFrame:
        """One row per window × engine × phase; ``window_id`` is ``<NA>`` outside of every window."""
        return self.to_frame("attribution")

    @property
    def issues(self) -> tuple[trace.Issue, ...]:
        """The limits of the recording and of this analysis, each with a message."""
        from tracekit.report import wording

        return wording.issues(self.diagnostics)

    @property
    def headline(self) -> str:
        """The sentence that states first on which engine the windows ran."""
        from tracekit.report import wording

        return wording.headline(self.answer)

    def to_frame(self, table: str = "windows") -> pd.DataFrame:
        """Return a frame: "windows", "engines", "attribution", "evidence", "issues", "findings", …

        docs/python.md has all of them. Raises ``UsageError`` for any other table.
        """
        from tracekit.columns.frames import FRAMES

        if table not in FRAMES:
            raise UsageError(f"An analysis has no table '{table}'. Its tables are {', '.join(FRAMES)}.")
        return FRAMES[table].build(self)

    def recipes(self) -> pd.DataFrame:
        """Return a row per question: its reply in "answer", or the "reason" for none and the next "step"."""
        from tracekit.report.recipes.answers import list_recipes
        from tracekit.report.recipes.query import Query
        from tracekit.report.recipes.recipe_frame import build_frame

        return build_frame(list_recipes(Query(self)))

    def ask(self, recipe: str, *, call: str = "", base: analysis.Analysis | None = None) -> RecipeReply:
        """Return the reply to one of the ``recipes``, of a ``call`` ("Tagger/7"), or beside ``base``.

        Raises ``NotMeasurableError`` where this recording has none, and ``UsageError`` for any other recipe.
        """
        from tracekit.report.recipes.document import build_answer
        from tracekit.report.recipes.registry import check_parameters, find_recipe

        question = find_recipe(recipe)
        check_parameters(question, call, "base" if base else "")
        return RecipeReply(build_answer(question, self, call, base))

    def to_text(self, verbose: bool = False) -> str:
        """Return the text that ``tracekit analyze`` prints, with ``verbose`` that of ``-v``."""
        from tracekit.report.analysis.text import TextLayout, to_text

        return without_commands(to_text(self, TextLayout(is_verbose=verbose)))

    def to_json(self) -> str:
        """Return the document ``tracekit-analysis/1`` (docs/tracekit-analysis-1.schema.json)."""
        from tracekit.report.analysis.json import to_json

        return to_json(self)

    def to_markdown(self) -> str:
        """Return the text for a ticket: GitHub's Markdown."""
        from tracekit.report.analysis.markdown import to_markdown

        return without_commands(to_markdown(self))

    def to_html(self) -> str:
        """Return the report as one page that loads nothing from the network."""
        from tracekit.report.html.page import to_html

        return to_html(self)

    def timeline(self) -> Figure:
        """Return windows by thread and busy intervals by engine as a Plotly figure."""
        from tracekit.report.pictures.figure import timeline_figure

        return timeline_figure(self)


class RecipeReply:
    """The reply to a question about a recording, with what it rests on."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from tracekit.report.html.notebook import document_html

        return document_html(self._sections)

    def to_text(self) -> str:
        """Return the text that ``tracekit recipe`` prints."""
        from tracekit.report.document.text_printer import Page, print_text

        return without_commands(print_text(self._sections, Page(PARAGRAPH_WIDTH)))

    def to_markdown(self) -> str:
        """Return the text for a ticket: GitHub's Markdown."""
        from tracekit.report.document.markdown_printer import print_markdown

        return without_commands(print_markdown(self._sections))


class Comparison(comparison.Comparison):
    """Two sides of analyzed runs and their differences (docs/python.md)."""

    def _repr_html_(self) -> str:
        from tracekit.report.html.notebook import comparison_html

        return comparison_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric of each group of windows (docs/python.md)."""
        from tracekit.report.comparison.frames import comparison_frame

        return comparison_frame(self)

    def to_text(self) -> str:
        """Return the text that ``tracekit compare`` prints."""
        from tracekit.report.comparison.text import to_text

        return without_commands(to_text(self))

    def to_json(self) -> str:
        """Return the document ``tracekit-compare/1`` (docs/tracekit-compare-1.schema.json)."""
        from tracekit.report.comparison.json import to_json

        return to_json(self)

    def to_markdown(self) -> str:
        """Return the comparison as text for a ticket: GitHub's Markdown."""
        from tracekit.report.comparison.markdown import to_markdown

        return without_commands(to_markdown(self))

    def to_html(self) -> str:
        """Return the comparison as one page, with the timeline of each side's first recording."""
        from tracekit.report.html.compare_page import to_html

        return to_html(self, self.base_analysis, self.new_analysis)


def _returning(kind: type[_Held], function: Callable[_P, Any]) -> Callable[_P, _Held]:
    """Return a function with its result as ``kind``: a subclass that adds methods, and no fields."""

    # The name of this module stays, by which a pickle finds the function.
    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"))
    def call(*args: _P.args, **keywords: _P.kwargs) -> _Held:
        data = function(*args, **keywords)
        return kind(**{field.name: getattr(data, field.name) for field in fields(data)})

    return call


open_trace = _returning(Trace, load.open_trace)
analyze = _returning(Analysis, analysis.analyze)
compare = _returning(Comparison, comparison.compare)
