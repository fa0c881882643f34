"""What one analysis says of each of its windows, as columns of numbers that carry how they are known.

Comparisons and gates read these and nothing else, so that they agree on what a recording can show.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.measured import Scope
from tracekit.analysis.engines.membership import OUTSIDE
from tracekit.analysis.engines.spans import union
from tracekit.analysis.result import Analysis
from tracekit.analysis.verdicts import UNKNOWN
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.schemas import ANE_TABLES, CORE_ML, GPU_TABLES
from tracekit.model.vocabulary import SERVING, Basis, Engine, Phase

FloatArray: TypeAlias = npt.NDArray[np.float64]
Names: TypeAlias = npt.NDArray[np.object_]
Unit: TypeAlias = Literal["ns", "share", "count", "cycles", "events"]

_INFERENCE = [str(phase) for phase in Phase if phase.is_inference]
_TABLES = {
    Engine.ANE: ANE_TABLES,
    Engine.GPU: GPU_TABLES,
    Engine.CPU: (CORE_ML,),
}


@dataclass(frozen=True)
class Quantity:
    """One number per window, NaN where nothing tells it; ``missing`` says why where no window can have one.

    ``basis`` is each window's. Amounts of different bases are never put into one number; ``counted`` marks
    what is counted or decided per window, where several bases may stand side by side.
    """

    values: FloatArray
    unit: Unit
    basis: Names
    missing: str = ""
    counted: bool = False
    silent: str = "no window shows it"
    """What is to be said where all of some windows are NaN."""

    @property
    def most(self) -> float:
        """The most that a window can have of which nothing tells the number; the least is 0."""
        return 1.0 if self.unit == "share" else np.inf

    def bases(self, rows: BoolArray) -> tuple[str, ...]:
        """Return the bases of those of the rows that are known."""
        found = self.basis[rows & ~np.isnan(self.values)]
        return tuple(sorted({str(one) for one in found} - {""}))

    def problem(self, rows: BoolArray) -> str:
        """Say why these rows give no number; "" where they give one."""
        if not rows.any():
            return "there is no such window"
        if self.missing:
            return self.missing
        if np.isnan(self.values[rows]).all():
            return self.silent
        bases = self.bases(rows)
        if len(bases) > 1 and not self.counted:
            return f"the windows are {' and '.join(bases)}, which one number does not mix"
        return ""


@dataclass(frozen=True)
class Amount:
    """A number of a whole run: None where the recording does not show it, and then why."""

    value: float | None
    basis: str = ""
    missing: str = ""


class Observations:
    """The columns of one analysis; rows are its windows, in order of time."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.windows = analysis.window_rows
        self.count = len(analysis.window_rows)
        self.starts: IntArray = analysis.window_rows["start_ns"].to_numpy(np.int64)
        self.first: BoolArray = analysis.window_rows["first"].to_numpy(bool)
        self.source: Names = analysis.window_rows["source"].astype("str").to_numpy(object)
        self.label: Names = analysis.window_rows["label"].to_numpy(object)
        self.model: Names = analysis.window_rows["model"].to_numpy(object)
        self.verdict: Names = np.array([one.verdict for one in analysis.verdicts], object)
        self.given: BoolArray = np.isin(self.source, GIVEN_SOURCES)
        self._held: dict[tuple[str, str], Quantity] = {}
        rows = analysis.attribution_rows
        rows = rows[(rows["window_id"] >= 0).to_numpy(bool)]
        self._rows = rows.assign(engine=rows["engine"].astype("str"), phase=rows["phase"].astype("str"))

    # Which windows -----------------------------------------------------------------------------------------

    def named(self, pattern: str) -> BoolArray:
        """Mark the windows whose model or label is ``pattern``, in which ``*`` stands for anything."""
        if not pattern:
            return np.ones(self.count, bool)
        plain = pattern.replace("[", "[[]").replace("?", "[?]")
        fits = {name for name in {*self.model, *self.label} if name and fnmatch.fnmatchcase(str(name), plain)}
        return np.isin(self.model, list(fits)) | np.isin(self.label, list(fits))

    def names(self) -> list[str]:
        """Return every model and label, for messages."""
        return sorted({str(name) for name in (*self.model, *self.label) if name})

    # Numbers per window ------------------------------------------------------------------------------------

    def quantity(self, name: str, engine: str = "") -> Quantity:
        """Return a column: "length", "hand-offs", "share", "used share", "busy", "busy share", …"""
        if (name, engine) not in self._held:
            self._held[name, engine] = self._find(name, engine)
        return self._held[name, engine]

    def _find(self, name: str, engine: str) -> Quantity:
        if name == "length":
            return self._length()
        if name == "hand-offs":
            return self._hand_offs()
        if name == "share":
            return self._decided(self.verdict == engine, engine)
        one = Engine(engine)
        if name == "used share":
            return self._decided(self._uses(one), engine)
        if name == "waiting":
            return self._waiting(one)
        if name == "samples":
            return self._samples(one)
        busy = self._busy(one)
        return busy if name == "busy" else self._per_length(busy)

    @cached_property
    def lengths_ns(self) -> FloatArray:
        """The windows' lengths, whatever they mean."""
        edges = self.windows["end_ns"] - self.windows["start_ns"]
        return edges.to_numpy(np.float64)

    def _length(self) -> Quantity:
        missing = ""
        if self.count and self.given.all():
            whole = (self.source == "run").all()
            missing = (
                "the one window is the whole run, so no inference has a length"
                if whole
                else "you gave the windows, so their lengths are no finding"
            )
        basis = self.windows["basis"].astype("str").to_numpy(object)
        return Quantity(self.lengths_ns, "ns", basis, missing)

    def _per_window(self, rows: pd.DataFrame, name: str) -> FloatArray:
        """Sum a column of the attribution per window; NaN where no row knows it."""
        rows = rows[rows[name].notna().to_numpy(bool)]
        at = rows["window_id"].to_numpy(np.int64)
        amounts = rows[name].to_numpy(np.float64)
        sums = np.bincount(at, amounts, minlength=self.count).astype(np.float64)  # int64 of no row
        sums[np.bincount(at, minlength=self.count) == 0] = np.nan
        return sums

    def _of(self, engine: Engine) -> pd.DataFrame:
        rows = self._rows
        return rows[((rows["engine"] == engine) & rows["phase"].isin(_INFERENCE)).to_numpy(bool)]

    def _all(self, basis: str) -> Names:
        return np.full(self.count, basis, object)

    def _busy(self, engine: Engine) -> Quantity:
        values = self._per_window(self._of(engine), "busy_ns")
        if engine in self.analysis.measured.engines:
            values = np.nan_to_num(values)
        elif not (values > 0).any():
            return Quantity(values * np.nan, "ns", self._all(""), self.unmeasured(engine))
        else:  # Core ML reports the CPU's part only sometimes: no row is no zero
            values[~(values > 0)] = np.nan
        return Quantity(values, "ns", self._all(Basis.MEASURED))

    def _per_length(self, busy: Quantity) -> Quantity:
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

    def _samples(self, engine: Engine) -> Quantity:
        values = np.nan_to_num(self._per_window(self._of(engine), "weight"))
        unit = self.analysis.trace.weight_unit
        return Quantity(values, unit, self._all(Basis.SAMPLED), self._no_samples)

    def _waiting(self, engine: Engine) -> Quantity:
        analysis = self.analysis
        totals = analysis.totals
        own = totals[
            (totals["engine"] == engine).to_numpy(bool) & totals["waiting_ns"].notna().to_numpy(bool)
        ]
        if not len(own):
            missing = f"nothing tells when a thread waited for the {engine}"
            return Quantity(np.full(self.count, np.nan), "ns", self._all(""), missing)
        rows = self._rows[(self._rows["engine"] == engine).to_numpy(bool)]
        values = np.nan_to_num(self._per_window(rows, "waiting_ns"))
        if not analysis.measured.requests(engine):  # which of several calls waited, nothing tells
            thread = self.windows["thread_id"].to_numpy(np.int64)
            values[~self.given & (thread < 0) & ~self.windows["alone"].to_numpy(bool)] = np.nan
        return Quantity(values, "ns", self._all(str(own["waiting_basis"].iloc[0])))

    def _hand_offs(self) -> Quantity:
        segments = self.analysis.segments
        window = segments["window_id"].to_numpy(np.int64)
        engine = segments["engine"].astype("str").to_numpy(object)
        known = np.bincount(window, minlength=self.count) > 0
        changes = (window[1:] == window[:-1]) & (engine[1:] != engine[:-1])
        values = np.bincount(window[1:][changes], minlength=self.count).astype(np.float64)
        values[~known] = np.nan
        bases = segments["basis"].astype("str").to_numpy(object)
        basis = self._all("")
        for one in (Basis.MEASURED, Basis.SAMPLED, Basis.INFERRED):  # the weakest of a window's segments
            basis[window[bases == one]] = str(one)
        missing = "" if known.any() else "no window shows when an engine worked"
        return Quantity(values, "count", basis, missing, counted=True)

    def _uses(self, engine: Engine) -> BoolArray:
        own = self._of(engine)
        requested = own["waiting_ns"].fillna(0) if self.analysis.measured.requests(engine) else 0
        shown = (own["samples"] > 0) | (own["busy_ns"].fillna(0) > 0) | (requested > 0)
        at = own["window_id"].to_numpy(np.int64)[shown.to_numpy(bool)]
        marks: BoolArray = np.bincount(at, minlength=self.count) > 0
        return marks

    def _decided(self, told: BoolArray, engine: str) -> Quantity:
        """Return 1 where the verdict tells it, 0 where it tells another, NaN where nothing tells an engine.

        A window's basis is its verdict's: measured where an engine was at work; where the one asked for is
        told, that one.
        """
        values = np.where(self.undecided & ~told, np.nan, told.astype(np.float64))
        measured = np.any([self.at_work(one) for one in SERVING], axis=0)
        if engine in [str(one) for one in SERVING]:
            measured = np.where(told, self.at_work(Engine(engine)), measured)
        basis = np.where(measured, str(Basis.MEASURED), str(Basis.SAMPLED)).astype(object)
        return Quantity(values, "share", basis, counted=True, silent="no window tells an engine")

    def at_work(self, engine: Engine) -> BoolArray:
        """Mark the windows in which an engine was measured at work, or Core ML reported a request to it."""
        marks: BoolArray = np.nan_to_num(self._busy(engine).values) > 0
        if self.analysis.measured.requests(engine):
            marks = marks | (np.nan_to_num(self._per_window(self._of(engine), "waiting_ns")) > 0)
        return marks

    @cached_property
    def undecided(self) -> BoolArray:
        """Windows of which nothing tells the engine: any answer about them would be a guess."""
        marks: BoolArray = self.verdict == UNKNOWN
        return marks

    def is_measured(self, engine: Engine) -> bool:
        """True where something of the recording measured the engine."""
        return not self._busy(engine).missing or self.analysis.measured.requests(engine)

    def unmeasured(self, engine: Engine) -> str:
        """Say why no table measured an engine."""
        names = _TABLES.get(engine, ())
        told = [
            f"{one.source} is {one.state}, {one.remark}"
            for one in self.analysis.evidence
            if set(one.source.split(", ")) & set(names) and one.state != "rows"
        ]
        return f"no table measured the {engine}" + (f" ({'; '.join(told)})" if told else "")

    # Numbers per run ---------------------------------------------------------------------------------------

    def preparing(self, phase: Phase, model: str = "") -> Amount:
        """Return the time of loading or compiling, counted once where engines do it together.

        Without a model, samples tell it where nothing measured it. None is no zero: it may have been before
        the recording began.
        """
        measured = self.analysis.measured
        keys = [key for key in measured.keys if key[1] is phase]
        if model:
            scopes = [Scope(frozenset(self._pids), one) for one in self._models(model)]
            spans = union([measured.spans(scope, key) for scope in scopes for key in keys])
        else:
            spans = union([measured.everything(key) for key in keys])
        if spans.total_ns:
            return Amount(float(spans.total_ns), str(Basis.MEASURED))
        totals = self.analysis.totals
        own = totals[(totals["window_id"] == OUTSIDE) & (totals["phase"] == phase)]
        sampled = own["sampled_ns"].fillna(0).sum()
        if sampled and model:
            return Amount(None, missing=f"only samples show a {phase}, and not of which model")
        if sampled:
            return Amount(float(sampled), str(Basis.SAMPLED))
        return Amount(None, missing=f"no {phase} was recorded; it may have been before the recording began")

    @property
    def _pids(self) -> Sequence[int]:
        return [int(pid) for pid in np.unique(self.windows["pid"].to_numpy()) if pid >= 0]

    def _models(self, pattern: str) -> list[str]:
        marked = self.named(pattern)
        return [str(one) for one in {*self.model[marked]} & self.analysis.measured.owner.known]

    def thermal(self) -> tuple[FloatArray, IntArray]:
        """Return the levels of the device's thermal state (0 nominal … 3 critical) and since when."""
        rows = self.analysis.trace.tracks
        rows = rows[((rows["name"] == "Thermal state") & rows["value"].notna()).to_numpy(bool)]
        return rows["value"].to_numpy(np.float64), rows["time_ns"].to_numpy(np.int64)


def pooled(parts: Sequence[Any]) -> FloatArray:
    """Return the parts one after another; none is an empty array."""
    return np.concatenate([np.asarray(part, np.float64) for part in parts] or [np.zeros(0)])
