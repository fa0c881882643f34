"""What threads did as text: the table that a trace without times has instead of its calls."""

from __future__ import annotations

from tracekit.analysis.result import Analysis
from tracekit.report import wording
from tracekit.report.analysis.text_layout import Column, TextLayout, table_text
from tracekit.text import align, plural

_FEW_THREADS, _MANY_THREADS = 12, 60
_CLIPPED = "decided by"
_RANKS = {"share": 2, "rule": 1}


def threads_text(analysis: Analysis, layout: TextLayout) -> str:
    """List the threads in ML code, idle service threads and the one that crashed; then what that shows."""
    work = analysis.thread_work
    if work is None or not work.count:
        return ""
    answers = work.answers(_MANY_THREADS if layout.is_verbose else _FEW_THREADS)
    rows = wording.thread_rows(answers)
    left_out = wording.left_out_columns(work)
    # The engine and the phase name it in fewer characters.
    left_out |= {"doing"} if not layout.is_verbose else set()
    columns = [
        Column(name, cells, name in ("samples", "share"), _RANKS.get(name, 0), name == _CLIPPED)
        for name, cells in zip(wording.THREADS_HEADER, map(list, zip(*rows, strict=True)), strict=False)
        if name not in left_out and any(cells)
    ]
    when = "at one moment" if work.is_single_pause else "by their samples"
    title = f"Threads ({when})" if rows else "Threads: none in ML code"
    parts = [layout.paragraph(title)]
    if rows:
        parts.append(table_text(columns, "  ", None if layout.is_verbose else layout.width))
    parts += [layout.paragraph(note, "  ") for note in wording.threads_notes(work, len(answers))]
    step = wording.recording_step(work, analysis.trace.info)
    if step is not None:
        parts += [layout.paragraph(f"→ {step.text}", "  "), f"      {step.command}"]
    return "\n\n".join(part for part in ("\n".join(parts), _processes(analysis, layout)) if part)


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
    table = align(wording.PROCESSES_HEADER, wording.process_rows(shown), [False, *[True] * 5], "  ")
    return f"{title}\n{table}"
