"""Numbers of requests as Foundation Models reports them: their length, their rate, the incomplete ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracekit.analysis.generation.reported import ReportedRequests, read_reported_requests
from tracekit.checks.call_notes import join_notes
from tracekit.checks.request_values import (
    compute_statistic,
    explain_other_models,
    mark_scope,
    summarize_rates,
)
from tracekit.checks.requirements import Metric
from tracekit.checks.results import MetricValue
from tracekit.comparison.metrics import INCOMPLETE, REQUEST_LENGTH
from tracekit.comparison.observations import Observations
from tracekit.comparison.request_metrics import NO_REPORT, NO_RESPONSE, NONE_COMPLETE, REPORTED
from tracekit.model.vocabulary import Basis
from tracekit.text import plural


def measure_reported(
    observations: Observations, metric: Metric, scope: str, confidence: float
) -> MetricValue:
    """Return a number of the requests to a model, which ``scope`` names, or to all models."""
    requests = read_reported_requests(observations.analysis.trace.model_requests)
    if not len(requests):
        return MetricValue(metric.kind, missing=NO_REPORT)
    of_scope = requests.select(mark_scope(requests.models, scope))
    if not len(of_scope):
        return MetricValue(metric.kind, missing=explain_other_models(requests.models, scope))
    return summarize_reported(of_scope, metric, confidence)


def summarize_reported(requests: ReportedRequests, metric: Metric, confidence: float) -> MetricValue:
    """Return a number of requests; those with errors or without an end are in the note alone."""
    note = _count_incomplete(requests)
    if metric.quantity == INCOMPLETE:
        count = int((~requests.is_complete).sum())
        return MetricValue(
            "count", count, count, str(Basis.MEASURED), len(requests), note=note, noun="request"
        )
    if not requests.is_complete.any():
        return MetricValue(metric.kind, missing=join_notes(NONE_COMPLETE, note))
    if metric.quantity == REQUEST_LENGTH:
        lengths = requests.length_ns[requests.is_complete].astype(np.float64)
        length = compute_statistic(lengths, metric.statistic)
        basis, count = str(Basis.MEASURED), len(lengths)
        return MetricValue("time", length, length, basis, count, note=_leave_out(note), noun="request")
    of_rate = requests.select(requests.has_rate)
    if not of_rate.response_tokens.sum():
        return MetricValue("rate", missing=join_notes(NO_RESPONSE, note))
    counts, lengths = of_rate.response_tokens.astype(np.float64), of_rate.length_ns / 1e9
    value = summarize_rates(counts, lengths, of_rate.rates, metric.statistic, confidence)
    unknown = int((requests.is_complete & ~requests.has_rate).sum())
    note = join_notes(note, f"{plural(unknown, 'request')} without known tokens or length" if unknown else "")
    return replace(value, basis=REPORTED, note=_leave_out(note))


def _count_incomplete(requests: ReportedRequests) -> str:
    failed, unended = int(requests.is_failed.sum()), int((requests.is_open & ~requests.is_failed).sum())
    return join_notes(
        f"{plural(failed, 'request')} with errors" if failed else "",
        f"{plural(unended, 'request')} without an end" if unended else "",
    )


def _leave_out(note: str) -> str:
    return f"left out: {note}" if note else ""
