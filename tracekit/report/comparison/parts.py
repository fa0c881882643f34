"""The parts of the calls of both sides in words: which part grew, as a sentence and as rows."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.comparison.result import Comparison, Difference, ModelLengths, ModelParts, PartChange
from tracekit.report.comparison.decision import WITHIN, decide_model, list_changed_parts
from tracekit.report.comparison.wording import interval
from tracekit.report.document.blocks import Block, Paragraph, Section, Table, make_sentence
from tracekit.report.wording.budget import PART_WORDS, format_difference
from tracekit.text import clip, format_rounded, printable

HEADING = "Parts of a call"
_NAME_WIDTH = 60
_MOST_IN_SENTENCE = 3
_MOST_PARTS = 2
_WHOLE = "whole call"
_ALL_CALLS = "All calls"
_UNEXPLAINED = "time that the recordings do not explain"
_NUMBERS = ("BASE", "NEW", "difference", "interval, ms")
_HEADER = ("part", *_NUMBERS, "result", "basis")
_RESULTS = {"within the noise": "? chance", "too few to tell": "too few calls"}
_WORSE, _BETTER = "▲ longer", "▼ shorter"


# The sentence ----------------------------------------------------------------------------------------------


def describe_growth(comparison: Comparison) -> str:
    """Return which part of the calls of each model grew or shrank, for the first sentences."""
    lengths = {model.model: model for model in comparison.first_sentence.lengths}
    sentences = []
    for model in comparison.parts:
        length = lengths.get(model.model) or (lengths.get("") if len(comparison.parts) == 1 else None)
        sentences.append(_describe_model(model, length, comparison.min_change))
    return " ".join(list(filter(None, sentences))[:_MOST_IN_SENTENCE])


def _describe_model(model: ModelParts, length: ModelLengths | None, min_change: float) -> str:
    """Return ``Calls of Net are 4.90 ms longer on average after the first; 4.20 ms of it is ML runtime.``"""
    change = model.whole.difference
    if not model.parts or change is None:
        return ""
    outcome = "not shown" if length is None else decide_model(length, min_change)
    sign = {"slower": 1, "faster": -1}.get(outcome, 0)
    name = clip(printable(model.model), _NAME_WIDTH)
    if not sign or change * sign <= 0:
        return _describe_other_change(model, name, min_change)
    comparative = "longer" if sign > 0 else "shorter"
    calls = f"Calls of {name}" if name else "Calls"
    begin = f"{calls} are {format_rounded(round(abs(change)))} {comparative} on average after the first"
    largest = max(model.parts, key=lambda part: sign * (part.row.difference or 0.0))
    part_change = sign * (largest.row.difference or 0.0)
    part = _name_part(largest.part)
    if part_change <= 0:
        return f"{begin}."
    if not _is_shown(largest.row):
        verb = "grew" if sign > 0 else "shrank"
        return f"{begin}; the part that {verb} most, {part} ({_format_change(largest)}), may be chance."
    part_amount = format_rounded(round(part_change))
    if part_change <= abs(change):
        return f"{begin}; {part_amount} of it is {part}."
    return f"{begin}: {part} {_format_change(largest)}, less what changed in other parts."


def _describe_other_change(model: ModelParts, name: str, min_change: float) -> str:
    """Return the parts that are shown to differ most where the length is not; "" where none is."""
    largest = list_changed_parts(model, min_change)[:_MOST_PARTS]
    if not largest:
        return ""
    listed = ", ".join(
        f"{_name_part(part)} {_format_time(row.base.value)} → {_format_time(row.new.value)}"
        for part, row in ((change.part, change.row) for change in largest)
    )
    here = " in these recordings" if largest[0].row.tested == WITHIN else ""
    calls = f"{name}'s calls" if name else "calls"
    return f"The time of {calls} is divided otherwise{here}: {listed} on average."


def _format_time(time_ns: float | None) -> str:
    """Return ``27.5 ms``; "" where it is not known."""
    if time_ns is None:
        return ""
    return format_rounded(round(time_ns)) if time_ns else "0"


def _is_shown(row: Difference) -> bool:
    return row.judgement.startswith(("higher", "lower"))


def _name_part(part: BudgetPart) -> str:
    return _UNEXPLAINED if part is BudgetPart.UNKNOWN else PART_WORDS[part].name


def _format_change(change: PartChange) -> str:
    return format_difference(round(change.row.difference or 0.0))


# The tables ------------------------------------------------------------------------------------------------


def build_parts(comparison: Comparison) -> Section:
    """Return the table of the parts of each model, the part that grew most first."""
    blocks = tuple(_iter_blocks(comparison))
    about = (
        "means per call after the first; the parts sum to the whole call, and the intervals of the parts of a"
        " model hold together at 95 %"
    )
    return Section("parts", HEADING, blocks, about if blocks else "")


def _iter_blocks(comparison: Comparison) -> Iterator[Block]:
    """Yield the table of each model, that of the largest change first; those of further models are folded."""
    models = sorted(comparison.parts, key=lambda model: -abs(model.whole.difference or 0.0))
    for position, model in enumerate(models):
        name = clip(printable(model.model), _NAME_WIDTH) or _ALL_CALLS
        block = _build_table(model, name)
        if len(models) == 1:
            yield block
        else:
            yield Section(f"parts-{position}", name, (block,), is_folded=position > 0)


def _build_table(model: ModelParts, name: str) -> Block:
    if model.missing:
        return Paragraph(make_sentence(f"{name}: not comparable, {model.missing}"))
    rows = [
        _build_cells(_WHOLE, model.whole, is_whole=True),
        *(_build_cells(PART_WORDS[change.part].name, change.row) for change in model.parts),
    ]
    return Table.from_rows(_HEADER, rows, _NUMBERS, caption=name, dispensable=("basis",))


def _build_cells(name: str, row: Difference, is_whole: bool = False) -> tuple[str, ...]:
    """Return a row; the interval and the outcome of the whole length are in the table of models."""
    if is_whole:
        result = ""
    elif _is_shown(row):
        here = " here" if row.tested == WITHIN else ""
        result = f"{_WORSE if row.judgement.startswith('higher') else _BETTER}{here}"
    elif row.difference == 0:
        result = "= the same"
    else:
        result = _RESULTS.get(row.judgement, "not comparable")
    bases = {basis for side in (row.base, row.new) for basis in side.basis.split(" and ") if basis}
    return (
        name,
        _format_time(row.base.value),
        _format_time(row.new.value),
        format_difference(round(row.difference)) if row.difference else _format_time(row.difference),
        "" if is_whole else interval(row),
        result,
        ", ".join(sorted(bases)),
    )
