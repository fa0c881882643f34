"""The section of threads, which a trace without times has instead of its calls."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.analysis.threads import ThreadWork
from tracekit.report import wording
from tracekit.report.analysis.extent import Extent
from tracekit.report.document.blocks import Block, Column, ColumnKind, Command, Paragraph, Section, Table
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.text import plural

_KINDS: dict[str, ColumnKind] = {"samples": "number", "share": "number", "engine": "engine"}
_RANKS = {"share": 2, "doing": 3, "rule": 1}
_CLIPPED = frozenset({"process", "thread", "decided by"})


def build_threads(analysis: Analysis, extent: Extent, _notes: Footnotes) -> Section:
    """Return the threads in ML code, idle service threads and the one that crashed; then what that shows."""
    work = analysis.thread_work
    if work is None or not work.count:
        return Section(
            "threads", "Threads", (Paragraph("This text has no thread with a stack."),), is_empty=True
        )
    answers = work.answers(extent.most_threads)
    rows = wording.thread_rows(answers)
    blocks: list[Block] = [_build_table(work, rows) if rows else Paragraph(_describe_absence(work))]
    blocks += map(Paragraph, wording.threads_notes(work, answers))
    step = wording.recording_step(work, analysis.trace.info)
    blocks += [] if step is None else [Paragraph(f"→ {step.text}"), Command(step.command)]
    about = "at one moment" if work.is_single_pause else f"by their {work.noun}s"
    return Section("threads", "Threads", (*blocks, *_list_processes(work, extent)), about)


def _describe_absence(work: ThreadWork) -> str:
    """Return what the absence of ML code rests on: stacks without symbols cannot show any."""
    unknown, samples = int(work.unknown_samples.sum()), int(work.samples.sum())
    if not unknown:
        return "No thread is in ML code."
    if unknown == samples:
        return "No thread has a stack with symbols, so none can be seen in ML code."
    known = f"{samples - unknown:,} of {plural(samples, work.noun)}"
    return f"No thread is in ML code in {known}; the stacks of the others have no symbols."


def _build_table(work: ThreadWork, rows: Sequence[Sequence[str]]) -> Table:
    left_out = wording.left_out_columns(work)
    columns = zip(wording.THREADS_HEADER, zip(*rows, strict=True), strict=True)
    return Table(
        tuple(
            Column(
                "hits" if name == "samples" and work.noun == "hit" else name,
                texts,
                _KINDS.get(name, "text"),
                rank=_RANKS.get(name, 0),
                is_clipped=name in _CLIPPED,
            )
            for name, texts in columns
            if name not in left_out and any(texts)
        )
    )


def _list_processes(work: ThreadWork, extent: Extent) -> tuple[Section, ...]:
    """Return the processes of a text of several; a verbose document has those without ML code as well."""
    if len(work.processes) < 2:
        return ()
    entries = [
        entry for entry in work.processes if extent.is_verbose or entry.ml_samples or entry.idle_threads
    ]
    entries = entries[: extent.most_threads]
    remaining = len(work.processes) - len(entries)
    about = f"{plural(remaining, 'other')} without ML code not listed" if remaining else ""
    if not entries:
        return ()
    columns = zip(wording.PROCESSES_HEADER, zip(*wording.process_rows(entries), strict=True), strict=True)
    table = Table(
        tuple(
            Column(name, texts, "text" if name == "process" else "number", is_clipped=name == "process")
            for name, texts in columns
        )
    )
    return (Section("processes", "Processes", (table,), about),)
