"""The spread between runs of a program, as a document: how large it is, and what comparisons decide."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.comparison.program_spread import RUNS_PER_SIDE, NumberSpread
from tracekit.report.document.blocks import Command, Headline, Item, Items, Paragraph, Section, Table
from tracekit.text import format_duration, plural, printable

FEWEST_DEGREES = 4
"""Degrees of freedom from which on a spread is offered for a comparison."""
LARGEST_FACTORS = {1: 32.0, 2: 6.3, 3: 3.7, 4: 2.9, 5: 2.5, 6: 2.2, 7: 2.0, 8: 1.9, 9: 1.8}
"""How many times as large a true spread may be, by degrees of freedom: the end of its 95 % interval."""


_LEGEND = (
    "The spread is the standard deviation between runs. Below a number of runs: the smallest change that as"
    " many per side, recorded in turn, show in four of five comparisons; a gate with this threshold passes an"
    " unchanged program in four of five, too."
)


def build_spread(program: str, spreads: Sequence[NumberSpread], builds: int) -> list[Section]:
    """Return the sections about a program's recordings."""
    blocks = (
        Headline(_summarize(program, spreads, builds)),
        Paragraph(_LEGEND),
        _list_numbers(spreads),
        *_list_uses(spreads),
    )
    sections = [Section("spread", "Spread between runs", blocks)]
    limits = list(_list_limits(spreads))
    if limits:
        items = Items(tuple(Item(text) for text in limits), is_of_limits=True)
        sections.append(Section("limits", "Limits", (items,)))
    return sections


def _summarize(program: str, spreads: Sequence[NumberSpread], builds: int) -> str:
    runs = max(spread.runs for spread in spreads)
    of_builds = f" of {plural(builds, 'build')}" if builds > 1 else ""
    return (
        f"{printable(program) or 'This program'}: {plural(runs, 'run')}{of_builds} show how much runs differ."
    )


def _list_numbers(spreads: Sequence[NumberSpread]) -> Table:
    has_sessions = any(spread.session_fraction is not None for spread in spreads)
    header = [
        "model",
        "number",
        "mean of the runs",
        "spread",
        *(["between sessions"] if has_sessions else []),
    ]
    columns = [f"{runs} runs" for runs in RUNS_PER_SIDE]
    rows = []
    for spread in spreads:
        sessions = "–" if spread.session_fraction is None else _percent(spread.session_fraction)
        smallest = [
            "not tested" if spread.is_on_grid else _percent(spread.compute_smallest(runs))
            for runs in RUNS_PER_SIDE
        ]
        rows.append(
            [
                printable(spread.model) or "(no name)",
                spread.metric,
                format_duration(round(spread.value)),
                _percent(spread.fraction),
                *([sessions] if has_sessions else []),
                *smallest,
            ]
        )
    return Table.from_rows(
        [*header, *columns],
        rows,
        numbers={*header[2:], *columns},
    )


def _list_uses(spreads: Sequence[NumberSpread]) -> list[Paragraph | Command]:
    """Return the command that compares one run per side with these spreads; none for several models."""
    if len({spread.model for spread in spreads}) > 1:
        return []
    usable = [spread for spread in spreads if spread.df >= FEWEST_DEGREES and not spread.is_on_grid]
    options = [f"--run-noise {spread.metric}={100 * spread.fraction:.2g}%" for spread in usable]
    largest = max((spread.session_fraction or 0.0 for spread in usable), default=0.0)
    options += [f"--session-noise {100 * largest:.2g}%"] if largest else []
    if not options:
        return []
    text = " ".join(["tracekit compare BASE NEW", *options])
    return [Paragraph("A comparison of one run per side with these spreads:"), Command(text)]


def _list_limits(spreads: Sequence[NumberSpread]) -> list[str]:
    fewest = min(spread.df for spread in spreads)
    limits = []
    if factor := LARGEST_FACTORS.get(fewest):
        limits.append(
            f"With {plural(fewest, 'degree')} of freedom, the true spread may be {factor:g} times as large"
            " (95 % interval): add runs."
        )
    if any(spread.is_on_grid for spread in spreads):
        limits.append(
            "Lengths are on a grid: percentiles jump between its ticks and are not tested; use the mean."
        )
    if all(spread.session_fraction is None for spread in spreads):
        limits.append(
            "The spread between sessions is not shown: it takes builds that were each recorded in several"
            " sessions (five sessions of one build, or three of each of two). Record both sides in turn."
        )
    return limits


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2g} %"
