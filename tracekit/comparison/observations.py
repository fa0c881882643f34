"""Numbers of an analysis per window, as columns that carry their basis.

Comparisons and checks read these and nothing else, so that they agree on what a recording can show.
"""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.engines.codes import INFERENCE, is_among, is_engine, is_phase
from tracekit.analysis.result import Analysis
from tracekit.analysis.verdicts import UNKNOWN
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.comparison.quantities import FloatArray, Names, Quantity
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_INTERVALS, ANE_TABLES, CORE_ML, GPU_TABLES
from tracekit.model.vocabulary import SERVING, Basis, Engine, Phase

_INFERENCE = [str(phase) for phase in Phase if phase.is_inference]
_TABLES = {
    Engine.ANE: ANE_TABLES,
    Engine.GPU: GPU_TABLES,
    Engine.CPU: (CORE_ML,),
}


SUBMISSION_COUNTS = {"submissions per inference": "submissions", "segments per inference": "segments"}
"""Quantities of the Neural Engine, and their columns in ``Analysis.submissions``."""


def normalize_source(source: str) -> str:
    """Return the source of windows as it is compared: the Neural Engine's table has two names."""
    return ANE_INTERVALS if source in ANE_TABLES else source


def is_named(name: str, pattern: str) -> bool:
    """Return whether a name is ``pattern``, in which ``*`` stands for anything."""
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


class Observations:
    """The columns of one analysis; rows are its windows, in order of time."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.windows = analysis.window_rows
        self.count = len(analysis.window_rows)
        self.starts: IntArray = analysis.window_rows["start_ns"].to_numpy(np.int64)
        self.first: BoolArray = analysis.window_rows["first"].to_numpy(bool)
        self.source: Names = (
            analysis.window_rows["source"].astype("str").map(normalize_source).to_numpy(object)
        )
        self.label: Names = analysis.window_rows["label"].to_numpy(object)
        self.model: Names = analysis.window_rows["model"].to_numpy(object)
        self.verdict: Names = np.array(analysis.verdicts.names, object)
        self.given: BoolArray = np.isin(self.source, GIVEN_SOURCES)
        self._quantities: dict[tuple[str, str], Quantity] = {}
        self._at_work: dict[Engine, BoolArray] = {}
        self._rows_of: dict[Engine, pd.DataFrame] = {}
        rows = analysis.attribution_rows
        self._rows = rows[(rows["window_id"] >= 0).to_numpy(bool)]

    # Which windows -----------------------------------------------------------------------------------------

    def matching(self, pattern: str) -> BoolArray:
        """Mark the windows whose model or label is ``pattern``, in which ``*`` stands for anything."""
        if not pattern:
            return np.ones(self.count, bool)
        matches = [name for name in {*self.model, *self.label} if name and is_named(str(name), pattern)]
        return np.isin(self.model, matches) | np.isin(self.label, matches)

    def names(self) -> list[str]:
        """Return every model and label, for messages."""
        return sorted({str(name) for name in (*self.model, *self.label) if name})

    # Numbers per window ------------------------------------------------------------------------------------

    def quantity(self, name: str, engine: str = "") -> Quantity:
        """Return a column: "length", "hand-offs", "share", "used share", "busy", "busy share", …

        Of a part of calls and of late calls, ``engine`` is the part and the deadline in ns.
        """
        if (name, engine) not in self._quantities:
            self._quantities[name, engine] = self._compute_quantity(name, engine)
        return self._quantities[name, engine]

    def _compute_quantity(self, name: str, engine: str) -> Quantity:
        if name == "length":
            return self._compute_length()
        if name == "late":
            return self._mark_late(float(engine))
        if name == "hand-offs":
            return self._count_hand_offs()
        if name == "part":
            return self._read_part(BudgetPart(engine))
        if name in SUBMISSION_COUNTS:
            return self._count_submissions(SUBMISSION_COUNTS[name])
        if name == "share":
            matches = self.verdict == engine
            return self._compute_window_share(matches, engine, (self.undecided & ~matches) | self.is_open)
        engine = Engine(engine)
        if name == "used share":
            matches = self._mark_uses(engine)
            unseen = self._mark_unseen(engine) & ~matches
            unknown = unseen | (
                (self.undecided | self.contested(engine) | self._mark_shared(engine)) & ~matches
            )
            quantity = self._compute_window_share(matches, engine, unknown)
            if not unseen.any():
                return quantity
            return replace(
                quantity, if_unknown=f"{self.unmeasured(engine)}, and no host sample in these calls shows it"
            )
        if name == "waiting":
            return self._compute_waiting(engine)
        if name == "samples":
            return self._count_samples(engine)
        if name == "busy":
            return self._compute_busy(engine)
        return self._divide_by_length(self.quantity("busy", engine))

    @cached_property
    def lengths_ns(self) -> FloatArray:
        """The windows' lengths, of user-supplied windows and whole runs as well."""
        lengths = self.windows["end_ns"] - self.windows["start_ns"]
        return lengths.to_numpy(np.float64)

    def _compute_length(self) -> Quantity:
        missing = ""
        if self.count and self.given.all():
            whole = (self.source == "run").all()
            missing = (
                "the only range is the whole run, so no call has a length"
                if whole
                else "the ranges are user-supplied, so their lengths are not measurements"
            )
        basis = self.windows["basis"].astype("str").to_numpy(object)
        return Quantity(self.lengths_ns, "ns", basis, missing)

    def _mark_late(self, limit_ns: float) -> Quantity:
        """Return 1 for each call that takes longer than a limit."""
        length = self._compute_length()
        late = (self.lengths_ns > limit_ns).astype(np.float64)
        return replace(length, values=late, unit="share")

    def _read_part(self, part: BudgetPart) -> Quantity:
        """Return the time of a part of the calls; without any, a call has no basis for it."""
        sums = self.analysis.budget.sums
        basis = self._repeat_basis("")
        for column, kind in enumerate(sums.kinds):
            if kind.part is part and kind.basis is not None:
                basis[sums.duration_ns[:, column] > 0] = str(kind.basis)
        return Quantity(sums.sum_part(part).astype(np.float64), "ns", basis, mixes_bases=True)

    def _sum_per_window(self, rows: pd.DataFrame, name: str) -> FloatArray:
        """Sum a column of the attribution per window; NaN where no row has a value."""
        rows = rows[rows[name].notna().to_numpy(bool)]
        window = rows["window_id"].to_numpy(np.int64)
        amounts = rows[name].to_numpy(np.float64)
        # Without rows, bincount returns int64, which cannot hold NaN.
        sums = np.bincount(window, amounts, minlength=self.count).astype(np.float64)
        sums[np.bincount(window, minlength=self.count) == 0] = np.nan
        return sums

    def _select_inference_rows(self, engine: Engine) -> pd.DataFrame:
        if engine not in self._rows_of:
            rows = self._rows
            mask = is_among(rows["engine"], engine) & is_among(rows["phase"], *_INFERENCE)
            self._rows_of[engine] = rows[mask]
        return self._rows_of[engine]

    def _repeat_basis(self, basis: str) -> Names:
        return np.full(self.count, basis, object)

    def _compute_busy(self, engine: Engine) -> Quantity:
        values = self._sum_per_window(self._select_inference_rows(engine), "busy_ns")
        if engine in self.analysis.measured.engines:
            values = np.nan_to_num(values)
        elif not (values > 0).any():
            return Quantity(values * np.nan, "ns", self._repeat_basis(""), self.unmeasured(engine))
        else:  # Core ML reports the CPU's part only sometimes: a missing row does not mean 0
            values[~(values > 0)] = np.nan
        values[self.contested(engine)] = np.nan  # it may be more
        return Quantity(values, "ns", self._repeat_basis(Basis.MEASURED))

    def _divide_by_length(self, busy: Quantity) -> Quantity:
        share = busy.values / np.maximum(self.lengths_ns, 1)  # noqa: PD011
        return Quantity(share, "share", busy.basis, busy.missing)

    @property
    def _no_samples(self) -> str:
        trace = self.analysis.trace
        if not len(trace.samples):
            return "the recording has no host samples"
        if not (trace.samples["stack_id"] >= 0).any():
            return "no host sample has a stack"
        return ""

    def _count_samples(self, engine: Engine) -> Quantity:
        values = np.nan_to_num(self._sum_per_window(self._select_inference_rows(engine), "weight"))
        unit = self.analysis.trace.weight_unit
        return Quantity(values, unit, self._repeat_basis(Basis.SAMPLED), self._no_samples)

    def _compute_waiting(self, engine: Engine) -> Quantity:
        analysis = self.analysis
        totals = analysis.totals
        of_engine = is_among(totals["engine"], engine)
        total = totals[of_engine & totals["waiting_ns"].notna().to_numpy(bool)]
        if not len(total):
            missing = f"no data shows when a thread waited for the {engine}"
            return Quantity(np.full(self.count, np.nan), "ns", self._repeat_basis(""), missing)
        rows = self._rows[is_among(self._rows["engine"], engine)]
        values = np.nan_to_num(self._sum_per_window(rows, "waiting_ns"))
        if not analysis.measured.requests(engine):
            # Of several overlapping calls without a thread, any may have been the one that waited.
            thread = self.windows["thread_id"].to_numpy(np.int64)
            values[~self.given & (thread < 0) & ~self.windows["alone"].to_numpy(bool)] = np.nan
        return Quantity(values, "ns", self._repeat_basis(str(total["waiting_basis"].iloc[0])))

    def _count_hand_offs(self) -> Quantity:
        # Segments are ordered by window, then time: a change of engine between neighbours is a hand-off.
        values = np.full(self.count, np.nan)
        basis = self._repeat_basis("")
        for segments in self.analysis.segment_blocks.frames():
            window = segments["window_id"].to_numpy(np.int64)
            engine = segments["engine"].astype("str").to_numpy(object)
            changes = (window[1:] == window[:-1]) & (engine[1:] != engine[:-1])
            values[window] = 0
            np.add.at(values, window[1:][changes], 1)
            bases = segments["basis"].astype("str").to_numpy(object)
            for weaker in (Basis.MEASURED, Basis.SAMPLED, Basis.INFERRED):  # the weakest of a window's
                basis[window[bases == weaker]] = str(weaker)
        missing = "" if not np.isnan(values).all() else "no call shows when an engine worked"
        return Quantity(values, "count", basis, missing, mixes_bases=True)

    def _count_submissions(self, column: str) -> Quantity:
        counts = self.analysis.submissions[column]
        values = counts.to_numpy(np.float64, na_value=np.nan)
        missing = "" if self.is_measured(Engine.ANE) else self.unmeasured(Engine.ANE)
        if_unknown = "no call is a single inference whose submissions can be counted"
        if column == "segments" and self.analysis.submissions["submissions"].notna().any():
            if_unknown = "the labels of the Neural Engine's rows name no segment"
        return Quantity(values, "count", self._repeat_basis(Basis.MEASURED), missing, if_unknown=if_unknown)

    def _mark_uses(self, engine: Engine) -> BoolArray:
        rows = self._select_inference_rows(engine)
        requested = rows["waiting_ns"].fillna(0) if self.analysis.measured.reports_requests(engine) else 0
        is_used = (rows["samples"] > 0) | (rows["busy_ns"].fillna(0) > 0) | (requested > 0)
        window = rows["window_id"].to_numpy(np.int64)[is_used.to_numpy(bool)]
        marks: BoolArray = np.bincount(window, minlength=self.count) > 0
        return marks

    def _compute_window_share(self, matches: BoolArray, engine: str, unknown: BoolArray) -> Quantity:
        """Return 1 where a window ``matches``, 0 where it does not, NaN where that is ``unknown``.

        A window's basis is its verdict's: measured where a table shows any engine at work. For a matching
        window, that engine's own table counts.
        """
        if_unknown = "no call has a known engine"
        if engine == Engine.ANE and self._may_be_passed_on.any():
            unknown = unknown | (self._may_be_passed_on & ~matches)
            if_unknown = "MPSGraph may have passed the work to the Neural Engine"
        values = np.where(unknown, np.nan, matches.astype(np.float64))
        measured = np.any([self.at_work(serving) for serving in SERVING], axis=0)
        if engine in [str(serving) for serving in SERVING]:
            measured = np.where(matches, self.at_work(Engine(engine)), measured)
        basis = np.where(measured, str(Basis.MEASURED), str(Basis.SAMPLED)).astype(object)
        return Quantity(values, "share", basis, mixes_bases=True, if_unknown=if_unknown)

    def at_work(self, engine: Engine) -> BoolArray:
        """Mark the windows in which an engine was measured at work, or Core ML reported a request to it."""
        if engine not in self._at_work:
            marks = np.nan_to_num(self.quantity("busy", engine).values) > 0
            if self.analysis.measured.reports_requests(engine):
                waiting = self._sum_per_window(self._select_inference_rows(engine), "waiting_ns")
                marks = marks | (np.nan_to_num(waiting) > 0)
            self._at_work[engine] = marks
        return self._at_work[engine]

    def contested(self, engine: str) -> BoolArray:
        """Mark the windows in whose time an engine worked for them or for another owner."""
        work = next(work for work in self.analysis.verdicts.works if work.engine == engine)
        marks: BoolArray = work.contested_ns > 0
        return marks

    def mark_contested_for(self, quantity: str, engine: str) -> BoolArray:
        """Mark the windows in which a share depends on work whose owner is not known."""
        return self.is_open if quantity == "share" else self.contested(engine)

    def _mark_unseen(self, engine: Engine) -> BoolArray:
        """Mark the windows in which neither a table nor a host sample could have shown an engine."""
        counts = self.analysis.members.counts
        marks: BoolArray = (counts == 0) & (engine not in self.analysis.measured.engines)
        return marks

    def _mark_shared(self, engine: Engine) -> BoolArray:
        """Mark the windows with samples of an engine without a table that several calls may claim."""
        analysis, marks = self.analysis, np.zeros(self.count, bool)
        if engine in analysis.measured.engines:
            return marks
        labels, samples = analysis.labels, analysis.members.ambiguous
        of_engine = is_engine(labels.engine[samples], engine) & is_phase(labels.phase[samples], *INFERENCE)
        samples = samples[of_engine]
        times = analysis.trace.samples["time_ns"].to_numpy(np.int64)[samples]
        pids = self.windows["pid"].to_numpy(np.int64)
        for pid in np.unique(labels.pid[samples]).tolist():
            of_process = times[labels.pid[samples] == pid]
            starts, stops = (
                np.searchsorted(of_process, self.windows[edge].to_numpy()) for edge in ("start_ns", "end_ns")
            )
            marks |= (stops > starts) & ((pids == pid) | (pids < 0) | (pid < 0))
        return marks & ~self.given

    @cached_property
    def is_open(self) -> BoolArray:
        """Windows that an engine may have served besides those of their verdict."""
        works = self.analysis.verdicts.works
        may_serve = [(work.contested_ns > 0) | self._mark_shared(Engine(work.engine)) for work in works]
        marks: BoolArray = np.any(
            [may & ~work.is_serving for may, work in zip(may_serve, works, strict=True)], axis=0
        )
        return marks

    @cached_property
    def undecided(self) -> BoolArray:
        """Windows whose engine is unknown: any statement about them would be a guess."""
        marks: BoolArray = self.verdict == UNKNOWN
        return marks

    @cached_property
    def _may_be_passed_on(self) -> BoolArray:
        """Windows with GPU time where MPSGraph's rows count for the GPU and no table shows the Neural Engine.

        MPSGraph may have passed a program to the Neural Engine (``mps-engine-unknown``), so such a window is
        no evidence against it.
        """
        codes = {diagnostic.code for diagnostic in self.analysis.diagnostics}
        marks: BoolArray = self.at_work(Engine.GPU) & ("mps-engine-unknown" in codes)
        return marks

    def is_measured(self, engine: Engine) -> bool:
        """Return whether a table of the recording measured the engine."""
        return not self.quantity("busy", engine).missing or self.analysis.measured.reports_requests(engine)

    def unmeasured(self, engine: Engine) -> str:
        """Return the reason why no table measured an engine."""
        names = set(_TABLES.get(engine, ()))
        tables = [
            f"{table.source} is {table.state}: {table.use}"
            for table in self.analysis.evidence
            if set(table.source.split(", ")) & names and table.state != "rows"
        ]
        return f"no table measured the {engine}" + (f" ({'; '.join(tables)})" if tables else "")
