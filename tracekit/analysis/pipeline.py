"""``analyze``: labels → windows → membership → engine times → attribution → verdicts → diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

from tracekit.analysis.availability import gather_evidence
from tracekit.analysis.budget.budget import Budget
from tracekit.analysis.budget.run_layers import Evidence
from tracekit.analysis.budget.sampled_time import SampledTime
from tracekit.analysis.classification.leading_frames import find_leading_frames
from tracekit.analysis.classification.rule_set import load_rules
from tracekit.analysis.classification.sample_labels import label_samples
from tracekit.analysis.diagnostics import (
    diagnose,
    diagnose_requests,
    report_calls_without_thread,
    with_windows,
)
from tracekit.analysis.engines.assignment import assign_samples
from tracekit.analysis.engines.attribution import SharesByWindow, attribute
from tracekit.analysis.engines.busy import Measured
from tracekit.analysis.engines.counters import count_events, sum_metrics
from tracekit.analysis.engines.membership import NO_WINDOWS, UNASSIGNED
from tracekit.analysis.engines.ownership import ane_may_be_target
from tracekit.analysis.engines.requests import find_logged_requests
from tracekit.analysis.engines.segments import Timeline
from tracekit.analysis.engines.submissions import count_submissions
from tracekit.analysis.engines.totals import EngineTotals, sum_by_engine
from tracekit.analysis.engines.waiting import Waiting
from tracekit.analysis.ownership.submitters import Submitters
from tracekit.analysis.result import Analysis
from tracekit.analysis.selection import (
    Selection,
    select_pids,
    select_process,
    select_thread,
    select_windows,
)
from tracekit.analysis.summary import summarize
from tracekit.analysis.threads import collect_thread_work
from tracekit.analysis.verdicts import RunFacts, Verdicts
from tracekit.analysis.windows.choose import WindowSource, choose_windows
from tracekit.analysis.windows.window import Window, build_window_frame, parse_window
from tracekit.errors import UsageError
from tracekit.model.columns import WINDOWS, IntArray
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import COMPUTE_UNITS, ENGINES, SERVING, Engine, Phase

if TYPE_CHECKING:
    from tracekit.analysis.generation.span_rules import SpanRule
    from tracekit.analysis.model_join.given_files import GivenModel, GivenPlan


def analyze(
    trace: Trace,
    *,
    windows: WindowSource | Sequence[Window | str] = "auto",
    signposts: Sequence[str] | str = (),
    process: str | int | None = None,
    thread: str | int | None = None,
    markers: str | Path | None = None,
    compute_units: str = "",
    models: Sequence[GivenModel] = (),
    plans: Sequence[GivenPlan] = (),
    request_spans: str | Path | None = None,
) -> Analysis:
    """Return which engine served each inference of a run, and the evidence for it.

    ``windows`` is "auto" (the best source that the recording has), one of ``WINDOW_SOURCES``, or windows of
    your own (``"12.5ms-18ms"``, ``parse_window``, ``windows_from_csv``); ``signposts`` are patterns
    ``subsystem/category/name`` whose intervals are the windows instead. ``process`` and ``thread`` (name
    or number) select samples; a
    thread's include those of the runtime's workers that served it. ``markers`` is a file of further rules.
    ``compute_units`` is what the app requests from Core ML, such as "cpuAndNeuralEngine"; "" is not known.
    ``models`` and ``plans`` are files of models in the recording and plans of them: a path, ``Name=path``
    with the recording's name of the model, or what ``read_model`` and ``read_plan`` return.
    ``request_spans`` is a file that names the app's signposts of a language model's steps
    (docs/language-models.md).
    Raises ``UsageError`` when a selection matches nothing, and for a model or plan that is no model's.
    """
    if not isinstance(trace, Trace):
        raise UsageError(
            f"analyze takes a trace, not {trace!r}: tracekit.analyze(tracekit.open_trace(path))."
        )
    if compute_units and compute_units not in COMPUTE_UNITS:
        raise UsageError(f"'{compute_units}' is none of the compute units {', '.join(COMPUTE_UNITS)}.")
    signposts = [signposts] if isinstance(signposts, str) else signposts
    rules = load_rules(None if markers is None else Path(markers))
    span_rules = () if request_spans is None else _read_span_rules(Path(request_spans))
    source = windows if isinstance(windows, str) else "given"
    selection = Selection(process, thread, source, tuple(signposts))

    # Labels: each sample's engine and phase.
    trace = select_process(trace, selection)
    labels = label_samples(trace, rules)

    # Windows: where each inference begins and ends.
    pids = select_pids(trace, selection)
    ane_is_target = windows == "ane" or ane_may_be_target(labels)
    choice = choose_windows(trace, labels, _parse_windows(windows), signposts, pids, ane_is_target)
    rows = build_window_frame(select_windows(trace, selection, choice.windows))

    # Membership: which sample counts in which window. A thread is selected only now, so that the samples that
    # several calls share are the same with and without a selection.
    members = assign_samples(trace, labels, rows, choice.runs)
    left_out = [] if thread is None else report_calls_without_thread(rows)
    trace, labels, rows, members = select_thread(trace, selection, labels, rows, members)

    # Engine times: the owner of each interval that tables measured, and waiting of host threads.
    requests = find_logged_requests(trace, rows, pids)
    submitters = Submitters(trace, labels, members)
    measured = Measured(trace, pids, rows, submitters, requests.served, ane_is_target)
    waiting = Waiting(trace, labels)

    # Attribution: samples, busy and waiting time per window × engine × phase, and over the whole run.
    attribution = attribute(trace, labels, members, rows, measured, waiting)
    totals = attribute(trace, labels, NO_WINDOWS, WINDOWS.empty(), measured, waiting)
    timeline = Timeline(trace, labels, members, rows, measured, waiting)
    times, segments = timeline.times(), timeline.segments()

    # Verdicts: the engines that served each window, and the frames that show them.
    contested = {engine: measured.contested_ns((engine, Phase.EXECUTE)) for engine in SERVING}
    requested = frozenset(engine for engine in Engine if measured.reports_requests(engine))
    verdicts = Verdicts(
        rows,
        attribution,
        find_leading_frames(trace, labels, rules, members),
        _get_column(times, "foreign_ns"),
        RunFacts(measured.reported, trace.weight_unit, requested, contested),
        requests,
        segments,
        timeline.engines(),
    )

    # The time budget of each window, computed where an output asks for it.
    seen = {work.engine: work.is_serving | (work.samples > 0) for work in verdicts.works}
    sampled = SampledTime(trace, labels)
    evidence = Evidence(trace, labels, members, rows, measured, waiting, sampled, selection, seen)

    # Diagnostics and summary.
    analysis = Analysis(
        trace=trace,
        rules=rules.rules,
        labels=labels,
        members=members,
        window_rows=rows,
        attribution_rows=attribution,
        totals=totals,
        engine_totals=_run_totals(totals, trace, measured),
        verdicts=verdicts,
        evidence=gather_evidence(
            trace, measured, rows["pid"].isin([-1, *pids] if pids else rows["pid"]).to_numpy(bool)
        ),
        summary=summarize(rows, times, verdicts),
        diagnostics=(
            *trace.issues,
            *with_windows(choice.diagnostics, rows),
            *left_out,
            *diagnose(trace, labels, members, rows, measured, requests),
            *diagnose_requests(requests, len(rows)),
        ),
        selection=selection,
        compute_units=compute_units,
        measured=measured,
        requests=requests,
        times=times,
        budget=Budget(evidence),
        segment_blocks=segments,
        submissions=count_submissions(rows, measured),
        events=count_events(trace, labels, members),
        metrics=sum_metrics(trace, rows),
        thread_work=None if trace.has_durations else collect_thread_work(trace, labels, rules),
        span_rules=span_rules,
    )
    return _join_models(analysis, models, plans) if models or plans else analysis


def _join_models(analysis: Analysis, models: Sequence[GivenModel], plans: Sequence[GivenPlan]) -> Analysis:
    """Return the analysis with the models whose files were given, which only few need the imports of."""
    from tracekit.analysis.model_join.join import join_models

    return replace(analysis, joined_models=join_models(analysis, models, plans))


def _read_span_rules(path: Path) -> tuple[SpanRule, ...]:
    """Return the user's rules for signposts of language models, which few need the imports of."""
    from tracekit.analysis.generation.span_rules import read_span_rules

    return read_span_rules(path)


def _parse_windows(windows: WindowSource | Sequence[Window | str]) -> WindowSource | Sequence[Window]:
    """Return windows given as text (``12.5ms-18ms``) as windows."""
    if isinstance(windows, str):
        return cast("WindowSource", windows)
    return [parse_window(window) if isinstance(window, str) else window for window in windows]


def _run_totals(totals: pd.DataFrame, trace: Trace, measured: Measured) -> tuple[EngineTotals, ...]:
    shares = SharesByWindow(totals).get(UNASSIGNED, [])
    return sum_by_engine(shares, ENGINES, trace.weight_unit, measured.engines)


def _get_column(frame: pd.DataFrame, name: str) -> IntArray:
    values: IntArray = frame[name].to_numpy("int64")
    return values
