"""Options of the commands that judge intervals: percentages, confidence, noise, and what counts as open."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from tracekit.cli.noise import is_library
from tracekit.errors import InputError, UsageError


class Percent(click.ParamType[float]):
    """A percentage as a fraction: ``2%`` is 0.02, and ``2`` is the same."""

    name = "percent"

    def __init__(self, upper_limit: float = 100.0) -> None:
        self._below = upper_limit

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


class RunSpread(click.ParamType[tuple[str, float]]):
    """A spread between runs, and its percentile: ``2%`` is of the p50, ``p90=5%`` of the p90."""

    name = "spread"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the percentile and the fraction; fail for anything else."""
        if isinstance(value, tuple):
            return value
        name, equals, percentage = str(value).rpartition("=")
        return name.strip() if equals else "p50", PERCENT.convert(percentage, param, ctx)


confidence_option = click.option(
    "--confidence",
    type=PERCENT,
    default="95%",
    metavar="PERCENT",
    show_default=True,
    help="Of the intervals that requirements are judged by; 0 judges the recorded numbers alone.",
)


run_noise_option = click.option(
    "--run-noise",
    type=RunSpread(),
    multiple=True,
    metavar="[pNN=]PERCENT",
    help="The spread (standard deviation) between runs of the same program: 2% is that of the p50, of means"
    " and of shares, p90=5% that of the p90. Repeatable.",
)

session_noise_option = click.option(
    "--session-noise",
    type=PERCENT,
    metavar="PERCENT",
    help="The spread (standard deviation) between sessions of recording, such as 1%, for sides that were not"
    " recorded in turn. --noise-from shows it where builds were recorded in several sessions.",
)

noise_from_option = click.option(
    "--noise-from",
    "noise_from",
    multiple=True,
    metavar="INPUT",
    help="One of several recordings that differ by chance alone: their spread is the noise. Repeatable. Of"
    " the folder of a dashboard's library, those of one build on the same device and system with the same"
    " models are used.",
)


def check_noise_options(run_noise: Sequence[tuple[str, float]], noise_from: Sequence[str]) -> None:
    """Raise ``UsageError`` for a spread between runs that is given twice, or by one recording.

    Raises ``InputError`` if that one is missing: it may have been meant as the folder of a library.
    """
    from tracekit.comparison.sessions import read_run_noise  # numpy, which --help does without

    names = [name for name, _ in run_noise]
    if len(set(names)) < len(names):
        raise UsageError("Give one spread for each percentile: --run-noise 2% is that of the p50.")
    read_run_noise(dict(run_noise))
    if run_noise and noise_from:
        raise UsageError("Give the spread between runs by --run-noise or by --noise-from, not both.")
    if len(noise_from) == 1 and not is_library(noise_from[0]):
        if noise_from[0] != "-" and not os.path.lexists(noise_from[0]):
            raise InputError(noise_from[0], "does not exist.", "Check the path.")
        raise UsageError(
            "--noise-from needs two recordings or more, or the folder of a dashboard's library: one recording"
            " shows no spread between runs."
        )


def open_option(gates: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that decides what an open result counts as."""
    return click.option(
        "--open",
        "open_counts",
        type=click.Choice(["pass", "fail"]),
        help=f"What a {gates} counts as that the recordings leave open (default: exit code 5).",
    )
