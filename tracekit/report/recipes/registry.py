"""The list of all recipes, and the replies of one recording."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tracekit.errors import NotMeasurableError, UsageError
from tracekit.report.recipes.call_answers import CALL_RECIPES
from tracekit.report.recipes.engine_answers import ENGINE_RECIPES
from tracekit.report.recipes.finding_answers import FINDING_RECIPES
from tracekit.report.recipes.recipe import Query, Recipe, Reply, Shortfall
from tracekit.text import clip, printable

RECIPES: tuple[Recipe, ...] = (*CALL_RECIPES, *FINDING_RECIPES, *ENGINE_RECIPES)
"""In the order in which they are listed."""
_NAME_WIDTH = 60


@dataclass(frozen=True)
class ListedRecipe:
    """A recipe with its reply, or what the recording lacks for one."""

    recipe: Recipe
    reply: Reply | None
    shortfall: Shortfall | None


def list_recipes(query: Query) -> list[ListedRecipe]:
    """Return every recipe with its reply, or with what the recording lacks for it."""
    entries = []
    for recipe in RECIPES:
        shortfall = recipe.find_shortfall(query)
        entries.append(ListedRecipe(recipe, None if shortfall else recipe.answer(query), shortfall))
    return entries


def list_shortfalls(query: Query) -> list[tuple[Recipe, Shortfall]]:
    """Return the recipes without a reply, each with the reason."""
    shortfalls = ((recipe, recipe.find_shortfall(query)) for recipe in RECIPES)
    return [(recipe, shortfall) for recipe, shortfall in shortfalls if shortfall is not None]


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a name. Raises ``UsageError`` with the names that are like it."""
    names = {recipe.name: recipe for recipe in RECIPES}
    if name not in names:
        close = difflib.get_close_matches(name, names) or list(names)
        wrong = clip(printable(name), _NAME_WIDTH)
        raise UsageError(f"No recipe is named {wrong!r}. Recipes: {', '.join(close)}.")
    return names[name]


def check_parameters(recipe: Recipe, call: str | None, base: str | None) -> None:
    """Raise ``UsageError`` where a question is given a call or another recording, and takes none."""
    for text, parameter in ((call, "call"), (base, "base")):
        if text and recipe.parameter != parameter:
            raise UsageError(f"The question {recipe.name} takes no {parameter}: {recipe.question}")


def answer_recipe(recipe: Recipe, query: Query) -> Reply:
    """Return the reply to a question. Raises ``NotMeasurableError`` where there is none."""
    shortfall = recipe.find_shortfall(query)
    if shortfall is None:
        return recipe.answer(query)
    raise NotMeasurableError(write_refusal(recipe, shortfall))


def describe_shortfall(recipe: Recipe, shortfall: Shortfall) -> str:
    """Return the question and why this recording has no answer, which is not the answer "no"."""
    return f"{recipe.question} Not known: {shortfall.reason}"


def write_refusal(recipe: Recipe, shortfall: Shortfall) -> str:
    """Return why there is no reply, and the step that would give one, as sentences."""
    step = shortfall.step
    advice = f" {' '.join(filter(None, (step.text, step.command)))}" if step else ""
    return f"This recording does not answer {recipe.question!r}: {shortfall.reason}.{advice}"
