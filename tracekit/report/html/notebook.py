"""HTML of a trace, an analysis and a comparison for notebooks: the head of the report, in a frame.

The frame is sandboxed and forbids scripts: names in a recording may be hostile text.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.recording import LIMIT_KINDS
from tracekit.analysis.result import Analysis
from tracekit.columns.call_rows import CallRows
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.comparison.result import Comparison
from tracekit.model.trace import Issue, Trace, TraceInfo
from tracekit.report import wording
from tracekit.report.comparison import wording as comparison_wording
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.findings import finding_changes
from tracekit.report.comparison.headline import mark, sentence
from tracekit.report.html.elements import Html, join, table, tag
from tracekit.report.html.findings import severity_mark
from tracekit.report.html.threads import threads_html
from tracekit.report.viewmodel.limits import Footnotes, WindowMarks, window_marks
from tracekit.report.wording.findings import finding_text
from tracekit.text import clip, format_ms, plural

_MOST_ROWS = 20
_MOST_LIMITS = 10
_MOST_FINDINGS = 5
_NAME_WIDTH = 60
_ROW_HEIGHT = 26
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
        _limits(trace.issues),
    ]
    return _frame(parts, len(rows) + len(trace.issues))


def analysis_html(analysis: Analysis) -> str:
    """Return an analysis' head: its headline, the first findings, up to 20 calls, and its limits."""
    rows = analysis.window_rows.head(_MOST_ROWS)
    engines = [str(engine) for engine in sorted(analysis.measured.reported, key=str)]
    busy = (
        CALL_COLUMNS.build_from(CallRows(analysis, 0, len(rows))) if engines and len(rows) else pd.DataFrame()
    )
    shown = [engine for engine in engines if f"{engine}_busy_ns" in busy]
    notes = Footnotes(analysis)
    marks = window_marks(notes, len(rows), shown) if len(rows) else WindowMarks()
    names = wording.call_names(analysis)
    cells = [
        [
            clip(names.name(window), _NAME_WIDTH),
            f"{names.numbers[window]:,}{marks.number.of(window)}",
            format_ms(start),
            f"{format_ms(end - start)}{marks.length.of(window)}",
            f"{analysis.verdicts.names[window]}{marks.verdict.of(window)}",
            *(
                f"{_busy(busy[f'{engine}_busy_ns'].iloc[window])}{marks.busy[engine].of(window)}"
                for engine in shown
            ),
        ]
        for window, (start, end) in enumerate(zip(rows["start_ns"], rows["end_ns"], strict=True))
    ]
    header = [
        "model" if (rows["model"] != "").all() else "name",
        f"{names.noun}{marks.number.head}",
        "start",
        f"length{marks.length.head}",
        f"verdict{marks.verdict.head}",
        *(f"{engine} busy{marks.busy[engine].head}" for engine in shown),
    ]
    numbers = [False, True, True, True, False, *(True for _ in shown)]
    left_out = len(analysis.window_rows) - len(rows)
    noted = [
        tag("li", note.mark, " ", tag("strong", note.issue.severity), f" {note.issue.message}")
        for note in notes.notes()
    ]
    of_recording = [
        _finding(finding, analysis.trace.info) for finding in analysis.findings if finding.kind in LIMIT_KINDS
    ]
    parts = [
        tag("h4", wording.headline(analysis.answer)),
        tag("ul", *_items(notes.whole)) if notes.whole else None,
        _findings(analysis),
        table(header, cells, numbers, names.heading),
        threads_html(analysis, _MOST_ROWS) if analysis.thread_work is not None else None,
        tag("p", f"… and {plural(left_out, names.noun)} more: see .windows") if left_out else None,
        tag("ul", *noted) if noted else None,
        _limits(notes.remaining(), of_recording),
    ]
    threads = 0 if analysis.thread_work is None else len(analysis.thread_work.answers(_MOST_ROWS)) + 6
    shown_findings = min(len(analysis.findings), _MOST_FINDINGS)
    return _frame(parts, len(cells) + threads + len(analysis.diagnostics) + 3 * shown_findings)


def _findings(analysis: Analysis) -> Html | None:
    """Return the first findings: what happened, what it costs, and the command of the next step."""
    findings = [finding for finding in analysis.findings if finding.kind not in LIMIT_KINDS]
    items = [_finding(finding, analysis.trace.info) for finding in findings[:_MOST_FINDINGS]]
    left_out = len(findings) - len(items)
    more = tag("li", f"… and {plural(left_out, 'finding')} more: see .findings") if left_out else None
    return tag("ul", *items, more, class_="findings") if items else None


def _finding(finding: Finding, info: TraceInfo) -> Html:
    text = finding_text(finding, info)
    command = next((step.command for step in text.next_steps if step.command), "")
    title = tag("strong", severity_mark(finding.severity), text.title)
    return tag("li", title, f" {text.cost}", tag("pre", command) if command else None)


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison's head: its sentence, the differences of all calls, and its cautions."""
    differences = list(comparison.rows(comparison.groups[0])) if comparison.groups else []
    rows = [comparison_wording.cells(row) for row in differences[:_MOST_ROWS]]
    numbers = [False, True, True, True, True, True, False, False]
    cautions = [tag("li", caution_text(caution)) for caution in comparison.cautions[:_MOST_LIMITS]]
    sign, word = mark(comparison)
    findings, _ = finding_changes(comparison)
    changes = [
        tag("li", tag("strong", f"{text.change}: {text.title}"), f" ({text.counts})") for text in findings
    ]
    parts = [
        tag("h4", f"{sign} {word}. {sentence(comparison)}"),
        tag("ul", *changes[:_MOST_FINDINGS]) if changes else None,
        table(list(comparison_wording.HEADER), rows, numbers, "Differences of all calls"),
        tag("ul", *cautions) if cautions else None,
    ]
    return _frame(parts, len(rows) + 2 * len(cautions))


def _busy(time_ns: object) -> str:
    return "" if pd.isna(time_ns) else format_ms(float(time_ns), 2)  # type: ignore[arg-type, call-overload]


def _limits(issues: tuple[Issue, ...], of_recording: Sequence[Html] = ()) -> Html | None:
    if not issues and not of_recording:
        return None
    listed = tag("ul", *of_recording, *_items(issues))
    return join([tag("p", tag("strong", "Limits of this recording")), listed])


def _items(issues: tuple[Issue, ...]) -> list[Html]:
    items = [tag("li", tag("strong", issue.severity), f" {issue.message}") for issue in issues[:_MOST_LIMITS]]
    left_out = len(issues) - len(items)
    return [*items, *([tag("li", f"… and {left_out} more: see .issues")] if left_out else [])]


def _frame(parts: list[Html | None], rows: int) -> str:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    meta = tag("meta", http_equiv="Content-Security-Policy", content=policy)
    page = tag("html", tag("head", meta, tag("style", Html(_STYLE))), tag("body", *parts))
    height = min(640, 150 + _ROW_HEIGHT * rows)
    return (
        f'<iframe sandbox srcdoc="{escape(f"<!doctype html>{page}")}" loading="lazy"'
        f' style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
