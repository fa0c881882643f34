"""``JoinedModel``: one model of a recording, with its operations, their plan and what the calls show.

*Anticipated* is the engine that a plan states; *observed* the one that the recording shows. Where the
recording cannot show a segment, its observed engine is None: unknown is never an agreement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from tracekit.analysis.findings.finding import WindowRanges
from tracekit.model.vocabulary import Basis, Engine


class Agreement(StrEnum):
    """Whether what was observed is what was anticipated."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNKNOWN = "unknown"
    """The plan states no engine, or the recording cannot show where the segment ran."""


JoinLimit: TypeAlias = Literal[
    "no-plan",
    "no-anticipated-engines",
    "function-unknown",
    "other-function",
    "regions-only",
    "plan-differs",
    "name-differs",
    "other-runtime",
    "other-chip",
    "other-build",
    "other-units",
    "target-unknown",
    "not-single-calls",
    "engine-not-measured",
    "owner-unknown",
    "pieces-differ",
    "order-differs",
    "matched-by-count",
    "calls-differ",
    "not-on-engine",
    "calls-overlap",
]
"""What limits a join; ``report.wording.joins`` has the sentences."""

ReasonOrigin: TypeAlias = Literal["plan", "rule", "follows"]
"""A message of the plan; a rule that matches the operation; an operation before it that took it along."""


@dataclass(frozen=True, slots=True)
class OperationReason:
    """Why an operation is not on the Neural Engine. ``text`` of a plan is the plan's own, word for word.

    ``rule`` is the id of a rule. ``followed`` is the position of the operation that this one follows.
    """

    text: str
    origin: ReasonOrigin
    rule: str = ""
    followed: int | None = None


@dataclass(frozen=True, slots=True)
class JoinedOperation:
    """An operation of the model that computes, in the order of the program.

    ``segment`` is the position in ``JoinedModel.segments``. ``reasons`` is empty for one that is
    anticipated on the Neural Engine, and where nothing states why it is not. ``source`` is a line
    as ``model.py:290``, or empty. ``is_supported`` is True where the plan lists the Neural Engine as possible
    for it, None where the plan lists no engines.
    """

    kind: str
    name: str
    anticipated: Engine | None
    segment: int
    reasons: tuple[OperationReason, ...] = ()
    source: str = ""
    is_supported: bool | None = None


@dataclass(frozen=True, slots=True)
class JoinedSegment:
    """The operations ``first`` to ``end`` (exclusive) that are anticipated on one engine, against the calls.

    ``calls`` counts the calls in which the segment was told apart, ``agreeing`` those of them that show the
    anticipated engine. ``observed`` is None where the calls show none, or several. ``start_ns`` and
    ``end_ns`` are in the typical call, since its start; None where the segment is not seen there. ``work_ns``
    is the median work of its engine per call where that is measured, the mean where it is sampled.
    ``hand_over_ns`` is the median time from its end to the start of the next segment, where both are
    measured. ``gap_ns`` is the median time from the end of the piece on the Neural Engine before it to the
    start of the piece after it; None for a segment on the Neural Engine, and outside of its first and last
    piece. ``name`` is that of a region, where the plan names regions alone.
    """

    first: int
    end: int
    anticipated: Engine | None
    observed: Engine | None
    agreement: Agreement
    basis: Basis | None = None
    calls: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    work_ns: int | None = None
    hand_over_ns: int | None = None
    agreeing: int = 0
    gap_ns: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class JoinedModel:
    """One model of the recording, joined with its file and plan.

    ``model`` is the recording's name of it, ``pid`` its process. ``model_file`` and ``plan_file`` are names
    of files without their folders, ``plan_form`` the kind of plan, ``plan_chip`` and ``plan_build`` its
    target; each is empty where there is none. ``typical_call`` is the row of the window whose length is the
    median, ``length_ns`` its length. ``pieces`` is the usual number of pieces per call on the Neural Engine,
    ``matched_calls`` the number of calls whose pieces are those of the plan (0 unless most are),
    ``absent_calls`` the number of those that ran without it.
    ``lost_ns`` is the median time per call between pieces that segments off the engine separate;
    ``lost_total_ns`` the sum over ``windows``, the matched calls that overlap no other. Both are None where
    that cannot be measured; ``windows`` are then the matched calls. ``limits`` are codes of what limits the
    join.
    """

    model: str
    model_file: str
    plan_file: str
    plan_form: str
    function: str
    calls: int
    typical_call: int
    length_ns: int
    operations: tuple[JoinedOperation, ...]
    segments: tuple[JoinedSegment, ...]
    lost_ns: int | None = None
    limits: tuple[JoinLimit, ...] = ()
    pid: int = -1
    plan_chip: str = ""
    plan_build: str = ""
    pieces: int | None = None
    matched_calls: int = 0
    absent_calls: int = 0
    lost_total_ns: int | None = None
    windows: WindowRanges = field(default_factory=WindowRanges)

    @property
    def is_elsewhere(self) -> bool:
        """True where most calls ran without the Neural Engine."""
        return self.pieces == 0 and self.absent_calls > 0

    def list_leaving(self) -> list[int]:
        """Return the positions of the operations that are anticipated off the Neural Engine."""
        return [
            position
            for position, operation in enumerate(self.operations)
            if operation.anticipated not in (None, Engine.ANE)
        ]

    @property
    def anticipated_pieces(self) -> int:
        """The number of segments that are anticipated on the Neural Engine."""
        return sum(segment.anticipated is Engine.ANE for segment in self.segments)
