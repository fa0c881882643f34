"""Literal requests as Foundation Models reports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from evidence_support import APP, Signpost, with_evidence
from trace_support import MS, UI, trace_of

from tracekit import Analysis, analyze
from tracekit.model.columns import MODEL_REQUESTS


@dataclass(frozen=True)
class Reported:
    """A request of this length in ms, None without an end, with tokens of its response; -1 is unknown."""

    length: float | None
    tokens: int
    errors: int = 0
    model: str = "fm"


def analyze_reported(
    requests: Sequence[Reported], signposts: Sequence[Signpost] = (), last: float = 100_000
) -> Analysis:
    """Return the analysis of requests, one each 10 s, beside signposts; the last sample is at ``last`` ms."""
    samples = [(time, "caller", UI) for time in (0.0, last)]
    rows = [
        {
            "start_ns": number * 10_000 * MS,
            "end_ns": 100_000 * MS
            if request.length is None
            else number * 10_000 * MS + int(request.length * MS),
            "request": f"R{number}",
            "model": request.model,
            "pid": APP,
            "prompt_tokens": 100,
            "cached_tokens": 10,
            "response_tokens": request.tokens,
            "total_tokens": -1,
            "errors": request.errors,
            "cut": request.length is None,
        }
        for number, request in enumerate(requests)
    ]
    frame = pd.DataFrame(rows).astype({"model": "category"}) if rows else MODEL_REQUESTS.empty()
    trace = with_evidence(trace_of(samples), (), signposts)
    return analyze(replace(trace, model_requests=frame))
