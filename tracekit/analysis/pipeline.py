"""``analyze``: Trace → labels → windows → attribution → verdicts → Analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tracekit.analysis.availability import gather_evidence
from tracekit.analysis.classification.leading_frames import DecidingFrame, leading_frames
from tracekit.analysis.classification.rule_set import load_rules
from tracekit.analysis.classification.sample_labels import label_samples
from tracekit.analysis.diagnostics import doubts_of, unknown_threads
from tracekit.analysis.engines.attribution import SharesByWindow, attribute
from tracekit.analysis.engines.counters import count_events, sum_metrics
from tracekit.analysis.engines.hand_offs import HandOffs
from tracekit.analysis.engines.measured import Measured, ane_may_be_ours
from tracekit.analysis.engines.membership import NOBODY, assign_samples
from tracekit.analysis.engines.timeline import Timeline
from tracekit.analysis.engines.waiting import Waiting
from tracekit.analysis.result import Analysis
from tracekit.analysis.selection import (
    Selection,
    select_process,
    select_thread,
    select_windows,
    selected_pids,
)
from tracekit.analysis.summary import summarize
from tracekit.analysis.verdicts import Facts, Judge, Verdict
from tracekit.analysis.windows.choose import WindowSource, choose_windows
from tracekit.analysis.windows.window import GIVEN_SOURCES, Window, window_frame
from tracekit.model.columns import WINDOWS
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace, WeightUnit
from tracekit.model.vocabulary import Engine


def analyze(
    trace: Trace,
    *,
    windows: WindowSource | Sequence[Window] = "auto",
    signposts: Sequence[str] = (),
    process: str | int | None = None,
    thread: str | int | None = None,
    markers: Path | None = None,
) -> Analysis:
    """Say which engine served each inference of a run, and how that is known.

    ``windows`` is "auto" (the best source that the recording has), one of ``WINDOW_SOURCES``, or windows of
    your own (``parse_window``, ``windows_from_csv``); ``signposts`` are patterns ``subsystem/category/name``
    whose intervals are the windows instead. ``process`` and ``thread`` (name or number) select samples; a
    thread's include what the runtime's workers did for it. ``markers`` is a file of further rules. Raises
    ``UsageError`` when a selection matches nothing.
    """
    rules = load_rules(markers)
    selection = Selection(process, thread)
    trace = select_process(trace, selection)
    labels = label_samples(trace, rules)
    pids = selected_pids(trace, selection)
    choice = choose_windows(trace, labels, windows, signposts, pids)
    ours = windows == "ane" or ane_may_be_ours(labels)
    frame = window_frame(select_windows(trace, selection, choice.windows))
    members = assign_samples(trace, labels, frame)
    unknown = int(((frame["thread_id"] < 0) & ~frame["source"].isin(GIVEN_SOURCES)).sum())
    trace, frame, members = select_thread(trace, selection, labels, frame, members)
    labels = labels if thread is None else label_samples(trace, rules)
    measured = Measured(trace, pids, frame["pid"].unique(), ours)
    waiting = Waiting(trace, labels)
    attribution = attribute(trace, labels, members, frame, measured, waiting)
    timeline = Timeline(trace, labels, members, frame, measured, waiting)
    times, segments = timeline.times(), timeline.segments()
    frames = leading_frames(trace, labels, rules, members)
    verdicts = _verdicts(frame, attribution, times, segments, frames, measured, trace.weight_unit)
    return Analysis(
        trace=trace,
        rules=rules.rules,
        labels=labels,
        members=members,
        window_rows=frame,
        attribution_rows=attribution,
        totals=attribute(trace, labels, NOBODY, WINDOWS.empty(), measured, waiting),
        verdicts=verdicts,
        evidence=gather_evidence(trace, measured),
        summary=summarize(trace, labels, frame, times, verdicts),
        issues=(
            *trace.issues,
            *choice.issues,
            *(unknown_threads(unknown) if thread is not None else ()),
            *doubts_of(trace, labels, members, frame, measured),
        ),
        selection=selection,
        measured=measured,
        times=times,
        segments=segments,
        events=count_events(trace, labels, members),
        metrics=sum_metrics(trace, frame),
    )


def _verdicts(
    windows: pd.DataFrame,
    attribution: pd.DataFrame,
    times: pd.DataFrame,
    segments: pd.DataFrame,
    frames: dict[int, dict[Engine, DecidingFrame]],
    measured: Measured,
    unit: WeightUnit,
) -> tuple[Verdict, ...]:
    shares = SharesByWindow(attribution)
    lengths = (windows["end_ns"] - windows["start_ns"]).tolist()
    foreign = times["foreign_ns"].tolist()
    is_call = (~windows["source"].isin(GIVEN_SOURCES)).tolist()
    of_engine = windows["source"].isin(ANE_TABLES).tolist()
    requested = frozenset(engine for engine in Engine if measured.requests(engine))

    def facts(window: int) -> Facts:
        return Facts(
            window,
            lengths[window],
            shares.get(window, []),
            frames.get(window, {}),
            foreign[window],
            is_call[window],
            of_engine[window],
        )

    judge = Judge(measured.reported, unit, HandOffs(segments, len(windows)), facts, requested)
    return tuple(judge.verdict(window) for window in range(len(windows)))
