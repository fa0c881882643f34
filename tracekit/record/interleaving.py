"""Recordings of two targets that alternate, so that heat and load of the machine change both sides alike."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.record.target import Target

DEFAULT_PAIRS = 5
"""With fewer runs per side, a comparison finds large differences only (docs/statistics.md)."""

SeriesSide: TypeAlias = Literal["base", "new"]


@frozen
class SeriesPlace:
    """The place of a recording in a series of two targets: ``number`` on its side, ``position`` among all."""

    side: SeriesSide
    number: int
    position: int
    recordings: int

    @property
    def name(self) -> str:
        """Return the word for file names and messages, such as ``base-1``."""
        return f"{self.side}-{self.number}"


def iter_interleaved_places(pairs: int) -> Iterator[SeriesPlace]:
    """Yield the places of ``pairs`` recordings per side in the order base, new, new, base, base, new, …

    Which side goes first alternates: in the order base, new, base, new, … the new side would always come a
    recording later, and a steady drift would look like a difference.
    """
    sides: tuple[SeriesSide, SeriesSide] = ("base", "new")
    for pair in range(pairs):
        for second, side in enumerate(sides if pair % 2 == 0 else sides[::-1]):
            yield SeriesPlace(side, pair + 1, 2 * pair + second + 1, 2 * pairs)


def check_sides(base: Target, new: Target) -> None:
    """Raise ``UsageError`` where the two targets are one, or where only one of them is started afresh."""
    if (base.kind, base.locator) == (new.kind, new.locator):
        raise UsageError(
            f"--interleave names the same target as the base, {base.name} ({base.locator}). Name another"
            " build by the path of its .app or binary; --count alone records one target several times."
        )
    if base.kind != new.kind:
        running, started = (base, new) if base.kind == "attach" else (new, base)
        raise UsageError(
            f"{running.name} is running and {started.name} would be started, so only one side would show the"
            " start of the app. Add --launch to start both, or start both before."
        )


def build_compare_command(base: Sequence[Path], new: Sequence[Path], *options: str) -> list[str]:
    """Return the words of the ``tracekit compare`` of these recordings; each side has at least one."""
    first_path, *further_paths = map(_protect_leading_dash, base)
    words = ["tracekit", "compare", first_path, *map(_protect_leading_dash, new)]
    for path in further_paths:
        words += ["--base", path]
    return [*words, *options]


def _protect_leading_dash(path: Path) -> str:
    text = str(path)
    return os.path.join(".", text) if text.startswith("-") else text  # noqa: PTH118 - pathlib drops the "."
