"""The threads of a trace without times: the section that the report has instead of timeline and calls."""

from __future__ import annotations

from tracekit.analysis.result import Analysis
from tracekit.analysis.threads import ThreadWork
from tracekit.report import wording
from tracekit.report.html.elements import Html, badge, join, table, tag

_MOST_THREADS = 500
_MOST_PROCESSES = 100
NUMBERS = frozenset({"samples", "share", "threads", "ML threads", "ML samples", "idle threads"})


def threads_html(analysis: Analysis, most: int = _MOST_THREADS) -> Html:
    """Return the table of threads, that of processes, and what such samples can and cannot show."""
    work = analysis.thread_work
    if work is None or not work.count:
        return tag("p", "This text has no thread with a stack.")
    answers = work.answers(most)
    left_out = wording.left_out_columns(work)
    positions = [position for position, name in enumerate(wording.THREADS_HEADER) if name not in left_out]
    header = [wording.THREADS_HEADER[position] for position in positions]
    rows: list[list[object]] = [
        [_cell(wording.THREADS_HEADER[position], row[position]) for position in positions]
        for row in wording.thread_rows(answers)
    ]
    shown = table(header, rows, [name in NUMBERS for name in header], "Threads") if rows else None
    none = tag("p", "No thread is in ML code.") if not rows else None
    notes = [tag("p", note) for note in wording.threads_notes(work, answers)]
    step = wording.recording_step(work, analysis.trace.info)
    record = None if step is None else join([tag("p", step.text), tag("pre", step.command)])
    return join([shown, none, *notes, record, _processes(work)])


def _cell(name: str, text: str) -> object:
    return badge(text) if name == "engine" else text


def _processes(work: ThreadWork) -> Html | None:
    if len(work.processes) < 2:
        return None
    rows = wording.process_rows(work.processes[:_MOST_PROCESSES])
    numbers = [name in NUMBERS for name in wording.PROCESSES_HEADER]
    left = len(work.processes) - len(rows)
    more = tag("p", f"… and {left:,} more without ML code.") if left else None
    return join([tag("h3", "Processes"), table(wording.PROCESSES_HEADER, rows, numbers, "Processes"), more])
