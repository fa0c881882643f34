"""Slow first calls, compiles and repeated loads as English."""

from __future__ import annotations

from tracekit.analysis.findings.cold_start import (
    COLD_FIRST_CALL,
    COMPILED_IN_RUN,
    LOADED_AGAIN,
    ColdNumbers,
    CompileNumbers,
    RepeatNumbers,
)
from tracekit.analysis.findings.finding import Finding
from tracekit.model.vocabulary import Basis, Phase
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import engine_name, format_model_name
from tracekit.text import clip, format_duration, plural, printable

_SYMBOL_WIDTH = 60


def _write_cold_first_call(finding: Finding[ColdNumbers]) -> Sentences:
    numbers = finding.numbers
    name = format_model_name(finding.model, numbers["is_named"])
    subject = f"The first call of {name}" if numbers["is_named"] else f"{name}: the first"
    subject = subject if finding.model else "The first call"
    where = " on the Neural Engine" if numbers["is_engine_time"] else ""
    title = (
        f"{subject} took {format_duration(numbers['first_ns'])}{where}, the others"
        f" {format_duration(numbers['warm_ns'])}."
    )
    lost = format_duration(finding.lost_ns or 0)
    overlapping = "" if numbers["is_alone"] else "Another call ran at the same time, which may explain it."
    return Sentences(title, f"That is {lost} more, once{_explain(finding)}.", overlapping)


def _explain(finding: Finding[ColdNumbers]) -> str:
    numbers = finding.numbers
    if numbers["preparing_ns"]:
        prepared = format_duration(numbers["preparing_ns"])
        return f"; {prepared} of the call compile or load a model ({numbers['preparing_basis']})"
    for engine, (first_ns, usual_ns) in numbers["busy"].items():
        if 2 * (first_ns - usual_ns) >= (finding.lost_ns or 0):
            return (
                f"; {engine_name(engine)} worked {format_duration(first_ns)} in it, and"
                f" {format_duration(usual_ns)} in the others (measured)"
            )
    return "; no compile and no load is seen in it"


def _write_compiled(finding: Finding[CompileNumbers]) -> Sentences:
    name = format_model_name(finding.model, True) if finding.numbers["is_named"] else "A model"
    moment = f" (at {format_duration(finding.start_ns)})" if finding.start_ns else ""
    title = f"{name} was compiled during this recording{moment}."
    if finding.basis is Basis.MEASURED:
        return Sentences(title, "It is not needed again while the result is cached.")
    frame = next((entry.detail for entry in finding.support if entry.kind == "frame"), "")
    where = f" in {clip(printable(frame), _SYMBOL_WIDTH)}" if frame else ""
    return Sentences(title, f"The time is CPU time{where}.")


def _write_loaded_again(finding: Finding[RepeatNumbers]) -> Sentences:
    numbers = finding.numbers
    word = "compiled" if numbers["phase"] == Phase.COMPILE else "loaded"
    moments = ", ".join(format_duration(moment) for moment in numbers["moments_ns"])
    more = ", …" if numbers["times"] > len(numbers["moments_ns"]) else ""
    times = plural(numbers["times"], "time")
    title = f"{format_model_name(finding.model, True)} was {word} {times} (at {moments}{more})."
    return Sentences(
        title,
        f"The first time took {format_duration(numbers['first_ns'])}, the repetitions"
        f" {format_duration(numbers['again_ns'])} in total.",
    )


SENTENCES = dict(
    (
        pair_sentences(COLD_FIRST_CALL, _write_cold_first_call),
        pair_sentences(COMPILED_IN_RUN, _write_compiled),
        pair_sentences(LOADED_AGAIN, _write_loaded_again),
    )
)
