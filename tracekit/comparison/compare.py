"""``compare``: two sides of analyses → Comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tracekit.analysis.result import Analysis
from tracekit.comparison import functions as by_function
from tracekit.comparison.cautions import (
    compare_verdict_bases,
    describe_side,
    find_repeated_recordings,
    iter_cautions,
    select_distinct_runs,
)
from tracekit.comparison.findings import compare_findings
from tracekit.comparison.first_sentence import build_first_sentence
from tracekit.comparison.groups import ComparedRuns, Runs, build_groups
from tracekit.comparison.observations import Observations
from tracekit.comparison.parts import compare_parts
from tracekit.comparison.quantities import Unit
from tracekit.comparison.result import (
    MIN_CHANGE,
    Change,
    Comparison,
    Difference,
    FirstSentence,
    FunctionChange,
    Judgement,
    Value,
)
from tracekit.comparison.run_metrics import iter_preparation_rows
from tracekit.comparison.samples import sample_shares
from tracekit.comparison.sessions import GivenSpread, SessionNoise, read_run_noise
from tracekit.comparison.turns import find_order, judge_order, place_runs, split_sessions
from tracekit.errors import UsageError

_ABOUT_CALLS = ("one-run", "two-runs", "given-noise", "noise-recordings")
NoiseRuns: TypeAlias = Sequence[Analysis] | Sequence[Sequence[Analysis]]
"""Repeated recordings of one program, or groups of them, that are used to estimate noise."""


def compare(
    base: Analysis | Sequence[Analysis],
    new: Analysis | Sequence[Analysis],
    *,
    run_noise: float | Mapping[str, float] | None = None,
    noise_from: NoiseRuns = (),
    session_noise: float | None = None,
    min_change: float = MIN_CHANGE,
    deadlines_ns: Sequence[float] = (),
) -> Comparison:
    """Return the differences between two sides, with intervals; several analyses of a side are repetitions.

    ``run_noise`` is the standard deviation of the p50 between runs of the same program, as a fraction (0.02),
    or those of several percentiles (``{"p50": 0.02, "p90": 0.05}``): means and shares have that of the p50, a
    percentile without its own is not tested. ``noise_from`` are two or more recordings that show it, or
    groups of them: one for each build.
    ``session_noise`` is the standard deviation between sessions, as a fraction, for sides that were not
    recorded in turn; ``noise_from`` shows it where builds were recorded in several sessions.
    ``min_change`` is the smallest relative change of a length that the first sentence reports as one. Each of
    ``deadlines_ns`` has a row for the share of the calls that take longer. The order within a side does not
    matter, and swapping the sides negates every difference. Raises ``UsageError`` for a side without an
    analysis.
    """
    if not all(isinstance(side, (Analysis, Sequence)) for side in (base, new)):
        raise UsageError(
            "compare takes analyses: tracekit.compare(tracekit.analyze(base), tracekit.analyze(new))."
        )
    base, new = ([side] if isinstance(side, Analysis) else list(side) for side in (base, new))
    if not base or not new:
        raise UsageError("A comparison needs a recording on each side.")
    given_noise = read_run_noise(run_noise)
    if given_noise and noise_from:
        raise UsageError("Give the spread between runs in one way: as a number, or by recordings.")
    groups_for_noise = group_noise(noise_from)
    builds = 0 if all(isinstance(entry, Analysis) for entry in noise_from) else len(groups_for_noise)
    given = [[Observations(analysis) for analysis in side] for side in (base, new, *groups_for_noise)]
    sides = [select_distinct_runs(side) for side in given]
    if any(len(group) < 2 for group in sides[2:]):
        raise UsageError("One recording shows no spread between runs: give two or more.")
    noise_count = sum(map(len, sides[2:]))
    base_side, new_side = describe_side(sides[0]), describe_side(sides[1])
    order, order_caution = find_order(sides[0], sides[1])
    noise, build_numbers = split_sessions(sides[2:])
    sessions = None
    if order != "in turn" and (session_noise is not None or build_numbers):
        sessions = SessionNoise(session_noise, build_numbers)
    places = place_runs(sides[0], sides[1]) if order == "in turn" else None
    spread = GivenSpread(given_noise, sessions, places)
    compared = ComparedRuns(sides[0], sides[1], noise, spread, tuple(deadlines_ns))
    groups, one_sided, left_out = build_groups(compared)
    first_sentence = build_first_sentence(compared, groups)
    changed, largest, count, missing = _compare_functions(sides[0], sides[1], noise, first_sentence)
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
                for caution in iter_cautions(base_side, new_side, one_sided, given_noise, noise_count, builds)
                # Those are about how much calls vary.
                if not without_times or not caution.code.startswith(_ABOUT_CALLS)
            ),
            *judge_order(order, order_caution, sessions, has_noise_runs=noise_count > 0),
            *compare_verdict_bases(*sides[:2]),
        ),
        groups=groups,
        preparing=tuple(iter_preparation_rows(sides[0], sides[1], noise, spread)),
        functions=changed,
        one_sided=one_sided,
        functions_missing=missing,
        groups_left_out=left_out,
        first_sentence=first_sentence,
        parts=tuple(compare_parts(compared.iter_models())),
        findings=compare_findings(sides[0], sides[1]),
        largest_functions=largest,
        functions_compared=count,
        run_noise=given_noise,
        noise_runs=noise_count,
        noise_builds=builds,
        session_noise=session_noise,
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


_Functions = tuple[FunctionChange, ...]


def _compare_functions(
    base: Runs, new: Runs, noise: Sequence[Runs], first_sentence: FirstSentence
) -> tuple[_Functions, _Functions, int, str]:
    """Return the functions that changed, the largest other differences, and the number of all.

    They are of each model that the first sentence is about: the weight per call of several would change with
    their mix. The text is the reason why functions cannot be compared.
    """
    if reason := by_function.explain_problem(base, new):
        return (), (), 0, reason
    models = [model.model for model in first_sentence.lengths]
    if not models:
        return (), (), 0, "not comparable: BASE and NEW have no model in common"
    unit: Unit = next(iter(by_function.list_units(base)))
    comparable = [
        [run for run in group if run.count and run.analysis.trace.weight_unit == unit] for group in noise
    ]
    measured = [
        [by_function.measure_models(run, models) for run in side] for side in (base, new, *comparable)
    ]
    compared, windows = [], []
    for number in range(len(models)):
        sides = [[run[number] for run in side if run[number].windows] for side in measured]
        compared.append(by_function.compare_functions(sides[0], sides[1], sides[2:]))
        windows.append([sum(run.windows for run in side) for side in sides[:2]])
    changed: list[FunctionChange] = []
    remaining: list[FunctionChange] = []
    for model, of_model, counts, rows in zip(
        models, compared, windows, by_function.find_changed(compared), strict=True
    ):
        for row in range(len(of_model.names)):
            is_changed = row in rows
            change = _describe_function(model, of_model, row, unit, counts, is_changed)
            (changed if is_changed else remaining).append(change)
    for changes in (changed, remaining):
        changes.sort(key=lambda change: -abs(change.row.difference or 0.0))
    count = sum(of_model.count for of_model in compared)
    return tuple(changed), tuple(remaining[: by_function.MOST_FUNCTIONS]), count, ""


def _describe_function(
    model: str,
    compared: by_function.Compared,
    row: int,
    unit: Unit,
    windows: Sequence[int],
    is_changed: bool,
) -> FunctionChange:
    base, new = (
        Value(float(means[row].mean()), count, count, "sampled", runs=tuple(means[row].tolist()))
        for means, count in zip(compared.means, windows, strict=True)
    )
    assert base.value is not None
    assert new.value is not None
    change = new.value - base.value
    is_tested = compared.probabilities is not None
    not_shown: Judgement = "within the noise" if is_tested else "not tested"
    judged: Judgement = ("higher" if change > 0 else "lower") if is_changed else not_shown
    difference = Difference("weight per window", unit, base, new, change, None, None, judged)
    if is_tested:
        difference = replace(difference, tested="between runs")
    return FunctionChange(*compared.names[row], _describe_change(difference), difference, model)


def _describe_change(row: Difference) -> Change:
    if not row.base.value:
        return "appeared"
    if not row.new.value:
        return "vanished"
    return "grew" if (row.difference or 0) > 0 else "shrank"
