"""The log's requests to the Neural Engine as English."""

from __future__ import annotations

from tracekit.analysis.engines.requests import LoggedRequests, ProcessRequests
from tracekit.report.wording.diagnostics import process_text, refusal_text
from tracekit.report.wording.verdicts import statuses_text
from tracekit.text import plural


def log_lines(requests: LoggedRequests) -> list[str]:
    """Return a line per process that sent requests, per refused operator, and per program not loaded."""
    lines = [_process_line(process) for process in requests.processes]
    lines += [f"operator not on the Neural Engine: {refusal_text(refusal)}" for refusal in requests.refused]
    lines += [f"program not loaded: {refusal_text(refusal)}" for refusal in requests.not_loaded]
    return lines


def _process_line(process: ProcessRequests) -> str:
    served = process.requests - process.failed
    parts = [f"{served:,} served"] if served else []
    if process.failed:
        parts.append(f"{process.failed:,} failed ({statuses_text([s for s, _ in process.statuses])})")
    other = "" if process.is_target else ", another process"
    sent = plural(process.requests, "request")
    return f"{process_text(process)}{other}: {sent} to the Neural Engine, {', '.join(parts)}"
