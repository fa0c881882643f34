"""Recordings without an answer, and with a limited one, as English."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.instruments import MissingInstrument
from tracekit.analysis.findings.recording import (
    NO_CALLS_SEEN,
    NO_ENGINE_VISIBLE,
    NO_MODEL_SEEN,
    NO_SYMBOLS,
    NoCallsNumbers,
    NoEngineNumbers,
    NoModelNumbers,
    NoSymbolsNumbers,
)
from tracekit.analysis.findings.recording_limits import (
    INSTRUMENTS_MISSING,
    ROWS_LOST,
    SAMPLING_TOO_COARSE,
    TOO_FEW_CALLS,
    CoarseNumbers,
    FewCallsNumbers,
    InstrumentNumbers,
    LossNumbers,
)
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import engine_name, format_name_inside
from tracekit.report.wording.symbols import format_binary
from tracekit.text import clip, format_duration, join_words, plural, printable

_NAME_WIDTH = 60
_MESSAGE_WIDTH = 240


def _write_no_model(finding: Finding[NoModelNumbers]) -> Sentences:
    return Sentences("No model was seen running.", detail=" ".join(_list_reasons(finding)))


def _list_reasons(finding: Finding[NoModelNumbers]) -> list[str]:
    """Return what explains that no model was seen, a sentence each."""
    numbers = finding.numbers
    samples = numbers["samples"]
    reasons = [
        f"0 of {plural(samples, 'sample')} {'is' if samples == 1 else 'are'} in an ML framework."
        if samples
        else "The recording has no samples."
    ]
    if numbers["is_prepared"]:
        reasons.append("A model was compiled or loaded, but no call was seen.")
    if numbers["requests"]:
        reasons.append(
            f"The log has {plural(numbers['requests'], 'request')} of this app to the Neural Engine."
        )
    if numbers["processes"]:
        listed = ", ".join(
            f"{clip(printable(name), _NAME_WIDTH) or 'process'} ({pid}, {plural(count, 'call')})"
            for name, pid, count in numbers["processes"]
        )
        reasons.append(f"Other processes ran models in this time: {listed}.")
    if numbers["parked"]:
        show = "sample shows" if numbers["parked"] == 1 else "samples show"
        reasons.append(
            f"{numbers['parked']:,} {show} a parked Neural Engine service thread, which does no work."
        )
    if numbers["without_symbols"]:
        have = "has" if numbers["without_symbols"] == 1 else "have"
        reasons.append(
            f"{numbers['without_symbols']:,} of {plural(samples, 'sample')} {have} no stack with symbols, so"
            " an ML framework could be there unseen."
        )
    if numbers["missing"]:
        reasons.append(_write_missing(numbers["missing"]))
    reasons += _list_signposts(finding)
    return reasons


def _write_missing(missing: Sequence[MissingInstrument]) -> str:
    """Return ``Not recorded: Core ML, GPU. Recorded, but not in this export: Neural Engine.``"""
    intros = {
        "not recorded": "Not recorded",
        "not exported": "Recorded, but not in this export",
        "not readable": "Recorded, but unreadable",
        "not in this input": "Not in this input (unknown whether recorded)",
    }
    parts = []
    for reason, intro in intros.items():
        names = [entry.name for entry in missing if entry.reason == reason]
        if names:
            parts.append(f"{intro}: {', '.join(names)}.")
    return " ".join(parts)


def _list_signposts(finding: Finding[NoModelNumbers] | Finding[NoCallsNumbers]) -> list[str]:
    signposts = finding.numbers["signposts"]
    if not signposts:
        return []
    listed = ", ".join(f"{clip(printable(name), _NAME_WIDTH)} ({count:,})" for name, count in signposts)
    kinds = finding.numbers["signpost_kinds"]
    more = f" and {kinds - len(signposts)} more" if kinds > len(signposts) else ""
    if finding.numbers["signposts_are_system"]:
        return [f"It has signposts of {plural(kinds, 'kind')}, all of Apple's: {listed}{more}."]
    return [f"The app marks intervals of its own: {listed}{more}. One of them may mark its inference."]


def _write_no_calls(finding: Finding[NoCallsNumbers]) -> Sentences:
    numbers = finding.numbers
    if numbers["ml_samples"]:
        verb = "is" if numbers["ml_samples"] == 1 else "are"
        seen = (
            f"{numbers['ml_samples']:,} of {plural(numbers['samples'], 'sample')} {verb} in an ML framework,"
            " none in a prediction."
        )
    elif numbers["without_length"]:
        seen = f"{plural(numbers['without_length'], 'prediction')} in the tables, none with a length."
    else:
        seen = "An engine was measured at work, but no table and no stack shows a call."
    detail = [seen, "Single calls are not separated, so there is no latency."]
    detail += [_write_missing(numbers["missing"])] if numbers["missing"] else []
    title = (
        "No call of a model can be measured." if numbers["without_length"] else "No call of a model was seen."
    )
    return Sentences(title, detail=" ".join([*detail, *_list_signposts(finding)]))


def _write_no_engine(finding: Finding[NoEngineNumbers]) -> Sentences:
    numbers = finding.numbers
    calls = numbers["calls"]
    subject = "the only call" if calls == 1 else f"any of the {calls:,} calls"
    title = f"No engine is visible in {subject} of {_list_models(numbers['models'], numbers['model_count'])}."
    if not numbers["is_sampled"]:
        cause = "This recording has no samples"
    elif not numbers["samples"]:
        cause = "No sample of the app is inside these calls"
    else:
        verb = "is" if numbers["samples"] == 1 else "are"
        cause = (
            f"{plural(numbers['samples'], 'sample')} {verb} inside these calls, and none reaches the code of"
            " an engine"
        )
    reasons = [f"{cause}; no table measured an engine in them."]
    if numbers["is_system_model"]:
        reasons.append("The requests of Foundation Models may be served by another process.")
    if numbers["missing"]:
        reasons.append(_write_missing(numbers["missing"]))
    return Sentences(title, detail=" ".join(reasons))


def _list_models(models: Sequence[tuple[str, bool]], count: int) -> str:
    """Return ``Net, Encoder and 4 more models``; calls without a model's name keep their own."""
    names = [format_name_inside(name, is_named) for name, is_named in models]
    if count > len(names):
        return f"{', '.join(names)} and {plural(count - len(names), 'more model')}"
    return join_words(names)


def _write_no_symbols(finding: Finding[NoSymbolsNumbers]) -> Sentences:
    numbers = finding.numbers
    stacks, without = numbers["stacks"], numbers["without_symbols"]
    if not stacks:
        return Sentences("Samples without a stack show no engine.")
    if numbers["is_raw"]:
        advice = f"An export of {numbers['table']} holds addresses only; time-profile has the symbols."
    elif numbers.get("binaries"):
        listed = ", ".join(
            f"{format_binary(name, uuid)} in {plural(samples, 'sample')}"
            for name, uuid, samples in numbers["binaries"]
        )
        advice = f"Most of it is in {listed}."
    elif numbers["is_text"]:
        advice = "The input has addresses in the place of functions."
    else:
        advice = "Xcode 14.3.1 and later store the symbols of every frame with the recording."
    lack = "lacks" if without == 1 else "lack"
    with_stack = plural(stacks, "sample")
    counted = f"{without:,} of {with_stack} with a stack {lack} symbols; the work there is unknown."
    return Sentences("Stacks without symbols show no engine.", detail=f"{counted} {advice}")


def _write_too_few_calls(finding: Finding[FewCallsNumbers]) -> Sentences:
    numbers = finding.numbers
    needed = numbers["needed"]
    names = [
        f"{format_name_inside(name, is_named)} ({plural(count, 'call')})"
        for name, is_named, count in numbers["models"]
    ]
    by_figure = {
        figure: ", ".join(
            name for name, is_short in zip(names, numbers["without_median"], strict=True) if is_short is lacks
        )
        for figure, lacks in (("a stable median", True), ("a p90", False))
    }
    listed = "; ".join(f"for {figure}: {models}" for figure, models in by_figure.items() if models)
    return Sentences(
        f"Too few calls {listed}.",
        detail=(
            f"An interval of 95 % takes {needed[50]} calls for the median, {needed[90]} for the p90 and"
            f" {needed[99]} for the p99, without the first call."
        ),
    )


def _write_rows_lost(finding: Finding[LossNumbers]) -> Sentences:
    numbers = finding.numbers
    issues = numbers["issues"]
    title = (
        "Instruments reported that data was lost while recording; numbers may be too small."
        if numbers["is_reported"]
        else f"Part of this {numbers['input']} could not be read; numbers may be too small."
    )
    listed = " · ".join(clip(printable(message), _MESSAGE_WIDTH) for _, message in issues)
    more = (
        f" · and {numbers['issue_count'] - len(issues)} more" if numbers["issue_count"] > len(issues) else ""
    )
    return Sentences(title, detail=f"{listed}{more}")


def _write_coarse_sampling(finding: Finding[CoarseNumbers]) -> Sentences:
    numbers = finding.numbers
    period = format_duration(numbers["period_ns"])
    listed = ", ".join(
        f"{format_name_inside(name, is_named)} ({format_duration(length_ns)} per call)"
        for name, is_named, length_ns in numbers["models"]
    )
    more = numbers["model_count"] - len(numbers["models"])
    others = f" and {plural(more, 'more model')}" if more else ""
    return Sentences(
        f"Sampling is coarse for such short calls: {listed}{others}, a sample every {period}.",
        detail=(
            "The engines of these calls are seen on stacks only. Work on an engine between two samples is"
            " not visible, and a call without a sample of an engine does not show that it was idle."
        ),
    )


def _write_missing_instruments(finding: Finding[InstrumentNumbers]) -> Sentences:
    numbers = finding.numbers
    limits = []
    if numbers["is_deduced"]:
        limits.append("calls are deduced from stacks, where calls without a sample between them count as one")
    if numbers["engines"]:
        engines = " and ".join(engine_name(engine) for engine in numbers["engines"])
        limits.append(f"the work of {engines} is not measured")
    names = [entry.name for entry in numbers["missing"]]
    instruments = "instrument is" if len(names) == 1 else "instruments are"
    title = f"The {join_words(names)} {instruments} missing here: {'; '.join(limits)}."
    return Sentences(title, detail=_write_missing(numbers["missing"]))


SENTENCES = dict(
    (
        pair_sentences(INSTRUMENTS_MISSING, _write_missing_instruments),
        pair_sentences(NO_CALLS_SEEN, _write_no_calls),
        pair_sentences(NO_ENGINE_VISIBLE, _write_no_engine),
        pair_sentences(NO_MODEL_SEEN, _write_no_model),
        pair_sentences(NO_SYMBOLS, _write_no_symbols),
        pair_sentences(ROWS_LOST, _write_rows_lost),
        pair_sentences(SAMPLING_TOO_COARSE, _write_coarse_sampling),
        pair_sentences(TOO_FEW_CALLS, _write_too_few_calls),
    )
)
