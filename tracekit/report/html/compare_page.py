"""A comparison as one HTML file: the differences, and both timelines aligned at a call."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison, Group
from tracekit.mlmodels.plans.differences import PlanDifferences
from tracekit.report.comparison import wording as words
from tracekit.report.comparison.decision import replace_by_first_sentence
from tracekit.report.comparison.document import FLAME, LEGEND, TIMELINES, build_document, label_chart
from tracekit.report.document.html_printer import print_html
from tracekit.report.html import forest
from tracekit.report.html.bundle import bundled
from tracekit.report.html.elements import Html, join, tag
from tracekit.report.html.page import DATA_ID, document
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.viewmodel.difference import difference_block
from tracekit.report.viewmodel.payload import packed
from tracekit.report.viewmodel.view import view_block

_ENTRY = "compare_file.js"


def to_html(
    comparison: Comparison,
    base: Analysis,
    new: Analysis,
    changes: Sequence[ChangeResult] = (),
    plans: PlanDifferences | None = None,
) -> str:
    """Return the comparison as one document that loads nothing; ``base`` and ``new`` are the runs to draw."""
    title = f"{comparison.base.runs[0].name} and {comparison.new.runs[0].name} compared"
    drawn = join([_draw_timeline("base", base), _draw_timeline("new", new)])
    body = [
        tag("header", tag("h1", title)),
        tag("main", *sections(comparison, drawn, changes, plans).values()),
    ]
    data = {
        f"{DATA_ID}-{name}": packed(view_block(analysis)) for name, analysis in (("base", base), ("new", new))
    }
    data[f"{DATA_ID}-difference"] = packed(difference_block(comparison, base, new))
    return document(title, body, data, bundled(_ENTRY))


def sections(
    comparison: Comparison,
    timelines: Html,
    changes: Sequence[ChangeResult] = (),
    plans: PlanDifferences | None = None,
) -> dict[str, Html]:
    """Return the comparison's sections by name, in the order of the page; ``timelines`` shows both sides."""
    pictures = {
        TIMELINES: timelines,
        LEGEND: tag("p", forest.LEGEND, class_="note"),
        FLAME: tag("p", words.flame_note(comparison), class_="note"),
    }
    for number, group in enumerate(comparison.groups):
        if charts := _draw_charts(comparison, group, changes):
            pictures[label_chart(number)] = charts
    return print_html(build_document(comparison, changes, plans=plans), pictures, can_fold=True)


def _draw_charts(comparison: Comparison, group: Group, changes: Sequence[ChangeResult]) -> Html | None:
    rows, _ = words.table_rows(replace_by_first_sentence(comparison, group))
    return forest.charts(group, rows, comparison.min_change, changes)


def _draw_timeline(name: str, analysis: Analysis) -> Html:
    picture = tag("figure", to_svg(timeline_picture(analysis)), class_="static-only")
    return timeline_place(name, analysis.trace.info.name, picture)


def timeline_place(side: str, name: str, picture: Html | None = None) -> Html:
    """Return the element in which the script draws the timeline of "base" or "new", with a static picture."""
    return tag("div", tag("h3", f"{side.upper()}: {name}"), picture, id=f"timeline-{side}")
