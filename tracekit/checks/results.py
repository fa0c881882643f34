"""Results of checks: a metric's value, the outcome of a requirement or a change, and the exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tracekit.analysis.findings.finding import Finding
from tracekit.checks.plans.plan_requirements import PlanRequirement
from tracekit.checks.requirements import ChangeRule, Kind, Requirement
from tracekit.comparison.quantities import FloatArray
from tracekit.comparison.result import Difference, Group
from tracekit.mlmodels.plans import PlannedOperation
from tracekit.model.trace import TraceInfo
from tracekit.text import printable

Outcome: TypeAlias = Literal["passed", "failed", "open", "not measurable"]
"""Open: the number is measured, but its interval contains the limit."""
OpenCounts: TypeAlias = Literal["pass", "fail"]

FAILED = 1
NOT_MEASURABLE = 5


@dataclass(frozen=True)
class WorstWindow:
    """The call furthest from a requirement; ``value`` is None where a call either has it or not.

    ``window`` is its number within the recording, from 0; ``call`` its number within its model, from 1, None
    for a range that the user gave.
    """

    window: int
    call: int | None
    start_ns: int
    label: str
    value: float | None = None


@dataclass(frozen=True)
class PlanPart:
    """The part of a plan that a number is of: one function, or "" for the whole plan.

    ``count`` is how many of its operations compute and are meant, and ``operations`` those that explain the
    outcome: without a stated engine if that leaves it open, else those that break the requirement.
    ``unlisted`` is the number of further ones without an entry in the plan, None where it is not known.
    ``limits`` are the plan's.
    """

    function: str
    count: int = 0
    unlisted: int | None = 0
    operations: tuple[PlannedOperation, ...] = ()
    limits: tuple[str, ...] = ()


@dataclass(frozen=True)
class MetricValue:
    """A metric of one recording; ``missing`` gives the reason where it is None.

    The value lies between ``low`` and ``high``, which differ where some calls have an unknown one.
    ``windows`` is how many calls it was computed over, 0 for metrics of the whole recording; ``note``
    qualifies the number. ``interval`` is what other recordings of the program may have as well, at
    ``confidence``; None for numbers that describe this recording alone. ``runs`` is how many recordings the
    number is of.
    """

    kind: Kind
    low: float | None = None
    high: float | None = None
    basis: str = ""
    windows: int = 0
    worst: WorstWindow | None = None
    missing: str = ""
    note: str = ""
    interval: tuple[float, float] | None = None
    confidence: float = 0.0
    runs: int = 1
    is_contested: bool = False
    """Whether the value depends on work of an engine whose owner the recording does not show."""
    findings: tuple[Finding[Any], ...] = ()
    recording: TraceInfo | None = None
    """The findings that a requirement excludes, and the recording that has them."""
    plan: PlanPart | None = None
    """Of a number of a plan."""
    noun: str = "call"
    """The things that ``windows`` counts."""
    calls: tuple[FloatArray, FloatArray] | None = field(default=None, compare=False, repr=False)
    """The calls behind a percentile or mean, with the least and the most that unknown ones could have."""


@dataclass(frozen=True, repr=False)
class CheckResult:
    """The outcome of one requirement, and the value that decided it."""

    requirement: Requirement | PlanRequirement
    outcome: Outcome
    actual: MetricValue

    def __repr__(self) -> str:
        kind = "forbid" if self.requirement.forbids else "require"
        return f"<CheckResult {self.outcome}: {kind} {printable(self.requirement.text)}>"


@dataclass(frozen=True)
class ChangeResult:
    """The outcome of one ``--fail-on``: the compared row, if there is one, and the reason as a sentence."""

    change: ChangeRule
    outcome: Outcome
    reason: str
    group: Group | None = None
    row: Difference | None = None


def choose_exit_code(outcomes: Iterable[Outcome], open_counts: OpenCounts | None = None) -> int:
    """Return 1 if anything failed, else 5 if something is open or could not be measured, else 0.

    With ``open_counts``, what is open counts as passed or as failed.
    """
    outcome_by_option: dict[str, Outcome] = {"pass": "passed", "fail": "failed"}
    instead = outcome_by_option.get(open_counts or "", "open")
    distinct = {instead if outcome == "open" else outcome for outcome in outcomes}
    if "failed" in distinct:
        return FAILED
    return NOT_MEASURABLE if distinct & {"open", "not measurable"} else 0
