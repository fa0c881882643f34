"""Recordings without an answer: no model, no call, no visible engine, or no symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NotRequired, TypedDict

import numpy as np

from tracekit.analysis.availability import find_refusal
from tracekit.analysis.engines.codes import group_rows
from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.answer import choose_answer_kind
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.instruments import (
    ENGINE_INSTRUMENTS,
    MissingInstrument,
    add_instruments,
    list_missing_instruments,
    record,
)
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.missing_symbols import without_symbols
from tracekit.analysis.selection import select_pids
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import CUMULATIVE_COUNTERS, LIFE_CYCLE, MODEL_INFERENCE, TIME_SAMPLE
from tracekit.model.vocabulary import ENGINE_CODE, Basis, Engine, Phase


class _SignpostNumbers(TypedDict):
    """The most frequent of ``signpost_kinds`` kinds of intervals that signposts mark."""

    signposts: tuple[tuple[str, int], ...]
    signpost_kinds: int
    signposts_are_system: bool


class NoModelNumbers(_SignpostNumbers):
    """The samples of a recording without a model, and other processes that ran one."""

    samples: int
    without_symbols: int
    parked: int
    is_prepared: bool
    requests: int
    missing: tuple[MissingInstrument, ...]
    processes: tuple[tuple[str, int, int], ...]


class NoCallsNumbers(_SignpostNumbers):
    """The samples of a recording without a call."""

    samples: int
    ml_samples: int
    without_length: int
    missing: tuple[MissingInstrument, ...]


class NoEngineNumbers(TypedDict):
    """Calls without a visible engine, and the first of their ``model_count`` models."""

    calls: int
    models: tuple[tuple[str, bool], ...]
    model_count: int
    samples: int
    is_sampled: bool
    is_system_model: bool
    missing: tuple[MissingInstrument, ...]


class NoSymbolsNumbers(TypedDict):
    """Samples without symbols; ``binaries`` have name, UUID and samples of those that have most."""

    samples: int
    stacks: int
    without_symbols: int
    table: str
    is_raw: bool
    is_text: bool
    binaries: NotRequired[tuple[tuple[str, str, int], ...]]


NO_MODEL_SEEN = Kind[NoModelNumbers]("no-model-seen", Need.TIMES, "recording")
NO_CALLS_SEEN = Kind[NoCallsNumbers]("no-calls-seen", Need.TIMES, "recording")
NO_ENGINE_VISIBLE = Kind[NoEngineNumbers]("no-engine-visible", Need.TIMES, "recording")
NO_SYMBOLS = Kind[NoSymbolsNumbers]("no-symbols", about="recording")

_CALL_TABLES = (*RUNTIMES, MODEL_INFERENCE)
_WITHOUT_SYMBOLS = (TIME_SAMPLE, CUMULATIVE_COUNTERS)
"""Exports of these tables hold addresses only."""
_SYSTEM = "com.apple."
_FEWEST_INTERVALS = 2
_MOST_PROCESSES = 4
_MOST_SIGNPOSTS = 3
_MOST_MODELS = 3


def find_missing_answers(calls: Calls) -> Iterator[Finding[Any]]:
    """Yield what keeps a recording from showing where a model ran."""
    kind = choose_answer_kind(calls)
    codes = {diagnostic.code for diagnostic in calls.analysis.diagnostics}
    yield from _find_no_symbols(calls)
    if kind == "threads" or calls.trace.is_of_text:
        return
    if kind in ("no-model", "no-evidence", "not-recorded"):
        yield _make_no_model(calls)
    elif kind in ("no-calls", "no-length") or "no-prediction-calls" in codes:
        yield _make_no_calls(calls)
    elif kind == "models" and calls.is_timed:
        yield from _find_no_engine(calls)


def _make_no_model(calls: Calls) -> Finding[NoModelNumbers]:
    trace, requests = calls.trace, calls.analysis.requests
    missing = list_missing_instruments(calls, *_name_sampler(calls), "Core ML", *ENGINE_INSTRUMENTS.values())
    processes = _list_other_processes(calls)
    signposts = _count_signposts(calls)
    selection = calls.analysis.selection
    is_part = selection.process is not None or selection.thread is not None
    engine = calls.analysis.labels.engine
    actions = [_show_process(calls, name, pid) for name, pid, _ in processes[:1]]
    actions += [Action("analyze-all-processes")] if is_part and not processes else []
    actions += signposts.actions
    if any(entry.reason in ("not exported", "not in this input") for entry in missing):
        actions.append(Action("analyze-bundle"))
    is_refused = find_refusal(trace) is not None
    actions.append(record(calls, "refused" if is_refused else "predicting"))
    if not missing and not processes and not is_part:
        actions.append(record(calls, "all-processes", all_processes=True))
    samples = trace.count_samples()
    numbers: NoModelNumbers = {
        "samples": samples,
        "without_symbols": trace.count_samples(engine == ENGINE_CODE[Engine.UNKNOWN]),
        "parked": trace.count_samples(engine == ENGINE_CODE[Engine.ANE]),
        "is_prepared": bool(trace.intervals["phase"].isin([Phase.LOAD, Phase.COMPILE]).any()),
        "requests": requests.requests,
        "missing": missing,
        "processes": processes,
        **signposts.numbers,
    }
    return Finding(
        kind=NO_MODEL_SEEN,
        severity="info",
        confidence="certain",
        basis=Basis.SAMPLED if samples else Basis.MEASURED,
        numbers=numbers,
        support=(Support("table", trace.samples_source, "", samples),) if samples else (),
        actions=tuple(actions),
    )


def _name_sampler(calls: Calls) -> tuple[str, ...]:
    return () if len(calls.trace.samples) else ("Time Profiler",)


def _show_process(calls: Calls, name: str, pid: int) -> Action:
    """Return the step that shows another process: of this recording, if it has samples of it."""
    is_recorded = bool((calls.trace.threads["pid"] == pid).any())
    return Action("analyze-process" if is_recorded else "record-process", {"process": name or str(pid)})


def _list_other_processes(calls: Calls) -> tuple[tuple[str, int, int], ...]:
    """Return other processes that ran a model: name, pid, and their calls and requests to the engine."""
    rows = calls.trace.intervals
    counts: Counter[int] = Counter()
    own = select_pids(calls.trace, calls.analysis.selection)
    if own:
        is_call = rows["source"].isin(_CALL_TABLES) & rows["phase"].isna() & (rows["pid"] >= 0)
        pids = rows["pid"][is_call.to_numpy(bool)].to_numpy(np.int64)
        distinct, numbers = np.unique(pids[~np.isin(pids, list(own))], return_counts=True)
        counts.update(dict(zip(distinct.tolist(), numbers.tolist(), strict=True)))
    names = {}
    for process in calls.analysis.requests.processes:
        if not process.is_target and process.pid >= 0:
            counts[process.pid] += process.requests
            names[process.pid] = process.process
    threads = calls.trace.threads
    most = counts.most_common(_MOST_PROCESSES)
    for pid, _ in most:
        named = threads["process"][(threads["pid"] == pid).to_numpy(bool)]
        names[pid] = names.get(pid) or (str(named.iloc[0]) if len(named) else "")
    return tuple((names[pid], pid, count) for pid, count in most)


@frozen
class _Signposts:
    """Kinds of signpost intervals, ``subsystem/category/name``, the most frequent first, and their counts."""

    kinds: tuple[tuple[str, int], ...]
    is_system: bool

    @property
    def numbers(self) -> _SignpostNumbers:
        return {
            "signposts": self.kinds[:_MOST_SIGNPOSTS],
            "signpost_kinds": len(self.kinds),
            "signposts_are_system": self.is_system,
        }

    @property
    def actions(self) -> list[Action]:
        return [
            Action("analyze-signposts", {"pattern": name})
            for name, _ in self.kinds[:1]
            if not self.is_system  # Apple's own mark no call of the app
        ]


def _count_signposts(calls: Calls) -> _Signposts:
    """Return the app's signpost intervals; if it has none, those of Apple's frameworks."""
    rows = calls.trace.signposts
    if rows.empty:
        return _Signposts((), is_system=False)
    is_interval = (rows["kind"] == "interval") & (rows["end_ns"] > rows["start_ns"])
    is_interval &= rows["source"] != LIFE_CYCLE
    chosen = rows[is_interval.to_numpy(bool)].reset_index(drop=True)
    groups = [
        (tuple(map(str, names)), len(positions))
        for names, positions in group_rows(chosen, "subsystem", "category", "name")
        if len(positions) >= _FEWEST_INTERVALS and all(names)
    ]
    own = [group for group in groups if not group[0][0].startswith(_SYSTEM)]
    ordered = sorted(own or groups, key=lambda group: (-group[1], group[0]))
    return _Signposts(tuple(("/".join(names), count) for names, count in ordered), is_system=not own)


def _make_no_calls(calls: Calls) -> Finding[NoCallsNumbers]:
    labels = calls.analysis.labels
    signposts = _count_signposts(calls)
    missing = list_missing_instruments(calls, "Core ML")
    actions = signposts.actions
    actions += add_instruments(calls, missing, "calls") or (record(calls, "predicting"),)
    samples, ml_samples = len(labels.engine), int(labels.is_ml.sum())
    numbers: NoCallsNumbers = {
        "samples": samples,
        "ml_samples": ml_samples,
        "without_length": calls.without_length,
        "missing": missing,
        **signposts.numbers,
    }
    return Finding(
        kind=NO_CALLS_SEEN,
        severity="warning",
        confidence="certain",
        basis=Basis.SAMPLED if ml_samples else Basis.MEASURED,
        numbers=numbers,
        support=(Support("table", calls.trace.samples_source, "", samples),) if samples else (),
        actions=tuple(actions),
    )


def _find_no_engine(calls: Calls) -> Iterator[Finding[NoEngineNumbers]]:
    """Yield the models of which no call shows an engine, unless failed requests explain them."""
    without = _mark_without_engine(calls)
    if not without.any():
        return
    rows = np.flatnonzero(without)
    numbers = np.unique(calls.model_of[rows])
    models = [calls.models[number] for number in numbers[:_MOST_MODELS].tolist()]
    samples = int(calls.sum_work(tuple(Engine), (*Phase, None)).samples[rows].sum())
    missing = list_missing_instruments(calls, *_name_sampler(calls), *ENGINE_INSTRUMENTS.values())
    is_system_model = bool(
        (calls.analysis.window_rows["source"] == MODEL_INFERENCE).to_numpy(bool)[rows].any()
    )
    if is_system_model:
        # A process of the system runs these models; the app's own samples do not show it.
        actions: tuple[Action, ...] = (
            record(calls, "system-model", all_processes=True, instruments=("Foundation Models",)),
        )
    else:
        actions = add_instruments(calls, missing, "engines") or (record(calls, "more-calls"),)
        actions += (Action("compute-units", {"model": models[0].name}),)
    only = models[0] if len(numbers) == 1 else None
    yield Finding(
        kind=NO_ENGINE_VISIBLE,
        severity="warning",
        confidence="certain",
        basis=Basis.MEASURED,
        **calls.describe(rows, only),
        start_ns=int(calls.starts[rows[0]]),
        end_ns=int(calls.ends[rows].max()),
        numbers=NoEngineNumbers(
            calls=len(rows),
            models=tuple((model.name, model.is_named) for model in models),
            model_count=len(numbers),
            samples=samples,
            is_sampled=len(calls.trace.samples) > 0,
            is_system_model=is_system_model,
            missing=missing,
        ),
        support=tuple(Support("table", source) for source in calls.sources if source != "stacks"),
        actions=actions,
    )


def _mark_without_engine(calls: Calls) -> BoolArray:
    """Mark the calls of models that no engine served in any call; calls of failed requests are explained."""
    number = calls.model_of
    is_served = calls.served > 0
    is_explained = is_served | (calls.analysis.requests.failed > 0)
    explained = np.bincount(number[number >= 0], is_explained[number >= 0], minlength=len(calls.models))
    without: BoolArray = np.zeros(len(number), bool)
    without[number >= 0] = explained[number[number >= 0]] == 0
    return without


def _find_no_symbols(calls: Calls) -> Iterator[Finding[NoSymbolsNumbers]]:
    """Yield a finding where half of the stacks or more have no symbols, so that most work has no name."""
    trace, engine = calls.trace, calls.analysis.labels.engine
    has_stack = (trace.samples["stack_id"] >= 0).to_numpy(bool)
    is_unknown = engine == ENGINE_CODE[Engine.UNKNOWN]
    samples, stacks = trace.count_samples(), trace.count_samples(has_stack)
    unknown = trace.count_samples(without_symbols(trace, engine))
    if not trace.has_timeline and stacks and not unknown:
        return  # lines of the text are missing, which its reader reports
    if not samples or 2 * unknown < stacks or not is_unknown.any():
        return
    source = calls.trace.samples_source
    is_raw = source in _WITHOUT_SYMBOLS
    numbers: NoSymbolsNumbers = {
        "samples": samples,
        "stacks": stacks,
        "without_symbols": unknown,
        "table": source,
        "is_raw": is_raw,
        "is_text": trace.is_of_text,
    }
    named = [binary for binary in calls.analysis.binaries_without_symbols if binary.uuid]
    if named:
        numbers["binaries"] = tuple((binary.name, binary.uuid, binary.samples) for binary in named[:3])
    add = (Action("add-symbols", {"name": named[0].name, "uuid": named[0].uuid}),) if named else ()
    again = (Action("analyze-bundle"),) if is_raw and trace.info.kind != "trace-bundle" else ()
    yield Finding(
        kind=NO_SYMBOLS,
        severity="warning",
        confidence="certain",
        basis=Basis.SAMPLED,
        numbers=numbers,
        support=(Support("table", source, "", samples),),
        actions=(*add, *again, *((record(calls, "symbols"),) if not trace.is_of_text else ())),
    )
