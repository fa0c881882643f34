"""``tracekit-view/2``: the data of a recording's page, as a header of plain data and the arrays it names.

``payload`` lays the block out, and ``assets/data/decode.js`` lists the arrays. The report's page and the
dashboard read it; it contains no markup.
"""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

import tracekit
from tracekit.analysis.budget.parts import BUDGET_KINDS
from tracekit.analysis.ownership.owners import OWNERS
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.columns.call_rows import CallRows
from tracekit.columns.calls import CALL_COLUMNS
from tracekit.frozen import frozen
from tracekit.model.columns import get_unit
from tracekit.model.vocabulary import ENGINES, PHASES, SERVING
from tracekit.report import wording
from tracekit.report.analysis.document import has_timed_sections
from tracekit.report.analysis.recording_facts import recording_facts
from tracekit.report.viewmodel.call_table import build_page_columns
from tracekit.report.viewmodel.equal_calls import fold_equal_calls
from tracekit.report.viewmodel.findings import list_finding_calls, locate_findings
from tracekit.report.viewmodel.lanes import (
    CallPairs,
    SpanLane,
    ThreadLane,
    build_span_lanes,
    build_thread_lanes,
    build_tracks,
    format_thread_names,
    iter_signpost_lanes,
    number_lanes,
    sample_period_ns,
)
from tracekit.report.viewmodel.limits import Footnotes, build_issue_documents
from tracekit.report.viewmodel.links import find_worker_links
from tracekit.report.viewmodel.notes import Note
from tracekit.report.viewmodel.payload import FORMAT, SAMPLES_FORMAT, Arrays, Strings
from tracekit.report.viewmodel.run_tables import build_latency_table, counter_table, engine_rows
from tracekit.report.viewmodel.samples import (
    build_samples_document,
    build_view_samples,
    compute_samples_digest,
)
from tracekit.report.viewmodel.tree import compute_node_flags

_MOST_BINS = 8_192
_FEWEST_BINS = 256
_MOST_LINKS, _MOST_LINKS_WITH_SERVER = 10_000, 200_000
"""The most pairs of a call and a thread that worked for it: a report must stay small."""
_FIELDS_OF_NAME = (
    *("label", "model", "source", "basis", "first"),
    *("verdict", "why", "reason", "difference"),
)
_CALL_FIELDS = {
    "call": "number",
    "start": "start_ns",
    "end": "end_ns",
    **{name: name for name in _FIELDS_OF_NAME},
}
"""The columns of calls that all parts of a page read, by the names of their fields."""
_COUNTS = 2**32
_WEB = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)
_PLANE_BYTES = 6_000_000
"""The most that occupancy may weigh before compression; a recording with many threads gets longer bins."""
_PLANES_PER_THREAD = 3
"""A guess for that limit: a thread's samples show about three engines."""


@frozen
class Extras:
    """Additions to a report: texts of its writer, and the commands that recorded it."""

    title: str = ""
    note: str = ""
    link: str = ""
    commands: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    """Pinned to times, in their order."""

    @property
    def web_link(self) -> str:
        """The link if it is an http(s) address, else "": a report never links to a script or a local file."""
        return self.link if _WEB.fullmatch(self.link) else ""


def view_block(analysis: Analysis, extras: Extras | None = None, full: bool = False) -> bytes:
    """Return the view as one block; with ``full`` it contains every sample, however many there are."""
    return _Builder(analysis, full=full).block(extras or Extras())


def build_served_blocks(analysis: Analysis) -> tuple[bytes, bytes]:
    """Return the view of a page with a server, and the block of its samples, which it loads afterwards."""
    builder = _Builder(analysis, with_server=True)
    return builder.block(Extras()), builder.samples_block()


def measure_duration(analysis: Analysis) -> int:
    """Return the length of the time axis: the run, and any sample or interval that ends after it."""
    trace = analysis.trace
    ends = [trace.info.duration_ns or 0]
    if len(trace.samples) and trace.has_timeline:
        ends.append(int(trace.samples["time_ns"].max()) + sampling_period_ns(trace))
    ends += [
        int(frame["end_ns"].max())
        for frame in (trace.intervals, analysis.window_rows, trace.signposts)
        if len(frame)
    ]
    return max(1, *ends)


class _Builder:
    def __init__(self, analysis: Analysis, full: bool = False, with_server: bool = False) -> None:
        self._analysis, self._with_server = analysis, with_server
        self._arrays, self._strings = Arrays(), Strings()
        self._duration_ns = measure_duration(analysis)
        self._bins = self._count_bins()
        self._lanes = build_thread_lanes(analysis, self._bins, self._duration_ns)
        self._spans = build_span_lanes(analysis, self._bins, self._duration_ns)
        threads = np.array([lane.thread for lane in self._lanes], np.int64)
        self._lane_of_thread = number_lanes(analysis, threads)
        self._samples, self._stacks, self._tree = build_view_samples(
            analysis, self._lane_of_thread, self._duration_ns, full, with_server
        )

    def block(self, extras: Extras) -> bytes:
        analysis, trace = self._analysis, self._analysis.trace
        header: dict[str, Any] = {
            "format": FORMAT,
            "tracekit": tracekit.__version__,
            "title": extras.title,
            "note": extras.note,
            "link": extras.web_link,
            **({"notes": [asdict(note) for note in extras.notes]} if extras.notes else {}),
            **({} if has_timed_sections(analysis) else {"timeless": True}),
            "verdict": wording.headline(analysis.answer),
            "findings": locate_findings(analysis),
            "finding_calls": list_finding_calls(analysis),
            "duration_ns": self._duration_ns,
            "unit": trace.weight_unit,
            "engines": [str(engine) for engine in ENGINES],
            "serving": [str(engine) for engine in SERVING],
            "owners": ["", *(str(owner) for owner in OWNERS)],
            "phases": [*(str(phase) for phase in PHASES), None],
            "exact": self._samples.bin_ns == 0,
            "bin_ns": self._samples.bin_ns,
            "samples": self._sample_fields(),
            "stacks": self._stack_fields(),
            "period_ns": sample_period_ns(trace),
            "bins": self._bins,
            "lanes": [self._thread(lane) for lane in self._lanes],
            "spans": [self._span(lane) for lane in self._spans],
            "windows": self._windows(),
            "budget": self._build_budget(),
            "workers": self._workers(),
            "tracks": [
                {
                    "name": self._strings.add(track.name),
                    "unit": self._strings.add(track.unit),
                    "time": self._arrays.add(track.time, "f8"),
                    "value": self._arrays.add(track.value, "f8"),
                }
                for track in build_tracks(analysis)
            ],
            "signposts": [self._signposts(name, rows) for name, rows in iter_signpost_lanes(analysis)],
            "nodes": self._nodes(),
            "engine_rows": engine_rows(analysis),
            "latency": build_latency_table(analysis),
            "counters": counter_table(analysis),
            "evidence": [wording.build_evidence_document(row) for row in analysis.evidence],
            "recording": [list(fact) for fact in recording_facts(analysis)],
            "commands": list(extras.commands),
            "issues": build_issue_documents(analysis),
        }
        return self._arrays.block({**header, "strings": self._strings.all})

    def samples_block(self) -> bytes:
        """Return the samples, and the intervals of lanes that the view does not list one by one."""
        arrays = Arrays(is_packed=False)
        header = {
            "format": SAMPLES_FORMAT,
            "digest": compute_samples_digest(self._samples),
            "samples": build_samples_document(arrays, self._samples, len(self._lanes)),
            "spans": [
                {}
                if lane.rows is not None
                else {
                    "unions": {
                        f"{owner}_{edge}": arrays.add(getattr(union, f"{edge}s"), "f8")
                        for owner, union in zip(("own", "others"), lane.unions, strict=True)
                        for edge in ("start", "end")
                    }
                }
                for lane in self._spans
            ],
        }
        return arrays.block(header)

    def _sample_fields(self) -> dict[str, Any]:
        """Return the samples, or with a server only by what the page recognises them."""
        if self._with_server:
            return {"count": len(self._samples.time), "digest": compute_samples_digest(self._samples)}
        return build_samples_document(self._arrays, self._samples, len(self._lanes))

    def _stack_fields(self) -> dict[str, Any]:
        """Return the stacks, and what the rules mean that decided the engine of one."""
        stacks = self._stacks
        used, rule = np.unique(np.append(stacks.rule, -1), return_inverse=True)
        rules = [self._analysis.rules[row] for row in used[1:].tolist()]
        numbered = replace(stacks, rule=rule[:-1] - 1)
        return {
            **numbered.document(self._arrays),
            "rules": [[self._strings.add(rule.id), self._strings.add(rule.means)] for rule in rules],
        }

    def _count_bins(self) -> int:
        """Return the number of bins of occupancy: a power of two, limited by sampling period and size.

        Bins shorter than half a sampling period show nothing new, and many threads must not make a large
        page.
        """
        trace = self._analysis.trace
        if not trace.has_timeline:
            return 1  # no lane is drawn
        threads = int(trace.samples["thread_id"].nunique()) + 1
        bins = _MOST_BINS
        while bins > _FEWEST_BINS and (
            bins * threads * _PLANES_PER_THREAD > _PLANE_BYTES
            or self._duration_ns / bins < sampling_period_ns(trace) / 2
        ):
            bins //= 2
        return bins

    def _thread(self, lane: ThreadLane) -> dict[str, Any]:
        label, process, tid = format_thread_names(self._analysis, lane.thread)
        return {
            "label": self._strings.add(label),
            "process": self._strings.add(process),
            "tid": tid,
            "weight": lane.weight,
            "samples": lane.samples,
            "engines": list(lane.engines),
            "occupancy": self._arrays.add(lane.planes.reshape(-1), "u1"),
        }

    def _span(self, lane: SpanLane) -> dict[str, Any]:
        document = {
            "label": self._strings.add(lane.title),
            "engine": ENGINES.index(lane.engine),
            "basis": "measured",
            "source": self._strings.add(lane.source),
            "count": lane.count,
            "occupancy": self._arrays.add(lane.plane, "u1"),
        }
        if lane.other_plane is not None:
            document["others"] = self._arrays.add(lane.other_plane, "u1")
        if lane.rows is not None:
            document |= {
                "start": self._arrays.add(lane.rows["start_ns"].to_numpy(), "f8"),
                "end": self._arrays.add(lane.rows["end_ns"].to_numpy(), "f8"),
                "name": self._arrays.add(self._strings.column(lane.rows["name"]), "u4"),
                "own": self._arrays.add(lane.rows["is_target"].to_numpy(), "u1"),
            }
            document |= self._owners(lane.rows, lane.pairs)
        return document

    def _owners(self, rows: pd.DataFrame, pairs: CallPairs) -> dict[str, Any]:
        """Return who the intervals of a lane are counted for, and why; the calls as pairs."""
        owner, reason = rows["owner"].to_numpy(), rows["reason"].to_numpy()
        calls = np.minimum(np.bincount(pairs.row, minlength=len(rows)), 2)
        is_named = np.zeros(len(rows), np.int64)
        is_named[pairs.row[pairs.is_sure]] = 1
        facts = np.stack([owner, reason, calls, is_named])
        cases, case_of_row = np.unique(facts, axis=1, return_inverse=True)
        reasons = [wording.explain_owner(*case) for case in cases.T.tolist()]
        texts = np.array([self._strings.add(text) for text in reasons], np.int64)
        return {
            "owner": self._arrays.add(owner + 1, "u1"),  # 0 is none
            "why": self._arrays.add(texts[case_of_row.reshape(-1)], "u4"),
            "pairs": {
                "row": self._arrays.add(pairs.row, "u4"),
                "call": self._arrays.add(pairs.call, "u4"),
                "sure": self._arrays.add(pairs.is_sure, "u1"),
            },
        }

    def _signposts(self, name: str, rows: pd.DataFrame) -> dict[str, Any]:
        return {
            "label": self._strings.add(name),
            "start": self._arrays.add(rows["start_ns"].to_numpy(), "f8"),
            "end": self._arrays.add(rows["end_ns"].to_numpy(), "f8"),
            "name": self._arrays.add(self._strings.column(rows["name"].astype("str")), "u4"),
        }

    def _windows(self) -> dict[str, Any]:
        rows = CallRows(self._analysis)
        thread = rows.windows["thread_id"].to_numpy(np.int64)
        groups = np.array([self._strings.add(name) for name in rows.names.names], np.int64)
        columns, values = build_page_columns(rows, Footnotes(self._analysis))
        arrays = {name: self._store_column(name, column) for name, column in values.items()}
        fields = {
            field: arrays.get(name) or self._store_column(name, CALL_COLUMNS.columns[name].compute(rows))
            for field, name in _CALL_FIELDS.items()
        }
        return {
            "count": len(rows),
            "noun": rows.names.noun,
            **fields,
            "equal": self._arrays.add(fold_equal_calls(self._analysis), "u4"),
            "group": self._arrays.add(groups[rows.names.group], "u4"),
            # A window without a thread has no lane; ``_lane_of_thread`` would give it that of samples without
            # a thread.
            "lane": self._arrays.add(np.where(thread < 0, -1, self._lane_of_thread[thread]), "i4"),
            "columns": columns,
            "values": arrays,
        }

    def _build_budget(self) -> dict[str, Any]:
        """Return the budgets of the calls: their parts in words, and the pieces that tile each call."""
        budget, typical = self._analysis.budget, self._analysis.differences.typical
        pieces = [*budget.iter_pieces()]
        kinds, part = np.unique(np.concatenate([block.kind for block in pieces]), return_inverse=True)
        lengths = np.concatenate([block.end_ns - block.start_ns for block in pieces])
        windows = np.concatenate([block.window for block in pieces])
        return {
            "parts": [wording.build_part_document(BUDGET_KINDS[kind]) for kind in kinds.tolist()],
            "counts": self._arrays.add(np.bincount(windows, minlength=len(typical)), "u4"),
            "part": self._arrays.add(part, "u1"),
            "length": self._arrays.add(lengths, "u4" if lengths.max(initial=0) < _COUNTS else "f8"),
            "typical": self._arrays.add(typical, "i4"),
        }

    def _store_column(self, name: str, values: pd.Series[Any]) -> str:
        """Store a column; a missing text is "", a missing number NaN."""
        if values.dtype == bool:
            return self._arrays.add(values.to_numpy(), "u1")
        if not pd.api.types.is_numeric_dtype(values):
            return self._arrays.add(self._strings.column(values.astype("str").fillna("")), "u4")
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        is_count = (numbers >= 0) & (numbers < _COUNTS) & (numbers % 1 == 0) & (not get_unit(name))
        return self._arrays.add(numbers, "u4" if is_count.all() else "f8")

    def _workers(self) -> dict[str, Any]:
        max_links = _MOST_LINKS_WITH_SERVER if self._with_server else _MOST_LINKS
        links = find_worker_links(self._analysis, self._lane_of_thread, max_links)
        columns = {
            "call": "u4",
            "lane": "u2",
            "first_ns": "f8",
            "last_ns": "f8",
            "number": "u4",
            "engine": "u1",
        }
        arrays = {name: self._arrays.add(getattr(links, name), dtype) for name, dtype in columns.items()}
        return {"until_call": links.until_call, **arrays}

    def _nodes(self) -> dict[str, Any]:
        tree = self._tree
        binaries = self._analysis.trace.stacks.binaries
        # Both columns get one more entry for function and binary -1, the nodes that pruning made.
        names = np.append(binaries["name"].to_numpy(object), "")
        symbols = np.append(tree.symbols, "(less)")[tree.function]
        binary = np.append(tree.binaries, -1)[tree.function]
        flags = compute_node_flags(tree, binaries["path"].to_numpy(object))
        return {
            "count": len(tree),
            "parent": self._arrays.add(tree.parent, "i4"),
            "name": self._arrays.add(self._strings.column(symbols), "u4"),
            "binary": self._arrays.add(self._strings.column(names[binary]), "u4"),
            "flags": self._arrays.add(flags, "u1"),
        }
