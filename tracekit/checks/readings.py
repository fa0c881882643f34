"""What a recording shows of a reading: a number, or the two between which it lies, or why there is none.

Where nothing tells the number of some windows, the reading is taken twice, with the least and with the most
that they could have: a requirement is judged only if both agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tracekit.checks.issue_codes import is_damage
from tracekit.checks.requirements import ENGINE_NAMES, Kind, Presence, Reading
from tracekit.comparison.bootstrap import Statistic, estimate
from tracekit.comparison.observations import FloatArray, Observations, Quantity
from tracekit.comparison.recorded import THERMAL
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import PHASES, SERVING, Basis, Engine, Phase
from tracekit.text import plural

_NOT_INFERENCE = (Phase.LOAD, Phase.COMPILE, Phase.IDLE)


@dataclass(frozen=True)
class Worst:
    """The window that speaks most against a requirement; ``value`` is None where it is a yes or no."""

    window: int
    start_ns: int
    label: str
    value: float | None = None


@dataclass(frozen=True)
class Actual:
    """What a reading came to; ``missing`` says why it is None.

    ``low`` and ``high`` differ where some windows do not tell. ``windows`` is how many it was taken over, 0
    for what is of the whole recording; ``note`` says what a reader should know of the number.
    """

    kind: Kind
    low: float | None = None
    high: float | None = None
    basis: str = ""
    windows: int = 0
    worst: Worst | None = None
    missing: str = ""
    note: str = ""


class Gauge:
    """Takes readings of one analysis; each distinct one is taken once."""

    def __init__(self, observations: Observations) -> None:
        self._seen = observations
        self._scopes: dict[str, BoolArray] = {}
        self._taken: dict[tuple[Reading, str, bool], Actual] = {}
        self._present: dict[Presence, Actual] = {}

    def rows(self, scope: str) -> BoolArray:
        """Mark the windows of a scope."""
        if scope not in self._scopes:
            self._scopes[scope] = self._seen.named(scope)
        return self._scopes[scope]

    def take(self, reading: Reading, scope: str, highest_is_worst: bool) -> Actual:
        """Return a reading over the windows of a scope."""
        key = reading, scope, highest_is_worst
        if key not in self._taken:
            self._taken[key] = self._take(reading, scope, highest_is_worst)
        return self._taken[key]

    def _take(self, reading: Reading, scope: str, highest: bool) -> Actual:
        if reading.quantity == "issues":
            return self._issues(reading.code)
        if reading.quantity == "thermal":
            return self._thermal()
        if reading.quantity in ("load", "compile"):
            return self._preparing(reading, scope)
        rows = self.rows(scope)
        if reading.quantity == "windows":
            return self._windows(rows)
        if not rows.any():
            return Actual(reading.kind, missing=self.no_window(scope))
        if reading.part:
            rows = rows & (self._seen.first if reading.part == "first" else ~self._seen.first)
            if not rows.any():
                return Actual(reading.kind, missing=f"there is no {reading.part} window")
        if reading.quantity in ("share", "used share"):
            return self._share(reading, rows, highest)
        if reading.quantity == "samples share":
            return self._samples_share(reading, rows)
        found = self._per_window(reading, rows, highest)
        if reading.quantity == "hand-offs" and not found.missing:
            return replace(found, note=_joined(found.note, self._unmeasured(*SERVING)))
        return found

    def _unmeasured(self, *engines: Engine) -> str:
        """Say which of the engines no table measured; "" where one measured each."""
        silent = [f"the {engine}" for engine in engines if not self._seen.is_measured(engine)]
        return f"no table measured {' and '.join(silent)}" if silent else ""

    def no_window(self, scope: str) -> str:
        """Say that a scope has no window, and which names there are."""
        if not scope or not self._seen.count:
            return "there is no window"
        names = self._seen.names()
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        return f"no window has a model or label '{scope}'; there are {', '.join(names[:8])}{more}"

    # Of the whole recording --------------------------------------------------------------------------------

    def _issues(self, code: str) -> Actual:
        issues = self._seen.analysis.issues
        if code == "error":
            meant = [issue for issue in issues if is_damage(issue)]
        else:
            meant = [issue for issue in issues if code in ("", issue.severity, issue.code)]
        by_code = code not in ("", "info", "warning", "error")
        found = sum(issue.count for issue in meant) if by_code else len(meant)
        return Actual("count", found, found, note=", ".join(sorted({issue.code for issue in meant})[:8]))

    def _thermal(self) -> Actual:
        levels, times = self._seen.thermal()
        if not len(levels):
            return Actual("thermal", missing="the recording does not tell the thermal state")
        at = int(np.argmax(levels))
        level = float(min(levels[at], len(THERMAL) - 1))
        note = f"{THERMAL[int(level)]} from {times[at] / 1e9:.3f} s"
        return Actual("thermal", level, level, str(Basis.MEASURED), note=note)

    def _preparing(self, reading: Reading, scope: str) -> Actual:
        if scope and not self.rows(scope).any():
            return Actual("time", missing=self.no_window(scope))
        found = self._seen.preparing(Phase(reading.quantity), scope)
        return Actual("time", found.value, found.value, found.basis, missing=found.missing)

    def _windows(self, rows: BoolArray) -> Actual:
        count = int(rows.sum())
        if (self._seen.source == "run").any():
            missing = "the one window is the whole run, single inferences are not told apart"
            return Actual("count", missing=missing)
        bases = sorted({str(one) for one in self._seen.quantity("length").basis[rows]})
        note = ""
        if (self._seen.source[rows] == "stacks").any():
            note = "calls back to back count as one window where windows come from stacks"
        return Actual("count", count, count, " and ".join(bases), count, note=note)

    # Over windows ------------------------------------------------------------------------------------------

    def _share(self, reading: Reading, rows: BoolArray, highest: bool) -> Actual:
        """Return the share of windows with a verdict, or in which an engine served."""
        quantity = self._seen.quantity(reading.quantity, reading.engine)
        count = int(rows.sum())
        served = quantity.values > 0
        open_ = rows & np.isnan(quantity.values)
        if not (rows & ~open_).any():
            return Actual("share", missing=quantity.silent, windows=count)
        low = int((rows & served).sum()) / count
        high = int((rows & (served | open_)).sum()) / count
        against = np.flatnonzero(rows & (served if highest else ~served))
        worst = self._worst(int(against[0])) if len(against) else None
        basis = " and ".join(quantity.bases(rows & served) or quantity.bases(rows))
        note = _silent_windows(int(open_.sum()))
        if not low and reading.engine in ENGINE_NAMES:
            note = _joined(note, self._unmeasured(Engine(reading.engine)))
        return Actual("share", low, high, basis, count, worst, note=note)

    def _samples_share(self, reading: Reading, rows: BoolArray) -> Actual:
        """Return the engine's part of the samples that show an engine, over all windows together."""
        quantities = {engine: self._seen.quantity("samples", engine) for engine in ENGINE_NAMES}
        own = quantities[reading.engine]
        if problem := own.problem(rows):
            return Actual("share", missing=problem)
        every = sum(float(one.values[rows].sum()) for one in quantities.values())
        if not every:
            return Actual("share", missing="no host sample in a window shows an engine")
        share = float(own.values[rows].sum()) / every
        note = "host samples say who called an engine, not how long it worked"
        return Actual("share", share, share, str(Basis.SAMPLED), int(rows.sum()), note=note)

    def _per_window(self, reading: Reading, rows: BoolArray, highest: bool) -> Actual:
        quantity = self._seen.quantity(reading.quantity, reading.engine)
        problem = quantity.problem(rows)
        if not problem and reading.kind == "time" and quantity.unit != "ns":
            problem = f"the samples are weighed in {quantity.unit}, not in time"
        if problem:
            return Actual(reading.kind, missing=problem, windows=int(rows.sum()))
        low, high = _between(quantity, rows, reading)
        known = np.flatnonzero(rows & ~np.isnan(quantity.values))
        values = quantity.values[known]
        at = int(known[np.argmax(values) if highest else np.argmin(values)])
        worst = self._worst(at, float(quantity.values[at]))
        unknown = int(rows.sum()) - len(known)
        basis = " and ".join(quantity.bases(rows))
        found = Actual(reading.kind, low, high, basis, int(rows.sum()), worst)
        if unknown:
            verb = "does" if unknown == 1 else "do"
            return replace(found, note=f"{plural(unknown, 'window')} {verb} not show it")
        return replace(found, note=_tail(reading.statistic, len(known)))

    def _worst(self, at: int, value: float | None = None) -> Worst:
        seen = self._seen
        named = str(seen.model[at] or seen.label[at])
        return Worst(int(seen.windows["window_id"].iloc[at]), int(seen.starts[at]), named, value)

    # Presence ----------------------------------------------------------------------------------------------

    def presence(self, rule: Presence) -> Actual:
        """Return in how many windows an engine was at work; ``high`` counts those of which nothing tells."""
        if rule not in self._present:
            self._present[rule] = self._presence(rule)
        return self._present[rule]

    def _presence(self, rule: Presence) -> Actual:
        rows = self.rows(rule.scope)
        if not rows.any():
            return Actual("count", missing=self.no_window(rule.scope))
        found, measured = self._at_work(rule)
        count = int((rows & found).sum())
        at = np.flatnonzero(rows & found)
        worst = self._worst(int(at[0])) if len(at) else None
        basis = Basis.MEASURED if measured[rows & found].any() or self._is_measured(rule) else Basis.SAMPLED
        if not count and (missing := self._silent(rule, rows)):
            return Actual("count", missing=missing, windows=int(rows.sum()))
        blind = rows & self._seen.undecided & ~found
        note = _silent_windows(int(blind.sum()))
        if basis is Basis.SAMPLED and not note and (unseen := int((rows & ~self._sampled()).sum())):
            note = f"{plural(unseen, 'window')} without a host sample"
        high = count + int(blind.sum())
        return Actual("count", count, high, str(basis), int(rows.sum()), worst, note=note)

    def _at_work(self, rule: Presence) -> tuple[BoolArray, BoolArray]:
        """Mark the windows that show the engine in the phase, and those where it was measured."""
        frame = self._seen.analysis.attribution_rows
        frame = frame[(frame["window_id"] >= 0).to_numpy(bool)]
        phases = [rule.phase] if rule.phase else [one for one in PHASES if one not in _NOT_INFERENCE]
        own = frame[((frame["engine"] == rule.engine) & frame["phase"].isin(phases)).to_numpy(bool)]
        at = own["window_id"].to_numpy(np.int64)
        busy = (own["busy_ns"].fillna(0) > 0).to_numpy(bool)
        sampled = (own["samples"] > 0).to_numpy(bool)
        count = self._seen.count
        measured: BoolArray = np.bincount(at[busy], minlength=count) > 0
        return measured | (np.bincount(at[sampled], minlength=count) > 0), measured

    def _is_measured(self, rule: Presence) -> bool:
        """True where a table would have shown the engine in the phase."""
        return rule.phase in (None, Phase.EXECUTE) and rule.engine in self._seen.analysis.measured.engines

    def _sampled(self) -> BoolArray:
        """Mark the windows that have a host sample."""
        marks: BoolArray = np.bincount(self._seen.analysis.members.window, minlength=self._seen.count) > 0
        return marks

    def _silent(self, rule: Presence, rows: BoolArray) -> str:
        """Say why it proves nothing that no window shows the engine; "" where it does prove something."""
        if self._is_measured(rule):
            return ""
        unmeasured = self._seen.unmeasured(Engine(rule.engine))
        if rule.phase is Phase.EXECUTE and rule.engine != Engine.CPU:
            return f"{unmeasured}, and host samples never show the {rule.engine} at work"
        problem = self._seen.quantity("samples", rule.engine).problem(rows)
        if not problem and not (rows & self._sampled()).any():
            problem = "no host sample lies in these windows"
        return f"{unmeasured}, and {problem}" if problem else ""


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _silent_windows(count: int) -> str:
    return f"{plural(count, 'window')} {'tells' if count == 1 else 'tell'} no engine" if count else ""


def _between(quantity: Quantity, rows: BoolArray, reading: Reading) -> tuple[float, float]:
    """Return a statistic with the least and the most that windows could have of which nothing tells."""
    values = quantity.values[rows]
    unknown = np.isnan(values)
    ends = (0.0, quantity.most)
    low, high = (_statistic(np.where(unknown, fill, values), reading.statistic) for fill in ends)
    return low, high


def _statistic(values: FloatArray, name: str) -> float:
    if name == "max":
        return float(values.max())
    if name == "min":
        return float(values.min())
    statistic: Statistic = "mean" if name == "mean" else float(name[1:]) / 100
    return estimate(values, statistic)


def _tail(statistic: str, count: int) -> str:
    """Say when a percentile is but the largest value."""
    if not statistic.startswith("p") or count * (100 - float(statistic[1:])) >= 100 or count == 1:
        return ""
    return f"of {count} windows, {statistic} is the largest"
