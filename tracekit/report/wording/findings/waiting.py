"""Gaps inside calls, and a blocked main thread, as English."""

from __future__ import annotations

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.waiting import (
    GAPS_IN_CALLS,
    MAIN_THREAD_BLOCKED,
    BlockedNumbers,
    GapNumbers,
)
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import calls_of, format_calls
from tracekit.text import format_duration, plural


def _write_gaps(finding: Finding[GapNumbers]) -> Sentences:
    numbers = finding.numbers
    gap, length = format_duration(numbers["gap_ns"]), format_duration(numbers["length_ns"])
    return Sentences(
        f"{format_calls(finding.model)} idle for {gap} of {length} (median): no engine and no thread of the"
        " app runs.",
        "",
        "The recording does not show what the call waits for: a lock, another process, a late wake-up.",
    )


def _write_main_thread(finding: Finding[BlockedNumbers]) -> Sentences:
    numbers = finding.numbers
    blocked, calls = numbers["blocked"], numbers["calls"]
    longest = format_duration(numbers["longest_ns"])
    when = format_duration(numbers["longest_start_ns"])
    takes = "takes" if blocked == 1 else "take"
    share = f"{blocked:,} of {plural(calls, 'call')}"
    return Sentences(
        f"The main thread is blocked by {calls_of(finding.model)}: {share} {takes} longer than a frame of"
        " the screen (16.7 ms).",
        f"The longest takes {longest} (at {when}), the median is {format_duration(numbers['median_ns'])}."
        " The app neither draws nor reacts meanwhile.",
    )


SENTENCES = dict(
    (
        pair_sentences(GAPS_IN_CALLS, _write_gaps),
        pair_sentences(MAIN_THREAD_BLOCKED, _write_main_thread),
    )
)
