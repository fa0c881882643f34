"""The requests that Foundation Models reports as a whole: their lengths and tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import IntArray
from tracekit.report.document.blocks import Block, Column, Paragraph, Table, count_note
from tracekit.report.wording.generation import REPORTED_MEANING, format_rate
from tracekit.report.wording.names import shorten_model_name
from tracekit.text import format_rounded

_COUNTS = {"prompt": "prompt_tokens", "cached": "cached_tokens", "response": "response_tokens"}
_LAST_COUNTS = {"total": "total_tokens"}


def build_reported_requests(requests: pd.DataFrame, most_requests: int) -> list[Block]:
    """Return the first requests of ``Trace.model_requests``, then what their numbers are."""
    listed = requests.iloc[:most_requests]
    is_cut = listed["cut"].to_numpy(bool)
    lengths: IntArray = np.where(is_cut, -1, (listed["end_ns"] - listed["start_ns"]).to_numpy(np.int64))
    responses: IntArray = listed["response_tokens"].to_numpy(np.int64)
    is_known = (responses >= 0) & (lengths > 0)
    rates = np.where(is_known, responses * 1e9 / np.maximum(lengths, 1), np.nan)
    models = [shorten_model_name(name) for name in listed["model"].astype("str")]
    columns = (
        Column("model", [name or "–" for name in models], is_clipped=True),
        Column("request", [f"{number:,}" for number in range(1, len(listed) + 1)], "number"),
        Column("length", _write(lengths, format_rounded), "number"),
        *_list_counts(listed, _COUNTS),
        Column("response/s", [format_rate(rate) for rate in rates.tolist()], "number"),
        *_list_counts(listed, _LAST_COUNTS),
    )
    table = Table(
        tuple(column for column in columns if any(column.texts)), caption="Requests to Foundation Models"
    )
    more = len(requests) - len(listed)
    return [table, *([Paragraph(count_note(more))] if more else []), Paragraph(REPORTED_MEANING)]


def _list_counts(requests: pd.DataFrame, names: dict[str, str]) -> list[Column]:
    return [
        Column(title, _write(requests[name].to_numpy(np.int64), lambda count: f"{count:,}"), "number")
        for title, name in names.items()
    ]


def _write(values: npt.NDArray[np.int64], describe: Callable[[int], str]) -> list[str]:
    """Return a text for each value; "" for one that is not known."""
    return [describe(value) if value >= 0 else "" for value in values.tolist()]
