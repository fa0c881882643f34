"""``analyze``: Trace → labels → windows → attribution → verdicts → Analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from tracekit.analysis.attribution import Membership, assign_samples, attribute, shares_by_window
from tracekit.analysis.classification.labels import Labels, label_samples
from tracekit.analysis.classification.markers import Markers, load_markers
from tracekit.analysis.evidence import gather_evidence
from tracekit.analysis.reasons import leading_frames
from tracekit.analysis.result import Analysis
from tracekit.analysis.selection import Selection, select
from tracekit.analysis.summary import summarize
from tracekit.analysis.verdicts import Verdict, judge
from tracekit.analysis.windows.stacks import Inferred, windows_from_stacks
from tracekit.analysis.windows.window import Window, whole_run, window_frame
from tracekit.engines import ENGINE_CODE, Engine
from tracekit.model import Issue, Trace

WindowSource: TypeAlias = Literal["stacks", "run"]


def analyze(
    trace: Trace,
    *,
    windows: WindowSource | Sequence[Window] = "stacks",
    process: str | int | None = None,
    thread: str | int | None = None,
    markers: Path | None = None,
) -> Analysis:
    """Say which engine served each inference of a run, and how that is known.

    ``windows`` is "stacks" (infer them), "run" (one window over everything), or windows of your own
    (``parse_window``, ``windows_from_csv``). ``process`` and ``thread`` (name or number) select samples; a
    thread's include what the runtime's workers did for it. ``markers`` is a file of further rules. Raises
    ``UsageError`` when a selection matches nothing.
    """
    rules = load_markers(markers)
    selection = Selection(process, thread)
    trace = select(trace, selection, rules)
    labels = label_samples(trace, rules)
    issues = [*trace.issues]
    frame = window_frame(_windows(trace, labels, windows, issues))
    members = assign_samples(trace, labels, frame)
    if members.ambiguous:
        issues.append(
            Issue(
                "info",
                "worker-samples-shared",
                f"{members.ambiguous} samples of ML work on other threads lie in several overlapping windows;"
                " nothing tells whose they are, so they count in none",
                members.ambiguous,
            )
        )
    attribution = attribute(trace, labels, members)
    verdicts = _verdicts(trace, labels, rules, members, attribution, len(frame))
    nobody = Membership(np.zeros(0, np.int64), np.zeros(0, np.int64))
    issues += _label_issues(trace, labels)
    return Analysis(
        trace,
        rules,
        labels,
        members,
        frame,
        attribution,
        attribute(trace, labels, nobody),
        verdicts,
        gather_evidence(trace),
        summarize(trace, labels, frame, verdicts),
        tuple(issues),
        selection,
    )


def _verdicts(
    trace: Trace,
    labels: Labels,
    rules: Markers,
    members: Membership,
    attribution: pd.DataFrame,
    windows: int,
) -> tuple[Verdict, ...]:
    shares = shares_by_window(attribution)
    reasons: dict[int, dict[Engine, str]] = {}
    for (window, engine), frame in leading_frames(trace, labels, rules, members).items():
        reasons.setdefault(window, {})[engine] = frame
    return tuple(
        judge(shares.get(window, []), reasons.get(window, {}), trace.weight_unit) for window in range(windows)
    )


def _windows(
    trace: Trace,
    labels: Labels,
    wanted: WindowSource | Sequence[Window],
    issues: list[Issue],
) -> list[Window]:
    if wanted == "run":
        return [whole_run(trace)]
    if not isinstance(wanted, str):
        issues += _outside(trace, wanted)
        return list(wanted)
    inferred = windows_from_stacks(trace, labels)
    issues += _caveats(inferred, labels)
    if inferred.windows or not labels.is_ml.any():
        return inferred.windows
    return [whole_run(trace)]


def _caveats(inferred: Inferred, labels: Labels) -> list[Issue]:
    """Return what a reader of inferred windows must know."""
    caveats = []
    if inferred.bridged:
        text = (
            f"in {inferred.bridged} places a window goes on over a hole without samples (the longest is"
            f" {inferred.longest_ns / 1e6:.1f} ms), because the sample before it hands work to an engine or"
            " waits; the call may have ended there and another begun"
        )
        caveats.append(Issue("info", "holes-bridged", text, inferred.bridged))
    if inferred.windows:
        text = (
            "windows are inferred from prediction calls on stacks: inferences that follow one another without"
            " a sample in between cannot be told apart, and count as one window"
        )
        caveats.append(Issue("info", "windows-inferred", text))
    elif labels.is_ml.any():
        text = "no stack shows a prediction call; the whole run is one window"
        caveats.append(Issue("info", "no-prediction-calls", text))
    return caveats


def _outside(trace: Trace, windows: Sequence[Window]) -> list[Issue]:
    """Say it when windows of the user's own lie where no sample can be."""
    run = whole_run(trace)
    outside = [one for one in windows if one.start_ns >= run.end_ns or one.end_ns <= run.start_ns]
    if not outside:
        return []
    text = (
        f"{len(outside)} of {len(windows)} windows lie outside the recording, which lasts from"
        f" {run.start_ns / 1e6:,.3f} ms to {run.end_ns / 1e6:,.3f} ms (the first is '{outside[0].label}')"
    )
    return [Issue("warning", "window-outside", text, len(outside))]


def _label_issues(trace: Trace, labels: Labels) -> list[Issue]:
    unknown = int((labels.engine == ENGINE_CODE[Engine.UNKNOWN]).sum())
    with_stack = int((trace.samples["stack_id"] >= 0).sum())
    null = len(trace.samples) - with_stack
    said_already = any(issue.code == "no-symbols" for issue in trace.issues)
    if unknown - null > 0 and with_stack and not said_already:
        return [
            Issue(
                "warning",
                "unsymbolicated-stacks",
                f"no symbols on {unknown - null} of {with_stack} sampled stacks; what they did is unknown",
                unknown - null,
            )
        ]
    return []
