"""Cold starts: a slow first call, a model that is compiled in the recording, and one that is loaded again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import group_rows, is_among, is_phase
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Confidence, Finding, Support
from tracekit.analysis.findings.frames import find_leading_frame
from tracekit.analysis.findings.instruments import record
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.frozen import frozen
from tracekit.model.schemas import ANE_TABLES, CORE_AI, CORE_ML
from tracekit.model.vocabulary import SERVING, Basis, Phase


class ColdNumbers(TypedDict):
    """The first call of a model and its ``warm_calls``; ``busy`` has the time of each engine in both."""

    is_named: bool
    first_ns: int
    warm_ns: int
    warm_calls: int
    preparing_ns: int
    preparing_basis: str | None
    busy: dict[str, tuple[int, int]]
    is_alone: bool
    is_engine_time: bool


class RepeatNumbers(TypedDict):
    """Loads or compiles of one model."""

    is_named: bool
    phase: Phase
    times: int
    moments_ns: tuple[int, ...]
    first_ns: int
    again_ns: int


class CompileNumbers(TypedDict):
    """The time in which a model was compiled."""

    is_named: bool
    compile_ns: int


COLD_FIRST_CALL = Kind[ColdNumbers]("cold-first-call", Need.FEW_CALLS, is_per_run=True)
COMPILED_IN_RUN = Kind[CompileNumbers]("compiled-in-run", Need.LOADS, is_per_run=True)
LOADED_AGAIN = Kind[RepeatNumbers]("loaded-again", Need.LOADS, is_per_run=True)

_FEWEST_WARM = 4
_LONGER = 1.2
_SPREADS = 3
_MOST_LONGER = 0.05
"""Choices: a first call is cold if it is 1/5 longer than the median of four others or more, by three times
the distance from their median to their p90, and at most 1/20 of them are as long."""
_LONG_NS = 100_000_000
"""A choice: users notice so long a wait."""
_FEWEST_SAMPLES = 3
_NEARLY_EVERY = 0.8
_FEW_CALLS = 3
_MOST_TIMES = 4


def find_cold_starts(calls: Calls) -> Iterator[Finding[Any]]:
    """Yield slow first calls, models that were compiled, and models that were loaded again."""
    cold = list(_find_cold_first_calls(calls))
    yield from (finding for finding, _ in cold)
    slow_calls = IntervalSet.of(*(np.array([edges[side] for _, edges in cold], np.int64) for side in (0, 1)))
    rows = calls.analysis.measured.preparations
    rows = _with_process(calls, rows[is_among(rows["source"], *ANE_TABLES, CORE_ML, CORE_AI)])
    repeated: set[tuple[str, int]] = set()
    for finding in _find_loaded_again(calls, rows):
        repeated.add((finding.model, finding.pid))
        yield finding
    yield from _find_compiled(calls, rows, slow_calls, repeated)


def _with_process(calls: Calls, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows about models with ``owner_pid``: the row's process, else the only one with such a model.

    Two processes may have models of one name, of which neither was loaded again because both were loaded.
    """
    own = rows["pid"].to_numpy(np.int64)
    pids: dict[str, set[int]] = {}
    distinct = rows[["owner_model", "pid"]].drop_duplicates()
    for name, pid in zip(distinct["owner_model"].tolist(), distinct["pid"].tolist(), strict=True):
        pids.setdefault(str(name), set()).add(int(pid))
    for model in calls.models:
        if model.model in pids:
            pids[model.model].add(model.pid)
    only = {name: min(known) for name, found in pids.items() if len(known := found - {-1}) == 1}
    unknown = rows["owner_model"].astype(object).map(only).fillna(-1).to_numpy(np.int64)
    return rows.assign(owner_pid=np.where(own >= 0, own, unknown))


# The first call ---------------------------------------------------------------------------------------------


def _find_cold_first_calls(calls: Calls) -> Iterator[tuple[Finding[ColdNumbers], tuple[int, int]]]:
    """Yield the finding about each slow first call, and the call's edges."""
    if not calls.is_timed:
        return
    for model in _iter_candidates(calls):
        first, warm = int(model.rows[0]), model.rows[1:]
        length, lengths = int(calls.lengths[first]), calls.lengths[warm]
        usual = calls.median(lengths)
        spread = int(np.percentile(lengths, 90, method="inverted_cdf")) - usual
        is_rough = calls.analysis.window_rows["source"].iloc[first] == "stacks"
        least = max((_LONGER - 1) * usual, _SPREADS * spread)
        if is_rough:  # edges are samples
            least = max(least, _SPREADS * sampling_period_ns(calls.trace))
        if length - usual < least or (lengths >= length).sum() > _MOST_LONGER * len(lengths):
            continue
        # A first call on another engine than all others is a change of engine, which is a finding of its own.
        served = {int(calls.served[first]), *calls.served[warm].tolist()} - {0}
        if len(served) > 1:
            continue
        yield (
            _make_cold(calls, model, usual, is_rough=is_rough),
            (int(calls.starts[first]), int(calls.ends[first])),
        )


def _iter_candidates(calls: Calls) -> Iterator[ModelCalls]:
    """Yield the models of several calls whose first is longer than the median, without a loop over models."""
    in_calls = np.flatnonzero(calls.model_of >= 0)
    model, lengths = calls.model_of[in_calls], calls.lengths[in_calls]
    ordered = lengths[np.lexsort((lengths, model))]
    counts = np.bincount(model, minlength=len(calls.models))
    middles = ordered[np.cumsum(counts) - counts + (counts - 1) // 2] if len(counts) else ordered
    firsts = np.array([entry.rows[0] for entry in calls.models], np.int64)
    is_slow = (calls.lengths[firsts] >= _LONGER * middles) & calls.first[firsts] & (counts > _FEWEST_WARM)
    for position in np.flatnonzero(is_slow).tolist():
        yield calls.models[position]


def _make_cold(calls: Calls, model: ModelCalls, usual_ns: int, *, is_rough: bool) -> Finding[ColdNumbers]:
    first, warm = int(model.rows[0]), model.rows[1:]
    times = calls.analysis.times.iloc[first]
    source = str(calls.analysis.window_rows["source"].iloc[first])
    preparing = int(times["preparing_ns"])
    busy = {
        str(engine): (int(calls.work[engine].busy_ns[first]), calls.median(calls.work[engine].busy_ns[warm]))
        for engine in SERVING
        if calls.work[engine].busy_ns[first]
    }
    lost = int(calls.lengths[first]) - usual_ns
    is_alone = bool(calls.analysis.window_rows["alone"].iloc[first])
    confidence: Confidence = "certain" if model.model and is_alone and not is_rough else "possible"
    numbers: ColdNumbers = {
        "is_named": model.is_named,
        "first_ns": int(calls.lengths[first]),
        "warm_ns": usual_ns,
        "warm_calls": len(warm),
        "preparing_ns": preparing,
        "preparing_basis": str(times["preparing_basis"]) if preparing else None,
        "busy": busy,
        "is_alone": is_alone,
        "is_engine_time": source in ANE_TABLES,
    }
    return Finding(
        kind=COLD_FIRST_CALL,
        severity="warning" if lost >= _LONG_NS else "info",
        confidence=confidence,
        basis=Basis.INFERRED if is_rough else Basis.MEASURED,
        **calls.locate(model.rows[:1], model),
        lost_ns=lost,
        numbers=numbers,
        support=() if is_rough else (Support("table", source, "", len(model.rows)),),
        actions=(Action("warm-up"), Action("check-first", {"model": model.model, "warm_ns": usual_ns})),
    )


# Compiling and loading --------------------------------------------------------------------------------------


@frozen
class _Event:
    """One model's rows of one kind of event, such as loading one of its segments: when it happened."""

    phase: Phase
    source: str
    spans: IntervalSet


def _find_loaded_again(calls: Calls, rows: pd.DataFrame) -> Iterator[Finding[RepeatNumbers]]:
    """Yield the models of which the same event of loading or compiling happened several times.

    Each segment and each table has an event of its own: only what repeats within one of them is a repetition.
    """
    models = _index_named_models(calls)
    of_processes = {model for model, pid in models if pid >= 0}
    for (model, pid), events in _iter_events(rows):
        if pid < 0 and model in of_processes:
            continue  # each of several processes may have loaded its own
        event = max(events, key=lambda entry: (len(entry.spans), entry.spans.total_ns))
        count = len(event.spans)
        of_model = models.get((model, pid))
        # A load before nearly each of several calls is a finding of its own: load-per-call.
        made = len(of_model.rows) if of_model else 0
        if count < 2 or count > _NEARLY_EVERY * made > _NEARLY_EVERY * _FEW_CALLS:
            continue
        lengths = event.spans.ends - event.spans.starts
        numbers: RepeatNumbers = {
            "is_named": True,
            "phase": event.phase,
            "times": count,
            "moments_ns": tuple(event.spans.starts[:_MOST_TIMES].tolist()),
            "first_ns": int(lengths[0]),
            "again_ns": int(lengths[1:].sum()),
        }
        yield Finding(
            kind=LOADED_AGAIN,
            severity="warning",
            confidence=_rate_confidence(calls),
            basis=Basis.MEASURED,
            model=model,
            pid=pid if of_model else -1,
            start_ns=int(event.spans.starts[1]),
            end_ns=int(event.spans.ends[-1]),
            lost_ns=int(lengths[1:].sum()),
            numbers=numbers,
            support=(Support("table", event.source, "", count),),
            actions=(Action("load-once"),),
        )


def _iter_events(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, int], list[_Event]]]:
    """Yield each model of a process with its events; unloading is none."""
    texts = [rows[name].astype(object).str.contains("unload", case=False) for name in ("label", "channel")]
    rows = rows[~(texts[0] | texts[1]).to_numpy(bool) & (rows["owner_model"] != "").to_numpy(bool)]
    if len(rows) < 2:
        return
    names = ["owner_model", "owner_pid", "phase", "source", "channel", "label"]
    by_model: dict[tuple[str, int], list[_Event]] = {}
    for (model, pid, phase, source, *_), members in group_rows(rows, *names):
        starts, ends = (rows[name].to_numpy(np.int64)[members] for name in ("start_ns", "end_ns"))
        spans = IntervalSet.of(starts, ends)
        by_model.setdefault((str(model), int(pid)), []).append(_Event(Phase(phase), str(source), spans))
    yield from sorted(by_model.items())


def _find_compiled(
    calls: Calls, rows: pd.DataFrame, slow_calls: IntervalSet, repeated: set[tuple[str, int]]
) -> Iterator[Finding[CompileNumbers]]:
    """Yield the models that were compiled outside of slow first calls, which have the time already."""
    rows = rows[(rows["phase"] == Phase.COMPILE).to_numpy(bool)]
    if not len(rows):
        yield from _find_compiled_on_stacks(calls, slow_calls)
        return
    starts, ends = (rows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    rows = rows[slow_calls.within(starts, ends) == 0]
    starts, ends = (rows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    source = rows["source"].astype("str").to_numpy(object)
    models = _index_named_models(calls)
    for (name, pid), members in group_rows(rows, "owner_model", "owner_pid"):
        of_model = models.get((str(name), int(pid)))
        if (str(name), int(pid) if of_model else -1) in repeated:
            continue
        spans = IntervalSet.of(starts[members], ends[members])
        if not len(spans):
            continue
        span = (int(spans.starts[0]), int(spans.ends[-1]))
        support = Support("table", str(source[members[0]]), "", len(members))
        yield _make_compiled(calls, str(name), of_model, span, spans.total_ns, Basis.MEASURED, [support])


def _index_named_models(calls: Calls) -> dict[tuple[str, int], ModelCalls]:
    """Return the calls of each model with a name, by name and process."""
    return {(entry.model, entry.pid): entry for entry in calls.models if entry.model}


def _find_compiled_on_stacks(calls: Calls, slow_calls: IntervalSet) -> Iterator[Finding[CompileNumbers]]:
    """Yield what samples show of compiling, where no table has it; stacks name no model."""
    if calls.trace.weight_unit != "ns":
        return
    samples = np.flatnonzero(is_phase(calls.analysis.labels.phase, Phase.COMPILE))
    times = calls.trace.samples["time_ns"].to_numpy(np.int64)[samples]
    is_outside = slow_calls.within(times, times + 1) == 0
    samples, times = samples[is_outside], times[is_outside]
    if len(samples) < _FEWEST_SAMPLES:
        return
    length = int(calls.trace.weights[samples].sum())
    frame = find_leading_frame(calls, samples)
    span = int(times[0]), int(times[-1])
    yield _make_compiled(calls, "", None, span, length, Basis.SAMPLED, [frame] if frame else [])


def _make_compiled(
    calls: Calls,
    name: str,
    of_model: ModelCalls | None,
    span: tuple[int, int],
    length_ns: int,
    basis: Basis,
    support: Sequence[Support],
) -> Finding[CompileNumbers]:
    return Finding(
        kind=COMPILED_IN_RUN,
        severity="warning" if length_ns >= _LONG_NS else "info",
        confidence=_rate_confidence(calls) if basis is Basis.MEASURED else "likely",
        basis=basis,
        model=name,
        pid=of_model.pid if of_model else -1,
        start_ns=span[0],
        end_ns=span[1],
        lost_ns=length_ns,
        numbers=CompileNumbers(is_named=bool(name), compile_ns=length_ns),
        support=tuple(support),
        actions=(record(calls, "restart"),),
    )


def _rate_confidence(calls: Calls) -> Confidence:
    """Return how sure it is that rows of the Neural Engine are of this app, which its table does not name."""
    owner = calls.analysis.measured.owner
    return "likely" if owner.unchecked or owner.unmatched else "certain"
