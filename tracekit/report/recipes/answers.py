"""The replies of all recipes for one recording, or the reasons why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from tracekit.errors import NotMeasurableError
from tracekit.report.recipes.call_answers import CALL_ANSWERS
from tracekit.report.recipes.engine_answers import ENGINE_ANSWERS
from tracekit.report.recipes.finding_answers import FINDING_ANSWERS
from tracekit.report.recipes.generation_answers import GENERATION_ANSWERS
from tracekit.report.recipes.query import Query, Reply, Shortfall
from tracekit.report.recipes.registry import RECIPES, Recipe

_ANSWERS = {**CALL_ANSWERS, **GENERATION_ANSWERS, **FINDING_ANSWERS, **ENGINE_ANSWERS}


@dataclass(frozen=True)
class ListedRecipe:
    """A recipe with its reply, or what the recording lacks for one."""

    recipe: Recipe
    reply: Reply | None
    shortfall: Shortfall | None


def find_shortfall(recipe: Recipe, query: Query) -> Shortfall | None:
    """Return the first thing that a recording lacks for a reply; None where it lacks nothing."""
    return next(filter(None, (need(query) for need in _ANSWERS[recipe.name].needs)), None)


def list_recipes(query: Query) -> list[ListedRecipe]:
    """Return every recipe with its reply, or with what the recording lacks for it."""
    entries = []
    for recipe in RECIPES:
        shortfall = find_shortfall(recipe, query)
        reply = None if shortfall else _ANSWERS[recipe.name].make_reply(query)
        entries.append(ListedRecipe(recipe, reply, shortfall))
    return entries


def list_shortfalls(query: Query) -> list[tuple[Recipe, Shortfall]]:
    """Return the recipes without a reply, each with the reason."""
    shortfalls = ((recipe, find_shortfall(recipe, query)) for recipe in RECIPES)
    return [(recipe, shortfall) for recipe, shortfall in shortfalls if shortfall is not None]


def answer_recipe(recipe: Recipe, query: Query) -> Reply:
    """Return the reply to a question. Raises ``NotMeasurableError`` where there is none."""
    shortfall = find_shortfall(recipe, query)
    if shortfall is None:
        return _ANSWERS[recipe.name].make_reply(query)
    raise NotMeasurableError(write_refusal(recipe, shortfall))


def describe_shortfall(recipe: Recipe, shortfall: Shortfall) -> str:
    """Return the question and why this recording has no reply, which is not a "no"."""
    return f"{recipe.question} Not known: {shortfall.reason}"


def write_refusal(recipe: Recipe, shortfall: Shortfall) -> str:
    """Return why there is no reply, and the step that would give one, as sentences."""
    step = shortfall.step
    advice = f" {step.line}" if step else ""
    return f"This recording does not answer {recipe.question!r}: {shortfall.reason}.{advice}"
