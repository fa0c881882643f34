"""Requirements and changes as data: conditions, forbidden engines, absent findings; ``parser`` reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tracekit.comparison.metrics import (
    FIRST_TOKEN,
    INCOMPLETE,
    LATE,
    MEDIANS,
    RESPONSE_RATE,
    name_late_calls,
)
from tracekit.comparison.observations import SUBMISSION_COUNTS
from tracekit.model.vocabulary import SERVING, Phase

Operator: TypeAlias = Literal["<=", "<", ">=", ">", "==", "!="]
Kind: TypeAlias = Literal["time", "energy", "rate", "share", "count", "thermal"]
AMOUNTS: tuple[Kind, ...] = ("time", "energy", "rate")
"""Kinds whose differences between runs are factors."""

ENGINE_NAMES = tuple(str(engine) for engine in SERVING)


PER_WINDOW = ("hand-offs", *SUBMISSION_COUNTS)
"""Counts that each call has."""
OF_RUN = ("issues", "thermal", "load", "compile", "energy")
"""Numbers that a recording has once."""
RATE = "tokens per second"
OF_REQUESTS = (FIRST_TOKEN, RATE)
"""Numbers of requests to language models that signposts mark."""
_COUNTS = ("calls", "issues", INCOMPLETE, *PER_WINDOW)


@dataclass(frozen=True)
class Metric:
    """A number of a recording; ``statistic`` is "" where the quantity is a single number by itself.

    ``part`` is "first" or "warm" (all calls but the first), or the phase of a rate of tokens; ``code`` is an
    issue's code or severity, ``limit_ns`` the deadline of late calls.
    """

    quantity: str
    engine: str = ""
    statistic: str = ""
    part: str = ""
    code: str = ""
    limit_ns: float = 0.0

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        if self.quantity.endswith("share") or self.quantity == LATE:
            return "share"
        if self.quantity == "thermal":
            return "thermal"
        if self.quantity == "energy":
            return "energy"
        if self.quantity in (RATE, RESPONSE_RATE):
            return "rate"
        return "count" if self.quantity in _COUNTS else "time"

    @property
    def name(self) -> str:
        """The metric as an expression names it."""
        quantity = self.quantity
        if quantity == LATE:
            return name_late_calls(self.limit_ns)
        if quantity == RATE:
            statistic = "" if self.statistic == choose_default_statistic(RATE) else f"{self.statistic} "
            return f"{statistic}{RATE} in {self.part}"
        if quantity == "length":
            quantity = "" if self.statistic or self.part == "first" else "length"
        implied = self.part == "first" or self.statistic == choose_default_statistic(self.quantity)
        statistic = "" if implied else self.statistic
        return " ".join(filter(None, (self.part, statistic, self.engine, quantity, self.code)))

    @property
    def judged_name(self) -> str:
        """The metric with the statistic that is judged, where the expression implies it."""
        if self.quantity in MEDIANS and self.statistic == choose_default_statistic(self.quantity):
            return f"{self.statistic} {self.name}"
        return self.name


@dataclass(frozen=True)
class Condition:
    """A metric, a comparison and a limit: in ns, mJ, a fraction, a count, or a thermal level."""

    metric: Metric
    operator: Operator
    value: float
    scope: str = ""


@dataclass(frozen=True)
class EnginePresence:
    """An engine at work in any call, in the given phase or, without one, in any phase of an inference."""

    engine: str
    phase: Phase | None
    scope: str = ""


@dataclass(frozen=True)
class Absence:
    """The absence of findings of a kind or severity; without either, of warnings and errors.

    Findings about the recording itself count only where their kind is named.
    """

    kind: str = ""
    severity: str = ""
    scope: str = ""

    @property
    def name(self) -> str:
        """The findings as an expression names them."""
        return " ".join(filter(None, ("finding", self.severity, self.kind)))


@dataclass(frozen=True)
class Requirement:
    """One requirement as it was written; ``forbids`` inverts its rule."""

    text: str
    forbids: bool
    rule: Condition | EnginePresence | Absence

    @property
    def scope(self) -> str:
        """The model or label that it applies to; "" is all calls."""
        return self.rule.scope


@dataclass(frozen=True)
class ChangeRule:
    """A difference that fails: of a comparison's metric, beyond ``amount`` in the direction of ``operator``.

    ``amount`` is signed: a fraction of the base if ``relative``, else in ns, a fraction, or a count.
    """

    text: str
    metric: str
    operator: Literal[">", "<"]
    amount: float
    relative: bool
    scope: str = ""
    deadline_ns: float | None = None
    """That of the late calls that the metric counts."""


def choose_default_statistic(quantity: str) -> str:
    """Return the statistic of a quantity that is written without one."""
    if quantity in ("busy", "waiting", "samples"):
        return "p90"
    if quantity in ("busy share", RATE, RESPONSE_RATE):
        return "mean"
    return "max" if quantity in (*MEDIANS, *PER_WINDOW) else ""
