"""Data that is bound, cast and copied inside calls, around the engine's work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.engines.codes import is_among, is_phase, sum_by_code
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, CallWork, ModelCalls
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.frames import find_leading_frame
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.vocabulary import ML_ENGINES, Basis, Phase


class CopyNumbers(TypedDict):
    """The copies inside the calls of a model."""

    is_named: bool
    calls: int
    seen: int
    samples: int
    copied_ns: int
    length_ns: int
    share: float
    symbol: str


COPIES_AROUND_ENGINE = Kind[CopyNumbers]("copies-around-engine", Need.SAMPLES)

_LARGE_SHARE = 0.25
_FEWEST_SAMPLES = 10
"""Choices: 1/4 of the calls' time, seen in so many samples that the share is known to about a third."""
_MOST_SAMPLES = 1_000_000


def find_copies_around_engine(calls: Calls) -> Iterator[Finding[CopyNumbers]]:
    """Yield a finding per model whose calls bind, cast and copy data for much of their time."""
    if not calls.is_timed or calls.trace.weight_unit != "ns" or not len(calls.trace.samples):
        return
    copies = calls.sum_work(ML_ENGINES, (Phase.COPY,))
    is_whole = _is_whole(calls)
    count = len(calls.models)
    model = np.where(is_whole, calls.model_of, -1)
    inside = model >= 0
    if not count or not copies.samples[inside].any():
        return
    samples, copied, lengths = (
        sum_by_code(model[inside], amounts[inside], count)
        for amounts in (copies.samples, copies.sampled_ns, calls.lengths)
    )
    is_large = (samples >= _FEWEST_SAMPLES) & (lengths > 0) & (copied >= _LARGE_SHARE * lengths)
    for position in np.flatnonzero(is_large).tolist():
        entry = calls.models[position]
        yield _make_finding(calls, entry, entry.rows[is_whole[entry.rows]], copies)


def _is_whole(calls: Calls) -> BoolArray:
    """Mark the windows that are whole calls: rows of the engine's own table have no part on the host.

    A call whose request failed has little but copies.
    """
    is_engine_time = is_among(calls.analysis.window_rows["source"], *ANE_TABLES)
    marked: BoolArray = ~is_engine_time & (calls.analysis.requests.failed == 0)
    return marked


def _make_finding(calls: Calls, model: ModelCalls, rows: IntArray, copies: CallWork) -> Finding[CopyNumbers]:
    # While an engine works, a copy costs nothing: only its part of the budget does.
    copied, length = calls.sum_part(BudgetPart.COPY, rows), int(calls.lengths[rows].sum())
    frame = _find_frame(calls, rows)
    numbers: CopyNumbers = {
        "is_named": model.is_named,
        "calls": len(rows),
        "seen": int((copies.samples[rows] > 0).sum()),
        "samples": int(copies.samples[rows].sum()),
        "copied_ns": copied,
        "length_ns": length,
        "share": copied / length,
        "symbol": frame.detail if frame else "",
    }
    return Finding(
        kind=COPIES_AROUND_ENGINE,
        severity="warning",
        confidence="likely",
        basis=Basis.SAMPLED,
        **calls.locate(rows, model),
        lost_ns=copied or None,
        numbers=numbers,
        support=(frame,) if frame else (),
        actions=(Action("model-format"), Action("flame-graph")),
    )


def _find_frame(calls: Calls, rows: IntArray) -> Support | None:
    """Return the frame of most copies, of the first calls if calls at the same time share many samples."""
    members = calls.analysis.members
    sample, _ = members.pairs(rows[np.cumsum(members.counts[rows]) <= _MOST_SAMPLES])
    return find_leading_frame(calls, sample[is_phase(calls.analysis.labels.phase[sample], Phase.COPY)])
