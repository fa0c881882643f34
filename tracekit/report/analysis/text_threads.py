"""What threads did as text: the table that a trace without times has instead of its calls."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.analysis.threads import ThreadAnswer
from tracekit.report import wording
from tracekit.report.analysis.text_layout import Column, TextLayout, table_text
from tracekit.text import clip, plural

_FEW_THREADS, _MANY_THREADS = 12, 60
_CLIPPED = "decided by"
_LONGEST_THREAD = 32
_LONGEST_PROCESS = 40
"""Characters of a name in a table that fits 80 columns."""
_RANKS = {"share": 2, "rule": 1}


def threads_text(analysis: Analysis, layout: TextLayout) -> str:
    """List the threads in ML code, idle service threads and the one that crashed; then what that shows."""
    work = analysis.thread_work
    if work is None or not work.count:
        return ""
    answers = work.answers(_MANY_THREADS if layout.is_verbose else _FEW_THREADS)
    if len(work.processes) > 1 and not layout.is_verbose:
        answers = _by_process(answers)
    rows = wording.thread_rows(answers)
    left_out = wording.left_out_columns(work)
    # The engine and the phase name it in fewer characters.
    left_out |= {"doing"} if not layout.is_verbose else set()
    if not layout.is_verbose:
        rows = _narrow(rows, "process" not in left_out)
        left_out |= {"process"}
    columns = [
        Column(
            "hits" if name == "samples" and work.noun == "hit" else name,
            cells,
            name in ("samples", "share"),
            _RANKS.get(name, 0),
            name == _CLIPPED,
        )
        for name, cells in zip(wording.THREADS_HEADER, map(list, zip(*rows, strict=True)), strict=False)
        if name not in left_out and any(cells)
    ]
    when = "at one moment" if work.is_single_pause else f"by their {work.noun}s"
    title = f"Threads ({when})" if rows else "Threads: none in ML code"
    parts = [layout.paragraph(title)]
    if rows:
        parts.append(table_text(columns, "  ", None if layout.is_verbose else layout.width))
    parts += [layout.paragraph(note, "  ") for note in wording.threads_notes(work, answers)]
    step = wording.recording_step(work, analysis.trace.info)
    if step is not None:
        parts += [layout.paragraph(f"→ {step.text}", "  "), f"      {step.command}"]
    return "\n\n".join(part for part in ("\n".join(parts), _processes(analysis, layout)) if part)


def _by_process(answers: Sequence[ThreadAnswer]) -> tuple[ThreadAnswer, ...]:
    """Return threads with those of one process in a row, in the order of the first of each."""
    order = {key: rank for rank, key in enumerate(dict.fromkeys((a.process, a.pid) for a in answers))}
    return tuple(sorted(answers, key=lambda answer: order[answer.process, answer.pid]))


def _narrow(rows: Sequence[Sequence[str]], has_processes: bool) -> list[list[str]]:
    """Return rows with short names of threads, below a row of their own for each process."""
    narrow: list[list[str]] = []
    process = ""
    for row in rows:
        if has_processes and row[0] and row[0] != process:
            process = row[0]
            narrow.append(["", clip(process, _LONGEST_PROCESS), *[""] * (len(row) - 2)])
        indent = "  " if has_processes and row[1] else ""
        narrow.append([row[0], indent + _short_thread(row[1]), *row[2:]])
    return narrow


def _short_thread(name: str) -> str:
    """Return a name with its end, which marks the thread that crashed."""
    end = next((end for end in (" (crashed)", " (triggered)") if name.endswith(end)), "")
    return clip(name.removesuffix(end), _LONGEST_THREAD - len(end)) + end


def _processes(analysis: Analysis, layout: TextLayout) -> str:
    """List the processes of a text of several; the verbose text has those without ML code as well."""
    work = analysis.thread_work
    if work is None or len(work.processes) < 2:
        return ""
    shown = [
        entry for entry in work.processes if layout.is_verbose or entry.ml_samples or entry.idle_threads
    ][: _MANY_THREADS if layout.is_verbose else _FEW_THREADS]
    left = len(work.processes) - len(shown)
    title = f"Processes: {plural(left, 'other')} without ML code not listed" if left else "Processes"
    if not shown:
        return ""
    columns = [
        Column(name, cells, number > 0, is_clipped=number == 0)
        for number, (name, cells) in enumerate(
            zip(wording.PROCESSES_HEADER, zip(*wording.process_rows(shown), strict=True), strict=True)
        )
    ]
    return f"{title}\n{table_text(columns, '  ', None if layout.is_verbose else layout.width)}"
