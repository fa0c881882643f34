"""Language models that leave an engine or sample slowly, as English."""

from __future__ import annotations

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.generation import (
    DECODE_LEFT_ENGINE,
    SLOW_SAMPLING,
    LeftEngineNumbers,
    SamplingNumbers,
)
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import engine_name, format_model_name
from tracekit.text import format_duration, format_percent, join_words, plural

_MOSTLY = 0.5


def _write_left_engine(finding: Finding[LeftEngineNumbers]) -> Sentences:
    numbers = finding.numbers
    engine = engine_name(numbers["engine"])
    title = f"Decode of {_name(finding)} leaves {engine} at {numbers['least_context']:,} tokens of context."
    since = join_words([engine_name(other) for other in numbers["engines"]])
    lengths = f"{format_duration(numbers['without_ns'])} against {format_duration(numbers['with_ns'])}"
    cost = (
        f"The {plural(numbers['without_engine'], 'token')} from there on ran on {since}: {lengths} (medians);"
        f" all {numbers['with_engine']:,} before, up to {numbers['most_context']:,} tokens of context, used"
        f" {engine}."
    )
    if numbers["unknown"]:
        cost += f" The engine of {plural(numbers['unknown'], 'other token')} is not shown."
    requests = plural(numbers["requests"], "request")
    detail = f"In {requests}, of which {numbers['crossing']:,} crossed that context."
    if numbers["requests"] == 1:
        detail = "One request shows it: what changed then besides the context may be the cause as well."
    return Sentences(title, cost, detail)


def _write_slow_sampling(finding: Finding[SamplingNumbers]) -> Sentences:
    numbers = finding.numbers
    share = format_percent(numbers["sampling_ns"] / numbers["decode_ns"])
    where = " on the CPU" if numbers["cpu_ns"] >= _MOSTLY * numbers["sampling_ns"] else ""
    title = f"Sampling{where} takes {share} of each token of {_name(finding)} on average."
    per_token = format_duration(numbers["sampling_ns"] // numbers["tokens"])
    cost = (
        f"That is {per_token} per token between the model's calls, in {plural(numbers['tokens'], 'token')} of"
        f" {plural(numbers['requests'], 'request')} (measured)."
    )
    sampled = f"Its threads were sampled for {format_duration(numbers['cpu_ns'])} of that." if where else ""
    return Sentences(title, cost, sampled)


def _name(finding: Finding[LeftEngineNumbers] | Finding[SamplingNumbers]) -> str:
    return format_model_name(finding.model, bool(finding.model)) if finding.model else "a language model"


SENTENCES = dict(
    (
        pair_sentences(DECODE_LEFT_ENGINE, _write_left_engine),
        pair_sentences(SLOW_SAMPLING, _write_slow_sampling),
    )
)
