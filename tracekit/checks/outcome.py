"""What becomes of a requirement, and the exit code that says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["passed", "failed", "not measurable"]

FAILED = 1
NOT_MEASURABLE = 5


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """Return 1 if anything failed, else 5 if something could not be measured, else 0."""
    found = set(outcomes)
    if "failed" in found:
        return FAILED
    return NOT_MEASURABLE if "not measurable" in found else 0
