"""The outcome of a comparison: of each model's lengths, and of both sides as a whole.

Marks, tags and sentences all follow from these decisions, so that none contradicts another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tracekit.analysis.verdicts import UNKNOWN
from tracekit.comparison.result import (
    Comparison,
    Difference,
    FindingChange,
    Group,
    ModelLengths,
    ModelParts,
    PartChange,
)
from tracekit.model.vocabulary import Engine
from tracekit.report.comparison.wording import one_run_per_side

Outcome: TypeAlias = Literal[
    "slower", "faster", "slower and faster", "better", "worse", "changed", "same", "not shown"
]
LengthOutcome: TypeAlias = Literal["slower", "faster", "slower and faster", "same", "not shown"]
SIGN: dict[Outcome, str] = {
    "slower": "▲",
    "faster": "▼",
    "slower and faster": "◆",
    "better": "✓",
    "worse": "!",
    "changed": "◆",
    "same": "=",
    "not shown": "?",
}
"""A mark next to the word, so that colour is never the only sign."""
_WORDS: dict[Outcome, str] = {
    "slower": "Slower",
    "faster": "Faster",
    "slower and faster": "Slower and faster",
    "better": "Finding gone",
    "worse": "New finding",
    "changed": "Changed",
    "same": "No change",
    "not shown": "No difference shown",
}
WITHIN = "within these recordings"
_NOT_SHOWN = ("within the noise", "too few to tell", "spread not given")


def decide_outcome(comparison: Comparison) -> Outcome:
    """Return the outcome: by the lengths if these are shown to differ, else by what else changed."""
    decisions = (_decide_rows(model, comparison.min_change) for model in comparison.first_sentence.lengths)
    length = _join_outcomes([decision for of_model in decisions for decision in of_model])
    if length not in ("same", "not shown"):
        return length
    trends = {change.change for change in comparison.findings if is_grave(change)}
    if list_changed_shares(comparison) or list_changed_energy(comparison) or len(trends) > 1:
        return "changed"
    if "appeared" in trends:
        return "worse"
    if trends:
        return "better" if _keeps_engines(comparison) else "changed"
    if any(list_changed_parts(model, comparison.min_change) for model in comparison.parts):
        return "changed"
    is_open = any(map(find_incomparable_shares, comparison.first_sentence.lengths)) or any(
        map(is_one_sided, comparison.findings)
    )
    return "same" if length == "same" and not is_open else "not shown"


def describe_outcome(comparison: Comparison) -> tuple[str, str]:
    """Return the sign and the words of the outcome: ``▲``, ``Slower``.

    One run per side leaves open how runs differ: ``?``, ``Slower in these recordings``.
    """
    outcome = decide_outcome(comparison)
    if outcome != "not shown" and one_run_per_side(comparison):
        return "?", f"{_WORDS[outcome]} in these recordings"
    return SIGN[outcome], _WORDS[outcome]


# Lengths ---------------------------------------------------------------------------------------------------


def decide_model(model: ModelLengths, min_change: float) -> LengthOutcome:
    """Return what is shown of the calls of a model: no change only where each of its rows shows none."""
    return _join_outcomes(_decide_rows(model, min_change))


def _decide_rows(model: ModelLengths, min_change: float) -> list[LengthOutcome]:
    """Return what each row shows, without those that are equal, but of too few calls, in two recordings.

    That a number has no interval leaves nothing open about recordings in which it is the same.
    """
    is_within_two = any(row.tested == WITHIN for row in model.rows)
    return [
        decide_length(row, min_change)
        for row in model.rows
        if not (is_within_two and row.tested is None and row.difference == 0)
    ]


def replace_by_first_sentence(comparison: Comparison, group: Group) -> list[Difference]:
    """Return the rows of a group; what the first sentence rests on has the interval that decides there."""
    names = {name for kind, name in group.names if kind == "model"}
    if group == comparison.groups[0]:
        names.add("")
    models = [model for model in comparison.first_sentence.lengths if model.model in names]
    by_metric = {row.metric: row for model in models for row in (*model.rows, *model.energy, *model.engines)}
    return [by_metric.get(row.metric, row) for row in group.rows]


def _join_outcomes(outcomes: Sequence[LengthOutcome]) -> LengthOutcome:
    slower, faster = "slower" in outcomes, "faster" in outcomes
    if slower or faster:
        return "slower and faster" if slower and faster else "slower" if slower else "faster"
    return "same" if {*outcomes} == {"same"} else "not shown"


def find_decisive(model: ModelLengths, min_change: float) -> Difference:
    """Return the first row that has the outcome of its model; without such a one, the first row."""
    outcome = decide_model(model, min_change)
    decisive = (row for row in model.rows if decide_length(row, min_change) in outcome)
    return next(decisive, model.rows[0])


def decide_length(row: Difference, min_change: float) -> LengthOutcome:
    """Return what is shown of a length: never more than its interval carries."""
    if row.difference is None or row.judgement in ("too few to tell", "spread not given"):
        return "not shown"
    change = row.difference if row.unit == "share" else row.ratio
    is_small = change is not None and abs(change) < min_change
    if row.judgement.startswith(("higher", "lower")) and not is_small:
        return "slower" if row.judgement.startswith("higher") else "faster"
    if row.tested == WITHIN:
        return "same" if not row.difference or row.judgement != "within the noise" else "not shown"
    return "same" if is_within(row, min_change) or row.judgement != "within the noise" else "not shown"


def is_within(row: Difference, min_change: float) -> bool:
    """Return whether the whole interval is of changes that count as none."""
    ends = (row.low, row.high) if row.unit == "share" else (row.relative_low, row.relative_high)
    return all(end is not None and abs(end) <= min_change for end in ends)


def list_changed_energy(comparison: Comparison) -> list[tuple[ModelLengths, Difference]]:
    """Return the energy of a call that is shown to differ between runs, with the model of the call."""
    return [
        (model, row)
        for model in comparison.first_sentence.lengths
        for row in model.energy
        if decide_length(row, comparison.min_change) in ("slower", "faster")
    ]


def list_changed_parts(model: ModelParts, min_change: float) -> list[PartChange]:
    """Return the parts that are shown to differ, by no less than counts of the length, the largest first."""
    length = max(model.whole.base.value or 0.0, model.whole.new.value or 0.0)
    shown = [
        change
        for change in model.parts
        if change.row.judgement.startswith(("higher", "lower"))
        and abs(change.row.difference or 0.0) >= min_change * length
    ]
    return sorted(shown, key=lambda change: -abs(change.row.difference or 0.0))


# Engines and findings --------------------------------------------------------------------------------------


def list_changed_shares(comparison: Comparison) -> list[tuple[ModelLengths, Difference]]:
    """Return the shares of a model's calls by engine that are shown to differ.

    Of a model of which one is not comparable, it is none.
    """
    return [
        (model, row)
        for model in comparison.first_sentence.lengths
        if not find_incomparable_shares(model)
        for row in model.engines
        if row.difference is not None and row.judgement not in _NOT_SHOWN
    ]


def find_incomparable_shares(model: ModelLengths) -> list[Difference]:
    """Return the shares of engines that cannot be compared."""
    return [row for row in model.engines if row.metric != f"{UNKNOWN} share" and row.difference is None]


def is_grave(change: FindingChange) -> bool:
    """Return whether a finding is shown to have appeared or vanished, and is for the first sentences."""
    return change.change in ("appeared", "vanished") and change.finding.severity != "info"


def is_one_sided(change: FindingChange) -> bool:
    """Return whether a finding of one side alone, not shown to differ, belongs into the first sentences."""
    return change.change == "on one side" and change.finding.severity != "info"


def is_better(comparison: Comparison) -> bool:
    """Return whether findings are gone and nothing else changed: that is good news."""
    return decide_outcome(comparison) == "better"


def _keeps_engines(comparison: Comparison) -> bool:
    """Return whether no model has calls that went from the Neural Engine to another one, or an unknown one.

    Calls that run on the CPU from the start cannot leave the Neural Engine either.
    """
    leaves = {f"{Engine.ANE} share": -1.0, f"{Engine.CPU} share": 1.0, f"{UNKNOWN} share": 1.0}
    return not any(
        leaves.get(row.metric, 0.0) * (row.difference or 0.0) > 0
        for model in comparison.first_sentence.lengths
        for row in model.engines
    )
