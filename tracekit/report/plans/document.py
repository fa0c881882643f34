"""A plan for people: what is anticipated off the Neural Engine, in which segments, and the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from tracekit.mlmodels.plans import Plan, PlannedOperation
from tracekit.mlmodels.plans.plan_segments import PlannedSegment, list_segments
from tracekit.mlmodels.plans.plan_summary import (
    PlanCounts,
    PlanReason,
    count_operations,
    list_reasons,
    list_unknown_devices,
)
from tracekit.mlmodels.program import is_layout_kind
from tracekit.mlmodels.rules import load_rules, match_message
from tracekit.model.vocabulary import Engine
from tracekit.report.document.blocks import (
    Block,
    Column,
    Command,
    Fact,
    Facts,
    Headline,
    Item,
    Items,
    Paragraph,
    Section,
    Table,
    count_note,
    make_sentence,
)
from tracekit.report.plans.words import ENGINE_WORDS, name_operation
from tracekit.text import (
    format_percent,
    format_rounded,
    format_shell_command,
    join_words,
    list_first,
    plural,
)

_MOST_ROWS = 40
_MOST_NAMES = 4
_UNNAMED = "not named"
_OTHERS = (Engine.GPU, Engine.CPU)
_ANTICIPATED = "A plan states what the runtime anticipates; what ran is in a recording (tracekit analyze)."


def build_plan(plan: Plan) -> list[Section]:
    """Return the sections of a plan's document."""
    counts = count_operations(plan.functions)
    sections = [Section("plan", "Plan", (Headline(_summarize(plan, counts)), _list_facts(plan)))]
    if counts.operations > counts.unstated:
        sections.append(Section("segments", "Segments", tuple(_list_segments(plan, counts))))
    if any(function.regions for function in plan.functions):
        sections.append(Section("regions", "Regions", tuple(_list_regions(plan))))
    if reasons := list_reasons(plan):
        heading = "Why not on the Neural Engine, in the runtime's words"
        sections.append(Section("reasons", heading, tuple(_tabulate_reasons(reasons))))
        sections.append(Section("changes", "What to change", tuple(_advise(plan, reasons))))
    if plan.messages:
        items = tuple(Item(f"{message.text}{_mark_count(message.count)}") for message in plan.messages)
        sections.append(Section("messages", "Failures", tuple(_limit_items(items))))
    items = tuple(Item(text) for text in [*_list_unstated(plan, counts), *plan.limits, _ANTICIPATED])
    sections.append(Section("limits", "What the plan does not show", (Items(items, is_of_limits=True),)))
    return sections


# The headline -----------------------------------------------------------------------------------------------


def _summarize(plan: Plan, counts: PlanCounts) -> str:
    """Return the answer in a sentence or two, in which nothing is called observed."""
    if counts.operations > counts.unstated:
        return " ".join(_summarize_operations(plan, counts))
    if any(function.regions for function in plan.functions) or plan.ane_regions is not None:
        return _summarize_regions(plan)
    if counts.operations or plan.messages:
        return _summarize_messages(plan, counts)
    return "The file states no placement."


def _summarize_operations(plan: Plan, counts: PlanCounts) -> Iterator[str]:
    functions = sum(1 for function in plan.functions if function.operations)
    total = plural(counts.operations, "operation") + (f" in {functions:,} functions" if functions > 1 else "")
    segments = plural(counts.segments, "segment")
    others = _list_others(Counter(operation.engine for operation in _iter_computing(plan)))
    off, on = (f"{_be(count)} anticipated" for count in (counts.off_ane, counts.on_ane))
    if counts.operations == 1:
        where = "on the Neural Engine" if counts.on_ane else f"off the Neural Engine: {others}"
        yield f"The one operation is anticipated {where}."
    elif not counts.on_ane:
        yield f"None of {total} is anticipated on the Neural Engine: {others}, in {segments}."
    elif counts.off_ane:
        places = f"in {plural(counts.places, 'place')}: {segments}"
        yield f"{counts.off_ane:,} of {total} {off} off the Neural Engine, {places}."
    elif counts.unstated:
        yield f"{counts.on_ane:,} of {total} {on} on the Neural Engine: {segments}."
    else:
        yield f"All {total} are anticipated on the Neural Engine: {segments}."
    if counts.unstated:
        yield f"The plan states no engine for {plural(counts.unstated, 'operation')}."


def _list_others(counts: Mapping[Engine | None, int]) -> str:
    """Return ``2 on the GPU and 1 on the CPU``, or an empty text."""
    return join_words(
        [f"{counts[engine]:,} on the {ENGINE_WORDS[engine]}" for engine in _OTHERS if counts[engine]]
    )


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _iter_computing(plan: Plan) -> Iterator[PlannedOperation]:
    return (operation for function in plan.functions for operation in function.computing())


def _summarize_regions(plan: Plan) -> str:
    counts: Counter[Engine | None] = Counter(
        region.engine for function in plan.functions for region in function.regions
    )
    others = _list_others(counts)
    if on_ane := counts[Engine.ANE]:
        first = f"{plural(on_ane, 'region')} {_be(on_ane)} anticipated on the Neural Engine"
        return f"{' and '.join(filter(None, (first, others)))}."
    if plan.ane_regions == 0:
        return f"No region is anticipated on the Neural Engine{f'; {others}' if others else ''}."
    return f"The file names regions: {others}. It does not show whether there are others."


def _summarize_messages(plan: Plan, counts: PlanCounts) -> str:
    reasons = [reason for reason in list_reasons(plan) if reason.text]
    parts = []
    if refusals := sum(reason.count for reason in reasons):
        parts.append(
            f"operations were refused for the Neural Engine {_count_times(refusals)}, for"
            f" {plural(len(reasons), 'reason')}"
        )
    if failures := sum(message.count for message in plan.messages):
        parts.append(f"{plural(failures, 'failure')} {'was' if failures == 1 else 'were'} reported")
    if not parts:
        return f"The plan states no engine for any of its {plural(counts.operations, 'operation')}."
    return f"{make_sentence(', and '.join(parts))} Where operations will run is not stated."


def _count_times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


# Facts ------------------------------------------------------------------------------------------------------


def _list_facts(plan: Plan) -> Facts:
    values = {
        "Chip": plan.chip,
        "System": plan.os_build,
        "Compute units": plan.compute_units,
        "Model": plan.model,
    }
    facts = [Fact("Form", f"{plan.form} ({plan.runtime})")]
    facts += [Fact(name, text) for name, text in values.items() if text]
    missing = [name.lower() for name, text in values.items() if not text]
    return Facts((*facts, Fact("Not stated", join_words(missing))) if missing else tuple(facts))


# Segments and regions ---------------------------------------------------------------------------------------


def _list_segments(plan: Plan, counts: PlanCounts) -> Iterator[Block]:
    rows = list(islice(_describe_segments(plan), _MOST_ROWS))
    if sentences := list(_describe_transitions(plan, counts)):
        yield Paragraph(" ".join(sentences))
    columns = [
        Column(
            name,
            texts,
            "number" if name in _NUMBERS else "text",
            rank=_RANKS.get(name, 0),
            is_clipped=name in _CLIPPED,
        )
        for name, texts in zip(_SEGMENT, zip(*rows, strict=True), strict=True)
        if any(texts)
    ]
    one_function = sum(1 for function in plan.functions if function.operations) < 2
    yield Table(tuple(column for column in columns if column.name != "function" or not one_function))
    if counts.segments > _MOST_ROWS:
        yield Items((Item(count_note(counts.segments - _MOST_ROWS)),))


def _describe_transitions(plan: Plan, counts: PlanCounts) -> Iterator[str]:
    if counts.transitions:
        yield f"{plural(counts.transitions, 'transition')} between engines."
    launches = {function.overheads_ms.get(_LAUNCH) for function in plan.functions}
    changes = {
        cost
        for function in plan.functions
        for name, cost in function.overheads_ms.items()
        if name.startswith("Src_") and "_ane_" in f"{name}_"
    }
    # Numbers that differ between functions or backends are left to the JSON.
    parts = [
        f"{format_rounded(cost * 1e6)} for each {subject}"
        for costs, subject in (
            (launches, "launch on the Neural Engine"),
            (changes, "change to it or from it"),
        )
        if len(costs) == 1 and (cost := next(iter(costs)))
    ]
    if parts:
        yield f"Beside the operations, the plan estimates {join_words(parts)}."


_LAUNCH = "Launch_ane_ms"
_SEGMENT = ("function", "segment", "engine", "operations", "cost", "first", "last")
_NUMBERS = ("segment", "operations", "cost")
_CLIPPED = ("function", "first", "last")
_RANKS = {"last": 2, "first": 1}


def _describe_segments(plan: Plan) -> Iterator[tuple[str, ...]]:
    for function in plan.functions:
        operations = list(function.computing())
        for number, segment in enumerate(list_segments(function), 1):
            yield _describe_segment(function.name, number, segment, operations[segment.first : segment.end])


def _describe_segment(
    function: str, number: int, segment: PlannedSegment, operations: Sequence[PlannedOperation]
) -> tuple[str, ...]:
    return (
        function,
        str(number),
        ENGINE_WORDS[segment.engine],
        f"{len(operations):,}",
        _describe_cost(operations),
        name_operation(operations[0]) or _UNNAMED,
        name_operation(operations[-1]) or _UNNAMED,
    )


def _describe_cost(operations: Sequence[PlannedOperation]) -> str:
    """Return the share of the estimated cost that those operations have which the plan states one for."""
    shares = [operation.cost_share for operation in operations if operation.cost_share is not None]
    return format_percent(sum(shares), 1) if shares else ""


def _list_regions(plan: Plan) -> Iterator[Block]:
    rows = []
    for function in plan.functions:
        for engine in Engine:
            names = [region.name for region in function.regions if region.engine is engine]
            if names:
                rows.append(
                    (function.name, ENGINE_WORDS[engine], f"{len(names):,}", list_first(names, _MOST_NAMES))
                )
    yield Table.from_rows(("function", "engine", "regions", "names"), rows[:_MOST_ROWS], numbers={"regions"})
    if len(rows) > _MOST_ROWS:
        yield Items((Item(count_note(len(rows) - _MOST_ROWS)),))


# Reasons ----------------------------------------------------------------------------------------------------


def _tabulate_reasons(reasons: Sequence[PlanReason]) -> Iterator[Block]:
    rows = [(_describe_reason(reason), _count_reason(reason), _list_operations(reason)) for reason in reasons]
    yield Table.from_rows(("reason", "how often", "operations"), rows[:_MOST_ROWS], is_wordy=True)
    if len(rows) > _MOST_ROWS:
        yield Items((Item(count_note(len(rows) - _MOST_ROWS)),))


def _describe_reason(reason: PlanReason) -> str:
    if reason.text:
        return f"“{reason.text}”"
    also = "; the Neural Engine is among the engines that support them" if reason.is_supported else ""
    return f"No reason stated{also}"


def _count_reason(reason: PlanReason) -> str:
    if reason.count == len(reason.operations):
        return plural(reason.count, "operation")
    return _count_times(reason.count)


def _list_operations(reason: PlanReason) -> str:
    names = [_name_with_source(operation) for operation in reason.operations]
    return list_first(names, _MOST_NAMES)


def _name_with_source(operation: PlannedOperation) -> str:
    name = name_operation(operation)
    return (
        f"{name} ({operation.source})" if name and operation.source else name or operation.source or _UNNAMED
    )


def _advise(plan: Plan, reasons: Sequence[PlanReason]) -> Iterator[Block]:
    """Yield what the rules that know these reasons advise, and the commands that show more."""
    rules = {rule.id: rule for rule in load_rules() if rule.fix}
    operations: Counter[str] = Counter()
    for reason in reasons:
        rule = match_message(reason.text) if reason.text else None
        operations[rule or ""] += len(reason.operations)
    known = [(rules[name], count) for name, count in operations.most_common() if name in rules]
    if known:
        yield Facts(
            tuple(Fact(f"{rule.id}, {plural(count, 'operation')}", rule.fix) for rule, count in known)
        )
    yield Paragraph("The rules about models, held against all operations of this one:")
    yield Command("tracekit lint MODEL")
    yield Paragraph("The plan, held against the calls of a recording: what each part off the engine costs:")
    yield Command(
        format_shell_command(
            ["tracekit", "analyze", "RECORDING", "--model", "MODEL", "--plan", str(plan.path)]
        )
    )


def _mark_count(count: int) -> str:
    return f" ({count:,} times)" if count > 1 else ""


def _limit_items(items: Sequence[Item]) -> Iterator[Block]:
    more = [Item(count_note(len(items) - _MOST_ROWS))] if len(items) > _MOST_ROWS else []
    yield Items((*items[:_MOST_ROWS], *more))


# What is not stated -----------------------------------------------------------------------------------------


def _list_unstated(plan: Plan, counts: PlanCounts) -> Iterator[str]:
    for word, count in list(list_unknown_devices(plan).items())[:_MOST_ROWS]:
        yield f"No engine is known for the plan's word {word!r} ({plural(count, 'operation')})."
    if layouts := sum(is_layout_kind(operation.kind) for f in plan.functions for operation in f.operations):
        yield (
            f"Not counted: {plural(layouts, 'move')} of buffers at the border of the program, which the"
            " compiler adds to the operations of a model."
        )
    if not counts.operations:
        return
    without = sum(operation.cost_share is None for operation in _iter_computing(plan))
    if without == counts.operations:
        yield "The plan states no costs."
    elif without:
        yield f"It states no cost for {plural(without, 'operation')}; shares leave them out."
