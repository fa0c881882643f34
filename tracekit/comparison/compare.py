"""``compare``: two sides of analyses → Comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.comparison import functions as by_function
from tracekit.comparison.cautions import (
    compare_verdict_bases,
    describe_side,
    find_repeated_recordings,
    iter_cautions,
    select_distinct_runs,
)
from tracekit.comparison.estimates import (
    Estimate,
    RunVariation,
    compute_centre,
    estimate_between_runs,
    estimate_within_runs,
    scale_of,
)
from tracekit.comparison.findings import compare_findings
from tracekit.comparison.metrics import METRICS, RUN_METRICS, GroupSide
from tracekit.comparison.observations import Amount, Observations, Unit
from tracekit.comparison.parts import compare_parts
from tracekit.comparison.result import (
    MIN_CHANGE,
    Change,
    Comparison,
    Difference,
    FirstSentence,
    FunctionChange,
    Group,
    GroupKind,
    Judgement,
    OneSided,
    Value,
)
from tracekit.comparison.rows import Sides, build_tested_row, iter_group_rows, refuse_difference
from tracekit.comparison.samples import sample_shares
from tracekit.errors import UsageError
from tracekit.model.columns import BoolArray
from tracekit.model.vocabulary import Phase

_MOST_GROUPS = 20
_FIRST_METRIC = "p50"
_ABOUT_CALLS = ("one-run", "two-runs", "given-noise", "noise-recordings")
_UNTESTED = "within these recordings"
_MOST_MODELS = 20
"""Maximum number of models whose lengths are tested together for the first sentence."""
_FIRST_LEVEL = 0.96
"""Of the p50; the 1 % that it leaves of 5 is for the shares of engines together."""
_OF_ONE_SIDE = [metric for metric in METRICS if metric.name == _FIRST_METRIC or metric.is_share_of_windows]
_SHARES_OF_WINDOWS = tuple(metric.name for metric in METRICS if metric.is_share_of_windows)
NoiseRuns: TypeAlias = Sequence[Analysis] | Sequence[Sequence[Analysis]]
"""Repeated recordings of one program, or groups of them, that are used to estimate noise."""
_Runs = Sequence[Observations]


def compare(
    base: Analysis | Sequence[Analysis],
    new: Analysis | Sequence[Analysis],
    *,
    run_noise: float | None = None,
    noise_from: NoiseRuns = (),
    min_change: float = MIN_CHANGE,
) -> Comparison:
    """Return the differences between two sides, with intervals; several analyses of a side are repetitions.

    ``run_noise`` is the standard deviation between runs of the same program, as a fraction (0.02);
    ``noise_from`` are two or more recordings that show it, or groups of them: one for each build.
    ``min_change`` is the smallest relative change of the p50 that the first sentence reports as one. The
    order within a side does not matter, and swapping the sides negates every difference. Raises
    ``UsageError`` for a side without an analysis.
    """
    if not all(isinstance(side, (Analysis, Sequence)) for side in (base, new)):
        raise UsageError(
            "compare takes analyses: tracekit.compare(tracekit.analyze(base), tracekit.analyze(new))."
        )
    base, new = ([side] if isinstance(side, Analysis) else list(side) for side in (base, new))
    if not base or not new:
        raise UsageError("A comparison needs a recording on each side.")
    if run_noise is not None and noise_from:
        raise UsageError("Give the spread between runs in one way: as a number, or by recordings.")
    groups_for_noise = group_noise(noise_from)
    builds = 0 if all(isinstance(entry, Analysis) for entry in noise_from) else len(groups_for_noise)
    given = [[Observations(analysis) for analysis in side] for side in (base, new, *groups_for_noise)]
    sides = [select_distinct_runs(side) for side in given]
    if any(len(group) < 2 for group in sides[2:]):
        raise UsageError("One recording shows no spread between runs: give two or more.")
    noise_count = sum(map(len, sides[2:]))
    base_side, new_side = describe_side(sides[0]), describe_side(sides[1])
    groups, one_sided, left_out = _build_groups(sides, run_noise)
    changed, largest, count, missing = _compare_functions(sides[0], sides[1], sides[2:])
    without_times = tuple(
        name
        for name, side in (("BASE", base), ("NEW", new))
        if any(analysis.trace.weight_unit == "samples" for analysis in side)
    )
    return Comparison(
        base=base_side,
        new=new_side,
        cautions=(
            *find_repeated_recordings(given[0], given[1], [run for group in given[2:] for run in group]),
            *(
                caution
                for caution in iter_cautions(base_side, new_side, one_sided, run_noise, noise_count, builds)
                # Those are about how much calls vary.
                if not without_times or not caution.code.startswith(_ABOUT_CALLS)
            ),
            *compare_verdict_bases(*sides[:2]),
        ),
        groups=groups,
        preparing=tuple(_run_metrics(sides, run_noise)),
        functions=changed,
        one_sided=one_sided,
        functions_missing=missing,
        groups_left_out=left_out,
        first_sentence=_build_first_sentence(sides, run_noise, groups),
        parts=tuple(compare_parts(_iter_models(sides, run_noise))),
        findings=compare_findings(sides[0], sides[1]),
        largest_functions=largest,
        functions_compared=count,
        run_noise=run_noise,
        noise_runs=noise_count,
        noise_builds=builds,
        min_change=min_change,
        without_times=without_times,
        samples=sample_shares(base, new) if len(without_times) > 1 else (),
        base_analysis=base[0],
        new_analysis=new[0],
    )


def group_noise(noise_from: NoiseRuns) -> list[list[Analysis]]:
    """Return the groups of recordings for the noise; analyses that are not in groups are one."""
    ungrouped = [entry for entry in noise_from if isinstance(entry, Analysis)]
    groups = [list(entry) for entry in noise_from if not isinstance(entry, Analysis)]
    return [*([ungrouped] if ungrouped else []), *groups]


def _build_first_sentence(
    sides: Sequence[_Runs], run_noise: float | None, groups: Sequence[Group]
) -> FirstSentence:
    """Return the rows that the first sentence is about, with their wider intervals."""
    whole, length = groups[0], [metric for metric in METRICS if metric.name == _FIRST_METRIC]
    names, left_out = _find_shared_models(sides[:2])
    if left_out and not names:
        return FirstSentence(left_out=left_out)
    shares = [metric for metric in METRICS if metric.is_share_of_windows]
    every = (
        _select_shared_sides(sides, names, run_noise) if left_out else _group_sides(sides, _ALL, run_noise)
    )
    if all(row.tested in (None, _UNTESTED) for row in whole.rows):
        # About these recordings alone, nothing is tested, and the rows are those of the table.
        of_table = iter_group_rows(every, shares) if left_out else whole.rows
        share_rows = tuple(row for row in of_table if row.metric in _SHARES_OF_WINDOWS)
        rows = [
            (name, row)
            for name in names
            for group in groups
            if (row := group.row(_FIRST_METRIC)) and ("model", name) in _list_models(group)
        ]
        return FirstSentence(whole.row(_FIRST_METRIC), share_rows, tuple(rows), left_out=left_out)
    nonzero_rows = [row for row in iter_group_rows(every, shares) if row.base.highest or row.new.highest]
    # Bonferroni: each of the shares that any window has gets its part of the 1 %, each model its part of 4 %.
    engines = iter_group_rows(every, shares, 1 - 0.01 / max(1, len(nonzero_rows)))
    level = 1 - (1 - _FIRST_LEVEL) / max(1, len(names))
    models = [
        (name, row)
        for name in names
        for row in iter_group_rows(_group_sides(sides, ("model", name, ""), run_noise), length, level)
    ]
    return FirstSentence(
        next(iter_group_rows(every, length, _FIRST_LEVEL), None),
        tuple(engines),
        tuple(models),
        level,
        left_out,
    )


def _iter_models(sides: Sequence[_Runs], run_noise: float | None) -> Iterator[tuple[str, Sides]]:
    """Yield the calls of each model that both sides have; without names, all calls are of one."""
    base, new = ({str(name) for run in side for name in run.model} for side in sides[:2])
    for name in sorted(base & new)[:_MOST_MODELS]:
        key: _Key = ("model", name, "") if name else _ALL
        if name or base == new == {""}:
            yield name, _group_sides(sides, key, run_noise)


def _list_models(group: Group) -> set[tuple[str, str]]:
    """Return kind and name of a group and of those with exactly its windows."""
    return {(group.kind, group.name), *((kind, name) for kind, name, _ in group.also)}


def _find_shared_models(sides: Sequence[_Runs]) -> tuple[list[str], tuple[str, ...]]:
    """Return the models that both sides have, and what these leave out: "" for calls without a model.

    The length of a call is then a number of each model: together they would have one that is of none, and
    it would change with the models that run. Both are empty for one model in all calls, and for too many.
    """
    base, new = ({str(name) for run in side for name in run.model} for side in sides)
    names, left_out = sorted((base & new) - {""}), tuple(sorted((base ^ new) | ((base | new) & {""})))
    is_usable = base and new and len(names) <= _MOST_MODELS and (names or "" not in left_out)
    return (names, left_out) if is_usable and (left_out or len(names) > 1) else ([], ())


# Groups of windows -----------------------------------------------------------------------------------------

_Key = tuple[GroupKind, str, str]
_ALL: _Key = ("all", "", "")


def _build_groups(
    sides: Sequence[_Runs], run_noise: float | None
) -> tuple[tuple[Group, ...], tuple[OneSided, ...], int]:
    """Return the groups that both sides have, those of one side only, and the number of groups left out.

    The groups are all windows, each kind of windows, and each model. Groups of exactly the same windows (such
    as all windows and those of the only model) are merged.
    """
    by_windows: dict[bytes, Group] = {}
    one_sided: list[OneSided] = []
    keys: list[_Key] = [_ALL, *sorted(_list_keys(sides[0]) | _list_keys(sides[1]))]
    counts = {key: sum(_build_side(side, key).windows for side in sides[:2]) for key in keys}
    largest = sorted(keys[1:], key=lambda key: (-counts[key], key))[:_MOST_GROUPS]
    for key in [keys[0], *sorted(largest)]:
        of_group = _group_sides(sides, key, run_noise)
        pair = of_group.base, of_group.new
        empty = [not side.windows for side in pair]
        if key[0] != "all" and any(empty):
            filled = pair[empty.index(False)]
            rows = tuple(iter_group_rows(of_group, _OF_ONE_SIDE))
            one_sided.append(OneSided(*key, "new" if empty[0] else "base", filled.windows, rows))
            continue
        windows = b"".join(mask.tobytes() + b"|" for side in pair for mask in side.rows)
        if windows in by_windows:
            existing = by_windows[windows]
            by_windows[windows] = replace(existing, also=(*existing.also, key))
        else:
            rows = tuple(iter_group_rows(of_group, METRICS))
            by_windows[windows] = Group(*key, pair[0].windows, pair[1].windows, rows)
    return tuple(by_windows.values()), tuple(one_sided), len(keys) - 1 - len(largest)


def _group_sides(sides: Sequence[_Runs], key: _Key, run_noise: float | None) -> Sides:
    base, new, *noise = (_build_side(side, key) for side in sides)
    return Sides(base, new, noise, run_noise)


def _select_shared_sides(sides: Sequence[_Runs], names: Sequence[str], run_noise: float | None) -> Sides:
    """Return the windows of some models."""
    group_sides = [
        GroupSide(runs, [np.asarray(np.isin(run.model.astype(str), names), bool) for run in runs])
        for runs in sides
    ]
    return Sides(group_sides[0], group_sides[1], group_sides[2:], run_noise)


def _list_keys(side: _Runs) -> set[_Key]:
    kinds: set[_Key] = {
        ("kind", str(label), str(source))
        for run in side
        for label, source in zip(run.label, run.source, strict=True)
    }
    return kinds | {("model", str(model), "") for run in side for model in run.model if model}


def _build_side(runs: _Runs, key: _Key) -> GroupSide:
    kind, name, source = key
    masks: dict[GroupKind, Callable[[Observations], BoolArray]] = {
        "all": lambda run: np.ones(run.count, bool),
        "kind": lambda run: np.asarray((run.label == name) & (run.source == source), bool),
        "model": lambda run: np.asarray(run.model == name, bool),
    }
    return GroupSide(runs, [masks[kind](run) for run in runs])


# Whole runs, and functions ---------------------------------------------------------------------------------


def _run_metrics(sides: Sequence[_Runs], run_noise: float | None) -> Iterator[Difference]:
    """Yield the rows of loading and compiling; one number per run."""
    for name in RUN_METRICS:
        amounts = [[run.measure_preparation(Phase(name)) for run in side] for side in sides]
        base, new, *noise = (_average_runs(side) for side in amounts)
        if base.value is None and new.value is None:
            continue
        if refusal := refuse_difference(name, ("ns", "ns"), base, new):
            yield refusal
            continue
        comparable = [group for group in noise if group.basis == base.basis]
        estimate = _compare_preparation(base, new, comparable, run_noise)
        if estimate is not None:
            yield build_tested_row(name, "ns", (base, new), estimate)
        else:
            assert base.value is not None
            assert new.value is not None
            change = new.value - base.value
            yield Difference(name, "ns", base, new, change, None, None, "too few to tell")


def _compare_preparation(
    base: Value, new: Value, noise: Sequence[Value], run_noise: float | None
) -> Estimate | None:
    base_values, new_values, *noise_values = (np.array(side.runs, float) for side in (base, new, *noise))
    scale = scale_of(True, base_values, new_values, *noise_values)
    if run_noise is None:
        return estimate_between_runs(base_values, new_values, noise_values, scale)
    exact = [[RunVariation(value, 0.0, np.inf) for value in side.runs] for side in (base, new)]
    return estimate_within_runs(exact[0], exact[1], scale, run_noise)


def _average_runs(amounts: Sequence[Amount]) -> Value:
    values = [amount.value for amount in amounts if amount.value is not None]
    bases = sorted({amount.basis for amount in amounts if amount.value is not None})
    if not values:
        return Value(None, 0, len(amounts), missing=amounts[0].missing if amounts else "")
    if len(bases) > 1:
        reason = f"some runs are {' and some '.join(bases)}, which one number cannot combine"
        return Value(None, 0, len(amounts), missing=reason)
    array = np.array(values, float)
    middle = compute_centre(array, scale_of(True, array))
    return Value(middle, len(values), len(amounts), bases[0], runs=tuple(values))


_Functions = tuple[FunctionChange, ...]


def _compare_functions(
    base: _Runs, new: _Runs, noise: Sequence[_Runs]
) -> tuple[_Functions, _Functions, int, str]:
    """Return the functions that changed, the largest other differences, and the number of all.

    The text is the reason why functions cannot be compared.
    """
    if reason := by_function.explain_problem(base, new):
        return (), (), 0, reason
    unit: Unit = next(iter(by_function.list_units(base)))
    comparable = [
        [run for run in group if run.count and run.analysis.trace.weight_unit == unit] for group in noise
    ]
    weights = [[by_function.measure_weights(run) for run in side] for side in (base, new, *comparable)]
    compared = by_function.compare_functions(weights[0], weights[1], weights[2:])
    changed = compared.changed
    remaining = [row for row in range(len(compared.names)) if row not in set(changed)]
    windows = [sum(run.windows for run in side) for side in weights[:2]]
    is_tested = compared.probabilities is not None
    changes = [
        [_describe_function(compared, row, unit, windows, is_changed, is_tested) for row in rows]
        for rows, is_changed in ((changed, True), (remaining[: by_function.MOST_FUNCTIONS], False))
    ]
    return tuple(changes[0]), tuple(changes[1]), compared.count, ""


def _describe_function(
    compared: by_function.Compared,
    row: int,
    unit: Unit,
    windows: Sequence[int],
    is_changed: bool,
    is_tested: bool,
) -> FunctionChange:
    base, new = (
        Value(float(means[row].mean()), count, count, "sampled", runs=tuple(means[row].tolist()))
        for means, count in zip(compared.means, windows, strict=True)
    )
    assert base.value is not None
    assert new.value is not None
    change = new.value - base.value
    not_shown: Judgement = "within the noise" if is_tested else "not tested"
    judged: Judgement = ("higher" if change > 0 else "lower") if is_changed else not_shown
    difference = Difference("weight per window", unit, base, new, change, None, None, judged)
    if is_tested:
        difference = replace(difference, tested="between runs")
    return FunctionChange(*compared.names[row], _describe_change(difference), difference)


def _describe_change(row: Difference) -> Change:
    if not row.base.value:
        return "appeared"
    if not row.new.value:
        return "vanished"
    return "grew" if (row.difference or 0) > 0 else "shrank"
