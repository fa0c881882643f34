"""Replies about the calls of a recording: their engines, the slowest, and where their time goes."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.report import wording
from tracekit.report.analysis.models_table import list_models
from tracekit.report.document.blocks import Column, Table
from tracekit.report.recipes.query import Query, RecipeAnswer, Reply, Shortfall
from tracekit.report.recipes.shortfalls import require_calls, require_lengths
from tracekit.report.wording.budget import PART_WORDS
from tracekit.text import format_duration, format_percent, format_rounded

_NO_MODEL_TYPICAL = "no model has three calls to compare, apart from first and cut ones"
_NO_TYPICAL = "its model has fewer than three calls to compare, apart from first and cut ones"


def answer_engines(query: Query) -> Reply:
    """Return the engine of each model's calls."""
    analysis = query.analysis
    return Reply(wording.headline(analysis.answer), list_models(analysis))


def find_no_typical_call(query: Query) -> Shortfall | None:
    """Return a shortfall where there is no typical call to compare with."""
    typical = query.analysis.differences.typical
    if query.row is not None:
        return None if typical[query.row] >= 0 else Shortfall(_NO_TYPICAL)
    return None if (typical >= 0).any() else Shortfall(_NO_MODEL_TYPICAL)


def answer_slow_call(query: Query) -> Reply:
    """Return what makes a call longer than the typical one of its model."""
    analysis = query.analysis
    differences, names = analysis.differences, wording.call_names(analysis)
    lengths = query.calls.lengths
    row = query.row
    if row is None:
        candidates = np.flatnonzero(differences.is_longer)
        if not len(candidates):
            whose = "of its model" if (differences.typical >= 0).all() else "of a model that has one"
            return Reply(f"No call is clearly longer than the typical call {whose}.")
        row = int(candidates[differences.length_ns[candidates].argmax()])
    typical = int(differences.typical[row])
    subject = names.title(row)
    subject = f"{subject[:1].upper()}{subject[1:]}"
    took = f"took {format_duration(int(lengths[row]))}"
    if row == typical:
        return Reply(f"{subject} is the typical one: it {took}.", _list_parts(query, row, typical))
    difference_ns = int(differences.length_ns[row])
    usual = f"the typical call {format_duration(int(lengths[typical]))}"
    main = int(differences.main_parts[row])
    if main < 0:
        sentence = f"{subject} {took}, {usual}: it differs by no more than calls of its model vary."
        return Reply(sentence, _list_parts(query, row, typical))
    part_ns = int(differences.part_ns[row, main])
    words = PART_WORDS[differences.parts[main]]
    change = f"{words.name} {'+' if part_ns > 0 else '−'}{format_rounded(abs(part_ns))} ({words.meaning})"
    if differences.is_longer[row] or differences.is_shorter[row]:
        length = f"it is {format_duration(abs(difference_ns))} {'longer' if difference_ns > 0 else 'shorter'}"
    else:
        length = "its length is usual, its parts are not"
    sentence = f"{subject} {took}, {usual}: {length}. The part that changed most: {change}."
    return Reply(sentence, _list_parts(query, row, typical))


def _list_parts(query: Query, row: int, typical: int) -> tuple[Table, ...]:
    """Return the parts of a call beside those of the typical one; they sum to the lengths."""
    sums = query.analysis.budget.sums
    positions = [
        position
        for position in range(len(sums.parts))
        if sums.by_part[row, position] or sums.by_part[typical, position]
    ]
    parts = [PART_WORDS[sums.parts[position]].name for position in positions]
    durations = [int(sums.by_part[row, position]) for position in positions]
    usual = [int(sums.by_part[typical, position]) for position in positions]
    changes = [_format_signed(duration - other) for duration, other in zip(durations, usual, strict=True)]
    columns = (
        Column("part", [*parts, "length"]),
        Column("this call", [*map(format_rounded, durations), format_rounded(sum(durations))], "number"),
        Column("typical call", [*map(format_rounded, usual), format_rounded(sum(usual))], "number"),
        Column("difference", [*changes, _format_signed(sum(durations) - sum(usual))], "number"),
    )
    return (Table(columns, caption="Parts of the call"),)


def _format_signed(amount_ns: int) -> str:
    return f"{'+' if amount_ns > 0 else '−'}{format_rounded(abs(amount_ns))}" if amount_ns else "0 ms"


def answer_time(query: Query) -> Reply:
    """Return where the time of all calls goes, largest parts first."""
    analysis = query.analysis
    sums: dict[BudgetPart, int] = {}
    for total in analysis.budget_totals:
        sums[total.kind.part] = sums.get(total.kind.part, 0) + total.total_ns
    whole_ns = sum(sums.values())
    largest = sorted(sums, key=lambda part: -sums[part])
    shares = [
        f"{PART_WORDS[part].name} {format_percent(sums[part] / whole_ns)}"
        for part in largest[:3]
        if whole_ns and sums[part]
    ]
    sentence = f"{_describe_whole(query)} took {format_duration(whole_ns)} in all: {', '.join(shares)}."
    rows = [
        (
            PART_WORDS[part].name,
            format_rounded(sums[part]),
            format_percent(sums[part] / whole_ns) if whole_ns else "",
            PART_WORDS[part].meaning,
        )
        for part in largest
        if sums[part]
    ]
    header = ("part", "time", "share", "meaning")
    table = Table.from_rows(header, rows, numbers={"time", "share"}, caption="Parts of all calls")
    return Reply(sentence, (table,))


def _describe_whole(query: Query) -> str:
    """Return all calls as the subject of a sentence; the lengths of overlapping ones count one by one."""
    windows = query.analysis.window_rows
    count = sum(len(model.rows) for model in query.analysis.call_models)
    if count == 1:
        return "One call, or several in a row," if windows["source"].iloc[0] == "stacks" else "The only call"
    overlap = "" if windows["alone"].all() else " (some at the same time, each counted whole)"
    return f"{count:,} calls{overlap}"


CALL_ANSWERS = {
    "engines": RecipeAnswer(answer_engines, (require_calls,)),
    "slow-call": RecipeAnswer(answer_slow_call, (require_calls, require_lengths, find_no_typical_call)),
    "call-time": RecipeAnswer(answer_time, (require_calls, require_lengths)),
}
