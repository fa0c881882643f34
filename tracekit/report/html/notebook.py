"""HTML of a trace, an analysis and a comparison for notebooks: the head of the report, in a frame.

The frame is sandboxed and forbids scripts: names in a recording may be hostile text.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tracekit.analysis.result import Analysis
from tracekit.comparison.result import Comparison
from tracekit.model.trace import Issue, Trace
from tracekit.report.analysis.document import build_document
from tracekit.report.analysis.extent import NOTEBOOK
from tracekit.report.analysis.limits import list_limits
from tracekit.report.comparison.document import build_document as build_comparison
from tracekit.report.document.blocks import Section, count_note
from tracekit.report.document.html_printer import print_block, print_html
from tracekit.report.html.elements import Html, join, table, tag
from tracekit.text import clip

_MOST_LIMITS = 10
_NAME_WIDTH = 60
_ROW_HEIGHT = 26
COMPARED = frozenset({"verdict", "findings", "sides", "differences"})
"""The sections of a comparison that need no script and no picture."""
_STYLE = """
body { font: 13px system-ui, sans-serif; margin: 0; color: #171b21; background: #fff }
h4, p, ul { margin: 0 0 8px } table { border-collapse: collapse; margin-bottom: 8px }
th, td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid #d5dae1 }
.findings { list-style: none; padding: 0 } pre { margin: 2px 0; overflow-x: auto }
.severity { display: inline-block; min-width: 18px; font-weight: 700 }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
.number { text-align: right } caption { text-align: left; color: #566070 }
"""


def trace_html(trace: Trace) -> str:
    """Return a trace's head: its name, counts and issues."""
    info = trace.info
    recorded = ", ".join(
        part for part in (info.device or info.model, info.os, info.template, info.start) if part
    )
    rows = [
        [name, f"{len(getattr(trace, name)):,}"]
        for name in ("samples", "threads", "intervals", "signposts", "counters", "tracks", "thread_states")
    ]
    parts = [
        tag("h4", clip(f"{info.name}, run {info.run}", _NAME_WIDTH * 2)),
        tag("p", recorded) if recorded else None,
        table(["frame", "rows"], rows, [False, True], "Frames"),
        _list_issues(trace.issues),
    ]
    return _build_frame(parts, len(rows) + len(trace.issues))


def analysis_html(analysis: Analysis) -> str:
    """Return an analysis' head: its headline, the first findings, up to 20 calls, and its limits."""
    return document_html([section for section in build_document(analysis, NOTEBOOK) if not section.is_empty])


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison's head: its sentence, what was compared, the differences, and its cautions."""
    return document_html([section for section in build_comparison(comparison) if section.id in COMPARED])


def document_html(sections: Sequence[Section]) -> str:
    """Return sections in a frame of about their height."""
    parts = list(print_html(sections).values())
    rows = sum(part.count("<tr") + part.count("<li") + part.count("<p") for part in parts)
    return _build_frame(parts, rows)


def _list_issues(issues: tuple[Issue, ...]) -> Html | None:
    if not issues:
        return None
    limits = map(print_block, list_limits(issues[:_MOST_LIMITS], _MOST_LIMITS))
    remaining = max(0, len(issues) - _MOST_LIMITS)
    more = tag("p", count_note(remaining)) if remaining else None
    return join([tag("p", tag("strong", "Limits of this recording")), *limits, more])


def _build_frame(parts: Sequence[Html | None], rows: int) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    meta = tag("meta", http_equiv="Content-Security-Policy", content=policy)
    page = tag("html", tag("head", meta, tag("style", Html(_STYLE))), tag("body", *parts))
    height = min(640, 150 + _ROW_HEIGHT * rows)
    return (
        f'<iframe sandbox srcdoc="{escape(f"<!doctype html>{page}")}" loading="lazy"'
        f' style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
