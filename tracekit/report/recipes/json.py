"""Recipes as JSON: ``tracekit-recipes/1``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tracekit.report.recipes.answers import ListedRecipe
from tracekit.report.recipes.registry import Recipe
from tracekit.text import escape_json

SCHEMA = "tracekit-recipes/1"


def to_json(entries: Sequence[ListedRecipe]) -> str:
    """Return recipes with their replies, or with the reason why there is none and the next step."""
    document = {"schema": SCHEMA, "recipes": [_build_entry(entry) for entry in entries]}
    return f"{escape_json(json.dumps(document, ensure_ascii=False, indent=2))}\n"


def _build_entry(entry: ListedRecipe) -> dict[str, Any]:
    described = describe_recipe(entry.recipe)
    if entry.reply is not None:
        return {**described, "is_answered": True, "answer": entry.reply.sentence}
    shortfall = entry.shortfall
    step = shortfall.step if shortfall else None
    return {
        **described,
        "is_answered": False,
        "reason": shortfall.reason if shortfall else "",
        "step": {"text": step.text, "command": step.command} if step else None,
    }


def describe_recipe(recipe: Recipe) -> dict[str, Any]:
    """Return what holds for a recipe with any recording."""
    return {
        "name": recipe.name,
        "question": recipe.question,
        "parameter": recipe.parameter,
        "api": recipe.api,
        "chapter": recipe.chapter,
    }
