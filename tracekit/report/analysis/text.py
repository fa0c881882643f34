"""The analysis as a page of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.recording import LIMIT_KINDS
from tracekit.analysis.result import Analysis
from tracekit.model.issue_codes import LOG, RECORDING, SAMPLES
from tracekit.report import wording
from tracekit.report.analysis.recording_facts import recording_facts
from tracekit.report.analysis.text_engines import counters_text, engines_text, has_counters, preparing_text
from tracekit.report.analysis.text_layout import SEVERITY, TextLayout, issue_lines, note_lines
from tracekit.report.analysis.text_threads import threads_text
from tracekit.report.analysis.text_windows import lengths_text, windows_text
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.report.wording.findings import finding_texts
from tracekit.text import align, plural, printable

_MOST_LOG_LINES = 20
_SHORT_FACTS = ("Input", "Recorded", "Target", "Duration", "Cause", "Selected", "Samples", "Heat")
LAYOUT = TextLayout()


def to_text(analysis: Analysis, layout: TextLayout = LAYOUT) -> str:
    """Return the answer, what limits it, and the numbers: the most important ones, or all of them.

    A limit of a number is marked there, with a note below the table; the list at the end has the others.
    """
    notes = Footnotes(analysis, has_findings=True)
    is_verbose = layout.is_verbose
    sections = [
        layout.paragraph(wording.headline(analysis.answer)),
        _findings(analysis, layout),
        "\n".join(issue_lines(notes.whole, layout, "", "")),
        threads_text(analysis, layout),
        windows_text(analysis, layout, notes),
        lengths_text(analysis, layout, notes),
        _submissions(analysis, layout) if is_verbose else "",
        engines_text(analysis, layout, notes),
        preparing_text(analysis, layout),
        _log(analysis, layout, notes) if is_verbose or analysis.trace.is_of_text else "",
        _power(analysis, layout),
        counters_text(analysis, layout, notes) if is_verbose else "",
        _evidence(analysis, layout) if is_verbose else _short_evidence(analysis, layout),
    ]
    recording = _recording(analysis, layout, notes)
    sections += [_limits(analysis, notes, layout), recording, "" if is_verbose else _more(analysis, layout)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _findings(analysis: Analysis, layout: TextLayout) -> str:
    """List what happened, with what it costs, how that is known, and the next step; an info is short.

    The cost is left out where the headline has it.
    """
    findings = [finding for finding in analysis.findings if finding.kind not in LIMIT_KINDS]
    lines = ["Findings (what costs most comes first)"] if findings else []
    return "\n".join([*lines, *_finding_lines(analysis, findings, layout)])


def _finding_lines(analysis: Analysis, findings: Sequence[Finding], layout: TextLayout) -> list[str]:
    headline = wording.headline(analysis.answer)
    lines = []
    for finding, text in zip(findings, finding_texts(findings, analysis.trace.info), strict=True):
        lines.append(layout.paragraph(f"{SEVERITY[finding.severity]}{text.title} ({finding.kind})", "  "))
        is_short = finding.severity == "info" and not layout.is_verbose
        parts = (text.cost,) if is_short else (text.cost, text.detail, text.basis)
        lines += [layout.paragraph(part, "    ") for part in parts if part and part not in headline]
        for step in text.next_steps[:1] if is_short else text.next_steps:
            lines.append(layout.paragraph(f"→ {step.text}", "    "))
            # A command is pasted: it stays on one line, however long.
            lines += [f"        {step.command}"] if step.command else []
    return lines


def _submissions(analysis: Analysis, layout: TextLayout) -> str:
    """List how many submissions one inference makes, per model."""
    models = analysis.submission_summary
    if not models:
        return ""
    rows = [[printable(cell) for cell in row] for row in wording.submission_rows(models)]
    right = [name in ("inferences", "longest", "gaps", "covered") for name in wording.SUBMISSION_HEADER]
    title = f"Neural Engine submissions per inference (measured). {wording.SUBMISSIONS_ABOUT}"
    notes = [
        layout.paragraph(printable(note), "  ")
        for note in wording.submission_notes(models, analysis.call_numbers)
    ]
    return "\n".join([layout.paragraph(title), align(wording.SUBMISSION_HEADER, rows, right, "  "), *notes])


def _recording(analysis: Analysis, layout: TextLayout, notes: Footnotes) -> str:
    marks = {"Samples": notes.marks(SAMPLES).head}
    lines = [
        layout.paragraph(f"{name:<9} {printable(text)}{marks.get(name, '')}", "  ")
        for name, text in recording_facts(analysis)
        if layout.is_verbose or name in _SHORT_FACTS
    ]
    if not analysis.trace.has_toc:
        text = "No table of contents was given: device, template and duration are not known."
        lines.append(layout.paragraph(text, "  "))
    heading = f"Recording{notes.marks(RECORDING).head}"
    return "\n".join([heading, *lines, *note_lines(notes.notes(), layout)])


def _log(analysis: Analysis, layout: TextLayout, notes: Footnotes) -> str:
    """List the requests and refusals in the log."""
    lines = wording.log_lines(analysis.requests)
    if not lines:
        return ""
    left = len(lines) - _MOST_LOG_LINES
    lines = lines[:_MOST_LOG_LINES] + ([f"… and {left:,} more: see --format json"] if left > 0 else [])
    heading = f"Log{notes.marks(LOG).head}"
    shown = (layout.paragraph(printable(line), "  ") for line in lines)
    return "\n".join([heading, *shown, *note_lines(notes.notes(), layout)])


def _power(analysis: Analysis, layout: TextLayout) -> str:
    lines = [layout.paragraph(line, "  ") for line in wording.power_lines(analysis.power)]
    return "\n".join(["Power and energy", *lines]) if lines else ""


def _evidence(analysis: Analysis, layout: TextLayout) -> str:
    """List the tables with their use; absent tables share one line per reason."""
    lines = ["Evidence"]
    absent: dict[str, list[str]] = {}
    for row in analysis.evidence:
        remark = wording.remark(row)
        if row.state == "absent":
            absent.setdefault(remark, []).append(printable(row.source))
        else:
            state = plural(row.rows, "row") if row.state == "rows" else "empty"
            text = f"{printable(row.source)}: {state}, {remark}; it shows {wording.shows(row)}"
            lines.append(layout.paragraph(text, "  "))
    lines += [layout.paragraph(f"{remark}: {', '.join(sources)}", "  ") for remark, sources in absent.items()]
    return "\n".join(lines)


def _short_evidence(analysis: Analysis, layout: TextLayout) -> str:
    present = [row for row in analysis.evidence if row.state != "absent"]
    tables = [
        f"{printable(row.source)} ({plural(row.rows, 'row') if row.state == 'rows' else 'empty'})"
        for row in present
    ]
    absent = len(analysis.evidence) - len(present)
    more = f"; absent: {plural(absent, 'other table')} that can show engines" if absent else ""
    return layout.paragraph(f"Evidence: {', '.join(tables) or 'none'}{more}")


def _limits(analysis: Analysis, notes: Footnotes, layout: TextLayout) -> str:
    """List the limits that are neither below the headline nor at a number, and what would lift them."""
    limits = [finding for finding in analysis.findings if finding.kind in LIMIT_KINDS]
    lines = _finding_lines(analysis, limits, layout) + issue_lines(notes.remaining(), layout, "- ", "  ")
    return "\n".join(["Limits of this recording", *lines]) if lines else ""


def _more(analysis: Analysis, layout: TextLayout) -> str:
    """Name what the verbose text adds for this recording."""
    has_short = any(finding.severity == "info" for finding in analysis.findings)
    parts = [
        "what each finding rests on" if has_short else "",
        f"every column of the {wording.noun_of(analysis.window_rows)}s" if len(analysis.window_rows) else "",
        "more threads and columns" if analysis.thread_work is not None else "",
        "submissions to the Neural Engine" if analysis.submission_summary else "",
        "the log" if wording.log_lines(analysis.requests) else "",
        "counters" if has_counters(analysis) else "",
        "what each table shows",
        "the recording in full",
    ]
    return layout.paragraph(f"-v adds {', '.join(part for part in parts if part)}.")
