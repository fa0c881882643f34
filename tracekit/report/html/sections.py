"""The sections of the report in its markup: the document of an analysis, and a page's pictures."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from tracekit.analysis.result import Analysis
from tracekit.report.analysis.document import build_document
from tracekit.report.analysis.extent import PAGE
from tracekit.report.document.html_printer import print_html
from tracekit.report.html.elements import Html, join, tag
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.viewmodel.view import Extras
from tracekit.text import format_ms

_OF_SAMPLES = frozenset(
    {"windows", "engines", "latency", "submissions", "calltree", "flame", "stacks", "counters"}
)
"""Sections of which a log or samples of power have nothing: hidden there, as the page's script fills them."""


_DETAILS = frozenset({"submissions", "stacks", "counters", "evidence", "recording", "questions"})
"""Sections with what the others rest on: folded where they stand one below the other."""


def sections(
    analysis: Analysis, extras: Extras, left_out: Container[str] = (), can_fold: bool = False
) -> dict[str, Html]:
    """Return the sections of the page by id; each limit stands in one of them.

    Where the page ``can_fold``, sections with details show their headings until they are opened.
    """
    document = build_document(analysis, PAGE, extras.commands)
    is_hidden = analysis.trace.is_of_text and not len(analysis.trace.samples)
    pictures = {
        "timeline": None if "timeline" in left_out else _draw_timeline(analysis, extras),
        "calltree": tag("p", "The call tree needs JavaScript.", class_="no-script"),
        "flame": tag("p", "The flame graph needs JavaScript.", class_="no-script"),
    }
    wanted = [
        replace(section, is_folded=section.id in _DETAILS and not section.is_empty)
        for section in document
        if section.id not in left_out
    ]
    return print_html(wanted, pictures, _OF_SAMPLES if is_hidden else (), can_fold)


def _draw_timeline(analysis: Analysis, extras: Extras) -> Html:
    picture = tag("figure", to_svg(timeline_picture(analysis, extras.notes)), id="timeline-static")
    return join([picture, _list_notes(extras)])


def _list_notes(extras: Extras) -> Html | None:
    """Return the notes with their times, for readers without the interactive part."""
    if not extras.notes:
        return None
    items = [tag("li", tag("strong", format_ms(note.time_ns)), f" {note.text}") for note in extras.notes]
    return tag("div", tag("h3", "Notes"), tag("ul", *items), class_="static-only")
