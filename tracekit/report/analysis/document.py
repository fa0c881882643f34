"""The document of an analysis: what people read about it, built once for text, Markdown and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from tracekit.analysis.result import Analysis
from tracekit.model.issue_codes import RECORDING, SAMPLES
from tracekit.report import wording
from tracekit.report.analysis.calls_section import build_calls, build_latency
from tracekit.report.analysis.engines_section import build_counters, build_engines, build_submissions
from tracekit.report.analysis.evidence_section import build_evidence
from tracekit.report.analysis.extent import Extent
from tracekit.report.analysis.finding_entry import describe_finding
from tracekit.report.analysis.limits import add_notes, list_limits
from tracekit.report.analysis.models_table import list_models
from tracekit.report.analysis.recording_facts import recording_facts
from tracekit.report.analysis.threads_section import build_threads
from tracekit.report.document.blocks import (
    Block,
    Command,
    Fact,
    Facts,
    Findings,
    Headline,
    Paragraph,
    Picture,
    Section,
    Stack,
    Stacks,
)
from tracekit.report.viewmodel.heaviest import HeavyStack, heaviest_stacks
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.text import format_rounded, plural

NOTHING_FOUND = "Nothing stands out: no condition that tracekit looks for was found in this recording."
_SHORT_FACTS = ("Input", "Recorded", "Target", "Duration", "Cause", "Selected", "Samples", "Heat")
_NO_TOC = "No table of contents was given: device, template and duration are not known."
_TIMED = frozenset({"timeline", "windows", "latency", "submissions", "counters"})
"""Sections that need times."""
Builder: TypeAlias = Callable[[Analysis, Extent, Footnotes], Section]


def build_document(
    analysis: Analysis, extent: Extent, commands: Sequence[str] = (), left_out: Iterable[str] = ()
) -> tuple[Section, ...]:
    """Return the sections of an analysis; ``commands`` recorded it.

    A limit of a number is marked there, with a note in the first section that has its mark; the last section
    has the others. A trace without times has its threads in the place of what needs times.
    """
    # A short document refers to the finding that states a limit.
    notes = Footnotes(analysis, has_findings=not extent.is_verbose)
    absent = {*extent.left_out, *left_out}
    absent |= set() if analysis.thread_work is not None else {"threads"}
    absent |= set() if analysis.joined_models else {"operators"}
    has_requests = analysis.generations is not None or len(analysis.trace.model_requests) > 0
    absent |= set() if has_requests else {"requests"}
    if not has_timed_sections(analysis):
        absent |= _TIMED
    builders: dict[str, Builder] = {
        **_BUILDERS,
        "recording": partial(_build_recording, commands=commands),
        "issues": _build_limits,
    }
    return tuple(
        add_notes(build(analysis, extent, notes), notes, extent.has_explanations)
        for name, build in builders.items()
        if name not in absent
    )


def has_timed_sections(analysis: Analysis) -> bool:
    """Return False for counted threads, and for a run without any time: nothing is shown over time."""
    return analysis.thread_work is None and analysis.trace.has_timeline


def _build_summary(analysis: Analysis, extent: Extent, notes: Footnotes) -> Section:
    headline = Headline(wording.headline(analysis.answer))
    limits = list_limits(notes.whole, extent.most_alike, extent.has_explanations)
    return Section("verdict", "Summary", (headline, *list_models(analysis), *limits), is_lead=True)


def _build_findings(analysis: Analysis, extent: Extent, _notes: Footnotes) -> Section:
    """Return what happened, with what it costs, how that is known, and the next step."""
    numbers = [row for row, finding in enumerate(analysis.findings) if not finding.is_limit]
    if not numbers:
        return Section("findings", "Findings", (Paragraph(NOTHING_FOUND),), is_empty=True)
    entries = tuple(describe_finding(analysis, number, extent) for number in numbers[: extent.most_findings])
    block = Findings(entries, len(numbers) - len(entries))
    return Section(
        "findings", "Findings", (block,), about="errors, warnings, notes: of each, what costs most first"
    )


def _build_questions(analysis: Analysis, _extent: Extent, _notes: Footnotes) -> Section:
    """Return the questions with a reply of the recording, and the reasons why others have none."""
    from tracekit.report.recipes.document import build_tables

    return Section("questions", "Questions", build_tables(analysis), is_folded=True)


def _build_operators(analysis: Analysis, extent: Extent, notes: Footnotes) -> Section:
    # Few analyses have a model or plan: the others need none of the imports.
    from tracekit.report.analysis.operators_section import build_operators

    return build_operators(analysis, extent, notes)


def _build_requests(analysis: Analysis, extent: Extent, notes: Footnotes) -> Section:
    # Few recordings have such requests, either.
    from tracekit.report.analysis.requests_section import build_requests

    return build_requests(analysis, extent, notes)


def _build_picture(name: str, heading: str) -> Builder:
    """Return the builder of a section that only a page draws."""
    return lambda _analysis, _extent, _notes: Section(name, heading, (Picture(name),))


def _build_stacks(analysis: Analysis, extent: Extent, _notes: Footnotes) -> Section:
    unit = analysis.trace.weight_unit
    stacks = tuple(_describe_stack(stack, unit) for stack in heaviest_stacks(analysis, extent.most_stacks))
    if not stacks:
        return Section("stacks", "Heaviest stacks", (Paragraph("No sample has a stack."),), is_empty=True)
    return Section("stacks", "Heaviest stacks", (Stacks(stacks),), is_folded=True)


def _describe_stack(stack: HeavyStack, unit: str) -> Stack:
    weight = format_rounded(stack.weight) if unit == "ns" else f"{stack.weight:,.0f} {unit}"
    parts = ["" if unit == "samples" else weight, plural(stack.samples, "sample"), stack.phase or ""]
    parts.append(f"by rule {stack.rule}" if stack.rule else "")
    text = ", ".join(filter(None, parts))
    return Stack(stack.engine, text, stack.frames, stack.deciding, stack.above, stack.below)


def _build_recording(
    analysis: Analysis, extent: Extent, notes: Footnotes, commands: Sequence[str]
) -> Section:
    facts = tuple(
        Fact(name, text, notes.marks(SAMPLES).head if name == "Samples" else "")
        for name, text in recording_facts(analysis)
        if extent.is_verbose or name in _SHORT_FACTS
    )
    without_toc = () if analysis.trace.has_toc else (Paragraph(_NO_TOC),)
    made_by = (Section("commands", "Commands", tuple(map(Command, commands))),) if commands else ()
    mark = notes.marks(RECORDING).head
    return Section("recording", "Recording", (Facts(facts), *without_toc, *made_by), mark=mark)


def _build_limits(analysis: Analysis, extent: Extent, notes: Footnotes) -> Section:
    """Return the limits that are neither below the headline nor at a number, and what would lift them."""
    numbers = [row for row, finding in enumerate(analysis.findings) if finding.is_limit]
    entries = tuple(describe_finding(analysis, number, extent) for number in numbers)
    findings: list[Block] = [Findings(entries)] if entries else []
    limits = list_limits(notes.remaining(), extent.most_alike, extent.has_explanations)
    blocks = [*findings, *limits]
    if not limits and analysis.diagnostics:
        other = "other " if findings else ""
        blocks.append(Paragraph(f"Each {other}limit stands at what it limits."))
    elif not blocks:
        blocks.append(Paragraph("No known limits."))
    return Section("issues", "Limits of this recording", tuple(blocks), is_empty=not findings and not limits)


_BUILDERS: dict[str, Builder] = {
    "verdict": _build_summary,
    "findings": _build_findings,
    "operators": _build_operators,
    "requests": _build_requests,
    "threads": build_threads,
    "timeline": _build_picture("timeline", "Timeline"),
    "windows": build_calls,
    "engines": build_engines,
    "latency": build_latency,
    "submissions": build_submissions,
    "calltree": _build_picture("calltree", "Call tree"),
    "flame": _build_picture("flame", "Flame graph"),
    "stacks": _build_stacks,
    "counters": build_counters,
    "evidence": build_evidence,
    "questions": _build_questions,
}
"""The sections in the order of all formats, before the recording and its limits."""
