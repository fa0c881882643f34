"""A comparison as one HTML file: the differences, and both timelines aligned at a call."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison, FunctionChange, Group, Side
from tracekit.report import wording
from tracekit.report.comparison import samples
from tracekit.report.comparison import wording as words
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.findings import FINDINGS, FindingChangeText, finding_changes
from tracekit.report.comparison.headline import mark, outcome, sentence
from tracekit.report.html.elements import Html, join, table, tag
from tracekit.report.html.findings import severity_mark, step_html
from tracekit.report.html.forest import LEGEND, charts
from tracekit.report.html.page import DATA_ID, document
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.viewmodel.difference import difference_block
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
    data = {
        f"{DATA_ID}-{name}": packed(view_block(analysis)) for name, analysis in (("base", base), ("new", new))
    }
    data[f"{DATA_ID}-difference"] = packed(difference_block(comparison, base, new))
    return document(title, body, data, _ENTRY)


def sections(
    comparison: Comparison, timelines: Html, changes: Sequence[ChangeResult] = ()
) -> dict[str, Html]:
    """Return the comparison's sections by name, in the order of the page; ``timelines`` shows both sides."""
    candidates = [
        ("verdict", "Summary", _verdict(comparison)),
        ("changes", "Required", _changes(changes) if changes else None),
        ("findings", FINDINGS, _findings(comparison)),
        ("sides", "Compared", _sides(comparison)),
    ]
    flame = ("difference", words.FLAME, tag("p", words.flame_note(comparison), class_="note"))
    if comparison.without_times:
        candidates += [("samples", samples.TITLE, _samples(comparison))]
        # Samples of a recording do not count waiting threads: shares of both have no common whole.
        candidates += [flame] if comparison.samples else []
    else:
        candidates += [
            (TIMELINES, "Timelines", timelines),
            ("differences", "Differences", _differences(comparison, changes)),
            ("one-sided", "On one side only, or left out", _one_sided(comparison)),
            ("functions", words.CHANGED_FUNCTIONS, _functions(comparison)),
            flame,
        ]
    return {name: _section(name, heading, content) for name, heading, content in candidates if content}


def _samples(comparison: Comparison) -> Html | None:
    """Return the shares of samples where no side has times."""
    rows = [samples.sample_cells(row) for row in comparison.samples]
    if not rows:
        return None
    shown = table(samples.HEADER, rows, [False, False, False, True, True, True], "Shares of samples")
    return join([shown, tag("p", samples.NOTE)])


def _section(name: str, heading: str, content: Html) -> Html:
    title = tag("h2", heading, id=f"{name}-heading")
    return tag("section", title, content, id=name, aria_labelledby=f"{name}-heading")


def _verdict(comparison: Comparison) -> Html:
    sign, word = mark(comparison)
    kind = outcome(comparison).split()[0]
    return tag(
        "p",
        tag("strong", tag("span", f"{sign} ", aria_hidden="true"), word, class_=f"outcome outcome-{kind}"),
        f" {sentence(comparison)}",
    )


def _findings(comparison: Comparison) -> Html | None:
    listed, left_out = finding_changes(comparison)
    if not listed:
        return None
    more = tag("p", f"… and {left_out:,} more: see the JSON output", class_="note") if left_out else None
    return join([tag("ol", *map(_finding, listed), class_="findings"), more])


def _finding(text: FindingChangeText) -> Html:
    is_new = text.change in ("appeared", "grew")
    return tag(
        "li",
        tag("h3", severity_mark(text.severity), f"{text.change.capitalize()}: {text.title}"),
        tag("p", text.cost, class_="cost") if text.cost and is_new else None,
        tag("p", text.counts, class_="note"),
        *(step_html(step) for step in text.next_steps if is_new),
        class_=f"finding finding-{text.change.replace(' ', '-')}",
    )


def _changes(changes: Sequence[ChangeResult]) -> Html:
    items = [
        tag(
            "li",
            tag("strong", f"{result.outcome}: {result.change.text}"),
            f" – {words.change_reason(result)}",
        )
        for result in changes
    ]
    return tag("ul", *items)


def _sides(comparison: Comparison) -> Html:
    rows = [*_runs("BASE", comparison.base), *_runs("NEW", comparison.new)]
    header = ["side", "recording", "device", "system", "template", "calls", "verdict"]
    cautions = [tag("li", caution_text(caution)) for caution in comparison.cautions]
    return join(
        [
            table(header, rows, [False, False, False, False, False, True, False], "Recordings"),
            tag("ul", *cautions) if cautions else None,
        ]
    )


def _one_sided(comparison: Comparison) -> Html | None:
    items = [tag("li", words.one_sided(group)) for group in comparison.one_sided]
    if comparison.groups_left_out:
        items.append(tag("li", f"{comparison.groups_left_out:,} smaller kinds of calls are not compared"))
    return tag("ul", *items) if items else None


def _runs(name: str, side: Side) -> list[list[object]]:
    return [
        [
            name,
            f"{run.name}, run {run.run}",
            run.device,
            run.os,
            run.template,
            "" if run.answer.kind == "threads" else f"{run.windows:,}",
            wording.headline(run.answer),
        ]
        for run in side.runs
    ]


def _timeline(name: str, analysis: Analysis) -> Html:
    picture = tag("figure", to_svg(timeline_picture(analysis)), class_="static-only")
    return timeline_place(name, analysis.trace.info.name, picture)


def timeline_place(side: str, name: str, picture: Html | None = None) -> Html:
    """Return the element in which the script draws the timeline of "base" or "new", with a static picture."""
    return tag("div", tag("h3", f"{side.upper()}: {name}"), picture, id=f"timeline-{side}")


def _differences(comparison: Comparison, changes: Sequence[ChangeResult]) -> Html:
    groups = [_group(comparison, group, changes) for group in comparison.groups]
    legend = tag("p", LEGEND, class_="note")
    return join([legend, *groups, tag("p", words.footnote(comparison))])


def _group(comparison: Comparison, group: Group, changes: Sequence[ChangeResult]) -> Html:
    listed, incomplete = words.table_rows(comparison.rows(group))
    rows = [words.cells(row) for row in listed]
    numbers = [False, True, True, True, True, True, False, False]
    reasons = [tag("li", note.text) for note in words.missing(incomplete)]
    return tag(
        "div",
        tag("h3", words.title(group)),
        charts(group, listed, comparison.min_change, changes),
        table(words.HEADER, rows, numbers, words.title(group)),
        tag("ul", *reasons) if reasons else None,
        tag("p", runs) if (runs := words.run_values(group)) else None,
    )


def _functions(comparison: Comparison) -> Html:
    if comparison.functions_missing:
        return tag("p", comparison.functions_missing)
    note, title = words.functions_note(comparison), words.largest_functions_title(comparison)
    return join(
        [
            tag("p", f"{note[0].upper()}{note[1:]}.") if note else None,
            _function_table(comparison.functions, "Functions that changed, host samples per call"),
            tag("h3", title) if comparison.largest_functions else None,
            _function_table(comparison.largest_functions, f"{title}, host samples per call"),
        ]
    )


def _function_table(changes: Sequence[FunctionChange], caption: str) -> Html | None:
    rows = [
        [clip(cell, _NAME_WIDTH) for cell in words.function_cells(change)]
        for change in changes[:_MOST_FUNCTIONS]
    ]
    return table(words.FUNCTION_HEADER, rows, [False, True, True, True, False, False, False], caption)
