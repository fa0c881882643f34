"""Doubts about the absence of a finding: an engine's work without a certain owner, too few calls alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracekit.analysis.availability import Use, find_ane_use
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.contention import (
    ENGINE_CONTENTION,
    GPU_SHARED_WITH_RENDERING,
    MODELS_SERIALIZED,
)
from tracekit.analysis.findings.kind import Kind
from tracekit.analysis.findings.latency import LATENCY_DRIFT, LATENCY_OUTLIERS, TWO_POPULATIONS, list_unlike
from tracekit.analysis.findings.partial import PARTLY_ON_ENGINE
from tracekit.analysis.findings.placement import PLACEMENT_KINDS
from tracekit.analysis.findings.series import FEWEST
from tracekit.comparison.observations import Observations
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import GPU_INTERVALS
from tracekit.model.vocabulary import Engine
from tracekit.text import clip, plural, printable

_Doubt = Callable[[Calls, BoolArray], str]
_NAMES = {Engine.ANE: "the Neural Engine", Engine.GPU: "the GPU"}
_NAME_WIDTH = 60


def explain_doubt(observations: Observations, kind: Kind[Any], rows: BoolArray) -> str:
    """Return why some windows may have a kind of finding although none is seen; "" where nothing is open."""
    doubts = _DOUBTS.get(kind, ())
    calls = Calls(observations.analysis)
    return next(filter(None, (doubt(calls, rows) for doubt in doubts)), "")


def _doubt_owners(*engines: Engine, is_for_all: bool = False) -> _Doubt:
    """Return the doubt about work on an engine that is another owner's or a call's, whichever.

    Without ``is_for_all``, calls that the engine serves anyway may have such work.
    """

    def explain(calls: Calls, rows: BoolArray) -> str:
        for engine in engines:
            count = int((rows & calls.is_contested(engine) & (is_for_all | ~calls.serves(engine))).sum())
            if count:
                total = plural(int(rows.sum()), "call")
                return (
                    f"in {count:,} of {total}, {_NAMES[engine]} worked for the call or for another owner, and"
                    " nothing decides which"
                )
        return ""

    return explain


def _doubt_named_owners(calls: Calls, _rows: BoolArray) -> str:
    if find_ane_use(calls.analysis.evidence) is not Use.ANE_UNCHECKED:
        return ""
    return "rows of the Neural Engine name no process, and no model that the app's calls name"


def _doubt_gpu_processes(calls: Calls, _rows: BoolArray) -> str:
    intervals = calls.analysis.trace.intervals
    is_named = (intervals["source"] == GPU_INTERVALS) & (intervals["pid"] >= 0)
    return "" if is_named.any() else "its table of the GPU has no rows that name a process"


def _doubt_separate_calls(calls: Calls, rows: BoolArray) -> str:
    is_several = (calls.served & (calls.served - 1)) > 0
    count = int((rows & is_several & ~calls.analysis.window_rows["alone"].to_numpy(bool)).sum())
    if not count:
        return ""
    return f"in {plural(count, 'call')}, several engines work while other calls run, whose work it may be"


def _doubt_alike_calls(calls: Calls, rows: BoolArray) -> str:
    unlike = next((model for model in list_unlike(calls) if rows[model.rows].any()), None)
    if unlike is None:
        return ""
    name = clip(printable(unlike.name), _NAME_WIDTH)
    return (
        f"fewer than {FEWEST} measured calls of {name} are alike: on one engine, without loading and failures"
    )


_ON_ENGINE = (_doubt_owners(Engine.ANE, Engine.GPU),)
_OF_ANE = (_doubt_named_owners, _doubt_owners(Engine.ANE, is_for_all=True))
_DOUBTS: Mapping[Kind[Any], tuple[_Doubt, ...]] = {
    **dict.fromkeys(PLACEMENT_KINDS, _ON_ENGINE),
    PARTLY_ON_ENGINE: (*_ON_ENGINE, _doubt_separate_calls),
    ENGINE_CONTENTION: _OF_ANE,
    MODELS_SERIALIZED: _OF_ANE,
    GPU_SHARED_WITH_RENDERING: (_doubt_gpu_processes,),
    **dict.fromkeys((LATENCY_OUTLIERS, LATENCY_DRIFT, TWO_POPULATIONS), (_doubt_alike_calls,)),
}
