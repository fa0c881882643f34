"""A reply as a page inside the chat, where the client shows MCP Apps: the strip of calls and the document.

The page is a template without data (``ui://tracekit/reply``), which a client fetches once and shows in a
sandboxed frame; the markup of a reply comes with the tool's result, in its ``_meta``, which no language model
reads. The protocol is that of MCP Apps, revision 2026-01-26.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.mcp.replies import ToolReply
from tracekit.report.analysis.document import has_timed_sections
from tracekit.report.document.blocks import Picture, Section
from tracekit.report.document.html_printer import print_html
from tracekit.report.html.bundle import bundled
from tracekit.report.html.elements import Html, join, tag
from tracekit.report.html.page import document
from tracekit.report.pictures.shapes import THEMED_COLOURS
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import NARROW, timeline_picture

PAGE_URI = "ui://tracekit/reply"
MARKUP_KEY = "tracekit/markup"
"""The key of a reply's markup in the result's ``_meta``; the page's script reads it."""
_SCRIPT = "reply_page.js"
_STRIP = Section("timeline", "Calls over time", (Picture("timeline"),))


def build_page() -> str:
    """Return the template: style, a script that shows markup, and a policy that forbids all else."""
    return document("tracekit", [tag("main", tag("p", "Waiting for the reply."))], {}, bundled(_SCRIPT))


def print_reply(reply: ToolReply) -> Html | None:
    """Return the markup of a reply; None for one that is text alone."""
    if not reply.sections:
        return None
    sections = [section for section in reply.sections if section.blocks and not section.is_empty]
    analyses = [analysis for analysis in reply.analyses if has_timed_sections(analysis)]
    if analyses:
        sections.insert(1, _STRIP)
    notice = tag("p", reply.notice, class_="note") if reply.notice else None
    return join([notice, *print_html(sections, {"timeline": _draw_strips(analyses)}, can_fold=True).values()])


def _draw_strips(analyses: Sequence[Analysis]) -> Html:
    """Return the calls and the measured engines of each analysis, in the colours of the page's theme."""
    pictures = (timeline_picture(analysis, layout=NARROW) for analysis in analyses)
    return join([tag("figure", to_svg(picture, THEMED_COLOURS)) for picture in pictures])
