"""``Answer``: the engine of each model, how sure that is, and since when: the content of the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tracekit.analysis.availability import find_refusal, has_rows
from tracekit.analysis.energy import Power
from tracekit.analysis.engines.codes import is_engine
from tracekit.analysis.engines.requests import LoggedRequests
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.lengths import compute_typical_length, find_two_lengths, select_warm_lengths
from tracekit.analysis.findings.placement import PLACEMENT_KINDS, PlacementNumbers
from tracekit.analysis.selection import select_pids
from tracekit.analysis.threads import ThreadWork
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.power_rails import POWERED_TRACK
from tracekit.model.schemas import ANE_TABLES, OS_LOG
from tracekit.model.vocabulary import ENGINE_CODE, ML_ENGINES, SERVING, Basis, Engine, Phase

if TYPE_CHECKING:
    from tracekit.analysis.engine_holders import EngineHolders

AnswerKind: TypeAlias = Literal[
    "models",
    "whole-run",
    "no-calls",
    "no-length",
    "not-recorded",
    "no-evidence",
    "no-symbols",
    "no-model",
    "threads",
]
MOST_MODELS = 5
"""The headline names so many models, those with most time first."""


@frozen
class EngineUse:
    """One engine's part in a model's calls: in how many it served, and how that is known.

    ``busy_share`` is the median part of these calls in which it worked, 0 where the engine was seen on stacks
    only (``basis`` "sampled") or in the log ("inferred"). ``table`` names the tables that measured it.
    ``most_share`` adds the work that may be these calls' or another owner's.
    """

    engine: Engine
    calls: int
    busy_share: float
    basis: Basis
    table: str
    most_share: float = 0.0


@frozen
class ModelAnswer:
    """Where one model's calls ran.

    ``length_ns`` is the median length of the calls, without the first; None where the user gave the windows.
    ``lengths_ns`` is the range of most of them where they are of two kinds.
    ``unknown`` calls have no visible engine. ``source`` is the table of the calls, or "stacks" where they are
    deduced from samples: then calls without a sample between them count as one.
    ``placement`` is the finding about a change of engine. ``contested`` has the engines that worked in the
    time of
    calls which nothing shows on them, for these calls or for another owner, and the number of such calls.
    """

    model: str
    is_named: bool
    pid: int
    calls: int
    unknown: int
    engines: tuple[EngineUse, ...]
    length_ns: int | None
    source: str
    is_engine_time: bool
    placement: Finding[PlacementNumbers] | None = None
    contested: tuple[tuple[Engine, int], ...] = ()
    lengths_ns: tuple[int, int] | None = None
    cut: int = 0
    """Unknown calls that an edge of the recording cuts: their engine may have worked outside of it."""
    position: int = -1
    """The model's position in ``Analysis.call_models``."""
    costliest: Finding[Any] | None = None
    """The error or warning about the model that costs most; None where none has a cost."""


@frozen
class ProcessAnswer:
    """The calls of another process: how many an engine served, and whether a table measured that."""

    process: str
    pid: int
    calls: int
    engines: tuple[tuple[Engine, int], ...]


@frozen
class LogAnswer:
    """Content of a log that was read by itself: ``lines`` about the Neural Engine, and what they show.

    ``powered_ns`` is the time in ``powered`` periods for which the kernel had the engine powered: at least,
    where it ``is_on_at_end``. Where it ``is_off_first``, a period that is not counted began before the log.
    """

    lines: int
    requests: LoggedRequests
    powered: int
    powered_ns: int
    is_on_at_end: bool = False
    is_off_first: bool = False
    unread: int = 0
    """Lines that mention the Neural Engine and are of no known form."""


@frozen
class Answer:
    """The content of the first sentences about a run.

    ``kind`` is "models" where calls were seen; "whole-run" where the run is the only window, or an engine was
    at work and no call was seen; "no-calls" where ML was sampled, but no prediction; "no-length" where all
    predictions were reported without a length; "not-recorded" where the recording was refused, or no
    table has a row; "no-evidence", "no-symbols" and "no-model" where nothing ran
    or nothing is visible; "threads" where samples have no times, so that ``threads`` is all that they show.
    ``models`` are those with most
    time, of ``model_count``. ``samples`` are all samples, of which ``ml_samples`` have an ML frame,
    ``unsymbolicated`` no stack with symbols, and ``parked`` are idle service threads of the Neural Engine,
    ``idle`` those and idle threads of ML runtimes. ``is_prepared`` is True where compiling or loading a model
    was measured. ``requests`` to the Neural Engine are in the log, of which ``failed_requests`` in
    ``failed_calls`` of ``calls``.
    ``without_length`` predictions were reported as moments, so that none of them is a call. ``power`` is
    that of the whole device, None where nothing measured it; ``log`` is of a log without a recording.
    ``models`` are the analysis' own, where it has any; ``others`` are the processes beside it.
    """

    kind: AnswerKind
    models: tuple[ModelAnswer, ...] = ()
    model_count: int = 0
    calls: int = 0
    samples: int = 0
    ml_samples: int = 0
    unsymbolicated: int = 0
    parked: int = 0
    idle: int = 0
    is_prepared: bool = False
    requests: int = 0
    failed_requests: int = 0
    failed_calls: int = 0
    without_length: int = 0
    threads: ThreadWork | None = None
    power: Power | None = None
    log: LogAnswer | None = None
    others: tuple[ProcessAnswer, ...] = ()
    costliest: Finding[Any] | None = None
    """The error or warning that costs most; None where none has a cost."""
    holders: EngineHolders | None = None
    """The processes that held memory on the Neural Engine; None where nothing sampled that."""


def make_answer(
    calls: Calls,
    findings: tuple[Finding[Any], ...],
    power: Power | None,
    holders: EngineHolders | None = None,
) -> Answer:
    """Return where each model of an analysis ran."""
    analysis, labels = calls.analysis, calls.analysis.labels
    engine = labels.engine
    placements = {
        (finding.model, finding.pid): finding for finding in findings if finding.kind in PLACEMENT_KINDS
    }
    costly = [finding for finding in findings if finding.severity != "info" and finding.lost_ns]
    costly.sort(key=lambda finding: -(finding.lost_ns or 0))
    of_target, of_processes = _split_by_process(calls)
    listed = of_target[:MOST_MODELS]
    kind = choose_answer_kind(calls)
    if calls.sources == ("run",):
        listed = (ModelCalls("", "", True, -1, np.arange(len(calls.starts))),)
    costliest = {(finding.model, finding.pid): finding for finding in reversed(costly)}
    answers = (_make_model_answer(calls, model, placements.get((model.name, model.pid))) for model in listed)
    models = tuple(replace(model, costliest=costliest.get((model.model, model.pid))) for model in answers)
    requests = analysis.requests
    return Answer(
        kind,
        models if len(calls.starts) else (_make_run_answer(calls),) if kind == "whole-run" else (),
        len(of_target),
        len(calls.starts),
        calls.trace.count_samples(),
        calls.trace.count_samples(labels.is_ml),
        calls.trace.count_samples(engine == ENGINE_CODE[Engine.UNKNOWN]),
        calls.trace.count_samples(engine == ENGINE_CODE[Engine.ANE]),
        calls.trace.count_samples(is_engine(engine, *ML_ENGINES) & ~labels.is_ml),
        bool(calls.trace.intervals["phase"].isin([Phase.LOAD, Phase.COMPILE]).any()),
        requests.requests,
        requests.failures,
        requests.failed_windows,
        calls.without_length,
        analysis.thread_work,
        power,
        _log_of(calls),
        tuple(of_processes),
        costly[0] if costly else None,
        holders,
    )


def _split_by_process(calls: Calls) -> tuple[Sequence[ModelCalls], list[ProcessAnswer]]:
    """Return the models of the analysis' own processes, and the others, the one with most calls first.

    Where no model is its own, all are listed as if they were.
    """
    pids = select_pids(calls.trace, calls.analysis.selection)
    of_target = [model for model in calls.models if not pids or model.pid < 0 or model.pid in pids]
    if not of_target or len(of_target) == len(calls.models):
        return calls.models, []
    rows: dict[int, list[IntArray]] = {}
    for model in calls.models:
        if pids and model.pid >= 0 and model.pid not in pids:
            rows.setdefault(model.pid, []).append(model.rows)
    threads = calls.trace.threads
    names = dict(zip(threads["pid"].tolist(), threads["process"].tolist(), strict=True))
    processes = []
    for pid, parts in rows.items():
        of_process = np.concatenate(parts)
        served = ((engine, int(calls.serves(engine)[of_process].sum())) for engine in SERVING)
        engines = tuple((engine, count) for engine, count in served if count)
        processes.append(ProcessAnswer(str(names.get(pid, "")), pid, len(of_process), engines))
    return of_target, sorted(processes, key=lambda process: (-process.calls, process.pid))


def _log_of(calls: Calls) -> LogAnswer | None:
    trace = calls.trace
    lines = [table.row_count or 0 for table in trace.tables if table.schema == OS_LOG]
    if not trace.is_of_text or not lines:
        return None
    rows = trace.tracks[trace.tracks["name"].astype(str).str.startswith(POWERED_TRACK).to_numpy(bool)]
    powered, powered_ns = 0, 0
    is_on_at_end = is_off_first = False
    for _, track in rows.groupby("name", observed=True):
        times, values = track["time_ns"].to_numpy(np.int64), track["value"].to_numpy(np.float64)
        is_on = values > 0
        powered += int((is_on & ~np.append(False, is_on[:-1])).sum())
        powered_ns += int(np.diff(times, append=times[-1:])[is_on].sum())
        states = values[~np.isnan(values)]
        is_on_at_end |= bool(len(states) and states[-1] > 0)
        is_off_first |= bool(len(states) and states[0] == 0)
    unread = sum(issue.count for issue in trace.issues if issue.code == "log-lines-unread")
    requests = calls.analysis.requests
    return LogAnswer(sum(lines), requests, powered, powered_ns, is_on_at_end, is_off_first, unread)


def choose_answer_kind(calls: Calls) -> AnswerKind:
    """Return the kind of answer that a recording allows."""
    if calls.analysis.thread_work is not None:
        return "threads"
    run_engines = not len(calls.starts) and _list_run_engines(calls)
    is_decided = bool((calls.served > 0).any() or run_engines)
    is_reported = bool({*calls.sources} - {"run", "stacks", "manual", "csv"})
    if not is_decided and not is_reported and calls.without_length:
        return "no-length"
    if not is_decided and not is_reported:
        if not len(calls.trace.samples):
            is_bare = find_refusal(calls.trace) is not None and not has_rows(calls.trace)
            return "not-recorded" if is_bare else "no-evidence"
        labels = calls.analysis.labels
        if not labels.is_ml.any():
            return "no-symbols" if (labels.engine == ENGINE_CODE[Engine.UNKNOWN]).all() else "no-model"
    if not len(calls.starts):
        return "whole-run" if run_engines else "no-calls"
    return "whole-run" if calls.sources == ("run",) else "models"


def _list_run_engines(calls: Calls) -> tuple[EngineUse, ...]:
    """Return the engines that inferences used in a run without calls; ANE rows would be calls themselves."""
    uses = []
    for totals in calls.analysis.engine_totals:
        sampled = any(share.samples for share in totals.phases if share.is_inference)
        measured = bool(totals.busy_ns) and totals.engine is not Engine.ANE
        if totals.engine in SERVING and (sampled or measured):
            basis = Basis.MEASURED if measured else Basis.SAMPLED
            table = calls.analysis.measured.reported.get(totals.engine, "")
            uses.append(EngineUse(totals.engine, 0, 0.0, basis, table, 0.0))
    return tuple(uses)


def _make_run_answer(calls: Calls) -> ModelAnswer:
    return ModelAnswer("", True, -1, 0, 0, _list_run_engines(calls), None, "run", is_engine_time=False)


def _make_model_answer(
    calls: Calls, model: ModelCalls, placement: Finding[PlacementNumbers] | None
) -> ModelAnswer:
    rows = model.rows
    served = calls.served[rows]
    names = calls.analysis.window_rows["source"]
    source = str(names.iloc[int(rows[0])]) if len(rows) else ""
    return ModelAnswer(
        model.name,
        model.is_named,
        model.pid,
        len(rows),
        int((served == 0).sum()),
        tuple(
            _use(calls, engine, rows[calls.serves(engine)[rows]])
            for engine in SERVING
            if calls.serves(engine)[rows].any()
        ),
        compute_typical_length(calls, rows) if calls.is_timed else None,
        source,
        source in ANE_TABLES,
        placement,
        tuple(_count_contested(calls, rows)),
        find_two_lengths(select_warm_lengths(calls, rows)) if calls.is_timed else None,
        int((calls.is_cut[rows] & (served == 0)).sum()),
        int(calls.model_of[rows[0]]) if len(rows) else -1,
    )


def _count_contested(calls: Calls, rows: IntArray) -> Iterator[tuple[Engine, int]]:
    for engine in SERVING:
        count = int((calls.is_contested(engine) & ~calls.serves(engine))[rows].sum())
        if count:
            yield engine, count


def _use(calls: Calls, engine: Engine, rows: IntArray) -> EngineUse:
    work = calls.work[engine]
    lengths = np.maximum(calls.lengths[rows], 1)
    share = float(np.median(work.busy_ns[rows] / lengths))
    most = float(np.median((work.busy_ns + work.contested_ns)[rows] / lengths))
    is_sampled = bool((work.samples[rows] > 0).any())
    basis = Basis.MEASURED if share else Basis.SAMPLED if is_sampled else Basis.INFERRED
    return EngineUse(engine, len(rows), share, basis, calls.analysis.measured.reported.get(engine, ""), most)
