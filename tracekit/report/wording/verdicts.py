"""The verdict of a window as English."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.engines.transitions import Transition
from tracekit.analysis.verdicts import EngineWork, Verdict
from tracekit.model.schemas import MPS_INTERVALS
from tracekit.model.vocabulary import Basis, Engine
from tracekit.text import format_ms_or_us, format_weight, plural

_MOST_NAMED = 4


def verdict_sentence(verdict: Verdict) -> str:
    """Return ``ran on the ANE (measured, 59 % of 24.9 ms) with a CPU fallback in the middle (…)``."""
    lead = verdict.lead
    if lead is None:
        return _why_unknown(verdict)
    text = f"{_action(lead)} the {lead.engine} ({_amount(lead, verdict)})"
    beside = [_beside(work, verdict) for work in verdict.engines if work is not lead]
    return f"{text} with {' and '.join(beside)}" if beside else text


def _action(work: EngineWork) -> str:
    if work.engine is Engine.CPU:
        return "ran on"
    # A sample of dispatch or waiting shows which thread called the engine, not that the engine worked; a
    # request that the log shows as served does.
    if not work.busy_ns and not work.logged:
        return "submitted work to"
    # MPSGraph can hand a program to the Neural Engine: its own table alone does not show which engine worked.
    return "ran MPSGraph programs, counted for" if work.table == MPS_INTERVALS else "ran on"


def verdict_why(verdict: Verdict) -> str:
    """Return what the verdict rests on, with its numbers."""
    if not verdict.engines:
        return _why_unknown(verdict)
    parts = [*_failed(verdict), *_measured(verdict)]
    parts += [_host_samples(work, verdict) for work in verdict.engines if work.samples]
    return "; ".join(parts)


def _failed(verdict: Verdict) -> list[str]:
    """Return the failed requests, if there are any: what is seen of the engine may be in vain."""
    if not verdict.failed_requests:
        return []
    failed = plural(verdict.failed_requests, "request")
    return [f"{failed} to the Neural Engine failed ({statuses_text(verdict.statuses)}, by the log)"]


def statuses_text(statuses: Sequence[int]) -> str:
    """Return ``status 0x12 or 0x1d``; a failure may come without one."""
    known = [f"0x{status:x}" for status in statuses if status >= 0]
    return f"status {' or '.join(known)}" if known else "no status given"


def verdict_reason(verdict: Verdict) -> str:
    """Return what the verdict rests on, without numbers: windows of one kind have the same reason."""
    if not verdict.engines:
        return _why_unknown(verdict)
    failed = f"failed requests to the Neural Engine ({statuses_text(verdict.statuses)})"
    reasons = [failed] if verdict.failed_requests else []
    reasons += [_reason(work) for work in verdict.engines]
    if len(verdict.order) > _MOST_NAMED:
        reasons.append(f"alternates between {' and '.join(work.engine for work in verdict.engines)}")
    elif len(verdict.order) > 1:
        reasons.append(f"in the order {' → '.join(verdict.order)}")
    return "; ".join(reasons)


def _amount(work: EngineWork, verdict: Verdict) -> str:
    """Return ``measured, 83 % of 4.1 ms`` or ``12 samples``."""
    if work.busy_ns:
        length = verdict.length_ns
        if verdict.is_engine_time and work.busy_ns == length:
            return f"measured, {format_ms_or_us(work.busy_ns)}"  # the window is the interval: always 100 %
        is_large = 100 * work.busy_ns >= length
        share = f"{100 * work.busy_ns / length:.0f} %" if is_large else format_ms_or_us(work.busy_ns)
        return f"measured, {share} of {format_ms_or_us(length)}"
    if work.logged:
        return f"{plural(work.logged, 'request')} by the log"
    if work.samples:
        return plural(work.samples, "sample")
    return "a request that Core ML reported"


def _beside(work: EngineWork, verdict: Verdict) -> str:
    """Return ``a CPU fallback in the middle (BNNSFilterApply in libBNNS.dylib, 2 samples)``."""
    kind = "a CPU fallback" if work.engine is Engine.CPU else f"work on the {work.engine}"
    frame = work.frame.place if work.frame else ""
    amount = f"measured, {format_ms_or_us(work.busy_ns)}" if work.busy_ns else _amount(work, verdict)
    return f"{kind}{_position(work)} ({f'{frame}, {amount}' if frame else amount})"


def _position(work: EngineWork) -> str:
    return {
        "": "",
        "at the same time": " at the same time",
        "start": " at the start",
        "end": " at the end",
        "middle": " in the middle",
        "around": " before and after",
        "several": f" in {work.stretches} places",
    }[work.position]


def _measured(verdict: Verdict) -> list[str]:
    """Return what was measured: busy times, requests, and the transitions where there are any."""
    parts = []
    for work in verdict.engines:
        engine = work.engine
        if work.busy_ns:
            busy, length = format_ms_or_us(work.busy_ns), format_ms_or_us(verdict.length_ns)
            parts.append(f"{engine} busy {busy} of {length} (measured)")
        if work.requested_ns:
            parts.append(f"requests to the {engine} took {format_ms_or_us(work.requested_ns)} (Core ML)")
        if work.logged:
            parts.append(f"{plural(work.logged, 'request')} to the {engine} served (by the log)")
        if work.table and work.samples and not work.busy_ns and engine is not Engine.CPU:
            parts.append(f"{work.table} has no {engine} interval here")
    if len(verdict.order) > 1:
        parts.append(transitions_text(verdict.transitions, len(verdict.order)))
    if verdict.unmarked_gpu_ns and any(w.engine is Engine.GPU and not w.busy_ns for w in verdict.engines):
        busy = format_ms_or_us(verdict.unmarked_gpu_ns)
        parts.append(f"GPU busy {busy} for this process with work not marked as ML (measured)")
    if verdict.other_process_ns:
        busy = format_ms_or_us(verdict.other_process_ns)
        parts.append(f"another process used the Neural Engine for {busy} of this call (measured)")
    return parts


def transitions_text(transitions: Sequence[Transition], count: int) -> str:
    """Return ``ANE 2.0 ms → CPU 2.1 ms (sampled) → ANE 18.0 ms``; engines at once are joined by ``∥``.

    ``count`` is the number of all transitions of the window, of which these are the first.
    """
    text = ""
    for transition in transitions:
        joint = "" if not text else " ∥ " if transition.overlaps else " → "
        text += f"{joint}{_transition(transition)}"
    more = count - len(transitions)
    return f"{text} → {more} more" if more > 0 else text


def _transition(transition: Transition) -> str:
    basis = "" if transition.basis is Basis.MEASURED else f" ({transition.basis})"
    return f"{transition.engine} {format_ms_or_us(transition.busy_ns)}{basis}"


def _host_samples(work: EngineWork, verdict: Verdict) -> str:
    """Return ``ANE 3 samples, 3.0 ms host time (dispatch, wait; frame, rule)``."""
    amount = format_weight(work.weight, verdict.unit)
    return f"{work.engine} {plural(work.samples, 'sample')}, {amount} ({_phases_and_frame(work)})"


def _reason(work: EngineWork) -> str:
    """Return what shows an engine, without numbers."""
    parts = [f"measured by {work.table}"] if work.busy_ns else []
    parts += ["a request that Core ML reported"] if work.requested_ns else []
    parts += ["requests in the log"] if work.logged else []
    parts += [_phases_and_frame(work)] if work.samples else []
    return f"{work.engine}: {'; '.join(parts)}"


def _phases_and_frame(work: EngineWork) -> str:
    return f"{', '.join(str(phase) for phase in work.phases)}; {work.frame or ''}"


def _why_unknown(verdict: Verdict) -> str:
    if verdict.failed_requests:
        return f"{_failed(verdict)[0]}, and nothing shows an engine that served this call"
    return _what_is_missing(verdict)


def _what_is_missing(verdict: Verdict) -> str:
    tables = [f"the {engine}" for engine in verdict.measured]
    unmeasured = f", and no interval of inference on {' or '.join(tables)}" if tables else ""
    total = verdict.samples
    if verdict.preparing_ns:
        busy = format_ms_or_us(verdict.preparing_ns)
        return f"{busy} of compile and load were measured here, but no inference on an engine"
    if total == 0:
        return f"no sample{' of ML work' if verdict.is_call else ''} in this window{unmeasured}"
    if verdict.preparing_samples:
        some = f"{verdict.preparing_samples} of {plural(total, 'sample')}"
        return f"{some} load or compile a model for an engine, but none runs an inference"
    if verdict.runtime_samples:
        some = f"{verdict.runtime_samples} of {plural(total, 'sample')} are inside an ML runtime"
        return f"{some}, but none reaches the code of an engine"
    samples = "the only sample" if total == 1 else f"none of the {total:,} samples"
    if verdict.unsymbolicated_samples == total:
        return f"{samples} has {'no' if total == 1 else 'a'} stack with symbols"
    return f"{samples} shows {'no ML runtime and no' if total == 1 else 'an ML runtime or an'} engine"
