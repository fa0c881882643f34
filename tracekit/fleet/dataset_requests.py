"""The requests to language models of an analysis as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tracekit.analysis.budget.parts import EXECUTING
from tracekit.analysis.generation.generations import Generations
from tracekit.analysis.generation.reported import read_reported_requests
from tracekit.analysis.result import Analysis
from tracekit.fleet.schema import ENGINES
from tracekit.model.columns import IntArray
from tracekit.model.schemas import MODEL_INFERENCE, SIGNPOST_EVENTS
from tracekit.model.vocabulary import Basis, Engine


def iter_request_columns(analysis: Analysis, processes: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of the table ``requests``; ``processes`` are the names by pid.

    Requests that signposts mark come first, then those that Foundation Models reports, numbered anew.
    """
    generations, reported = analysis.generations, analysis.trace.model_requests
    if generations is not None:
        yield _build_marked(analysis, generations, processes)
    if len(reported):
        yield _build_reported(reported, processes)
    if generations is None and not len(reported):
        yield {"request": []}


def _build_reported(rows: pd.DataFrame, processes: Mapping[int, str]) -> dict[str, Any]:
    """Return the columns of the requests of ``Trace.model_requests``, which have no phases."""
    reported, count = read_reported_requests(rows), len(rows)
    pids = rows["pid"].to_numpy(np.int64)
    return {
        "process": [processes.get(pid, "") for pid in pids.tolist()],
        "pid": _mask_negative(pids),
        "model": reported.models,
        "request": np.arange(1, count + 1),
        "start_ns": rows["start_ns"].to_numpy(np.int64),
        "cut": reported.is_open,
        "source": [MODEL_INFERENCE] * count,
        "basis": [str(Basis.MEASURED)] * count,
        "prompt_tokens": _mask_negative(rows["prompt_tokens"].to_numpy(np.int64)),
        "cached_tokens": _mask_negative(rows["cached_tokens"].to_numpy(np.int64)),
        "tokens": _mask_negative(reported.response_tokens),
        "length_ns": _mask_negative(reported.length_ns),
        "errors": _mask_negative(reported.errors),
    }


def _build_marked(
    analysis: Analysis, generations: Generations, processes: Mapping[int, str]
) -> dict[str, Any]:
    requests, count = generations.requests, len(generations)
    return {
        "process": [processes.get(pid, "") for pid in requests.pid.tolist()],
        "pid": _mask_negative(requests.pid),
        "model": generations.models,
        "request": np.arange(1, count + 1),
        "start_ns": requests.start_ns,
        "cut": requests.is_cut,
        "source": [SIGNPOST_EVENTS] * count,
        "basis": [str(Basis.MEASURED)] * count,
        "prompt_tokens": _mask_negative(requests.prompt_tokens),
        "tokens": _mask_negative(generations.token_counts),
        "first_token_ns": _mask_negative(generations.first_token_ns),
        "decode_tokens": _mask_negative(generations.decode_tokens),
        "decode_ns": pa.array(generations.decode_ns, mask=generations.decode_ns <= 0),
        **dict(_iter_engine_columns(analysis, generations)),
    }


def _iter_engine_columns(analysis: Analysis, generations: Generations) -> Iterator[tuple[str, pa.Array]]:
    """Yield the time of each engine in each phase."""
    known = {*analysis.measured.reported}
    if analysis.trace.weight_unit == "ns" and len(analysis.trace.samples):
        known.add(Engine.CPU)
    for phase, positions in generations.phase_rows.items():
        is_alone = (positions >= 0) & ~generations.requests.overlaps
        for name in ENGINES:
            times = generations.phase_budgets.by_part[EXECUTING[Engine(name)]]
            is_missing = ~(is_alone & (Engine(name) in known))
            yield f"{phase}_{name.lower()}_ns", pa.array(np.append(times, 0)[positions], mask=is_missing)


def _mask_negative(values: IntArray) -> pa.Array:
    return pa.array(values.astype(np.int64), mask=values < 0)
