"""Copies inside calls as English."""

from __future__ import annotations

from tracekit.analysis.findings.copies import (
    COPIES_AROUND_ENGINE,
    CopyNumbers,
)
from tracekit.analysis.findings.finding import Finding
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import format_model_name
from tracekit.text import clip, format_duration, plural, printable

_SYMBOL_WIDTH = 60


def _write_copies(finding: Finding[CopyNumbers]) -> Sentences:
    numbers = finding.numbers
    share = f"{100 * numbers['share']:.0f} %"
    time = f"spends {share} of its calls' time" if numbers["is_named"] else f"spend {share} of their time"
    model = format_model_name(finding.model, numbers["is_named"])
    title = f"{model} {time} on binding, casting and copying data."
    copied = format_duration(numbers["copied_ns"])
    length = format_duration(numbers["length_ns"])
    symbol = clip(printable(numbers["symbol"]), _SYMBOL_WIDTH)
    where = f", most of it in {symbol}" if symbol else ""
    calls = plural(numbers["calls"], "call")
    return Sentences(title, f"That is {copied} of {length} in {calls} (sampled){where}.")


SENTENCES = dict((pair_sentences(COPIES_AROUND_ENGINE, _write_copies),))
