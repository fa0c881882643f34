"""The questions of the registry in the help of commands."""

from __future__ import annotations

import click


def write_questions(formatter: click.HelpFormatter) -> None:
    """Write each recipe's name with its question."""
    from tracekit.report.recipes.registry import RECIPES

    with formatter.section("Questions (tracekit recipe NAME MyApp.trace)"):
        formatter.write_dl([(recipe.name, recipe.question) for recipe in RECIPES])


class QuestionsCommand(click.Command):
    """A command whose help ends with the questions."""

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the questions after the options."""
        write_questions(formatter)
