"""One bomb: its name, the function that writes it, and the command that reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bomb:
    """A hostile input. ``{}`` in ``arguments`` stands for the folder into which ``write`` writes."""

    name: str
    write: Callable[[Path], object]
    arguments: Sequence[str]

    @property
    def family(self) -> str:
        """The kind of input, the part of the name before its colon."""
        return self.name.partition(":")[0]

    def command(self, folder: Path) -> list[str]:
        """Return the arguments of ``tracekit``."""
        return [argument.replace("{}", str(folder)) for argument in self.arguments]


def analyzed(name: str, file: str, write: Callable[[Path], object]) -> Bomb:
    """Return a bomb that ``tracekit analyze`` reads; ``write`` gets the path of its file."""
    return Bomb(name, lambda folder: write(folder / file), ("analyze", f"{{}}/{file}"))
