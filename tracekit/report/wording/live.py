"""Calls and findings of a watched stream as English."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

from tracekit.live.live_call import LiveCall, StreamCounts, WatchFinding, WatchKind
from tracekit.live.watch_summary import GroupSummary, WatchSummary
from tracekit.parsers.text.device_lines import DeviceForm
from tracekit.report.wording.verdicts import format_statuses
from tracekit.text import format_rounded, plural

NO_ENGINE = "?"
"""In the place of an engine that the stream does not show."""
KINDS = {
    WatchKind.FELL_BACK: "calls with requests to the Neural Engine are followed by one without",
    WatchKind.REQUESTS_FAILED: "a request to the Neural Engine failed",
    WatchKind.OPERATORS_REFUSED: "a planner kept an operator off the Neural Engine",
    WatchKind.PROGRAM_NOT_LOADED: "a program for the Neural Engine was not compiled or loaded",
}
_COUNTS = (
    ("damaged", "line", "cannot be read"),
    ("too_long", "line", "too long to be read"),
    ("lost", "place", "where the log reports that it lost entries"),
    ("repeated", "entry", "repeated, counted once"),
    ("late", "entry", "more than a millisecond late"),
    ("without_time", "entry", "without a time, left out"),
    ("clock_jumps", "jump", "of the clock; no call spans one"),
    ("without_end", "begin", "without an end within ten minutes"),
    ("without_begin", "end", "without a begin"),
    ("nameless", "begin or end", "of a signpost without a name"),
    ("overlapping", "interval", "that overlap another of their name, which no identifier tells apart"),
    ("requests_dropped", "request or call", "given up, as a call stays open for too long"),
    ("other_lines", "line", "of other text"),
)
_PLURALS = {"entry": "entries", "request or call": "requests or calls", "begin or end": "begins or ends"}


def format_clock(time_ns: int, utc_offset_s: int | None) -> str:
    """Return the time of day to a millisecond, in the zone of the log."""
    zone = UTC if utc_offset_s is None else timezone(timedelta(seconds=utc_offset_s))
    moment = datetime.fromtimestamp(time_ns // 10**9, zone)
    return f"{moment:%H:%M:%S}.{time_ns % 10**9 // 10**6:03}"


def name_process(process: str, pid: int) -> str:
    """Return ``App (812)``."""
    return f"{process or 'process'} ({pid})" if pid >= 0 else process or "unknown process"


def name_group(name: str, model: str) -> str:
    """Return the name of calls: their signpost's, and the model's that its message names."""
    return f"{name} {model}" if model else name


def number_group(group: GroupSummary, groups: Sequence[GroupSummary]) -> str:
    """Return `` (812)``, the number of its process, where groups of others have its name; else ""."""
    names = [(other.name, other.model) for other in groups]
    return f" ({group.pid})" if names.count((group.name, group.model)) > 1 else ""


def name_engine(call: LiveCall) -> str:
    """Return the engine of a call, or the sign for none that is visible."""
    return call.engine.value if call.served else NO_ENGINE


def describe_evidence(call: LiveCall) -> str:
    """Return what the log has of a call's requests to the Neural Engine."""
    parts = []
    if call.served:
        parts.append(f"{plural(call.served, 'request')} in the log")
    if call.failed:
        parts.append(f"{plural(call.failed, 'failed request')} ({format_statuses(call.statuses)})")
    if call.contested:
        parts.append(f"{plural(call.contested, 'request')} of this call or of one that is still open")
    text = ", ".join(parts) or "no request in the log"
    budget = describe_budget(call)
    return f"{text}; {budget}" if budget else text


def describe_budget(call: LiveCall) -> str:
    """Return how long a call waited for its requests and made programs ready, where the stream shows it."""
    parts = []
    if call.loading_ns:
        parts.append(f"{format_rounded(call.loading_ns)} load and compile")
    if call.request_ns:
        parts.append(f"{format_rounded(call.request_ns)} waiting for the Neural Engine")
    if not parts:
        return ""
    hidden_ns = call.length_ns - call.loading_ns - call.request_ns
    return ", ".join(parts) + (f", {format_rounded(hidden_ns)} not shown" if hidden_ns else "")


def describe_finding(finding: WatchFinding) -> str:
    """Return what is seen, in a sentence that names the call and its process."""
    process = name_process(finding.process, finding.pid)
    call = finding.call
    if call is None:
        subject = f"{finding.operator}: {finding.reason}" if finding.operator else finding.reason
        return f"{finding.kind}: {process}: {subject or KINDS[finding.kind]}."
    name = f"{name_group(call.name, call.model)} {call.number:,} of {process}"
    if finding.kind is WatchKind.REQUESTS_FAILED:
        return (
            f"{finding.kind}: {name} has {plural(call.failed, 'failed request')} to the Neural Engine"
            f" ({format_statuses(call.statuses)})."
        )
    lacks = "no request that was served" if call.failed else "no request"
    return (
        f"{finding.kind}: {name} has {lacks} to the Neural Engine in the log; the {finding.calls_before:,}"
        " calls before it had."
    )


def describe_group(group: GroupSummary) -> str:
    """Return the engine of a group's calls, as far as the log shows it."""
    parts = []
    if group.with_requests:
        parts.append(f"Neural Engine in {group.with_requests:,} (requests in the log)")
    undecided = group.calls - group.with_requests
    if undecided:
        parts.append(f"not visible in {undecided:,}")
    return ", ".join(parts)


def list_problems(counts: StreamCounts) -> list[str]:
    """Return what of a stream could not be used, with its number; nothing for a whole stream."""
    texts = []
    for name, noun, words in _COUNTS:
        count = getattr(counts, name)
        if count:
            several = _PLURALS.get(noun, f"{noun}s")
            texts.append(f"{count:,} {noun if count == 1 else several} {words}")
    return texts


def describe_choice(summary: WatchSummary) -> str:
    """Return why a stream has no calls, and which signposts may be; "" where it has some."""
    if summary.counts.calls:
        return ""
    if not summary.has_entries:
        return "No line of the log has come." if not summary.counts.lines else ""
    others = summary.counts.others_signposts
    if not summary.signposts and summary.device_forms == {DeviceForm.SYSLOG}:
        return (
            "No call: pymobiledevice3 syslog live prints no signposts, which mark calls. Watch"
            " pymobiledevice3 developer dvt oslog --format json."
        )
    if not summary.signposts and others and summary.device_forms == {DeviceForm.OSLOG}:
        return (
            f"No call of the process {summary.process}: the stream has {plural(others, 'signpost')} of"
            " processes with other numbers, and no names of processes."
        )
    if not summary.signposts and others:
        return (
            f"No call: the process {summary.process} has no intervals of signposts in this stream; others"
            f" have {plural(others, 'signpost')}."
        )
    if not summary.signposts:
        return (
            "No call: the stream has no intervals of signposts. Stream them with log stream --style ndjson"
            " --signpost, and mark each prediction in the app with a signpost."
        )
    names = ", ".join(f"{'/'.join(name)} ({count:,})" for name, count in summary.signposts)
    if summary.patterns:
        return (
            f"No call of {', '.join(summary.patterns)} ended. The stream has {names}. Name calls with"
            " --window-signpost."
        )
    return (
        f"No call: which signposts hold one prediction each is the app's choice. The stream has {names}."
        " Name it with --window-signpost."
    )
