"""``compare``: two sides of analyses → Comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from tracekit.analysis.comparison import functions as by_function
from tracekit.analysis.comparison.bootstrap import (
    Panel,
    Statistic,
    Wanted,
    estimate,
    intervals,
    needed,
)
from tracekit.analysis.comparison.observations import Amount, FloatArray, Observations, Quantity, Unit, pooled
from tracekit.analysis.comparison.recorded import cautions, side_of
from tracekit.analysis.comparison.result import (
    Change,
    Comparison,
    Difference,
    FunctionChange,
    Group,
    GroupKind,
    Judgement,
    OneSided,
    Value,
)
from tracekit.analysis.measured import ANE_SOURCES
from tracekit.analysis.result import Analysis
from tracekit.engines import SERVING, Engine, Phase
from tracekit.errors import UsageError
from tracekit.model import BoolArray

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99}
VERDICTS = (*map(str, SERVING), "MIXED", "UNKNOWN")
_MOST_GROUPS = 20
_AWAITED = (Engine.ANE, Engine.GPU, Engine.RUNTIME)


@dataclass(frozen=True)
class Metric:
    """One number of a group of windows: which column, over which of the windows, by which statistic."""

    name: str
    quantity: str
    statistic: Statistic
    engine: str = ""
    part: str = ""
    always: bool = False
    """Told even where neither side shows it."""


def _metrics() -> Iterator[Metric]:
    for name, fraction in PERCENTILES.items():
        yield Metric(name, "length", fraction, always=True)
    for name, fraction in PERCENTILES.items():
        yield Metric(f"warm {name}", "length", fraction, part="warm")
    yield Metric("first", "length", 0.5, part="first")
    for name in VERDICTS:
        yield Metric(f"{name} share", "share", "mean", name)
    for engine in SERVING:
        yield Metric(f"{engine} busy", "busy", "mean", engine)
        yield Metric(f"{engine} busy share", "busy share", "mean", engine)
    for engine in SERVING:
        yield Metric(f"{engine} samples", "samples", "mean", engine)
    for engine in _AWAITED:
        yield Metric(f"{engine} waiting", "waiting", "mean", engine)
    yield Metric("hand-offs", "hand-offs", "mean")


METRICS: tuple[Metric, ...] = tuple(_metrics())
PREPARING = ("load", "compile")
"""Metrics of whole runs."""


@dataclass(frozen=True)
class _Side:
    """One side of one group: its runs, and which windows of each."""

    runs: Sequence[Observations]
    rows: Sequence[BoolArray]

    @property
    def windows(self) -> int:
        return sum(int(rows.sum()) for rows in self.rows)

    @property
    def sources(self) -> set[str]:
        """Where the windows come from; the Neural Engine's table has two names."""
        found = {str(one) for run, rows in zip(self.runs, self.rows, strict=True) for one in run.source[rows]}
        return {ANE_SOURCES[0] if one in ANE_SOURCES else one for one in found}

    def column(self, metric: Metric) -> tuple[FloatArray, Value, Unit]:
        """Return the windows' values (NaN where not known), the side's number, and its unit."""
        found = [run.quantity(metric.quantity, metric.engine) for run in self.runs]
        chosen = [self._part(run, rows, metric.part) for run, rows in zip(self.runs, self.rows, strict=True)]
        values = [
            np.where(part[rows], one.values[rows], np.nan)
            for one, rows, part in zip(found, self.rows, chosen, strict=True)
        ]
        units = {one.unit for one in found}
        missing = _missing(found, chosen, metric)
        if len(units) > 1:
            missing = f"the runs count {' and '.join(sorted(units))}"
        column = pooled(values)
        if missing:
            column = np.full(len(column), np.nan)
        count = int((~np.isnan(column)).sum())
        bases = {
            basis for one, part in zip(found, chosen, strict=True) for basis in one.bases(part) if not missing
        }
        value = None if missing else estimate(column, metric.statistic)
        return column, Value(value, count, " and ".join(sorted(bases)), missing), found[0].unit

    @staticmethod
    def _part(run: Observations, rows: BoolArray, part: str) -> BoolArray:
        if part == "first":
            return rows & run.first
        return rows & ~run.first if part == "warm" else rows


def _missing(found: Sequence[Quantity], rows: Sequence[BoolArray], metric: Metric) -> str:
    """Say why the runs of a side give no number; a run with other windows is passed over."""
    problems = [
        one.problem(part) for one, part in zip(found, rows, strict=True) if part.any() or len(rows) == 1
    ]
    if not problems:
        return "there is no such window"
    told = [problem for problem in problems if problem]
    if told:
        return told[0]
    bases = {basis for one, part in zip(found, rows, strict=True) for basis in one.bases(part)}
    if len(bases) > 1 and not metric.quantity.endswith(("share", "hand-offs")):
        return f"the runs are {' and '.join(sorted(bases))}, which one number does not mix"
    return ""


def compare(base: Sequence[Analysis], new: Sequence[Analysis]) -> Comparison:
    """Say what differs between two sides, and whether it may be chance; several analyses are repetitions.

    The order within a side does not matter, and swapping the sides turns every difference round. Raises
    ``UsageError`` for a side without an analysis.
    """
    if not base or not new:
        raise UsageError("A comparison needs a recording on each side.")
    sides = [[Observations(one) for one in side] for side in (base, new)]
    of_base, of_new = side_of(sides[0]), side_of(sides[1])
    groups, one_sided, left_out = _groups(*sides)
    changed, missing = _functions(*sides)
    return Comparison(
        base=of_base,
        new=of_new,
        cautions=tuple(cautions(of_base, of_new, one_sided)),
        groups=groups,
        preparing=tuple(_preparing(*sides)),
        functions=changed,
        one_sided=one_sided,
        functions_missing=missing,
        groups_left_out=left_out,
    )


# Groups of windows -----------------------------------------------------------------------------------------

_Key = tuple[GroupKind, str, str]


def _groups(
    base: Sequence[Observations], new: Sequence[Observations]
) -> tuple[tuple[Group, ...], tuple[OneSided, ...], int]:
    """Return all windows, each kind and each model that both sides have, and what only one side has."""
    found: dict[bytes, Group] = {}
    one_sided: list[OneSided] = []
    keys: list[_Key] = [("all", "", ""), *sorted(_keys(base) | _keys(new))]
    counts = {key: sum(_side(side, key).windows for side in (base, new)) for key in keys}
    kept = sorted(keys[1:], key=lambda key: (-counts[key], key))[:_MOST_GROUPS]
    for key in [keys[0], *sorted(kept)]:
        sides = _side(base, key), _side(new, key)
        empty = [not side.windows for side in sides]
        if key[0] != "all" and any(empty):
            filled = sides[empty.index(False)]
            one_sided.append(OneSided(*key, "new" if empty[0] else "base", filled.windows))
            continue
        same = b"".join(rows.tobytes() + b"|" for side in sides for rows in side.rows)
        if same in found:
            found[same] = replace(found[same], also=(*found[same].also, key))
        else:
            found[same] = Group(*key, sides[0].windows, sides[1].windows, tuple(_rows(*sides)))
    return tuple(found.values()), tuple(one_sided), len(keys) - 1 - len(kept)


def _keys(side: Sequence[Observations]) -> set[_Key]:
    kinds: set[_Key] = {
        ("kind", str(label), str(source))
        for run in side
        for label, source in zip(run.label, run.source, strict=True)
    }
    return kinds | {("model", str(model), "") for run in side for model in run.model if model}


def _side(runs: Sequence[Observations], key: _Key) -> _Side:
    kind, name, source = key
    masks: dict[GroupKind, Callable[[Observations], BoolArray]] = {
        "all": lambda run: np.ones(run.count, bool),
        "kind": lambda run: np.asarray((run.label == name) & (run.source == source), bool),
        "model": lambda run: np.asarray(run.model == name, bool),
    }
    return _Side(runs, [masks[kind](run) for run in runs])


def _rows(base: _Side, new: _Side) -> Iterator[Difference]:
    """Yield the group's numbers, without those that neither side shows."""
    columns = [(metric, base.column(metric), new.column(metric)) for metric in METRICS]
    told = [
        (metric, of_base, of_new)
        for metric, of_base, of_new in columns
        if metric.always or of_base[1].value is not None or of_new[1].value is not None
    ]
    panels = [
        Panel(tuple(int(rows.sum()) for rows in base.rows), tuple(one[0] for _, one, _ in told)),
        Panel(tuple(int(rows.sum()) for rows in new.rows), tuple(one[0] for _, _, one in told)),
    ]
    wanted = [Wanted(at, metric.statistic) for at, (metric, _, _) in enumerate(told)]
    found = intervals(panels[0], panels[1], _shared(wanted, told))
    alike = base.sources == new.sources or not (base.sources and new.sources)
    for (metric, of_base, of_new), interval in zip(told, found, strict=True):
        units = of_base[2], of_new[2]
        row = difference(metric.name, units, of_base[1], of_new[1], interval, needed(metric.statistic))
        yield row if alike or metric.quantity != "length" else _other_windows(row, base, new)


def _other_windows(row: Difference, base: _Side, new: _Side) -> Difference:
    """Refuse to subtract lengths of what is not the same thing: a prediction and an engine's interval."""
    names = [" and ".join(sorted(side.sources)) or "nothing" for side in (base, new)]
    why = f"windows come from {names[0]} in BASE and from {names[1]} in NEW, whose lengths do not compare"
    return refused(row.metric, row.unit, row.base, row.new, why)


def refused(name: str, unit: Unit, base: Value, new: Value, why: str) -> Difference:
    """Return a row whose sides are told and not subtracted."""
    base, new = replace(base, missing=why), replace(new, missing=why)
    return Difference(name, unit, base, new, None, None, None, "not measurable")


def _shared(wanted: Sequence[Wanted], told: Sequence[tuple[Metric, object, object]]) -> list[Wanted]:
    """Point percentiles of the same windows to one column, which is then sorted once."""
    first: dict[tuple[str, str, str], int] = {}
    return [
        Wanted(first.setdefault((metric.quantity, metric.engine, metric.part), one.column), one.statistic)
        for one, (metric, _, _) in zip(wanted, told, strict=True)
    ]


def difference(
    name: str,
    units: tuple[Unit, Unit],
    base: Value,
    new: Value,
    interval: tuple[float, float] | None,
    fewest: int,
) -> Difference:
    """Return one row, judged; numbers of different bases or units are not subtracted."""
    if base.value is not None and new.value is not None and _differ(units, base, new):
        why = f"{base.basis} in BASE and {new.basis} in NEW" if units[0] == units[1] else " and ".join(units)
        return refused(name, units[0], base, new, f"{why}, which do not compare")
    if base.value is None or new.value is None:
        unit = units[1] if base.value is None else units[0]
        return Difference(name, unit, base, new, None, None, None, "not measurable")
    change = new.value - base.value
    if interval is None or min(base.count, new.count) < fewest:
        return Difference(name, units[0], base, new, change, None, None, "too few to tell")
    return Difference(name, units[0], base, new, change, *interval, _judge(base.value, change, *interval))


def _differ(units: tuple[Unit, Unit], base: Value, new: Value) -> bool:
    # A share or a count of windows stays one, however each window is known.
    return units[0] != units[1] or (units[0] in ("ns", "cycles", "events") and base.basis != new.basis)


def _judge(base: float, change: float, low: float, high: float) -> Judgement:
    if low <= 0 <= high or abs(change) <= 1e-9 * abs(base):
        return "within the noise"
    return "higher" if change > 0 else "lower"


# Whole runs, and functions ---------------------------------------------------------------------------------


def _preparing(base: Sequence[Observations], new: Sequence[Observations]) -> Iterator[Difference]:
    """Yield what loading and compiling took in each run; one number per run."""
    for name in PREPARING:
        sides = [[run.preparing(Phase(name)) for run in side] for side in (base, new)]
        values = [_of_runs(side) for side in sides]
        if all(value.value is None for value in values):
            continue
        panels = [Panel((1,) * len(side), (pooled([[_or_nan(one)] for one in side]),)) for side in sides]
        interval = intervals(panels[0], panels[1], [Wanted(0, "mean")])[0]
        yield difference(name, ("ns", "ns"), values[0], values[1], interval, needed("mean"))


def _or_nan(amount: Amount) -> float:
    return float("nan") if amount.value is None else amount.value


def _of_runs(amounts: Sequence[Amount]) -> Value:
    known = [one.value for one in amounts if one.value is not None]
    bases = sorted({one.basis for one in amounts if one.value is not None})
    if not known:
        return Value(None, 0, missing=amounts[0].missing)
    if len(bases) > 1:
        return Value(None, 0, missing=f"the runs are {' and '.join(bases)}, which one number does not mix")
    return Value(float(np.mean(known)), len(known), bases[0])


def _functions(
    base: Sequence[Observations], new: Sequence[Observations]
) -> tuple[tuple[FunctionChange, ...], str]:
    """Return the functions that changed beyond the noise, or why they cannot be compared."""
    if why := by_function.problem(base, new):
        return (), why
    weights = [[by_function.weights_of(run) for run in side] for side in (base, new)]
    names = by_function.largest_changes(*weights)
    panels = [
        Panel(
            tuple(run.windows for run in side),
            tuple(pooled([run.per_window(name) for run in side]) for name in names),
        )
        for side in weights
    ]
    found = intervals(panels[0], panels[1], [Wanted(at, "mean") for at in range(len(names))])
    unit: Unit = next(iter(by_function.units_of(base)))
    rows = []
    for at, ((binary, symbol, engine), interval) in enumerate(zip(names, found, strict=True)):
        of_base, of_new = (
            Value(estimate(panel.columns[at], "mean"), sum(panel.sizes), "sampled") for panel in panels
        )
        row = difference("weight per window", (unit, unit), of_base, of_new, interval, needed("mean"))
        if row.judgement in ("higher", "lower"):
            rows.append(FunctionChange(binary, symbol, engine, _change(row), row))
    return tuple(rows), ""


def _change(row: Difference) -> Change:
    if not row.base.value:
        return "appeared"
    if not row.new.value:
        return "vanished"
    return "grew" if row.judgement == "higher" else "shrank"


def all_names() -> list[str]:
    """Return the names of every metric that a comparison can have."""
    return list(chain((metric.name for metric in METRICS), PREPARING))
