"""The claims of a comparison's first sentence: one family of tests, wrong in at most 5 % of comparisons.

The lengths of all models (p50, p90 and mean of each) and the energy of their calls are one family at 4 %,
held by Holm's weighted procedure (1979): of the tests that are left, those are shown whose interval at their
part of the 4 % excludes 0; then the rest is tested with larger parts. A fixed sequence that begins with the
p50 would end there where only the slow calls grew.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tracekit.comparison.groups import ALL, ComparedRuns, Runs
from tracekit.comparison.metrics import METRICS, name_late_calls
from tracekit.comparison.result import Difference, FirstSentence, Group, ModelLengths
from tracekit.comparison.rows import Sides, build_tested_row, iter_group_rows

_SHARES = [metric for metric in METRICS if metric.is_share_of_engine]
_OF_LENGTHS, _OF_SHARES = 0.04, 0.01
"""How often any length, and any share of an engine, may seem to differ by chance."""
_WEIGHTS = {"p50": 2.0}
"""A change of all calls shows in the p50 first: it has half of the level, p90 and mean the other half."""
_UNTESTED = "within these recordings"
_MOST_MODELS = 20
"""Maximum number of models whose lengths are tested together: those with most calls."""


def build_first_sentence(compared: ComparedRuns, groups: Sequence[Group]) -> FirstSentence:
    """Return the rows that the first sentence is about, with intervals for all of them together.

    ``groups`` are those of the comparison: what their rows have is not computed again.
    """
    names, left_out = _find_shared_models(compared.sides)
    untested = len(names) - _MOST_MODELS
    names = _choose_frequent(names, compared.sides)
    if left_out and not names:
        return FirstSentence(left_out=left_out)
    models = [(name, compared.select(("model", name, ""))) for name in names]
    rows = {name: group.rows for group in groups for kind, name in group.names if kind == "model"}
    if not models:
        only = _find_only_model(compared.sides)
        models, rows = [(only, compared.select(ALL))], {only: groups[0].rows}
    shares = _compare_shares([sides for _, sides in models])
    lengths = compare_lengths(models, rows)
    return FirstSentence(
        tuple(replace(of_model, engines=engines) for of_model, engines in zip(lengths, shares, strict=True)),
        left_out,
        max(untested, 0),
    )


def compare_lengths(
    models: Iterable[tuple[str, Sides]], known: Mapping[str, Sequence[Difference]] | None = None
) -> tuple[ModelLengths, ...]:
    """Return the rows that decide about each model, tested together; ``known`` has rows of some models."""
    chosen = [(name, sides, _choose_rows(sides, (known or {}).get(name, ()))) for name, sides in models]
    family = [(sides, row) for _, sides, rows in chosen for row in rows]
    tested = iter(
        hold_family([row for _, row in family], lambda number, level: _test_at(*family[number], level))
    )
    result = []
    for name, sides, rows in chosen:
        of_model = list(itertools.islice(tested, len(rows)))
        lengths, energy = (
            tuple(row for row in of_model if (row.unit == "mJ") is is_energy) for is_energy in (False, True)
        )
        result.append(ModelLengths(name, lengths, energy, sides.grid))
    return tuple(result)


def _choose_rows(sides: Sides, known: Sequence[Difference]) -> list[Difference]:
    """Return the rows that decide about a model: its lengths, and the energy of a call."""
    names = [name_late_calls(sides.grid.limit_ns), "mean"] if sides.grid else ["p50", "p90", "mean"]
    rows = [row for row in known if row.metric in names]
    rows = rows or list(iter_group_rows(sides, [metric for metric in sides.metrics if metric.name in names]))
    energy = [row for row in known if row.unit == "mJ"]
    return [*sorted(rows, key=lambda row: names.index(row.metric)), *energy]


def hold_family(
    rows: Sequence[Difference], test: Callable[[int, float], Difference], error: float = _OF_LENGTHS
) -> list[Difference]:
    """Return rows at the levels at which Holm's procedure tests them; ``test`` has a row at a level.

    Rows without an interval are left as they are.
    """
    result = list(rows)
    remaining = [number for number, row in enumerate(rows) if row.low is not None]
    while remaining:
        weights = {number: _WEIGHTS.get(rows[number].metric, 1.0) for number in remaining}
        for number, weight in weights.items():
            result[number] = test(number, 1 - error * weight / sum(weights.values()))
        not_shown = [number for number in remaining if not _is_shown(result[number])]
        if len(not_shown) == len(remaining):
            break
        remaining = not_shown
    return result


def _is_shown(row: Difference) -> bool:
    return row.judgement.startswith(("higher", "lower"))


def _test_at(sides: Sides, row: Difference, level: float) -> Difference:
    """Return a row at another level; an estimate holds for all of them."""
    if row.estimate is not None:
        return build_tested_row(row.metric, row.unit, (row.base, row.new), row.estimate, level)
    metrics = [metric for metric in sides.metrics if metric.name == row.metric]
    return next(iter_group_rows(sides, metrics, level))


def _compare_shares(models: Sequence[Sides]) -> list[tuple[Difference, ...]]:
    """Return the shares of each model's calls by engine: of the 1 %, each that occurs has the same part."""
    shares = [tuple(iter_group_rows(sides, _SHARES)) for sides in models]
    rows = [row for of_model in shares for row in of_model]
    if all(row.tested in (None, _UNTESTED) for row in rows):
        return shares
    level = 1 - _OF_SHARES / max(1, sum(bool(row.base.highest or row.new.highest) for row in rows))
    return [tuple(iter_group_rows(sides, _SHARES, level)) for sides in models]


def _find_only_model(sides: Sequence[Runs]) -> str:
    """Return the model of all calls; "" where there are several, or calls without one."""
    names = {str(name) for side in sides for run in side for name in run.model}
    return names.pop() if len(names) == 1 else ""


def _find_shared_models(sides: Sequence[Runs]) -> tuple[list[str], tuple[str, ...]]:
    """Return the models that both sides have, and what these leave out: "" for calls without a model.

    The length of a call is then a number of each model: together they would have one that is of none, and
    it would change with the models that run. Both are empty for one model in all calls.
    """
    base, new = ({str(name) for run in side for name in run.model} for side in sides)
    names, left_out = sorted((base & new) - {""}), tuple(sorted((base ^ new) | ((base | new) & {""})))
    is_usable = base and new and (names or "" not in left_out)
    return (names, left_out) if is_usable and (left_out or len(names) > 1) else ([], ())


def _choose_frequent(names: Sequence[str], sides: Sequence[Runs]) -> list[str]:
    """Return the models with most calls on the side that has fewer of them, in the order of their names."""
    if len(names) <= _MOST_MODELS:
        return list(names)
    by_side = [Counter(str(name) for run in side for name in run.model) for side in sides]
    frequent = sorted(names, key=lambda name: (-min(counts[name] for counts in by_side), name))
    return sorted(frequent[:_MOST_MODELS])
