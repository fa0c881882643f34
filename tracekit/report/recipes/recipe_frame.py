"""Recipes as a frame: a row per question, with its reply or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from tracekit.report.recipes.answers import ListedRecipe

_COLUMNS = ("recipe", "question", "answer", "reason", "step")


def build_frame(entries: Sequence[ListedRecipe]) -> pd.DataFrame:
    """Return the frame, in each of whose rows the reply or the reason is missing."""
    rows = [
        (
            entry.recipe.name,
            entry.recipe.question,
            entry.reply.sentence if entry.reply else None,
            entry.shortfall.reason if entry.shortfall else None,
            entry.shortfall.step.line if entry.shortfall and entry.shortfall.step else None,
        )
        for entry in entries
    ]
    return pd.DataFrame(rows, columns=[*_COLUMNS], dtype="string")
