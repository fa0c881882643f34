"""The requests that Foundation Models reports as a whole: their lengths and tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.generation.reported import read_reported_requests
from tracekit.report.document.blocks import Block, Column, Paragraph, Table, count_note
from tracekit.report.wording.generation import REPORTED_MEANING, format_rate
from tracekit.report.wording.names import shorten_model_name
from tracekit.text import format_rounded

_COUNTS = {"prompt": "prompt_tokens", "cached": "cached_tokens", "response": "response_tokens"}
_TOTAL = {"total": "total_tokens"}
_ERRORS = {"errors": "errors"}


def build_reported_requests(requests: pd.DataFrame, most_requests: int) -> list[Block]:
    """Return the first requests of ``Trace.model_requests``, then what their numbers are."""
    listed = requests.iloc[:most_requests]
    reported = read_reported_requests(listed)
    models = [shorten_model_name(name) for name in reported.models]
    columns = (
        Column("model", [name or "–" for name in models], is_clipped=True),
        Column("request", [f"{number:,}" for number in range(1, len(listed) + 1)], "number"),
        Column("length", _write(reported.length_ns, format_rounded), "number"),
        *_list_counts(listed, _COUNTS),
        Column("response/s", [format_rate(rate) for rate in reported.rates.tolist()], "number"),
        *_list_counts(listed, _TOTAL, rank=1),
        *(_list_counts(listed, _ERRORS) if reported.is_failed.any() else ()),
    )
    table = Table(
        tuple(column for column in columns if any(column.texts)), caption="Requests to Foundation Models"
    )
    more = len(requests) - len(listed)
    return [table, *([Paragraph(count_note(more))] if more else []), Paragraph(REPORTED_MEANING)]


def _list_counts(requests: pd.DataFrame, names: dict[str, str], rank: int = 0) -> list[Column]:
    return [
        Column(
            title, _write(requests[name].to_numpy(np.int64), lambda count: f"{count:,}"), "number", rank=rank
        )
        for title, name in names.items()
    ]


def _write(values: npt.NDArray[np.int64], describe: Callable[[int], str]) -> list[str]:
    """Return a text for each value; "" for one that is not known."""
    return [describe(value) if value >= 0 else "" for value in values.tolist()]
