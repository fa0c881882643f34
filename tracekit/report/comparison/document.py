"""The document of a comparison: what people read about it, built once for text, Markdown and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison, Difference, FunctionChange, Group
from tracekit.mlmodels.plans.differences import PlanDifferences
from tracekit.report import wording
from tracekit.report.comparison import models, parts, samples
from tracekit.report.comparison import wording as words
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.decision import (
    decide_model,
    decide_outcome,
    describe_outcome,
    replace_by_first_sentence,
)
from tracekit.report.comparison.findings import FINDINGS, WORD, FindingChangeText, finding_changes
from tracekit.report.comparison.headline import sentence
from tracekit.report.document.blocks import (
    Block,
    Column,
    FindingEntry,
    Findings,
    Headline,
    Item,
    Items,
    Outcome,
    Outcomes,
    Paragraph,
    Picture,
    Section,
    Table,
    make_sentence,
)
from tracekit.report.plans.differences_document import build_differences
from tracekit.text import clip, plural, printable

TIMELINES = "timelines"
LEGEND = "legend"
FLAME = "difference"
_SIDES_HEADER = ("side", "recording", "device", "system", "template", "calls", "answer")
_NUMBERS = ("BASE", "NEW", "difference", "relative", "interval")
_NAME_WIDTH = 60
_WIDTHS = {"model": 20, "function": 32, "binary": 16}


def build_document(
    comparison: Comparison,
    changes: Sequence[ChangeResult] = (),
    most_functions: int = 40,
    plans: PlanDifferences | None = None,
) -> tuple[Section, ...]:
    """Return the sections of a comparison; ``changes`` are required ones, ``plans`` those of its model."""
    sign, word = describe_outcome(comparison)
    headline = Headline(sentence(comparison), sign, word, decide_outcome(comparison).split()[0])
    sections = [
        Section("verdict", "Summary", (headline,), is_lead=True),
        *([] if comparison.without_times else [_build_models(comparison), parts.build_parts(comparison)]),
        *([] if plans is None else [_nest_plans(plans)]),
        Section("changes", "Required", _list_changes(changes)),
        Section("findings", FINDINGS, _list_findings(comparison)),
    ]
    if comparison.without_times:
        sections += [
            Section("samples", samples.TITLE, _list_samples(comparison)),
            _build_sides(comparison),
        ]
    else:
        sections += [
            _build_charts(comparison),
            _build_sides(comparison),
            _build_differences(comparison),
            _build_functions(comparison, most_functions),
            Section(TIMELINES, "Timelines", (Picture(TIMELINES),), is_folded=True),
        ]
    # Samples of a recording do not count waiting threads: shares of both have no common whole.
    if comparison.samples or not comparison.without_times:
        sections.append(Section(FLAME, words.FLAME, (Picture(FLAME),), is_folded=True))
    return tuple(section for section in sections if section.blocks)


def _nest_plans(plans: PlanDifferences) -> Section:
    section, *parts = build_differences(plans, has_recordings=True)
    return replace(section, blocks=(*section.blocks, *parts))


def _build_models(comparison: Comparison) -> Section:
    return Section("models", models.HEADING, models.build_models_table(comparison))


def _list_changes(changes: Sequence[ChangeResult]) -> tuple[Block, ...]:
    entries = (Outcome(result.outcome, result.change.text, words.change_reason(result)) for result in changes)
    return (Outcomes(tuple(entries)),) if changes else ()


def _list_findings(comparison: Comparison) -> tuple[Block, ...]:
    """Return the findings of both sides, what appeared first; with what it costs and the next step."""
    texts, left_out = finding_changes(comparison)
    return (Findings(tuple(map(_describe_finding, texts)), left_out),) if texts else ()


def _describe_finding(text: FindingChangeText) -> FindingEntry:
    is_new = text.change in ("appeared", "grew", "on one side")
    steps = text.next_steps if is_new else ()
    cost = text.cost if is_new else ""
    counts = f"{text.counts}." if text.counts else ""
    return FindingEntry(text.title, text.severity, cost, counts, next_steps=steps, change=WORD[text.change])


def _count_sides(comparison: Comparison) -> str:
    sides = (("BASE", comparison.base), ("NEW", comparison.new))
    return "; ".join(
        f"{name} {samples.side_text(comparison, name) or words.verdicts(side)}" for name, side in sides
    )


def _build_sides(comparison: Comparison) -> Section:
    """Return how both sides were recorded, and what else may explain a difference."""
    rows = [
        [
            name,
            f"{run.name}, run {run.run}",
            run.device,
            run.os,
            ", ".join(filter(None, (run.template, run.instruments and f"Instruments {run.instruments}"))),
            "" if run.answer.kind == "threads" else plural(run.windows, "call"),
            wording.headline(run.answer),
        ]
        for name, side in (("BASE", comparison.base), ("NEW", comparison.new))
        for run in side.runs
    ]
    table = Table.from_rows(_SIDES_HEADER, rows, caption="Recordings", is_wordy=True)
    cautions = tuple(Item(f"{caution_text(caution)} ({caution.code})") for caution in comparison.cautions)
    about = "other explanations of differences, and limits"
    blocks = (table, *((Section("cautions", "Cautions", (Items(cautions),), about),) if cautions else ()))
    count = f", with {plural(len(cautions), 'caution')}" if cautions else ""
    return Section("sides", f"Compared{count}", blocks, _count_sides(comparison), is_folded=True)


def _list_samples(comparison: Comparison) -> tuple[Block, ...]:
    """Return the shares of samples where no side has times."""
    rows = map(samples.sample_cells, comparison.samples)
    table = Table.from_rows(samples.HEADER, rows, ("BASE", "NEW", "difference"))
    return (table, Paragraph(samples.NOTE)) if comparison.samples else ()


def _list_groups(comparison: Comparison) -> list[tuple[int, Group]]:
    """Return the groups with their numbers, without all calls where these are of several models.

    A number of all calls would then be of no model, and would change with the models that run.
    """
    numbered = list(enumerate(comparison.groups))
    has_models = any(map(_is_of_model, comparison.groups[1:])) or any(
        group.kind == "model" for group in comparison.one_sided
    )
    return numbered[1:] if has_models and not _is_of_model(comparison.groups[0]) else numbered


def _is_of_model(group: Group) -> bool:
    return any(kind == "model" for kind, _ in group.names)


def _build_charts(comparison: Comparison) -> Section:
    """Return the place of the charts of the model that changed, else of most calls, if any can be drawn."""
    groups = [
        (number, group)
        for number, group in _list_groups(comparison)
        if any(row.low is not None for row in group.rows)
    ]
    if not groups:
        return Section("charts", "Charts")
    names = {
        model.model
        for model in comparison.first_sentence.lengths
        if decide_model(model, comparison.min_change) not in ("same", "not shown")
    }
    number, group = max(
        groups,
        key=lambda entry: (
            any(kind == "model" and name in names for kind, name in entry[1].names),
            entry[1].base_windows + entry[1].new_windows,
        ),
    )
    name = next((name for kind, name in group.names if kind == "model"), "")
    of_model = f" of {clip(printable(name), _NAME_WIDTH)}" if name else ""
    heading = f"Charts{of_model}: {plural(group.base_windows, 'call')} in BASE, {group.new_windows:,} in NEW"
    return Section("charts", heading, (Picture(LEGEND), Picture(label_chart(number))))


def _build_differences(comparison: Comparison) -> Section:
    """Return all numbers of all groups."""
    drawn = [block for block in _build_charts(comparison).blocks if isinstance(block, Picture)]
    blocks: list[Block] = [Paragraph(words.footnote(comparison))]
    for number, group in _list_groups(comparison):
        chart = Picture(label_chart(number))
        pictures = () if chart in drawn else (chart,)
        rows = replace_by_first_sentence(comparison, group)
        blocks.append(_build_group(label_chart(number), words.title(group), rows, pictures, group))
    if comparison.preparing:
        others = ", with what one side alone runs" if comparison.first_sentence.left_out else ""
        blocks.append(_build_group("runs", f"Whole runs{others}", list(comparison.preparing)))
    if one_sided := _list_one_sided(comparison):
        blocks.append(Section("one-sided", "On one side only, or left out", one_sided))
    return Section("differences", "All numbers", tuple(blocks), is_folded=True)


def _build_group(
    label: str,
    title: str,
    of_group: Sequence[Difference],
    pictures: tuple[Picture, ...] = (),
    group: Group | None = None,
) -> Section:
    rows, incomplete = words.table_rows(of_group)
    table = Table.from_rows(words.HEADER, map(words.cells, rows), _NUMBERS, dispensable=("basis",))
    blocks: list[Block] = [*pictures, table]
    notes = [note.text for note in words.missing(incomplete)]
    if group is not None and group.grid:
        notes.insert(0, words.describe_grid(group.grid))
    if notes:
        blocks.append(Items(tuple(map(Item, notes))))
    if runs := words.run_values(group) if group is not None else "":
        blocks.append(Paragraph(runs))
    return Section(label, title, tuple(blocks))


def label_chart(number: int) -> str:
    """Return the name of the picture of a group."""
    return f"group-{number}"


def _list_one_sided(comparison: Comparison) -> tuple[Block, ...]:
    items = [Item(words.one_sided(group)) for group in comparison.one_sided]
    if comparison.groups_left_out:
        items.append(Item(f"… and {comparison.groups_left_out:,} smaller kinds of calls are not compared"))
    return (Items(tuple(items)),) if items else ()


def _build_functions(comparison: Comparison, most: int) -> Section:
    note = make_sentence(comparison.functions_missing or words.functions_note(comparison))
    blocks: list[Block] = [Paragraph(note)] if note else []
    blocks += [_build_function_table(comparison.functions[:most])] if comparison.functions else []
    if comparison.largest_functions and not comparison.functions_missing:
        table = _build_function_table(comparison.largest_functions[:most])
        blocks.append(Section("largest", words.largest_functions_title(comparison), (table,)))
    about = "host samples per call, by the frame that decided the engine, else the leaf"
    return Section("functions", words.CHANGED_FUNCTIONS, tuple(blocks), about, is_folded=True)


def _build_function_table(changes: Sequence[FunctionChange]) -> Table:
    columns = zip(words.FUNCTION_HEADER, zip(*map(words.function_cells, changes), strict=True), strict=True)
    are_several = len({change.model for change in changes}) > 1
    return Table(
        tuple(
            Column(name, texts, "number" if name in _NUMBERS else "text", width=_WIDTHS.get(name, 0))
            for name, texts in columns
            if name != "model" or are_several
        )
    )
