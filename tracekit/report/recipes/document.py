"""Recipes as documents: all of a recording, with and without a reply, and a single reply."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.report.document.blocks import (
    Block,
    Headline,
    Item,
    Items,
    Paragraph,
    Section,
    Table,
    make_sentence,
)
from tracekit.report.identifiers import find_call
from tracekit.report.recipes.answers import ListedRecipe, answer_recipe, describe_shortfall, list_recipes
from tracekit.report.recipes.query import Query, Reply
from tracekit.report.recipes.registry import RECIPES, Recipe
from tracekit.report.wording import call_names


def build_list(entries: Sequence[ListedRecipe]) -> tuple[Section, ...]:
    """Return the questions with a reply, with that, then those without one, with the reason."""
    answered = [
        Item(f"{entry.recipe.question} {entry.reply.sentence} ({entry.recipe.name})")
        for entry in entries
        if entry.reply is not None
    ]
    refused = []
    for entry in entries:
        if entry.shortfall is not None:
            step = entry.shortfall.step
            advice = f" {step.line}" if step else ""
            refused.append(
                Item(f"{describe_shortfall(entry.recipe, entry.shortfall)}.{advice} ({entry.recipe.name})")
            )
    sections = (
        Section("answered", "This recording answers", (Items(tuple(answered)),)),
        Section("refused", "It does not answer", (Items(tuple(refused)),)),
    )
    return tuple(section for section in sections if section.blocks != (Items(()),))


def build_tables(analysis: Analysis) -> tuple[Table, ...]:
    """Return the questions with a reply, and those without one, as tables for a page."""
    entries = list_recipes(Query(analysis))
    headings = {
        "engines": "Engines",
        "findings": "Findings",
        "requests": "Language models",
        "timeline": "Timeline",
    }
    places = {"": "", **headings, "windows": call_names(analysis).heading}
    replies = [
        (entry.recipe.question, entry.reply.sentence, places[entry.recipe.place])
        for entry in entries
        if entry.reply is not None
    ]
    refusals = []
    for entry in entries:
        if entry.shortfall is not None:
            step = entry.shortfall.step
            advice = step.line if step else ""
            refusals.append((entry.recipe.question, make_sentence(entry.shortfall.reason), advice))
    tables = (
        Table.from_rows(
            ("question", "answer", "more in"), replies, caption="This recording answers", is_wordy=True
        ),
        Table.from_rows(
            ("question", "why not", "next step"), refusals, caption="It does not answer", is_wordy=True
        ),
    )
    return tuple(table for table in tables if table.rows)


def build_questions() -> tuple[Section, ...]:
    """Return all questions, without a recording."""
    items = tuple(Item(f"{recipe.name}: {recipe.question}") for recipe in RECIPES)
    return (Section("questions", "Questions", (Items(items),)),)


def build_answer(
    recipe: Recipe, analysis: Analysis, call: str = "", base: Analysis | None = None
) -> tuple[Section, ...]:
    """Return the reply to a question about a recording, of a ``call``, or beside ``base``.

    Raises ``NotMeasurableError`` where there is none, and ``UsageError`` for a call that there is not.
    """
    row = find_call(analysis, call.removeprefix("call:")) if call else None
    return build_reply(recipe, answer_recipe(recipe, Query(analysis, row, base)))


def build_reply(recipe: Recipe, reply: Reply) -> tuple[Section, ...]:
    """Return one reply: its sentence, what it rests on, and the Python for it."""
    blocks: list[Block] = [block for block in reply.blocks if not isinstance(block, Section)]
    sections = [block for block in reply.blocks if isinstance(block, Section)]
    lead = Section("answer", recipe.question, (Headline(reply.sentence),), is_lead=True)
    basis = Section("basis", "What it rests on", tuple(blocks)) if blocks else None
    more = Section("more", "More", (Paragraph(f"In Python: {recipe.api}."),))
    return (lead, *([basis] if basis else []), *sections, more)
