"""Spans of a timeline: windows, intervals of the engines, signposts."""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeAlias

import pandas as pd

from tracekit.export.export_view import ExportView, clean
from tracekit.frozen import frozen
from tracekit.model.vocabulary import ENGINES
from tracekit.report import wording

Details: TypeAlias = dict[str, str | int]


@frozen
class Span:
    """One bar of a timeline; ``category`` is an engine, or "" for none.

    ``thread`` is a row of ``Trace.threads``, -1 = none.
    """

    start_ns: int
    end_ns: int
    name: str
    category: str = ""
    thread: int = -1
    details: Details = field(default_factory=dict)


def build_window_spans(view: ExportView) -> list[Span]:
    """Return the windows with their verdicts and the amounts of each engine."""
    engines = _collect_window_engines(view)
    spans = []
    verdicts = view.analysis.verdicts
    rows = view.analysis.window_rows.to_dict("records")
    whys = wording.verdict_whys(verdicts.block()).to_pylist()
    for row, name, verdict, why in zip(rows, view.windows[:-1], verdicts.names, whys, strict=True):
        details: Details = {
            "verdict": verdict,
            "why": clean(why),
            "model": clean(row["model"]),
        }
        if not row["model"]:
            del details["model"]
        details |= {"source": clean(str(row["source"])), "basis": str(row["basis"])}
        details |= engines.get(row["window_id"], {})
        category = verdict if verdict in ENGINES else ""
        spans.append(Span(row["start_ns"], row["end_ns"], name, category, row["thread_id"], details))
    return spans


def _collect_window_engines(view: ExportView) -> dict[int, Details]:
    """Return, per window, ``{"ANE busy_ns": …, "ANE sampled_ns": …}``; unknown amounts are missing."""
    amounts = ["samples", "sampled_ns", "busy_ns", "waiting_ns"]
    shares = view.analysis.attribution_rows
    sums = shares.groupby(["window_id", "engine"], observed=True)[amounts].sum(min_count=1)
    by_window: dict[int, Details] = {}
    for (window, engine), row in zip(sums.index, sums.to_dict("records"), strict=True):
        details = by_window.setdefault(int(window), {})
        details |= {f"{engine} {name}": int(value) for name, value in row.items() if not pd.isna(value)}
    return by_window


def build_interval_spans(view: ExportView) -> dict[str, list[Span]]:
    """Return the intervals that tables measured, by track: ``ANE, ane-hw-intervals``."""
    tracks: dict[str, list[Span]] = {}
    for row in view.trace.intervals.to_dict("records"):
        phase = "" if pd.isna(row["phase"]) else str(row["phase"])
        texts = {"phase": phase, **{name: _format_cell(row[name]) for name in ("label", "model", "channel")}}
        details: Details = {name: value for name, value in texts.items() if value}
        details |= {"source": _format_cell(row["source"]), "basis": "measured"}
        if row["pid"] >= 0:
            details["pid"] = row["pid"]
        name = texts["label"] or texts["channel"] or phase or "busy"
        span = Span(row["start_ns"], row["end_ns"], name, str(row["engine"]), -1, details)
        tracks.setdefault(f"{row['engine']}, {details['source']}", []).append(span)
    return dict(sorted(tracks.items()))


def build_signpost_spans(view: ExportView) -> dict[str, list[Span]]:
    """Return the signposts by track, ``subsystem/category`` or the category alone.

    Messages are left out: they may be private.
    """
    threads = {int(tid): row for row, tid in enumerate(view.trace.threads["tid"]) if tid >= 0}
    tracks: dict[str, list[Span]] = {}
    for row in view.trace.signposts.to_dict("records"):
        details: Details = {"kind": str(row["kind"])}
        details |= {name: row[name] for name in ("pid", "tid") if row[name] >= 0}
        span = Span(
            row["start_ns"], row["end_ns"], clean(str(row["name"])), "", threads.get(row["tid"], -1), details
        )
        subsystem, category = _format_cell(row["subsystem"]), _format_cell(row["category"])
        track = f"{subsystem}/{category}" if subsystem or not category else category
        tracks.setdefault(track, []).append(span)
    return dict(sorted(tracks.items()))


def _format_cell(value: Any) -> str:
    return "" if pd.isna(value) or value == "" else clean(str(value))
