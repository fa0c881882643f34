"""The notation of a stack in this folder, and the engine and phase that it proves.

Calls are in calling order, root first, as `Binary symbol`, because that reads as a story; an export lists
them leaf first. `?1` is a function without a symbol, binary `-` an address in no known image,
`@ File.swift:7` a source line, `[inlined]` a call that the compiler folded into its caller.

Engines and phases follow one convention:

* the host side of ANE and GPU work is `dispatch`, or `wait` under a wait primitive or `waitUntilCompleted`;
* kernels of BNNS, BLAS and Espresso on the CPU are `execute`;
* binding, copying and casting is `copy` of the RUNTIME, waiting for a stream its `wait`;
  other Core ML frames are RUNTIME without a phase;
* under `MLLoader` and `rebuildPlan:` all is `load`, of the engine whose marker is next to the leaf;
* Metal without an ML ancestor is GRAPHICS; the app and its user interface are OTHER.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Role = Literal["caller", "worker", "outside"]
"""Inside a prediction call on its own stack, doing a part of one on another thread, or neither."""


@dataclass(frozen=True)
class Call:
    """A function on a stack, before it has an address."""

    binary: str | None
    symbol: str
    source: tuple[str, int] | None = None
    inlined: bool = False

    @property
    def has_symbol(self) -> bool:
        return not self.symbol.startswith("?")


@dataclass(frozen=True)
class Work:
    """The calls of one piece of work below its thread's root, and the engine and phase that they show."""

    engine: str
    phase: str | None
    calls: tuple[Call, ...] | None
    role: Role = "outside"


_LINE = re.compile(
    r"(?P<binary>\S+) (?P<symbol>.+?)(?: @ (?P<file>\S+):(?P<line>\d+))?(?P<inlined> \[inlined\])?"
)


def calls(*blocks: str) -> tuple[Call, ...]:
    """Parse blocks of lines `Binary symbol[ @ File:line][ [inlined]]`, root first."""
    parsed = []
    for line in (line.strip() for block in blocks for line in block.splitlines()):
        if match := _LINE.fullmatch(line):
            source = (match["file"], int(match["line"])) if match["file"] else None
            binary = None if match["binary"] == "-" else match["binary"]
            parsed.append(Call(binary, match["symbol"], source, bool(match["inlined"])))
    return tuple(parsed)


def work(engine: str, phase: str | None, *blocks: str, role: Role = "outside") -> Work:
    return Work(engine, phase, calls(*blocks), role)
