"""A comparison as one file of HTML: what differs, and both timelines aligned at a window."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.checks.changes import ChangeResult
from tracekit.comparison.result import Comparison, Group, Side
from tracekit.report.comparison import wording as words
from tracekit.report.html.elements import Html, join, table, tag
from tracekit.report.html.page import DATA_ID, document
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.viewmodel.payload import packed
from tracekit.report.viewmodel.view import view_block
from tracekit.text import clip

_ENTRY = "compare_file.js"
_MOST_FUNCTIONS = 40
_NAME_WIDTH = 160
TIMELINES = "timelines"


def to_html(
    comparison: Comparison, base: Analysis, new: Analysis, changes: Sequence[ChangeResult] = ()
) -> str:
    """Return the comparison as one document that loads nothing; ``base`` and ``new`` are the runs to draw."""
    title = f"{comparison.base.runs[0].name} and {comparison.new.runs[0].name} compared"
    drawn = join([_timeline("base", base), _timeline("new", new)])
    body = [tag("header", tag("h1", title)), tag("main", *sections(comparison, drawn, changes).values())]
    data = {f"{DATA_ID}-{name}": packed(view_block(one)) for name, one in (("base", base), ("new", new))}
    return document(title, body, data, _ENTRY)


def sections(
    comparison: Comparison, timelines: Html, changes: Sequence[ChangeResult] = ()
) -> dict[str, Html]:
    """Return the comparison's sections by their names, in the order of the page; ``timelines`` is of both."""
    found = [
        ("verdict", "Verdict", tag("p", words.sentence(comparison))),
        ("changes", "Required", _changes(changes) if changes else None),
        ("sides", "Compared", _sides(comparison)),
        (TIMELINES, "Timelines", timelines),
        ("differences", "Differences", join([_group(comparison, group) for group in comparison.groups])),
        ("functions", "Functions that changed beyond the noise", _functions(comparison)),
    ]
    return {name: _section(name, heading, content) for name, heading, content in found if content}


def _section(name: str, heading: str, content: Html) -> Html:
    title = tag("h2", heading, id=f"{name}-heading")
    return tag("section", title, content, id=name, aria_labelledby=f"{name}-heading")


def _changes(changes: Sequence[ChangeResult]) -> Html:
    items = [
        tag("li", tag("strong", f"{one.outcome}: {one.change.text}"), f" – {words.judged(one)}")
        for one in changes
    ]
    return tag("ul", *items)


def _sides(comparison: Comparison) -> Html:
    rows = [*_runs("BASE", comparison.base), *_runs("NEW", comparison.new)]
    header = ["side", "recording", "device", "system", "template", "windows", "verdict"]
    cautions = [tag("li", one.message) for one in comparison.cautions]
    return join(
        [
            table(header, rows, [False, False, False, False, False, True, False], "Recordings"),
            tag("ul", *cautions) if cautions else None,
        ]
    )


def _runs(name: str, side: Side) -> list[list[object]]:
    return [
        [
            name,
            f"{one.name}, run {one.run}",
            one.device,
            one.os,
            one.template,
            f"{one.windows:,}",
            one.sentence,
        ]
        for one in side.runs
    ]


def _timeline(name: str, analysis: Analysis) -> Html:
    picture = tag("figure", to_svg(timeline_picture(analysis)), class_="static-only")
    return timeline_place(name, analysis.trace.info.name, picture)


def timeline_place(side: str, name: str, picture: Html | None = None) -> Html:
    """Return where the script draws the timeline of "base" or "new"; a picture stands there until it does."""
    return tag("div", tag("h3", f"{side.upper()}: {name}"), picture, id=f"timeline-{side}")


def _group(comparison: Comparison, group: Group) -> Html:
    told, silent = words.shown(comparison.rows(group))
    rows = [words.cells(row) for row in told]
    numbers = [False, True, True, True, True, True, False, False]
    reasons = [tag("li", one.text) for one in words.missing(silent)]
    return tag(
        "div",
        tag("h3", words.title(group)),
        table(words.HEADER, rows, numbers, words.title(group)),
        tag("ul", *reasons) if reasons else None,
    )


def _functions(comparison: Comparison) -> Html:
    if comparison.functions_missing:
        return tag("p", comparison.functions_missing)
    rows = [
        [clip(cell, _NAME_WIDTH) for cell in words.function_cells(one)]
        for one in comparison.functions[:_MOST_FUNCTIONS]
    ]
    numbers = [False, True, True, True, False, False, False]
    found = table(words.FUNCTION_HEADER, rows, numbers, "Functions, host samples per window")
    return found or tag("p", "None.")
