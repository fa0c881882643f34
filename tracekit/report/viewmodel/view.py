"""An analysis as what a page shows: ``tracekit-view/1``, a header of plain data and the arrays it names.

docs/formats.md describes it. The report's page and the dashboard read it; nothing in it is markup.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

import tracekit
from tracekit.analysis.engines.attribution import SharesByWindow
from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.membership import OUTSIDE
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.model.vocabulary import ENGINES, PHASES, SERVING, Engine, Phase
from tracekit.report.analysis.text import recording_facts
from tracekit.report.viewmodel.heaviest import HeavyStack, heaviest_stacks
from tracekit.report.viewmodel.lanes import (
    lanes_of_threads,
    signpost_lanes,
    span_lanes,
    thread_lanes,
    thread_names,
    tracks,
)
from tracekit.report.viewmodel.payload import FORMAT, Arrays, Strings
from tracekit.report.viewmodel.samples import (
    NodeSums,
    ViewSamples,
    are_many,
    page_tree,
    run_sums,
    view_samples,
)
from tracekit.report.viewmodel.tiles import TILE_BINS, TILE_LANES, levels
from tracekit.report.viewmodel.tree import CallTree, node_flags

_MOST_BINS = 8_192
_PHASES_AND_NONE = len(PHASES) + 1
_FEWEST_BINS = 256
_WEB = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)
_MOST_EVENTS = 8
_PLANE_BYTES = 6_000_000
"""How much occupancy may weigh before it is compressed; with many threads, bins get longer."""
MEANINGS = {
    Engine.ANE: "Neural Engine",
    Engine.GPU: "GPU, by ML code",
    Engine.CPU: "an ML engine on the CPU",
    Engine.RUNTIME: "Core ML or another runtime, no engine in sight",
    Engine.GRAPHICS: "Metal without an ML caller",
    Engine.OTHER: "everything else",
    Engine.UNKNOWN: "no stack, or none with symbols",
}


@dataclass(frozen=True)
class Extras:
    """What a report adds to an analysis: words of its writer, and the commands that recorded it."""

    title: str = ""
    note: str = ""
    link: str = ""
    commands: tuple[str, ...] = ()

    @property
    def web_link(self) -> str:
        """The link if it leads to the web, else "": no script, no file of the reader's."""
        return self.link if _WEB.fullmatch(self.link) else ""


def view_block(
    analysis: Analysis, extras: Extras = Extras(), full: bool = False, tiles: bool = False
) -> bytes:
    """Return the view as one block; with ``full`` every sample is in it, however many there are.

    With ``tiles`` the page can ask a server for what it shows: of many samples only the run's sums are in it,
    and of few far more of the call tree.
    """
    return _Builder(analysis, full, tiles).block(extras)


def duration_of(analysis: Analysis) -> int:
    """Return how long the picture is: the run, and whatever lies behind its end."""
    trace = analysis.trace
    ends = [trace.info.duration_ns or 0]
    if len(trace.samples):
        ends.append(int(trace.samples["time_ns"].max()) + sampling_period_ns(trace))
    ends += [
        int(frame["end_ns"].max())
        for frame in (trace.intervals, analysis.window_rows, trace.signposts)
        if len(frame)
    ]
    return max(1, *ends)


class _Builder:
    def __init__(self, analysis: Analysis, full: bool, tiles: bool) -> None:
        self._analysis, self._full = analysis, full or tiles
        self._has_tiles = tiles and are_many(analysis)
        self._arrays, self._strings = Arrays(), Strings()
        self._duration_ns = duration_of(analysis)

    def block(self, extras: Extras) -> bytes:
        analysis, trace = self._analysis, self._analysis.trace
        bins = self._bins()
        threads = thread_lanes(analysis, bins, self._duration_ns)
        lane_of_thread = lanes_of_threads(analysis, np.array([lane.thread for lane in threads], np.int64))
        samples, tree = self._samples(lane_of_thread)
        header: dict[str, Any] = {
            "format": FORMAT,
            "tracekit": tracekit.__version__,
            "title": extras.title,
            "note": extras.note,
            "link": extras.web_link,
            "verdict": analysis.summary.sentence,
            "duration_ns": self._duration_ns,
            "unit": trace.weight_unit,
            "engines": [str(engine) for engine in ENGINES],
            "serving": [str(engine) for engine in SERVING],
            "phases": [*(str(phase) for phase in PHASES), None],
            **samples,
            "period_ns": sampling_period_ns(trace),
            "bins": bins,
            "lanes": [self._thread(lane) for lane in threads],
            "spans": [self._spans(lane) for lane in span_lanes(analysis, bins, self._duration_ns)],
            "windows": self._windows(lane_of_thread),
            "tracks": [
                {
                    "name": self._strings.add(track.name),
                    "unit": self._strings.add(track.unit),
                    "time": self._arrays.add(track.time, "f8"),
                    "value": self._arrays.add(track.value, "f8"),
                }
                for track in tracks(analysis)
            ],
            "signposts": [self._signposts(name, rows) for name, rows in signpost_lanes(analysis)],
            "nodes": self._nodes(tree),
            "engine_rows": engine_rows(analysis),
            "latency": _latency(analysis),
            "heaviest": [self._heavy(one) for one in heaviest_stacks(analysis)],
            "counters": counter_table(analysis),
            "evidence": [asdict(one) for one in analysis.evidence],
            "recording": [list(fact) for fact in recording_facts(analysis)],
            "commands": list(extras.commands),
            "issues": [asdict(issue) for issue in analysis.issues],
        }
        return self._arrays.block({**header, "strings": self._strings.all})

    def _samples(self, lane_of_thread: np.ndarray[Any, Any]) -> tuple[dict[str, Any], CallTree]:
        """Return what the header says of samples, and the tree of their nodes."""
        if self._has_tiles:
            tree = page_tree(self._analysis)
            sums = sums_document(self._arrays, run_sums(self._analysis, tree))
            cut = {"bins": TILE_BINS, "levels": levels(self._duration_ns), "lanes": TILE_LANES}
            return {"exact": False, "bin_ns": 0, "tiles": cut, "samples": sums}, tree
        samples, tree = view_samples(self._analysis, lane_of_thread, self._duration_ns, self._full)
        document = {
            "count": len(samples.time),
            "time": self._arrays.add(samples.time, "f8", rising=True),
            **({} if samples.bin_ns == 0 else {"edges": self._arrays.add(samples.edges, "f8")}),
            "lane": self._arrays.add(samples.lane, "u2"),
            **sums_document(self._arrays, samples),
        }
        return {"exact": samples.bin_ns == 0, "bin_ns": samples.bin_ns, "samples": document}, tree

    def _bins(self) -> int:
        """Return how many bins the occupancy has: no more than tell samples apart, fewer for many threads."""
        trace = self._analysis.trace
        used = int(trace.samples["thread_id"].nunique()) + 1
        bins = _MOST_BINS
        while bins > _FEWEST_BINS and (
            bins * used * 3 > _PLANE_BYTES or self._duration_ns / bins < sampling_period_ns(trace) / 2
        ):
            bins //= 2
        return bins

    def _thread(self, lane: Any) -> dict[str, Any]:
        label, process, tid = thread_names(self._analysis, lane.thread)
        return {
            "label": self._strings.add(label),
            "process": self._strings.add(process),
            "tid": tid,
            "weight": lane.weight,
            "samples": lane.samples,
            "engines": list(lane.engines),
            "occupancy": self._arrays.add(lane.planes.reshape(-1), "u1"),
        }

    def _spans(self, lane: Any) -> dict[str, Any]:
        document = {
            "label": self._strings.add(lane.title),
            "engine": ENGINES.index(lane.engine),
            "basis": "measured",
            "source": self._strings.add(lane.source),
            "count": lane.count,
            "occupancy": self._arrays.add(lane.plane, "u1"),
        }
        if lane.others is not None:
            document["others"] = self._arrays.add(lane.others, "u1")
        if lane.rows is not None:
            document |= {
                "start": self._arrays.add(lane.rows["start_ns"].to_numpy(), "f8"),
                "end": self._arrays.add(lane.rows["end_ns"].to_numpy(), "f8"),
                "name": self._arrays.add(self._strings.column(lane.rows["name"]), "u4"),
                "own": self._arrays.add(lane.rows["own"].to_numpy(), "u1"),
            }
        return document

    def _signposts(self, name: str, rows: pd.DataFrame) -> dict[str, Any]:
        return {
            "label": self._strings.add(name),
            "start": self._arrays.add(rows["start_ns"].to_numpy(), "f8"),
            "end": self._arrays.add(rows["end_ns"].to_numpy(), "f8"),
            "name": self._arrays.add(self._strings.column(rows["name"].astype("str")), "u4"),
        }

    def _heavy(self, stack: HeavyStack) -> dict[str, Any]:
        frames = [[self._strings.add(word) for word in frame] for frame in stack.frames]
        return {**asdict(stack), "frames": frames}

    def _windows(self, lane_of_thread: np.ndarray[Any, Any]) -> dict[str, Any]:
        windows, verdicts = self._analysis.window_rows, self._analysis.verdicts
        thread = windows["thread_id"].to_numpy(np.int64)
        texts = {
            "label": windows["label"].astype("str"),
            "model": windows["model"].astype("str"),
            "source": windows["source"].astype("str"),
            "basis": windows["basis"].astype("str"),
            "verdict": [one.verdict for one in verdicts],
            "why": [one.why for one in verdicts],
        }
        sums = window_sums(self._analysis)
        bases = self._analysis.attribution_rows["waiting_basis"].dropna().astype("str").unique().tolist()
        return {
            "count": len(windows),
            "start": self._arrays.add(windows["start_ns"].to_numpy(), "f8"),
            "end": self._arrays.add(windows["end_ns"].to_numpy(), "f8"),
            **{name: self._arrays.add(self._strings.column(words), "u4") for name, words in texts.items()},
            "lane": self._arrays.add(np.where(thread < 0, -1, lane_of_thread[thread]), "i4"),
            "first": self._arrays.add(windows["first"].to_numpy(), "u1"),
            "samples": {name: self._arrays.add(one, "u4") for name, one in sums.samples.items()},
            "busy": {name: self._arrays.add(one, "f8") for name, one in sums.busy.items()},
            "waiting": {name: self._arrays.add(one, "f8") for name, one in sums.waiting.items()},
            "waiting_basis": ", ".join(sorted(bases)),
        }

    def _nodes(self, tree: CallTree) -> dict[str, Any]:
        binaries = self._analysis.trace.stacks.binaries
        names = np.append(binaries["name"].to_numpy(object), "")
        symbols = np.append(tree.symbols, "(less)")[tree.function]
        binary = np.append(tree.binaries, -1)[tree.function]
        flags = node_flags(tree, binaries["path"].to_numpy(object))
        return {
            "count": len(tree),
            "parent": self._arrays.add(tree.parent, "i4"),
            "name": self._arrays.add(self._strings.column(symbols), "u4"),
            "binary": self._arrays.add(self._strings.column(names[binary]), "u4"),
            "flags": self._arrays.add(flags, "u1"),
        }


@dataclass(frozen=True)
class WindowSums:
    """Per window and engine: samples, measured work and waiting of inference; NaN where nothing tells."""

    samples: dict[str, np.ndarray[Any, Any]]
    busy: dict[str, np.ndarray[Any, Any]]
    waiting: dict[str, np.ndarray[Any, Any]]


def window_sums(analysis: Analysis) -> WindowSums:
    """Return the numbers of each window, in the windows' order."""
    windows = pd.Index(analysis.window_rows["window_id"])
    rows = analysis.attribution_rows[analysis.attribution_rows["window_id"].isin(windows)]
    counted = ~rows["phase"].isin([str(phase) for phase in Phase if not phase.is_inference])
    by_engine = dict(list(rows[counted].groupby("engine", observed=True)))

    def summed(engine: Engine, column: str, none: float) -> np.ndarray[Any, Any]:
        own = by_engine.get(str(engine), rows[:0])
        sums = own.groupby("window_id")[column].sum(min_count=1)
        return sums.reindex(windows).astype("Float64").fillna(none).to_numpy(np.float64)

    zeros = analysis.measured.engines
    samples = {str(e): summed(e, "samples", 0) for e in (*SERVING, Engine.RUNTIME)}
    reported = [e for e in SERVING if e in analysis.measured.reported]
    busy = {str(e): summed(e, "busy_ns", 0.0 if e in zeros else np.nan) for e in reported}
    waiting = {str(e): summed(e, "waiting_ns", np.nan) for e in SERVING}
    waiting = {name: one for name, one in waiting.items() if not np.isnan(one).all()}
    return WindowSums(samples, busy, waiting)


def engine_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the engines over the whole run, those that were seen."""
    shares = SharesByWindow(analysis.totals).get(OUTSIDE, [])
    rows = []
    for engine in ENGINES:
        own = [share for share in shares if share.engine is engine]
        busy = [s.busy_ns for s in own if s.busy_ns is not None and (s.phase is None or s.is_inference)]
        if not any(share.samples for share in own) and not any(busy):
            continue
        sampled = [share.sampled_ns for share in own if share.sampled_ns is not None]
        rows.append(
            {
                "engine": str(engine),
                "busy_ns": sum(busy) if busy or engine in analysis.measured.engines else None,
                "samples": sum(share.samples for share in own),
                "sampled_ns": sum(sampled) if sampled else None,
                "weight": sum(share.weight for share in own),
                "phases": {str(s.phase): s.samples for s in own if s.phase is not None and s.samples},
                "meaning": MEANINGS[engine],
            }
        )
    return rows


def counter_table(analysis: Analysis) -> dict[str, Any] | None:
    """Return the hardware counters summed by engine over the run, None without any."""
    events = analysis.events
    if not len(events):
        return None
    grouped = events.groupby(["engine", "event"], observed=True, sort=True)["value"].sum()
    sums = grouped.unstack(fill_value=0)  # noqa: PD010
    names = [str(name) for name in sums.columns][:_MOST_EVENTS]
    rows: list[list[Any]] = []
    for engine, counted in sums.iterrows():
        found = {str(name): int(value) for name, value in counted.items()}
        told = ", ".join(f"{name} {value:.2f}" for name, value in ratios(found).items())
        rows.append([str(engine), *(found[name] for name in names), told])
    note = "sums over samples, by the engine that their stacks show"
    return {"columns": ["engine", *names, "ratios"], "rows": rows, "note": note}


def sums_document(arrays: Arrays, sums: NodeSums | ViewSamples) -> dict[str, Any]:
    """Return what a header says of samples or their sums, with their arrays kept."""
    return {
        "count": len(sums.node),
        "node": arrays.add(sums.node, "i4"),
        "weight": arrays.add(sums.weight, _smallest(sums.weight)),
        "number": arrays.add(sums.number, "u4"),
        "kind": arrays.add(sums.engine << 4 | sums.phase % _PHASES_AND_NONE, "u1"),
    }


def _smallest(values: np.ndarray[Any, Any]) -> str:
    """Return the smallest type that holds these exactly."""
    whole = bool(len(values)) and values.max() < 1 << 32 and bool((values == np.floor(values)).all())
    return "u4" if whole and values.min() >= 0 else "f8"


def _latency(analysis: Analysis) -> dict[str, Any]:
    def plain(one: Durations) -> dict[str, Any]:
        names = ("p50_ns", "p90_ns", "p99_ns", "first_ns", "warm_p50_ns", "warm_p90_ns", "warm_p99_ns")
        return {name: getattr(one, name) for name in names}

    summary = analysis.summary
    return {**plain(summary), "models": {name: plain(one) for name, one in summary.models.items()}}
