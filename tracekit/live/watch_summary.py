"""The state of a watch at a moment: a copy that a view may draw while the stream goes on."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from itertools import islice

from tracekit.live.call_groups import RATE_SECONDS, GroupKey, LiveCallGroup
from tracekit.live.live_call import LiveCall, StreamCounts, WatchFinding
from tracekit.live.stream_watch import StreamWatch
from tracekit.parsers.text.device_lines import DeviceForm

_MAX_RECENT_CALLS = 400
_MAX_SIGNPOSTS = 5
_SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """The calls of one process, name and model. ``per_second`` is over the stream's last whole seconds."""

    pid: int
    name: str
    model: str
    process: str
    calls: int
    with_requests: int
    failed: int
    per_second: float
    median_ns: int
    longest_ns: int
    latest: LiveCall


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """Totals, groups (the latest call's first) and the latest findings; times are the stream's."""

    counts: StreamCounts
    groups: tuple[GroupSummary, ...]
    findings: tuple[WatchFinding, ...]
    has_entries: bool
    """False where no line could be read so far."""
    device_forms: frozenset[DeviceForm]
    signposts: tuple[tuple[tuple[str, str, str], int], ...]
    other_lines: tuple[str, ...]
    first_ns: int
    now_ns: int
    utc_offset_s: int | None
    calls_per_second: float
    recent_calls: tuple[LiveCall, ...]
    """The latest calls, oldest first."""
    patterns: tuple[str, ...]
    process: str
    """The signposts and the process that were chosen; empty for any."""


def summarize_watch(watch: StreamWatch) -> WatchSummary:
    """Return what the watch shows now."""
    seconds = min(RATE_SECONDS, max((watch.now_ns - watch.first_ns) // _SECOND_NS, 1))
    groups = tuple(
        _summarize_group(key, group, watch.now_ns, seconds) for key, group in reversed(watch.groups.items())
    )
    return WatchSummary(
        replace(watch.counts),
        groups,
        tuple(watch.recent_findings),
        watch.has_entries,
        frozenset(watch.device_forms),
        tuple(watch.signposts.most_common(_MAX_SIGNPOSTS)),
        tuple(watch.other_lines),
        watch.first_ns,
        watch.now_ns,
        watch.utc_offset_s,
        sum(group.per_second for group in groups),
        tuple(islice(reversed(watch.recent_calls), _MAX_RECENT_CALLS))[::-1],
        watch.patterns,
        watch.process,
    )


def _summarize_group(key: GroupKey, group: LiveCallGroup, now_ns: int, seconds: int) -> GroupSummary:
    pid, name, model = key
    assert group.latest is not None  # a group begins with a call
    lengths = list(group.lengths_ns)
    return GroupSummary(
        pid,
        name,
        model,
        group.process,
        group.calls,
        group.with_requests,
        group.failed,
        group.count_recent(now_ns) / seconds,
        int(statistics.median(lengths)),
        max(lengths),
        group.latest,
    )
