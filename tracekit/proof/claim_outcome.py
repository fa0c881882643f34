"""The outcome of a claim on this machine."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tracekit.frozen import frozen

OutcomeState: TypeAlias = Literal["held", "did not hold", "not tried"]


@frozen
class ClaimOutcome:
    """The state of a claim, and the finding in words of tracekit: it names no person, path or device."""

    claim: str
    state: OutcomeState
    finding: str


def judge(claim: str, holds: bool, finding: str) -> ClaimOutcome:
    """Return the outcome of a claim that was tried."""
    return ClaimOutcome(claim, "held" if holds else "did not hold", finding)


def leave(claim: str, reason: str) -> ClaimOutcome:
    """Return the outcome of a claim that could not be tried."""
    return ClaimOutcome(claim, "not tried", reason)
