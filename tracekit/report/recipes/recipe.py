"""``Recipe``: a question about a recording, what it needs, and the function that makes the reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.result import Analysis
from tracekit.comparison.observations import Observations
from tracekit.report.document.blocks import Block
from tracekit.report.wording.findings.actions import NextStep


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
Parameter: TypeAlias = Literal["call", "base"]


@dataclass(frozen=True)
class Recipe:
    """A question to a recording.

    Of its ``needs``, the first shortfall counts. ``parameter`` is what the question may
    take; one that takes a ``base`` needs it. ``place`` is the section of a page that shows the answer, ""
    where none does; ``chapter`` the chapter of the documentation, as ``findings.md#fell-back``. ``api`` is
    the Python that answers, of an ``analysis``.
    """

    name: str
    question: str
    answer: Callable[[Query], Reply]
    needs: tuple[Need, ...]
    api: str
    chapter: str
    place: str = ""
    parameter: Parameter | None = None

    def find_shortfall(self, query: Query) -> Shortfall | None:
        """Return what the recording lacks; None where it lacks nothing."""
        return next(filter(None, (need(query) for need in self.needs)), None)
