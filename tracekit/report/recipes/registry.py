"""The list of all recipes, from which help, documentation and replies are made; it imports nothing slow."""

from __future__ import annotations

import difflib
from typing import Literal, TypeAlias

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.text import clip, printable

Parameter: TypeAlias = Literal["call", "base"]
_NAME_WIDTH = 60


@frozen
class Recipe:
    """A question to a recording, without the function that makes the reply.

    ``api`` is the Python that answers, of an ``analysis``; ``chapter`` the chapter of the documentation, as
    ``findings.md#fell-back``; ``place`` the section of a page that shows the answer, "" where none does.
    ``parameter`` is what the question may take; one that takes a ``base`` needs it.
    """

    name: str
    question: str
    api: str
    chapter: str
    place: str = ""
    parameter: Parameter | None = None


def _ask_findings(name: str, question: str, chapter: str) -> Recipe:
    return Recipe(name, question, "analysis.findings", f"findings.md#{chapter}", "findings")


RECIPES: tuple[Recipe, ...] = (
    Recipe("engines", "Which engine served each call?", "analysis.windows", "evidence.md#calls", "windows"),
    Recipe(
        "slow-call",
        "Why is a call slow?",
        "analysis.differences",
        "evidence.md#budget",
        "windows",
        parameter="call",
    ),
    Recipe(
        "call-time",
        "Where does the time of calls go?",
        "analysis.budget_totals",
        "evidence.md#budget",
        "windows",
    ),
    Recipe(
        "language-model",
        "How fast are prefill and decode, and on which engine?",
        "analysis.generations",
        "language-models.md#what-the-numbers-are",
        "requests",
    ),
    _ask_findings("left-engine", "Did a model leave its engine, and when?", "where-the-model-ran"),
    _ask_findings("requested-engine", "Did calls run where the app asked for?", "not-on-requested-engine"),
    _ask_findings("pieces", "Are calls cut into pieces, or partly on another engine?", "partly-on-engine"),
    _ask_findings("first-call", "What makes the first call slow: loading, compiling?", "cold-starts"),
    _ask_findings("idle", "Do calls wait while nothing works?", "time-that-calls-lose"),
    _ask_findings("contention", "Does other work compete for the Neural Engine?", "engine-contention"),
    _ask_findings("gpu-sharing", "Does drawing compete for the GPU?", "gpu-shared-with-rendering"),
    _ask_findings("between-calls", "What does the app do between calls?", "work-between-the-calls"),
    _ask_findings("copies", "Are inputs and outputs copied or converted?", "copies-around-engine"),
    _ask_findings("lengths", "Do the lengths of calls vary or grow?", "latency-within-a-model"),
    _ask_findings("refused", "Were requests or operators refused?", "what-failed-or-was-refused"),
    Recipe(
        "engine-users",
        "Who else used the Neural Engine?",
        "analysis.intervals",
        "evidence.md#ownership",
        "timeline",
    ),
    Recipe(
        "energy",
        "What did a call cost in energy?",
        "analysis.power",
        "evidence.md#power-and-energy",
        "engines",
    ),
    Recipe(
        "slower",
        "Is it slower than another recording?",
        "tracekit.compare(base, analysis)",
        "compare.md",
        parameter="base",
    ),
)
"""In the order in which they are listed."""


def find_recipe(name: str) -> Recipe:
    """Return the recipe of a name. Raises ``UsageError`` with the names that are like it."""
    names = {recipe.name: recipe for recipe in RECIPES}
    if name not in names:
        close = difflib.get_close_matches(name, names)
        advice = f"Similar names: {', '.join(close)}" if close else f"Recipes: {', '.join(names)}"
        raise UsageError(f"No recipe is named '{clip(printable(name), _NAME_WIDTH)}'. {advice}.")
    return names[name]


def check_parameters(recipe: Recipe, call: str | None, base: str | None) -> None:
    """Raise ``UsageError`` where a question is given a call or another recording, and takes none."""
    for text, parameter in ((call, "call"), (base, "base")):
        if text and recipe.parameter != parameter:
            raise UsageError(f"The question {recipe.name} takes no {parameter}: {recipe.question}")
