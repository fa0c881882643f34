"""Windows from tables: calls of Core ML, Core AI and Foundation Models, ANE intervals, signposts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate

import numpy as np
import pandas as pd

from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.engines.interval_sets import IntervalSet
from tracekit.analysis.engines.ownership import Ownership, get_only_pid
from tracekit.analysis.windows.stack_windows import LONG_HOLE_NS
from tracekit.analysis.windows.window import Window, get_edges
from tracekit.errors import UsageError
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_AI, CORE_ML, LIFE_CYCLE, MODEL_INFERENCE
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import CALL_SIGNPOSTS, Basis, Phase
from tracekit.text import plural

_PATTERN_PARTS = 3


def build_core_ml_windows(trace: Trace, pids: frozenset[int]) -> list[Window]:
    """Return one window per prediction that Core ML reported; sub-models of a pipeline are part of it."""
    rows = trace.intervals
    rows = rows[_mark_outermost(rows, CORE_ML, "Prediction")]
    return _build_windows(rows, rows["model"].astype("str"), get_only_pid(pids))


def _mark_outermost(rows: pd.DataFrame, source: str, channel: str) -> BoolArray:
    """Mark the rows of a runtime's table that lie in no other row of it."""
    is_channel = is_among(rows["source"], source) & is_among(rows["channel"], channel)
    return is_channel & (rows["depth"] == 0).to_numpy(bool)


def build_core_ai_windows(trace: Trace, pids: frozenset[int]) -> list[Window]:
    """Return one window per inference that Core AI reported; the rows inside an inference are part of it."""
    rows = trace.intervals
    rows = rows[_mark_outermost(rows, CORE_AI, "Inference") & rows["phase"].isna().to_numpy(bool)]
    if rows.empty:
        return []
    models, functions = rows["model"].astype("str"), rows["label"].astype("str")
    # Apple writes a model's function like this: "Load model::main".
    names = models.where(functions == "", models + "::" + functions).where(models != "", functions)
    return _build_windows(rows, names, get_only_pid(pids))


def build_runtime_windows(trace: Trace, pids: frozenset[int]) -> list[Window]:
    """Return the windows of Core ML and of Core AI; a call that both report is one, as Core ML reports it."""
    of_core_ml, of_core_ai = build_core_ml_windows(trace, pids), build_core_ai_windows(trace, pids)
    if not of_core_ml or not of_core_ai:
        return of_core_ml or of_core_ai
    is_inside = np.zeros(len(of_core_ai), bool)
    owners = np.array([(window.pid, window.model) for window in of_core_ai], object)
    for pid, model in {(window.pid, window.model) for window in of_core_ml if window.model}:
        outer = [window for window in of_core_ml if (window.pid, window.model) == (pid, model)]
        rows = np.flatnonzero((owners == np.array((pid, model), object)).all(axis=1))
        covered = IntervalSet.of(*get_edges(outer))
        starts, ends = get_edges([of_core_ai[row] for row in rows.tolist()])
        is_inside[rows] = covered.within(starts, ends) == ends - starts
    return [
        *of_core_ml,
        *(w for w, is_part in zip(of_core_ai, is_inside.tolist(), strict=True) if not is_part),
    ]


def build_foundation_model_windows(trace: Trace, pids: frozenset[int]) -> list[Window]:
    """Return one window per inference of a language model that Foundation Models reported."""
    rows = trace.intervals
    rows = rows[is_among(rows["source"], MODEL_INFERENCE)]
    return _build_windows(rows, rows["label"].astype("str"), get_only_pid(pids))


def _build_windows(rows: pd.DataFrame, labels: pd.Series[str], target: int) -> list[Window]:
    texts = (rows[name].astype("str").tolist() for name in ("channel", "source", "model", "copy"))
    channels, sources, models, copies = texts
    starts, ends, pids = (rows[name].tolist() for name in ("start_ns", "end_ns", "pid"))
    columns = zip(starts, ends, labels.tolist(), channels, sources, pids, models, copies, strict=True)
    return [
        Window(
            start, end, label or channel, source, Basis.MEASURED, -1, pid if pid >= 0 else target, model, copy
        )
        for start, end, label, channel, source, pid, model, copy in columns
        if end > start
    ]


def build_ane_windows(trace: Trace, pids: frozenset[int], ane_is_target: bool = True) -> list[Window]:
    """Return one window per run of the Neural Engine's intervals in which no label comes twice.

    A partitioned model has one interval per segment, each with a label of its own: where a label repeats, or
    after a hole of ``LONG_HOLE_NS``, the next prediction has begun::

        labels    s1 s2 s3 s1 s2 s3      s1 s2 s3
        windows   ──────── ────────      ────────

    Segments that share a label are a window each. The table does not name processes; rows that ``Ownership``
    assigns to another process are left out.
    """
    frame = trace.intervals
    owners = Ownership(frame, ane_is_target, pids)
    of_target = ~owners.other_process & is_among(frame["source"], *ANE_TABLES)
    work = is_among(frame["phase"], Phase.EXECUTE) & (frame["depth"] <= 0).to_numpy(bool)
    rows = frame.assign(owner=np.where(owners.model == "", frame["model"].astype("str"), owners.model))
    rows = rows[of_target & work & (frame["end_ns"] > frame["start_ns"]).to_numpy(bool)]
    rows = rows.assign(label=rows["label"].astype("str"))
    ordered = rows.drop_duplicates(["start_ns", "end_ns", "label"])
    ordered = ordered.sort_values(["start_ns", "end_ns", "label"], kind="stable")
    target = get_only_pid(pids)
    windows = []
    for model, group in ordered.groupby("owner", sort=True):
        starts, ends = group["start_ns"].to_numpy(np.int64), group["end_ns"].to_numpy(np.int64)
        labels, sources = group["label"].tolist(), group["source"].astype("str").tolist()
        firsts = _find_prediction_starts(labels, starts, np.maximum.accumulate(ends))
        lasts = [*(start - 1 for start in firsts[1:]), len(group) - 1]
        windows += [
            Window(
                int(starts[start]),
                int(ends[start : stop + 1].max()),
                str(model) or labels[start],
                sources[start],
                Basis.MEASURED,
                -1,
                target,
                str(model),
            )
            for start, stop in zip(firsts, lasts, strict=True)
        ]
    return windows


def _find_prediction_starts(labels: Sequence[str], starts: IntArray, reach: IntArray) -> list[int]:
    """Return the rows at which a label of the current prediction repeats, or a long hole ends."""
    after_hole = np.append(False, starts[1:] - reach[:-1] > LONG_HOLE_NS).tolist()
    firsts = [0]
    seen_labels: set[str] = set()
    for row, label in enumerate(labels):
        if label in seen_labels or after_hole[row]:
            firsts.append(row)
            seen_labels = set()
        seen_labels.add(label)
    return firsts


def build_signpost_windows(trace: Trace, patterns: Sequence[str]) -> list[Window]:
    """Return one window per signpost interval that a pattern matches.

    A pattern is ``subsystem/category/name``, with globs. Fewer parts are the last ones: ``encode`` is any
    signpost of that name, ``Inference/*`` a category; where these match nothing, they are the first ones, and
    ``com.example.app/*`` is everything of a subsystem. An exact match of the three parts goes before globs.
    Raises ``UsageError`` for a pattern that matches no interval, with a list of those that exist.
    """
    rows = select_signpost_intervals(trace)
    is_selected = np.zeros(len(rows), bool)
    for pattern in patterns:
        matching = _mark_matching(rows, pattern)
        if not matching.any():
            raise UsageError(_describe_missing_signpost(pattern, trace))
        is_selected |= matching
    return _build_signpost_windows(trace, rows[is_selected])


def build_known_signpost_windows(trace: Trace, pids: frozenset[int]) -> list[Window]:
    """Return one window per interval of ``CALL_SIGNPOSTS``: packages mark each run of a model with one."""
    rows = select_signpost_intervals(trace)
    subsystem, name = (rows[part].astype("str") for part in ("subsystem", "name"))
    is_call = np.zeros(len(rows), bool)
    for known_subsystem, known_name in CALL_SIGNPOSTS:
        is_call |= ((subsystem == known_subsystem) & (name == known_name)).to_numpy(bool)
    if pids:
        is_call &= rows["pid"].isin([*pids, -1]).to_numpy(bool)
    return _build_signpost_windows(trace, rows[is_call])


def _build_signpost_windows(trace: Trace, rows: pd.DataFrame) -> list[Window]:
    threads = {tid: row for row, tid in reversed(list(enumerate(trace.threads["tid"].tolist())))}
    return [
        Window(
            int(row["start_ns"]),
            int(row["end_ns"]),
            str(row["name"]),  # not the message, which may contain a user's text
            "signpost",
            Basis.MEASURED,
            threads.get(row["tid"], -1),
            int(row["pid"]),
        )
        for row in rows.to_dict("records")
    ]


def select_signpost_intervals(trace: Trace) -> pd.DataFrame:
    """Return the intervals that mark a piece of work: states of an app hold for a time, and mark none."""
    rows = trace.signposts
    is_mark = is_among(rows["kind"], "interval") & ~is_among(rows["source"], LIFE_CYCLE)
    return rows[is_mark & (rows["end_ns"] > rows["start_ns"]).to_numpy(bool)]


def _mark_matching(rows: pd.DataFrame, pattern: str) -> BoolArray:
    """Mark the signposts that a pattern names exactly, else by globs of its last parts, else of its first."""
    parts = [rows[name].astype("str") for name in ("subsystem", "category", "name")]
    is_exact = (parts[0] + "/" + parts[1] + "/" + parts[2] == pattern).to_numpy(bool)
    if is_exact.any():
        return is_exact
    globs = _split_pattern(pattern)
    any_parts = ["*"] * (_PATTERN_PARTS - len(globs))
    marks = _mark_globs(parts, [*any_parts, *globs])
    return marks if marks.any() else _mark_globs(parts, [*globs, *any_parts])


def _mark_globs(parts: Sequence[pd.Series[str]], globs: Sequence[str]) -> BoolArray:
    """Mark the signposts whose subsystem, category and name match their globs."""
    mask = np.ones(len(parts[0]), bool)
    for values, expression in zip(parts, map(re.compile, map(translate, globs)), strict=True):
        distinct = {value: bool(expression.fullmatch(value)) for value in values.unique()}
        mask &= values.map(distinct).to_numpy(bool)
    return mask


def _split_pattern(pattern: str) -> list[str]:
    parts = pattern.split("/")
    if len(parts) > _PATTERN_PARTS or not all(parts):
        raise UsageError(
            f"'{pattern}' is not a valid signpost pattern. Write subsystem/category/name, or a part of it:"
            " name, category/name, subsystem/*; * stands for any text."
        )
    return parts


def _describe_missing_signpost(pattern: str, trace: Trace) -> str:
    events = trace.signposts[is_among(trace.signposts["kind"], "begin", "end")]
    unpaired = int(_mark_matching(events, pattern).sum())
    lack = "lacks" if unpaired == 1 else "lack"
    unpaired_note = (
        f" {plural(unpaired, 'event')} of it {lack} the other end in this recording." if unpaired else ""
    )
    rows = select_signpost_intervals(trace)
    if not len(rows):
        return f"{trace.info.name} has no signpost intervals, so '{pattern}' matches none.{unpaired_note}"
    subsystem, category, name = (rows[part].astype("str") for part in ("subsystem", "category", "name"))
    names = subsystem + "/" + category + "/" + name
    counts = names.value_counts()
    name_list = ", ".join(f"{name} ({count})" for name, count in counts.head(12).items())
    more = f" and {len(counts) - 12} more" if len(counts) > 12 else ""
    return (
        f"{trace.info.name} has no signpost interval '{pattern}' (subsystem/category/name).{unpaired_note}"
        f" It has {name_list}{more}."
    )
