"""``Query``: a question's recording; ``RecipeAnswer``: what a recipe needs of it, and how it replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.result import Analysis
from tracekit.report.document.blocks import Block
from tracekit.report.wording.findings.actions import NextStep

if TYPE_CHECKING:
    from tracekit.comparison.observations import Observations


@dataclass(frozen=True)
class Query:
    """A question's recording: ``row`` is the window of the call that it is about, ``base`` another recording.

    Without a ``row``, a question about one call takes the one that differs most.
    """

    analysis: Analysis
    row: int | None = None
    base: Analysis | None = None

    @cached_property
    def calls(self) -> Calls:
        """The calls by model."""
        return Calls(self.analysis)

    @cached_property
    def observations(self) -> Observations:
        """The numbers of each call, and why some are not known."""
        from tracekit.comparison.observations import Observations

        return Observations(self.analysis)


@dataclass(frozen=True)
class Shortfall:
    """A reason why there is no reply, as a clause, and the step that would give one."""

    reason: str
    step: NextStep | None = None


@dataclass(frozen=True)
class Reply:
    """A sentence that stands alone, and what it rests on."""

    sentence: str
    blocks: tuple[Block, ...] = ()


Need: TypeAlias = Callable[[Query], Shortfall | None]
"""Returns what a recording lacks to answer a question; None where it lacks nothing."""


@dataclass(frozen=True)
class RecipeAnswer:
    """What a recipe needs of a recording, and the function that makes its reply."""

    make_reply: Callable[[Query], Reply]
    needs: tuple[Need, ...]
