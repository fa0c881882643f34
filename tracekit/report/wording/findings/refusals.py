"""Failed requests, refused operators and programs that were not loaded as English."""

from __future__ import annotations

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.refusals import (
    OPERATORS_REFUSED,
    PROGRAM_NOT_LOADED,
    REQUESTS_FAILED,
    FailureNumbers,
    RefusalNumbers,
)
from tracekit.report.wording.diagnostics import format_refusal
from tracekit.report.wording.findings.sentences import Sentences, pair_sentences
from tracekit.report.wording.names import format_model_name
from tracekit.report.wording.verdicts import format_statuses
from tracekit.text import clip, format_duration, plural, printable

_REFUSAL_WIDTH = 120
_MOST_REFUSALS = 3


def _write_failed_requests(finding: Finding[FailureNumbers]) -> Sentences:
    numbers = finding.numbers
    statuses = format_statuses(numbers["statuses"])
    requests = f"{plural(numbers['failed'], 'request')} to the Neural Engine failed ({statuses})"
    if not numbers["failed_calls"]:
        title = f"{requests}, in no single call for certain." if numbers["has_calls"] else f"{requests}."
        return Sentences(title, "The runtime may return zeros without an error: check the results.")
    calls, failed_calls = numbers["calls"], numbers["failed_calls"]
    if numbers["has_model"]:
        where = "its only call" if calls == 1 else f"{failed_calls:,} of {calls:,} calls"
        title = f"{format_model_name(finding.model, True)}: {requests}, in {where}."
    else:
        title = f"{requests}, in {plural(failed_calls, 'call')} without a model's name."
    is_unserved = numbers["unserved_calls"] == failed_calls
    nothing = "No engine is seen there. " if is_unserved else ""
    first = f", the first at {format_duration(finding.start_ns or 0)}" if failed_calls > 1 else ""
    results = "these calls" if failed_calls > 1 else f"the call at {format_duration(finding.start_ns or 0)}"
    check = f"The runtime may return zeros without an error: check the results of {results}{first}."
    return Sentences(title, f"{nothing}{check}")


def _write_refused_operators(finding: Finding[RefusalNumbers]) -> Sentences:
    count = finding.numbers["kinds"]
    return Sentences(
        f"{plural(count, 'kind')} of operators cannot run on the Neural Engine: {_list_refusals(finding)}.",
        "A model with such an operator runs that part, or all of it, on another engine.",
    )


def _write_not_loaded(finding: Finding[RefusalNumbers]) -> Sentences:
    times = plural(finding.numbers["lines"], "time")
    return Sentences(
        f"A program for the Neural Engine was not compiled or loaded ({times}): {_list_refusals(finding)}.",
        "Its model runs elsewhere, or not at all.",
    )


def _list_refusals(finding: Finding[RefusalNumbers]) -> str:
    refusals = finding.numbers["refusals"][:_MOST_REFUSALS]
    more = finding.numbers["kinds"] - len(refusals)
    listed = "; ".join(clip(printable(format_refusal(refusal)), _REFUSAL_WIDTH) for refusal in refusals)
    return f"{listed}; and {more:,} more" if more else listed


SENTENCES = dict(
    (
        pair_sentences(OPERATORS_REFUSED, _write_refused_operators),
        pair_sentences(PROGRAM_NOT_LOADED, _write_not_loaded),
        pair_sentences(REQUESTS_FAILED, _write_failed_requests),
    )
)
