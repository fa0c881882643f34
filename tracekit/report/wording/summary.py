"""The headline of a run as English."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.summary import FirstWindow, Headline, Stretch
from tracekit.analysis.verdicts import UNKNOWN
from tracekit.model.schemas import CORE_AI
from tracekit.report.wording.verdicts import verdict_sentence
from tracekit.text import format_ms, plural


def headline(data: Headline) -> str:
    """Return the sentence that states first on which engine a run's windows ran, and failures after it."""
    return f"{_engines(data)}{_failures(data)}"


def _failures(data: Headline) -> str:
    """Return `` 2 requests to the Neural Engine failed, in 2 of 12 windows.``, nothing without a failure."""
    if not data.failed_requests:
        return ""
    windows = f", in {data.failed_windows} of {plural(data.windows, 'window')}" if data.failed_windows else ""
    return f" {plural(data.failed_requests, 'request')} to the Neural Engine failed{windows}."


def _engines(data: Headline) -> str:
    if data.requests and data.kind in ("no-evidence", "no-symbols", "no-model"):
        sent = plural(data.requests, "request")
        return f"The log has {sent} of this app to the Neural Engine; nothing else shows a model running."
    match data.kind:
        case "no-engine":
            return f"{_counted(data)}: no sample and no table shows which engine ran them."
        case "no-evidence":
            return "This recording has no ML evidence: no sample, and no interval of inference on an engine."
        case "no-symbols":
            samples = plural(data.samples, "stack")
            return f"All {samples} lack symbols, so engines cannot be identified."
        case "no-model":
            return _no_model(data)
        case "no-calls":
            return "Samples show ML code, but no prediction call. The engine table lists what they show."
        case "whole-run":
            return _whole_run(data)
        case "windows":
            listed = ", ".join(f"{count} {verdict}" for verdict, count in data.verdicts)
            return f"{_typical(data)}{_counted(data)}: {listed}.{_stretches(data.stretches)}"


def window_sources(sources: Sequence[str]) -> str:
    """Return the tables that windows are from; with Core AI among them, ``Core AI's ODIEProfile and …``."""
    names = dict.fromkeys(sources)
    if CORE_AI not in names:
        return ", ".join(names)
    return " and ".join(f"{RUNTIMES[name]}'s {name}" if name in RUNTIMES else name for name in names)


def _counted(data: Headline) -> str:
    windows = plural(data.windows, "window")
    if data.sources == ("stacks",):
        return f"{windows} inferred from stacks"
    return windows if data.is_given else f"{windows} from {window_sources(data.sources)}"


def _typical(data: Headline) -> str:
    """Return what most windows did, in the words of the median one, and how the first differs."""
    if data.typical is None:
        return ""
    sentence = verdict_sentence(data.typical)
    parts = [f"{sentence[:1].upper()}{sentence[1:]}"]
    if data.windows > 1:
        parts.append(f"{data.alike} of {data.windows} windows alike")
        if data.first is not None:
            parts.append(_first(data.first))
    return f"{'; '.join(parts)}. "


def _first(first: FirstWindow) -> str:
    text = f"the first took {format_ms(first.length_ns, 1)}"
    if not first.preparing_ns:
        return text
    return f"{text}, of which {format_ms(first.preparing_ns, 1)} was compile and load ({first.basis})"


def _stretches(stretches: tuple[Stretch, ...]) -> str:
    """Return `` In order: windows 0–5 (from 18.800 ms) ANE, windows 6–11 (from 264.800 ms) CPU.``"""
    if not stretches:
        return ""
    parts = []
    for stretch in stretches:
        is_single = stretch.first == stretch.last
        span = f"window {stretch.first}" if is_single else f"windows {stretch.first}–{stretch.last}"
        parts.append(f"{span} (from {format_ms(stretch.start_ns)}) {stretch.verdict}")
    return f" In order: {', '.join(parts)}."


def _whole_run(data: Headline) -> str:
    verdict = data.typical
    if verdict is None or verdict.verdict == UNKNOWN:
        return (
            "No engine can be determined over the whole run: samples show ML code, but no inference on an"
            " engine. Single inferences are not separated."
        )
    return f"Over the whole run: {verdict_sentence(verdict)}; single inferences are not separated."


def _no_model(data: Headline) -> str:
    samples = plural(data.samples, "sample")
    if data.is_prepared:
        return f"A model was compiled or loaded (measured), but none of the {samples} shows it running."
    in_framework = (
        f"{'the only sample is not' if data.samples == 1 else f'none of the {samples} is'} in an ML framework"
    )
    sentence = f"This recording shows no model running: {in_framework}."
    if data.parked:
        show = "sample shows" if data.parked == 1 else "samples show"
        sentence += f" {data.parked} {show} a parked Neural Engine service thread, which does no work."
    if data.unsymbolicated:
        have = "has" if data.unsymbolicated == 1 else "have"
        sentence += f" {data.unsymbolicated} of the {samples} {have} no stack with symbols."
    return f"{sentence} Record while the app predicts: tracekit record --app APP --preset coreml."
