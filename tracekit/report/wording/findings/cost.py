"""What a finding costs, in one phrase for all kinds; or why no cost in time can be stated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.analysis.findings import beside, cold_start, contention, latency, placement, waiting
from tracekit.analysis.findings.copies import COPIES_AROUND_ENGINE
from tracekit.analysis.findings.cores import ON_EFFICIENCY_CORES
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.generation import DECODE_LEFT_ENGINE, SLOW_SAMPLING
from tracekit.analysis.findings.kind import Kind
from tracekit.analysis.findings.operators import OPERATORS_LEFT, PLAN_NOT_FOLLOWED
from tracekit.analysis.findings.partial import PARTLY_ON_ENGINE
from tracekit.analysis.findings.refusals import OPERATORS_REFUSED, PROGRAM_NOT_LOADED, REQUESTS_FAILED
from tracekit.analysis.findings.requested import NOT_ON_REQUESTED_ENGINE
from tracekit.model.trace import TraceInfo
from tracekit.model.vocabulary import Basis
from tracekit.report.wording.names import shorten_model_name
from tracekit.text import format_duration, format_percent, plural

_NO_LENGTHS = "the log has no lengths of calls"
_NOT_LONGER = "these calls are not clearly longer than the others"
_ONE_CALL = "one call alone shows no difference beyond chance"
_WITHOUT_COST: Mapping[Kind[Any], str] = {
    **dict.fromkeys(placement.PLACEMENT_KINDS, _NOT_LONGER),
    NOT_ON_REQUESTED_ENGINE: "nothing shows how long these calls take as requested",
    OPERATORS_REFUSED: _NO_LENGTHS,
    OPERATORS_LEFT: "nothing shows how long these calls take on the engine alone",
    PLAN_NOT_FOLLOWED: "nothing shows how long these calls take as anticipated",
    PARTLY_ON_ENGINE: "nothing shows how long these calls take on the engine alone",
    PROGRAM_NOT_LOADED: _NO_LENGTHS,
    REQUESTS_FAILED: "the log does not show how long a failed request takes",
    COPIES_AROUND_ENGINE: "an engine works whenever data is copied",
    DECODE_LEFT_ENGINE: "these tokens are not clearly longer than the others",
}
"""The reason why a warning of a kind has no cost."""
_NAMES: Mapping[Kind[Any], str] = {
    **dict.fromkeys(placement.PLACEMENT_KINDS, "calls off the engine"),
    beside.ALLOCATIONS: "allocations between calls",
    beside.CONVERSIONS: "conversions between calls",
    beside.LOAD_PER_CALL: "loads before calls",
    beside.WORK_BESIDE_CALLS: "work between calls",
    cold_start.COLD_FIRST_CALL: "the cold first call",
    cold_start.COMPILED_IN_RUN: "compiling the model",
    cold_start.LOADED_AGAIN: "loading the model again",
    contention.ENGINE_CONTENTION: "other work of the engine",
    contention.GPU_SHARED_WITH_RENDERING: "other work of the GPU",
    contention.MODELS_SERIALIZED: "taking turns on the engine",
    COPIES_AROUND_ENGINE: "copies in calls",
    DECODE_LEFT_ENGINE: "tokens off the engine",
    SLOW_SAMPLING: "sampling",
    latency.LATENCY_DRIFT: "calls that grow longer",
    latency.LATENCY_OUTLIERS: "single long calls",
    ON_EFFICIENCY_CORES: "calls on efficiency cores",
    OPERATORS_LEFT: "operations off the engine",
    PARTLY_ON_ENGINE: "parts off the engine",
    waiting.GAPS_IN_CALLS: "idle time",
    waiting.MAIN_THREAD_BLOCKED: "the blocked main thread",
}
"""What costs the time of each kind with a cost."""


def write_cost(finding: Finding[Any], info: TraceInfo) -> str:
    """Return ``Costs 324 ms over 9 calls: 27 % of the recording's length.``; "" for a note without a cost.

    Times of calls that overlap are summed, and may be longer than the recording.
    """
    if not finding.lost_ns:
        reason = _WITHOUT_COST.get(finding.kind)
        if reason == _NOT_LONGER and finding.windows.count == 1:
            reason = _ONE_CALL
        return f"No cost in time is known: {reason}." if reason and finding.severity != "info" else ""
    calls = f" over {plural(finding.windows.count, 'call')}" if finding.windows.count else ""
    share = finding.lost_ns / info.duration_ns if info.duration_ns else 0.0
    part = f": {format_percent(share)} of the recording's length" if share >= _LEAST_SHARE else ""
    return f"Costs {_format_cost(finding)}{calls}{part}."


_LEAST_SHARE = 0.005
"""A smaller share would read "0 %"."""


def _format_cost(finding: Finding[Any]) -> str:
    """Return ``324 ms (sampled)``; a measured time is a plain one."""
    basis = "" if finding.basis is Basis.MEASURED else f" ({finding.basis})"
    return f"{format_duration(finding.lost_ns or 0)}{basis}"


def name_cost(finding: Finding[Any]) -> str:
    """Return ``324 ms (sampled): work between calls``, of a finding with a cost."""
    return f"{_format_cost(finding)}: {_NAMES[finding.kind]}"


def describe_cost(finding: Finding[Any], has_model: bool) -> str:
    """Return ``work between calls (Segmenter), 324 ms (sampled)``."""
    model = f" ({shorten_model_name(finding.model)})" if has_model and finding.model else ""
    return f"{_NAMES[finding.kind]}{model}, {_format_cost(finding)}"
