"""The log's requests to the Neural Engine as English."""

from __future__ import annotations

from tracekit.analysis.engines.requests import LoggedRequests, ProcessRequests
from tracekit.analysis.findings.answer import LogAnswer
from tracekit.model.vocabulary import SUBSYSTEMS
from tracekit.report.wording.diagnostics import format_refusal, process_text
from tracekit.report.wording.verdicts import format_statuses
from tracekit.text import format_rounded, plural

_MOST_PROCESSES = 3


def log_lines(requests: LoggedRequests) -> list[str]:
    """Return a line per process that sent requests, per refused operator, and per program not loaded."""
    lines = [_process_line(process) for process in requests.processes]
    lines += [f"operator not on the Neural Engine: {format_refusal(refusal)}" for refusal in requests.refused]
    lines += [f"program not loaded: {format_refusal(refusal)}" for refusal in requests.not_loaded]
    if requests.loaded:
        lines.append(f"the kernel's driver made {plural(requests.loaded, 'program')}: loads, no inferences")
    return lines


def log_sentence(log: LogAnswer) -> str:
    """Return the sentences about a log that was read without a recording."""
    requests = log.requests
    parts = [_describe_requests(process) for process in requests.processes[:_MOST_PROCESSES]]
    remaining = len(requests.processes) - len(parts)
    parts += [f"requests of {remaining:,} more"] if remaining else []
    if requests.refused:
        parts.append(f"{plural(sum(entry.count for entry in requests.refused), 'refusal')} of an operator")
    if requests.not_loaded:
        count = plural(sum(entry.count for entry in requests.not_loaded), "failure")
        parts.append(f"{count} to compile or load a program")
    if requests.loaded:
        parts.append(f"{plural(requests.loaded, 'program')} made by the kernel's driver (a load)")
    parts += _list_powered_periods(log)
    if parts:
        facts = "; ".join(parts)
        return (
            f"The log about the Neural Engine shows {facts}. It has no engine time, and by default not every"
            " request."
        )
    if log.lines:
        lines = f"{plural(log.lines, 'line')} about the Neural Engine"
        return f"The log has {lines}, none of which shows a request, a load, a failure or its power."
    if log.unread:
        mention = "1 line that mentions" if log.unread == 1 else f"{log.unread:,} lines that mention"
        return (
            f"The log has {mention} ANE, of no subsystem and form that are read: nothing is known from them."
            " Read them yourself."
        )
    names = ", ".join(sorted(SUBSYSTEMS))
    return (
        f"Nothing in the log is about the Neural Engine: looked for were lines of {names}, of the kernel's"
        " H11ANEIn, and errors of ANE and E5RT."
    )


def _list_powered_periods(log: LogAnswer) -> list[str]:
    """Return the engine's power by the kernel's lines; a period that the log cuts counts in part."""
    parts = []
    if log.is_off_first:
        parts.append("power off at the first line about it, after a period that began before")
    if log.powered:
        prefix = "at least " if log.is_on_at_end else ""
        total = [f"{prefix}{format_rounded(log.powered_ns)} in total"] if log.powered_ns else []
        still = ["on at the end of the log"] if log.is_on_at_end else []
        periods = [f"power on in {plural(log.powered, 'period')}"]
        parts.append(", ".join([*periods, *still, *total, "of no known process"]))
    return parts


def _describe_requests(process: ProcessRequests) -> str:
    failed = f", of which {process.failed:,} failed" if process.failed else ""
    return f"{plural(process.requests, 'request')} of {process_text(process)}{failed}"


def _process_line(process: ProcessRequests) -> str:
    served_count = process.requests - process.failed
    parts = [f"{served_count:,} served"] if served_count else []
    if process.failed:
        parts.append(f"{process.failed:,} failed ({format_statuses([s for s, _ in process.statuses])})")
    other = "" if process.is_target else ", another process"
    sent = plural(process.requests, "request")
    return f"{process_text(process)}{other}: {sent} to the Neural Engine, {', '.join(parts)}"
