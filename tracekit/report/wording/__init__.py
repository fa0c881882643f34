"""The sentences about an analysis, made from its data: verdicts, headline, diagnostics, availability."""

from tracekit.report.wording.availability import build_evidence_document, remark, shows
from tracekit.report.wording.budget import (
    build_part_document,
    draw_bar,
    explain_bars,
    explain_differences,
    measure_scale,
    sign_differences,
)
from tracekit.report.wording.calls import WHOLE_RUN, CallNames, call_names, noun_of
from tracekit.report.wording.diagnostics import issues
from tracekit.report.wording.log import log_lines
from tracekit.report.wording.owners import explain_owner
from tracekit.report.wording.power import describe_rail_state, missing_energy, power_lines
from tracekit.report.wording.submissions import (
    SUBMISSION_HEADER,
    SUBMISSIONS_ABOUT,
    submission_notes,
    submission_rows,
)
from tracekit.report.wording.summary import headline, window_sources
from tracekit.report.wording.symbols import SYMBOLS_HEADER, symbols_notes, symbols_rows
from tracekit.report.wording.threads import (
    PROCESSES_HEADER,
    THREADS_HEADER,
    doing,
    left_out_columns,
    list_threads_limits,
    process_rows,
    recording_step,
    thread_rows,
    threads_notes,
)
from tracekit.report.wording.verdicts import describe_verdicts, verdict_reasons, verdict_whys

__all__ = [
    "PROCESSES_HEADER",
    "SUBMISSIONS_ABOUT",
    "SUBMISSION_HEADER",
    "SYMBOLS_HEADER",
    "THREADS_HEADER",
    "WHOLE_RUN",
    "CallNames",
    "build_evidence_document",
    "build_part_document",
    "call_names",
    "describe_rail_state",
    "describe_verdicts",
    "doing",
    "draw_bar",
    "explain_bars",
    "explain_differences",
    "explain_owner",
    "headline",
    "issues",
    "left_out_columns",
    "list_threads_limits",
    "log_lines",
    "measure_scale",
    "missing_energy",
    "noun_of",
    "power_lines",
    "process_rows",
    "recording_step",
    "remark",
    "shows",
    "sign_differences",
    "submission_notes",
    "submission_rows",
    "symbols_notes",
    "symbols_rows",
    "thread_rows",
    "threads_notes",
    "verdict_reasons",
    "verdict_whys",
    "window_sources",
]
