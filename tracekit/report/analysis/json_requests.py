"""Requests to language models as JSON: the columns of a request, with its tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.result import Analysis
from tracekit.columns.request_columns import REQUEST_COLUMNS, TOKEN_COLUMNS


def build_requests_document(analysis: Analysis) -> list[dict[str, Any]]:
    """Return an object per request, in order of time; null is what nothing shows."""
    requests, tokens = REQUEST_COLUMNS.build(analysis), TOKEN_COLUMNS.build(analysis)
    numbers = tokens.pop("request").to_numpy(np.int64)
    edges = np.searchsorted(numbers, np.arange(len(requests) + 1) + 1)
    entries = convert_rows(tokens)
    return [
        {**request, "token_list": entries[edges[row] : edges[row + 1]]}
        for row, request in enumerate(convert_rows(requests))
    ]


def convert_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return an object per row, with null for what is missing."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in plain.to_dict("records")]
