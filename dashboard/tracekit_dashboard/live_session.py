"""The stream that a dashboard watches: a thread reads it, visitors get what is new, and it can be kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tracekit.errors import TracekitError
from tracekit.live.live_call import LiveCall
from tracekit.live.stream_inputs import StreamInput
from tracekit.live.stream_watch import StreamWatch
from tracekit.live.watch_summary import GroupSummary, WatchSummary, summarize_watch
from tracekit.report.wording.live import (
    describe_choice,
    describe_evidence,
    describe_finding,
    describe_group,
    format_clock,
    list_problems,
    name_group,
    name_process,
    number_group,
)
from tracekit.text import format_rounded, plural

_KEEP_BYTES = 24 << 20
_MAX_FINDINGS = 12
_MAX_CALLS = 2_000
"""Calls in one message to a page: it draws the latest."""


class LiveSession:
    """Follows a stream in a thread of its own; ``build_state`` and ``keep`` may be called from any."""

    def __init__(self, stream_input: StreamInput, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        self._input = stream_input
        self._watch = StreamWatch(patterns, keep_bytes=_KEEP_BYTES)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._problem = ""
        self._reader = threading.Thread(target=self._follow, name="tracekit-live", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._reader.start()

    def close(self) -> None:
        """Stop reading."""
        self._ended.set()
        self._input.close()

    def wait(self, seconds: float) -> bool:
        """Wait, at most until the stream has ended; return whether it has."""
        return self._ended.wait(seconds)

    def build_state(self, since: int) -> dict[str, Any]:
        """Return what the page shows, with the calls after the first ``since``."""
        with self._lock:
            summary, watch = summarize_watch(self._watch), self._watch
            count = min(max(watch.counts.calls - since, 0), _MAX_CALLS)
            calls = list(islice(reversed(watch.recent_calls), count))[::-1]
        offset_s = summary.utc_offset_s
        rate = f"{summary.calls_per_second:.1f} calls/s"
        requests = f"{plural(summary.counts.requests, 'request')} to the Neural Engine"
        return {
            "calls_seen": summary.counts.calls,
            "headline": f"{plural(summary.counts.calls, 'call')}, {rate}, {requests}",
            "clock": format_clock(summary.now_ns, offset_s) if summary.now_ns else "",
            "now_ms": summary.now_ns // 10**6,
            "state": self._problem or ("The stream has ended." if self._ended.is_set() else ""),
            "choice": describe_choice(summary),
            "problems": list_problems(summary.counts),
            "groups": [_describe_row(group, number_group(group, summary.groups)) for group in summary.groups],
            "findings": _list_findings(summary),
            "calls": [_describe_call(call) for call in calls],
        }

    def keep(self, path: Path) -> None:
        """Write the stream's last minutes as a file that ``tracekit analyze`` reads."""
        with self._lock:
            pieces = list(self._watch.recent_lines.iter_bytes())
        with path.open("xb") as file:
            file.writelines(pieces)

    def _follow(self) -> None:
        try:
            for block in self._input:
                with self._lock:
                    for _ in self._watch.feed(block) if block else self._watch.settle():
                        pass
                if self._ended.is_set():
                    return
        except TracekitError as error:
            self._problem = str(error)
        finally:
            self._finish()

    def _finish(self) -> None:
        with self._lock:
            for _ in self._watch.finish():
                pass
        try:
            self._watch.require_entries("The stream")
        except TracekitError as error:
            self._problem = self._problem or str(error)
        self._ended.set()


def _list_findings(summary: WatchSummary) -> list[str]:
    """Return the latest findings, newest first."""
    texts = [
        f"{format_clock(finding.time_ns, summary.utc_offset_s)} {describe_finding(finding)}"
        for finding in reversed(summary.findings[-_MAX_FINDINGS:])
    ]
    return [*texts, "Earlier ones are not listed."] if len(summary.findings) > _MAX_FINDINGS else texts


def _describe_row(group: GroupSummary, number: str) -> dict[str, Any]:
    return {
        "key": f"{group.pid}/{group.name}/{group.model}",
        "lane": name_group(group.name, group.model) + number,
        "name": name_group(group.name, group.model),
        "process": name_process(group.process, group.pid),
        "rate": f"{group.per_second:.1f}",
        "calls": f"{group.calls:,}",
        "median": format_rounded(group.median_ns),
        "longest": format_rounded(group.longest_ns),
        "engine": describe_group(group),
    }


def _describe_call(call: LiveCall) -> dict[str, Any]:
    return {
        "key": f"{call.pid}/{call.name}/{call.model}",
        "number": call.number,
        "start_ms": call.start_ns / 1e6,
        "end_ms": call.end_ns / 1e6,
        "engine": "failed" if call.failed else "ane" if call.served else "unknown",
        "evidence": f"{format_rounded(call.length_ns)}, {describe_evidence(call)}",
    }
