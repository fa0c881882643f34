"""The evidence that a recording will hold, from its instruments and from what is known of this Xcode.

It answers before recording which questions the analysis will be able to answer. What each instrument records
is in docs/evidence.md, with sources.
"""

from __future__ import annotations

from tracekit.frozen import frozen
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.text import join_words
from tracekit.xctrace.version import Version

_EMPTY_CORE_ML = {(16, "F"): "Xcode 16.4", (17, "F"): "Xcode 26.5"}
"""Builds in whose recordings Core ML's own table was empty."""


@frozen
class ExpectedEvidence:
    """What a recording will show about one subject; ``is_shown`` is False where it will show nothing."""

    subject: str
    text: str
    is_shown: bool = True


def predict_evidence(
    plan: InstrumentPlan, version: Version | None, is_device: bool = False
) -> tuple[ExpectedEvidence, ...]:
    """Return what a recording with these instruments will show; ``is_device`` is no Mac and no simulator."""
    names = plan.list_recorded_instruments()
    if names is None:
        text = f"not known: the template {plan.template} is not one that tracekit knows"
        return (ExpectedEvidence("evidence", text, is_shown=False),)
    found = (
        _predict_calls(names, version),
        _predict_neural_engine(names),
        _predict_gpu(names),
        _predict_host_samples(names),
        *_predict_power(names, is_device),
    )
    return tuple(found)


def _predict_calls(names: frozenset[str], version: Version | None) -> ExpectedEvidence:
    parts = []
    if "Core ML" in names:
        empty = _EMPTY_CORE_ML.get(version.key[:2]) if version else None
        parts.append(f"Core ML's predictions{f' (its table was empty in {empty})' if empty else ''}")
    if "Core AI" in names:
        parts.append("Core AI's inferences")
    if "Foundation Models" in names:
        parts.append("requests to Foundation Models")
    if "os_signpost" in names:
        parts.append("your app's own signposts")
    if parts:
        return ExpectedEvidence("calls", f"exact, from {join_words(parts)}")
    if _has_sampling(names):
        return ExpectedEvidence("calls", "inferred from stacks: calls without a sample between them are one")
    return ExpectedEvidence("calls", "none", is_shown=False)


def _predict_neural_engine(names: frozenset[str]) -> ExpectedEvidence:
    log = "; requests with their process and status, if the system logs them" if "os_log" in names else ""
    if "Neural Engine" in names:
        text = f"busy time, of all processes without naming one{log}"
        return ExpectedEvidence("Neural Engine", text)
    if log:
        return ExpectedEvidence("Neural Engine", log.removeprefix("; "))
    text = "calls to it on stacks, not how long it works" if _has_sampling(names) else "nothing"
    return ExpectedEvidence("Neural Engine", text, is_shown=False)


def _predict_gpu(names: frozenset[str]) -> ExpectedEvidence:
    counters = (
        "; its Neural Accelerators (M5, A19), of the whole device" if "Metal GPU Counters" in names else ""
    )
    if "GPU" in names:
        return ExpectedEvidence("GPU", f"busy time, by process{counters}")
    if counters:
        return ExpectedEvidence("GPU", counters.removeprefix("; "))
    text = "calls to it on stacks, not how long it works" if _has_sampling(names) else "nothing"
    return ExpectedEvidence("GPU", text, is_shown=False)


def _predict_host_samples(names: frozenset[str]) -> ExpectedEvidence:
    if not _has_sampling(names):
        return ExpectedEvidence("CPU", "nothing", is_shown=False)
    counters = ", with hardware counters" if names & {"CPU Counters", "Counters"} else ""
    return ExpectedEvidence("CPU", f"samples with stacks{counters}")


def _predict_power(names: frozenset[str], is_device: bool) -> tuple[ExpectedEvidence, ...]:
    if "Power Profiler" not in names:
        return ()
    if is_device:
        return (ExpectedEvidence("power", "recorded, and not read by tracekit"),)
    return (ExpectedEvidence("power", "nothing: Power Profiler records devices only", is_shown=False),)


def _has_sampling(names: frozenset[str]) -> bool:
    return bool(names & {"Time Profiler", "CPU Profiler", "CPU Counters", "Counters"})
