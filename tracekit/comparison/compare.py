"""``compare``: two sides of analyses → Comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.comparison import functions as by_function
from tracekit.comparison.bootstrap import (
    Panel,
    Wanted,
    estimate,
    intervals,
    needed,
)
from tracekit.comparison.metrics import METRICS, PREPARING, Column, GroupSide, Metric
from tracekit.comparison.observations import Amount, Observations, Unit, pooled
from tracekit.comparison.recorded import cautions, other_verdict_bases, repeated, side_of
from tracekit.comparison.result import (
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
from tracekit.errors import UsageError
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import Phase

_MOST_GROUPS = 20


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
        cautions=(
            *repeated(*sides),
            *cautions(of_base, of_new, one_sided),
            *other_verdict_bases(*sides),
        ),
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


def _side(runs: Sequence[Observations], key: _Key) -> GroupSide:
    kind, name, source = key
    masks: dict[GroupKind, Callable[[Observations], BoolArray]] = {
        "all": lambda run: np.ones(run.count, bool),
        "kind": lambda run: np.asarray((run.label == name) & (run.source == source), bool),
        "model": lambda run: np.asarray(run.model == name, bool),
    }
    return GroupSide(runs, [masks[kind](run) for run in runs])


_Pair = tuple[Metric, Column, Column]


def _rows(base: GroupSide, new: GroupSide) -> Iterator[Difference]:
    """Yield the group's numbers, without those that neither side shows."""
    columns = [(metric, base.column(metric), new.column(metric)) for metric in METRICS]
    told = [
        (metric, of_base, of_new)
        for metric, of_base, of_new in columns
        if metric.always or of_base.value.value is not None or of_new.value.value is not None
    ]
    # A share that some windows leave open is taken twice more, at both ends of what it can be.
    open_ = [at for at, (_, of_base, of_new) in enumerate(told) if _is_open(of_base, of_new)]
    ends: list[_Pair] = []
    for metric, of_base, of_new in (told[at] for at in open_):
        ends += [(metric, of_base.highest, of_new), (metric, of_base, of_new.highest)]
    rows = list(_differences(base, new, told, ends))
    for place, at in enumerate(open_):
        start = len(told) + 2 * place
        rows[at] = _between(rows[at], *rows[start : start + 2])
    alike = base.sources == new.sources or not (base.sources and new.sources)
    for (metric, _, _), row in zip(told, rows, strict=False):
        yield row if alike or metric.quantity != "length" else _other_windows(row, base, new)


def _differences(
    base: GroupSide, new: GroupSide, told: Sequence[_Pair], ends: Sequence[_Pair]
) -> Iterator[Difference]:
    pairs = [*told, *ends]
    wanted = [Wanted(at, metric.statistic) for at, (metric, _, _) in enumerate(pairs)]
    found = intervals(
        Panel(tuple(int(rows.sum()) for rows in base.rows), tuple(one.values for _, one, _ in pairs)),
        Panel(tuple(int(rows.sum()) for rows in new.rows), tuple(one.values for _, _, one in pairs)),
        [*_shared(wanted[: len(told)], told), *wanted[len(told) :]],
    )
    for (metric, of_base, of_new), interval in zip(pairs, found, strict=True):
        units = of_base.unit, of_new.unit
        yield difference(metric.name, units, of_base.value, of_new.value, interval, needed(metric.statistic))


def _is_open(base: Column, new: Column) -> bool:
    both = base.value.value is not None and new.value.value is not None
    return both and not (base.most is None and new.most is None)


def _between(row: Difference, lowest: Difference, highest: Difference) -> Difference:
    """Judge a share that windows without an engine leave open: only if both ends say the same."""
    if lowest.judgement == highest.judgement:
        return replace(row, low=lowest.low, high=highest.high, judgement=lowest.judgement)
    silent = [
        f"{side.total - side.count:,} of {side.total:,} windows in {name}"
        for name, side in (("BASE", row.base), ("NEW", row.new))
        if side.most is not None
    ]
    why = f"{' and '.join(silent)} tell no engine, and the answer depends on them"
    return refused(row.metric, row.unit, row.base, row.new, why)


def _other_windows(row: Difference, base: GroupSide, new: GroupSide) -> Difference:
    """Refuse to subtract lengths of what is not the same thing: a prediction and an engine's interval."""
    names = [" and ".join(sorted(side.sources)) or "nothing" for side in (base, new)]
    why = f"windows come from {names[0]} in BASE and from {names[1]} in NEW, whose lengths do not compare"
    return refused(row.metric, row.unit, row.base, row.new, why)


def refused(name: str, unit: Unit, base: Value, new: Value, why: str) -> Difference:
    """Return a row whose sides are told and not subtracted."""
    base, new = replace(base, missing=why), replace(new, missing=why)
    return Difference(name, unit, base, new, None, None, None, "not measurable")


def _shared(wanted: Sequence[Wanted], told: Sequence[_Pair]) -> list[Wanted]:
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
        return Value(None, 0, len(amounts), missing=amounts[0].missing)
    if len(bases) > 1:
        why = f"the runs are {' and '.join(bases)}, which one number does not mix"
        return Value(None, 0, len(amounts), missing=why)
    return Value(float(np.mean(known)), len(known), len(amounts), bases[0])


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
            Value(estimate(panel.columns[at], "mean"), sum(panel.sizes), sum(panel.sizes), "sampled")
            for panel in panels
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
