"""One line of what the doctor says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["ok", "warning", "problem", "skipped"]
"""A problem keeps recordings from working here; skipped is what could not be checked, which is never ok."""

SELECT_XCODE = "Install Xcode and select it:\nsudo xcode-select --switch /Applications/Xcode.app"


@dataclass(frozen=True)
class Check:
    """What was looked at, what was found, and what to do.

    ``advice`` is a sentence; each further line of it is a command, ready to paste.
    """

    name: str
    state: State
    found: str
    advice: str = ""


def skip(names: Sequence[str], why: str) -> tuple[Check, ...]:
    """Return checks that were not made, and why."""
    return tuple(Check(name, "skipped", why) for name in names)
