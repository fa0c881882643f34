"""``find``: every detector over one analysis, ranked by cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypedDict

from tracekit.analysis.findings import (
    beside,
    cold_start,
    contention,
    generation,
    latency,
    placement,
    recording,
    waiting,
)
from tracekit.analysis.findings import recording_limits as limits
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.copies import COPIES_AROUND_ENGINE, find_copies_around_engine
from tracekit.analysis.findings.cores import ON_EFFICIENCY_CORES, find_efficiency_cores
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.kind import Kind
from tracekit.analysis.findings.operators import (
    OPERATORS_LEFT,
    PLAN_NOT_FOLLOWED,
    find_operators_left,
    find_plan_not_followed,
)
from tracekit.analysis.findings.partial import PARTLY_ON_ENGINE, find_partly_on_engine
from tracekit.analysis.findings.placement import FELL_BACK
from tracekit.analysis.findings.refusals import (
    OPERATORS_REFUSED,
    PROGRAM_NOT_LOADED,
    REQUESTS_FAILED,
    find_failures_and_refusals,
)
from tracekit.analysis.findings.requested import NOT_ON_REQUESTED_ENGINE, find_not_on_requested_engine
from tracekit.analysis.selection import Selection
from tracekit.model.vocabulary import Basis

Detector = Callable[[Calls], Iterable[Finding[Any]]]
DETECTORS: Mapping[Detector, tuple[Kind[Any], ...]] = {
    placement.find_placement_changes: placement.PLACEMENT_KINDS,
    find_not_on_requested_engine: (NOT_ON_REQUESTED_ENGINE,),
    find_partly_on_engine: (PARTLY_ON_ENGINE,),
    find_operators_left: (OPERATORS_LEFT,),
    find_plan_not_followed: (PLAN_NOT_FOLLOWED,),
    find_copies_around_engine: (COPIES_AROUND_ENGINE,),
    generation.find_decode_leaving_engine: (generation.DECODE_LEFT_ENGINE,),
    generation.find_slow_sampling: (generation.SLOW_SAMPLING,),
    cold_start.find_cold_starts: (
        cold_start.COLD_FIRST_CALL,
        cold_start.COMPILED_IN_RUN,
        cold_start.LOADED_AGAIN,
    ),
    find_failures_and_refusals: (REQUESTS_FAILED, OPERATORS_REFUSED, PROGRAM_NOT_LOADED),
    latency.find_latency: (latency.LATENCY_OUTLIERS, latency.LATENCY_DRIFT, latency.TWO_POPULATIONS),
    recording.find_missing_answers: (
        recording.NO_SYMBOLS,
        recording.NO_MODEL_SEEN,
        recording.NO_CALLS_SEEN,
        recording.NO_ENGINE_VISIBLE,
    ),
    limits.find_recording_limits: (
        limits.ROWS_LOST,
        limits.TOO_FEW_CALLS,
        limits.SAMPLING_TOO_COARSE,
        limits.INSTRUMENTS_MISSING,
    ),
    waiting.find_gaps_in_calls: (waiting.GAPS_IN_CALLS,),
    waiting.find_main_thread_blocked: (waiting.MAIN_THREAD_BLOCKED,),
    contention.find_ane_contention: (contention.ENGINE_CONTENTION,),
    contention.find_gpu_sharing: (contention.GPU_SHARED_WITH_RENDERING,),
    contention.find_models_in_turn: (contention.MODELS_SERIALIZED,),
    find_efficiency_cores: (ON_EFFICIENCY_CORES,),
    beside.find_work_beside_calls: (
        beside.WORK_BESIDE_CALLS,
        beside.CONVERSIONS,
        beside.ALLOCATIONS,
        beside.LOAD_PER_CALL,
    ),
    beside.find_loads_per_call: (beside.LOAD_PER_CALL,),
}
"""Each takes the calls of one analysis and yields findings of its kinds; none depends on another."""
KINDS: Mapping[str, Kind[Any]] = {
    kind: kind for kind in sorted(kind for kinds in DETECTORS.values() for kind in kinds)
}
"""The kinds of all detectors by name."""


class MoreNumbers(TypedDict):
    """The number of findings of each kind that are not listed."""

    kinds: dict[str, int]


MORE_FINDINGS = Kind[MoreNumbers]("more-findings", about="findings")

IMPLIED: Mapping[str, str] = MappingProxyType({generation.DECODE_LEFT_ENGINE: FELL_BACK})
"""The kind whose event another kind explains: of the same calls, the explanation alone is kept."""
MOST_PER_KIND = 50
_SEVERITIES = ("error", "warning", "info")


def find(calls: Calls) -> tuple[Finding[Any], ...]:
    """Return the findings of an analysis: errors, as results may be wrong; then warnings; then notes.

    Of each of these, what lost most time comes first, and what has no known cost last. At most
    ``MOST_PER_KIND`` of a kind are kept, and the finding ``more-findings`` counts the others.
    """
    findings = [finding for detector in DETECTORS for finding in detector(calls)]
    ranked = sorted(_drop_implied(findings), key=_rank)
    seen: Counter[str] = Counter()
    ranked_few: list[Finding[Any]] = []
    for finding in ranked:
        seen[finding.kind] += 1
        if seen[finding.kind] <= MOST_PER_KIND:
            ranked_few.append(_add_selection(finding, calls.analysis.selection))
    left_out = {kind: count - MOST_PER_KIND for kind, count in sorted(seen.items()) if count > MOST_PER_KIND}
    if left_out:
        ranked_few.append(
            Finding(
                kind=MORE_FINDINGS,
                severity="info",
                confidence="certain",
                basis=Basis.MEASURED,
                numbers=MoreNumbers(kinds=left_out),
            )
        )
    return tuple(ranked_few)


def _drop_implied(findings: Sequence[Finding[Any]]) -> Iterator[Finding[Any]]:
    """Yield the findings without those that another one explains for all of their calls."""
    explained = [finding for finding in findings if finding.kind in IMPLIED]
    for finding in findings:
        if not any(_explains(other, finding) for other in explained):
            yield finding


def _explains(finding: Finding[Any], event: Finding[Any]) -> bool:
    """Return whether a finding is about the same event: its engine, its model and all of its calls."""
    return (
        IMPLIED[finding.kind] == event.kind
        and (finding.model, finding.numbers["engine"]) == (event.model, event.numbers["engine"])
        and finding.windows.has_all(event.windows)
    )


def _add_selection(finding: Finding[Any], selection: Selection) -> Finding[Any]:
    """Return the finding with actions that analyze the same part of the recording."""
    if selection == Selection():
        return finding
    actions = (
        Action(action.kind, {**action.arguments, "selection": selection}) for action in finding.actions
    )
    return replace(finding, actions=tuple(actions))


def _rank(finding: Finding[Any]) -> tuple[int, bool, int, str, str, int, int]:
    return (
        _SEVERITIES.index(finding.severity),
        finding.lost_ns is None,
        -(finding.lost_ns or 0),
        finding.kind,
        finding.model,
        finding.pid,
        finding.start_ns or 0,
    )
