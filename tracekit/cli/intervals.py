"""Options of the commands that judge intervals: percentages, confidence, and what counts as open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class Percent(click.ParamType[float]):
    """A percentage as a fraction: ``2%`` is 0.02, and ``2`` is the same."""

    name = "percent"

    def __init__(self, below: float = 100.0) -> None:
        self._below = below

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the fraction; fail for anything that is no percentage."""
        text = str(value).strip().removesuffix("%").strip()
        try:
            number = float(text)
        except ValueError:
            self.fail(f"{value!r} is not a percentage such as 2%.", param, ctx)
        if not 0 <= number < self._below:
            self.fail(f"{value!r} is not between 0% and {self._below:g}%.", param, ctx)
        return number / 100


PERCENT = Percent()


confidence_option = click.option(
    "--confidence",
    type=PERCENT,
    default="95%",
    metavar="PERCENT",
    show_default=True,
    help="Of the intervals that requirements are judged by; 0 judges the recorded numbers alone.",
)


def open_option(gates: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that decides what an open result counts as."""
    return click.option(
        "--open",
        "open_counts",
        type=click.Choice(["pass", "fail"]),
        help=f"What a {gates} counts as that the recordings leave open (default: exit code 5).",
    )
