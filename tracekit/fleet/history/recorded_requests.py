"""The metrics of the requests to language models of one recording, from the rows of a dataset."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.analysis.generation.metadata import UNKNOWN
from tracekit.analysis.generation.reported import ReportedRequests
from tracekit.checks.reported_values import summarize_reported
from tracekit.checks.request_values import (
    NO_DECODE,
    NO_PROMPT,
    explain_mixed,
    summarize_first_tokens,
    summarize_rates,
)
from tracekit.checks.requirements import Metric
from tracekit.checks.results import MetricValue
from tracekit.comparison.metrics import FIRST_TOKEN

REQUEST_COLUMNS = ("prompt_tokens", "tokens", "first_token_ns", "decode_tokens", "decode_ns")

REPORTED_COLUMNS = ("length_ns", "tokens", "errors")


def measure_requests(run: pd.DataFrame, metric: Metric, confidence: float) -> MetricValue:
    """Return a number of the requests of one recording."""
    numbers = run[[*REQUEST_COLUMNS]].astype("float64")
    mixed = int(numbers["tokens"].isna().sum())
    if mixed:
        return MetricValue(metric.kind, missing=explain_mixed(mixed))
    first_token_ns = numbers["first_token_ns"].to_numpy(np.float64)
    if metric.quantity == FIRST_TOKEN:
        # A request without a first token has no end in the dataset, so nothing shows how long it took.
        return summarize_first_tokens(first_token_ns, np.zeros(len(run)), metric.statistic)
    if metric.part == "prefill":
        counts, lengths_ns = numbers["prompt_tokens"].to_numpy(np.float64), first_token_ns
    else:
        counts, lengths_ns = (numbers[name].to_numpy(np.float64) for name in ("decode_tokens", "decode_ns"))
    is_known = (counts > 0) & (lengths_ns > 0)
    if not is_known.any():
        return MetricValue("rate", missing=NO_PROMPT if metric.part == "prefill" else NO_DECODE)
    counts, lengths = counts[is_known], lengths_ns[is_known] / 1e9
    return summarize_rates(counts, lengths, counts / lengths, metric.statistic, confidence)


def measure_reported(run: pd.DataFrame, metric: Metric, confidence: float) -> MetricValue:
    """Return a number of the requests of one recording that Foundation Models reports."""
    length_ns, tokens, errors = (
        run[name].astype("float64").fillna(UNKNOWN).to_numpy().astype(np.int64) for name in REPORTED_COLUMNS
    )
    requests = ReportedRequests(run["model"].to_numpy(object), length_ns, tokens, errors)
    return summarize_reported(requests, metric, confidence)
