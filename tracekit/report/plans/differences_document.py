"""Two plans for people: what moved to another engine, what has no counterpart, segments and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tracekit.mlmodels.plans import Plan, PlannedOperation
from tracekit.mlmodels.plans.differences import (
    EngineTotal,
    FunctionDifferences,
    OperationPair,
    PlanDifferences,
    total_engines,
)
from tracekit.mlmodels.plans.plan_summary import count_operations, is_about_ane
from tracekit.model.vocabulary import Engine
from tracekit.report.document.blocks import (
    Block,
    Fact,
    Facts,
    Headline,
    Item,
    Items,
    Section,
    Table,
    count_note,
)
from tracekit.report.plans.words import ENGINE_WORDS, name_operation
from tracekit.text import UNAVAILABLE, format_percent, join_words, list_first, plural

_MOST_ROWS = 40
_MOST_NAMES = 8
_NOT_NAMED = "not named"
_SIDES = ("BASE", "NEW")
_EVIDENCE = {
    "order": "At least one plan has no values between operations: these are matched by kind, in their order.",
    "names": "At least one plan has no kinds of operations: these are matched by their names.",
}


def build_differences(differences: PlanDifferences, has_recordings: bool = False) -> list[Section]:
    """Return the sections of a comparison of two plans; ``has_recordings`` where recordings are as well."""
    sections = [Section("plans", "Plans", (Headline(_summarize(differences)), _list_facts(differences)))]
    if totals := _tabulate_engines(differences):
        sections.append(Section("plan-engines", "Engines in the plans", (totals,)))
    if not differences.match_few:
        if moved := [pair for function in differences.functions for pair in function.moved]:
            sections.append(Section("plan-moved", "Moved in the plans", tuple(_tabulate_moved(moved))))
        if unmatched := list(_list_unmatched(differences)):
            sections.append(
                Section(
                    "plan-unmatched", "Without a counterpart in the other plan", (Items(tuple(unmatched)),)
                )
            )
    limits = Items(tuple(map(Item, _list_limits(differences, has_recordings))), is_of_limits=True)
    return [*sections, Section("plan-limits", "What the plans do not show", (limits,))]


# The headline -----------------------------------------------------------------------------------------------


def _summarize(differences: PlanDifferences) -> str:
    if not differences.smaller:
        return _summarize_regions(differences)
    if differences.match_few:
        matches = f"{differences.count_alike():,} of {plural(differences.smaller, 'operation')}"
        if differences.lists_some:
            return (
                f"The operations cannot be compared: {matches} match, and a plan that lists some operations"
                " only does not show which are the others."
            )
        return (
            f"These are plans of different models, or of conversions with little in common: {matches} match."
        )
    return " ".join(_summarize_moves(differences))


def _summarize_regions(differences: PlanDifferences) -> str:
    counts = [
        f"{'not shown' if plan.ane_regions is None else format(plan.ane_regions, ',')} in {side}"
        for side, plan in zip(_SIDES, (differences.base, differences.new), strict=True)
    ]
    lists = "At least one of the plans lists no operations, so that none can be compared."
    return f"{lists} Regions for the Neural Engine: {join_words(counts)}."


def _summarize_moves(differences: PlanDifferences) -> Iterator[str]:
    pairs = [pair for function in differences.functions for pair in function.pairs]
    moves = Counter((pair.base.engine, pair.new.engine) for pair in pairs if pair.has_moved)
    compared = sum(not pair.is_unstated for pair in pairs)
    if moves:
        directions = [
            f"{count:,} from the {ENGINE_WORDS[old]} to the {ENGINE_WORDS[new]}"
            for (old, new), count in moves.most_common()
        ]
        total = plural(compared, "operation")
        yield f"{moves.total():,} of {total} in both plans moved: {join_words(directions)}."
    elif compared:
        yield f"None of the {plural(compared, 'operation')} in both plans moved."
    if unstated := len(pairs) - compared:
        meant = f"{unstated:,} more" if compared else f"{plural(unstated, 'operation')} in both plans"
        yield f"For {meant}, a plan states no engine."
    for side, only in zip(_SIDES, _count_only(differences), strict=True):
        if only:
            yield f"{plural(only, 'operation')} of {side} {'has' if only == 1 else 'have'} no counterpart."
    if ambiguous := _count_ambiguous(differences):
        base, new = ambiguous
        yield f"{base:,} of BASE and {new:,} of NEW cannot be told apart, and are not compared."


def _count_only(differences: PlanDifferences) -> tuple[int, int]:
    functions = differences.functions
    return sum(len(item.only_base) for item in functions), sum(len(item.only_new) for item in functions)


def _count_ambiguous(differences: PlanDifferences) -> tuple[int, int] | None:
    functions = differences.functions
    counts = (
        sum(len(item.ambiguous_base) for item in functions),
        sum(len(item.ambiguous_new) for item in functions),
    )
    return counts if any(counts) else None


# Facts and engines ------------------------------------------------------------------------------------------


def _list_facts(differences: PlanDifferences) -> Facts:
    plans = zip(_SIDES, (differences.base, differences.new), strict=True)
    return Facts(tuple(Fact(side, _describe_plan(plan)) for side, plan in plans))


def _describe_plan(plan: Plan) -> str:
    """Return the file and its form, and what it states about the chip, the system and the setting."""
    facts = [plan.form, plan.chip, plan.os_build, plan.compute_units, plan.model]
    return f"{plan.path} ({', '.join(filter(None, facts))})"


def _tabulate_engines(differences: PlanDifferences) -> Table | None:
    base_totals, new_totals = (
        _complete_totals(total_engines(plan)) for plan in (differences.base, differences.new)
    )
    rows = [
        (ENGINE_WORDS[old.engine], *_describe_totals(old, new))
        for old, new in zip(base_totals, new_totals, strict=True)
        if old.operations or new.operations
    ]
    if not rows:
        return None
    base, new = (count_operations(plan.functions) for plan in (differences.base, differences.new))
    rows.append(
        (
            "together",
            _describe_change(f"{base.operations:,}", f"{new.operations:,}"),
            _describe_change(f"{base.segments:,}", f"{new.segments:,}"),
            "",
        )
    )
    header = ("engine", "operations", "segments", "cost")
    return Table.from_rows(header, rows, numbers=set(header[1:]), caption="BASE → NEW")


def _complete_totals(totals: Sequence[EngineTotal]) -> list[EngineTotal]:
    """Return a total for each engine, in a fixed order; an engine without operations has none of the cost."""
    by_engine = {total.engine: total for total in totals}
    share = 0.0 if any(total.cost_share is not None for total in totals) else None
    return [by_engine.get(engine, EngineTotal(engine, 0, 0, share)) for engine in ENGINE_WORDS]


def _describe_totals(base: EngineTotal, new: EngineTotal) -> tuple[str, str, str]:
    costs = (
        UNAVAILABLE if total.cost_share is None else format_percent(total.cost_share, 1)
        for total in (base, new)
    )
    return (
        _describe_change(f"{base.operations:,}", f"{new.operations:,}"),
        _describe_change(f"{base.segments:,}", f"{new.segments:,}"),
        _describe_change(*costs),
    )


def _describe_change(base: str, new: str) -> str:
    return base if base == new else f"{base} → {new}"


# Operations -------------------------------------------------------------------------------------------------


def _tabulate_moved(moved: Sequence[OperationPair]) -> Iterator[Block]:
    rows = [
        (
            name_operation(pair.new) or _NOT_NAMED,
            f"{ENGINE_WORDS[pair.base.engine]} → {ENGINE_WORDS[pair.new.engine]}",
            _describe_cost(pair),
            _explain_move(pair),
        )
        for pair in moved[:_MOST_ROWS]
    ]
    header = ("operation", "moved", "cost", "reason now")
    kept = [index for index in range(len(header)) if any(row[index] for row in rows)]
    columns = [tuple(row[index] for index in kept) for row in rows]
    yield Table.from_rows([header[index] for index in kept], columns, is_wordy=any(row[3] for row in rows))
    if len(moved) > _MOST_ROWS:
        yield Items((Item(count_note(len(moved) - _MOST_ROWS)),))


def _describe_cost(pair: OperationPair) -> str:
    shares = (pair.base.cost_share, pair.new.cost_share)
    if shares == (None, None):
        return ""
    texts = (UNAVAILABLE if share is None else format_percent(share, 1) for share in shares)
    return f"{_describe_change(*texts)} of the cost"


def _explain_move(pair: OperationPair) -> str:
    """Return what the new plan states about an operation off the Neural Engine, with its source line."""
    if pair.new.engine is Engine.ANE:
        return pair.new.source
    texts = (message.text for message in pair.new.messages if is_about_ane(message.device))
    quotes = " ".join(f"“{text}”" for text in dict.fromkeys(texts))
    return " ".join(filter(None, (quotes or "no reason stated", pair.new.source and f"({pair.new.source})")))


def _list_unmatched(differences: PlanDifferences) -> Iterator[Item]:
    for side, functions in zip(_SIDES, (differences.only_base, differences.only_new), strict=True):
        if functions:
            names = [name or "without a name" for name in functions]
            yield Item(f"Functions of {side} alone: {list_first(names, _MOST_NAMES)}")
    several = len(differences.functions) > 1
    for function in differences.functions:
        where = f" in {function.new.name}" if several and function.new.name else ""
        for words, operations in _list_kinds(function):
            names = [name_operation(operation) or _NOT_NAMED for operation in operations]
            count = plural(len(operations), "operation")
            yield Item(f"{words}{where}: {count}: {list_first(names, _MOST_NAMES)}")


def _list_kinds(function: FunctionDifferences) -> Iterator[tuple[str, tuple[PlannedOperation, ...]]]:
    """Yield the operations without a certain counterpart, by the words for them."""
    entries = (
        ("BASE alone", function.only_base),
        ("NEW alone", function.only_new),
        ("BASE, more than one possible counterpart", function.ambiguous_base),
        ("NEW, more than one possible counterpart", function.ambiguous_new),
    )
    return ((words, operations) for words, operations in entries if operations)


def _list_limits(differences: PlanDifferences, has_recordings: bool) -> Iterator[str]:
    evidence = {function.evidence for function in differences.functions if function.pairs}
    yield from (_EVIDENCE[entry] for entry in ("order", "names") if entry in evidence)
    for side, plan in zip(_SIDES, (differences.base, differences.new), strict=True):
        yield from (f"{side}: {limit}" for limit in plan.limits)
        if any(function.unlisted != 0 for function in plan.functions):
            yield f"{side} lists some of the model's operations only."
    if has_recordings:
        yield "Plans state what a runtime anticipates. Nothing shows that the recordings ran by these plans."
    else:
        yield "Plans state what a runtime anticipates; what ran is in a recording (tracekit analyze)."
