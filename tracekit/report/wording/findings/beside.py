"""Work of the calling thread between calls as English."""

from __future__ import annotations

from tracekit.analysis.findings.beside import (
    ALLOCATIONS,
    CONVERSIONS,
    LOAD_PER_CALL,
    WORK_BESIDE_CALLS,
    BetweenNumbers,
)
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import calls_of, format_model_name
from tracekit.text import clip, format_duration, format_percent, plural, printable

_SYMBOL_WIDTH = 60


def _write_app_work(finding: Finding[BetweenNumbers]) -> Sentences:
    numbers = finding.numbers
    work, length = format_duration(numbers["typical_ns"]), format_duration(numbers["length_ns"])
    title = (
        f"Between {calls_of(finding.model)}, the app computes longer than the calls take:"
        f" {work} against {length}."
    )
    symbol = clip(printable(numbers["symbol"]), _SYMBOL_WIDTH)
    heaviest = (
        f"{symbol}: {format_duration(numbers['symbol_ns'])} per call" if symbol else "no function with a name"
    )
    return Sentences(title, f"Most of it is in {heaviest} (sampled on the calling thread).")


def _write_conversions(finding: Finding[BetweenNumbers]) -> Sentences:
    return _write_repeated(finding, "Images or arrays are converted")


def _write_allocations(finding: Finding[BetweenNumbers]) -> Sentences:
    return _write_repeated(finding, "Memory is allocated")


def _write_repeated(finding: Finding[BetweenNumbers], event: str) -> Sentences:
    numbers = finding.numbers
    mean = format_duration(numbers["mean_ns"])
    symbol = clip(printable(numbers["symbol"]), _SYMBOL_WIDTH)
    title = f"{event} again and again between {calls_of(finding.model)}: {mean} per call, most in {symbol}."
    share = numbers["mean_ns"] / max(numbers["length_ns"], 1)
    seen = f"seen before {numbers['seen']:,} of {plural(numbers['gaps'], 'call')}"
    return Sentences(title, f"Per call, it is {format_percent(share)} of its length ({seen}, sampled).")


def _write_loads(finding: Finding[BetweenNumbers]) -> Sentences:
    numbers = finding.numbers
    seen, later = numbers["seen"], numbers["gaps"]
    share = f"each of the {later:,}" if seen == later else f"{seen:,} of the {later:,}"
    if numbers["basis"] == "measured":
        title = (
            f"{format_model_name(finding.model, True)} is loaded again before {share} calls after its first."
        )
    else:
        title = f"A model is loaded before {share} {calls_of(finding.model)} after the first."
    load, length = format_duration(numbers["typical_ns"]), format_duration(numbers["length_ns"])
    return Sentences(title, f"Loading takes {load} each time ({numbers['basis']}), a call {length}.")


SENTENCES = dict(
    (
        pair_sentences(ALLOCATIONS, _write_allocations),
        pair_sentences(CONVERSIONS, _write_conversions),
        pair_sentences(LOAD_PER_CALL, _write_loads),
        pair_sentences(WORK_BESIDE_CALLS, _write_app_work),
    )
)
