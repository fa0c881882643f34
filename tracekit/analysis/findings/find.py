"""``find``: every detector over one analysis, ranked by cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from tracekit.analysis.findings.beside import loads_per_call, work_beside_calls
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.cold_start import cold_starts
from tracekit.analysis.findings.contention import ane_contention, gpu_shared, models_in_turn
from tracekit.analysis.findings.copies import copies_around_engine
from tracekit.analysis.findings.cores import efficiency_cores
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.latency import latency
from tracekit.analysis.findings.partial import partly_on_engine
from tracekit.analysis.findings.placement import placement_changes
from tracekit.analysis.findings.recording import missing_answers
from tracekit.analysis.findings.recording_limits import recording_limits
from tracekit.analysis.findings.refusals import failures_and_refusals
from tracekit.analysis.findings.requested import not_on_requested_engine
from tracekit.analysis.findings.waiting import gaps_in_calls, main_thread_blocked
from tracekit.analysis.selection import Selection
from tracekit.model.vocabulary import Basis

DETECTORS: tuple[Callable[[Calls], Iterable[Finding]], ...] = (
    placement_changes,
    not_on_requested_engine,
    partly_on_engine,
    copies_around_engine,
    cold_starts,
    failures_and_refusals,
    latency,
    missing_answers,
    recording_limits,
    gaps_in_calls,
    main_thread_blocked,
    ane_contention,
    gpu_shared,
    models_in_turn,
    efficiency_cores,
    work_beside_calls,
    loads_per_call,
)
"""Each takes the calls of one analysis and yields what it finds; none depends on another."""
MOST_PER_KIND = 50
_SEVERITIES = ("error", "warning", "info")


def find(calls: Calls) -> tuple[Finding, ...]:
    """Return the findings of an analysis, those that cost most first.

    Errors come first: results may be wrong. Then what lost most time; then what has no known cost, by
    severity. At most ``MOST_PER_KIND`` of a kind are kept, and the finding ``more-findings`` counts the
    others.
    """
    ranked = sorted((finding for detector in DETECTORS for finding in detector(calls)), key=_rank)
    seen: Counter[str] = Counter()
    ranked_few: list[Finding] = []
    for finding in ranked:
        seen[finding.kind] += 1
        if seen[finding.kind] <= MOST_PER_KIND:
            ranked_few.append(_of_selection(finding, calls.analysis.selection))
    left_out = {kind: count - MOST_PER_KIND for kind, count in sorted(seen.items()) if count > MOST_PER_KIND}
    if left_out:
        ranked_few.append(
            Finding("more-findings", "info", "certain", Basis.MEASURED, numbers={"kinds": left_out})
        )
    return tuple(ranked_few)


def _of_selection(finding: Finding, selection: Selection) -> Finding:
    """Return the finding with actions that analyze the same part of the recording."""
    if selection == Selection():
        return finding
    actions = (
        replace(action, arguments={**action.arguments, "selection": selection}) for action in finding.actions
    )
    return replace(finding, actions=tuple(actions))


def _rank(finding: Finding) -> tuple[bool, bool, int, int, str, str, int, int]:
    return (
        finding.severity != "error",
        finding.lost_ns is None,
        -(finding.lost_ns or 0),
        _SEVERITIES.index(finding.severity),
        finding.kind,
        finding.model,
        finding.pid,
        finding.start_ns or 0,
    )
