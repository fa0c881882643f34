"""The outcome of one check of the doctor: the finding, and the advice that goes with it.

The three modules of checks import it, and ``doctor`` imports them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tracekit.frozen import frozen

CheckState: TypeAlias = Literal["ok", "warning", "problem", "skipped"]
"""A problem prevents recording; a skipped check could not be made, which is never ok."""

SELECT_XCODE = "Install Xcode and select it:\nsudo xcode-select --switch /Applications/Xcode.app"


@frozen
class Check:
    """The name of the check, its state, the finding, and the advice.

    ``advice`` is a sentence; each further line of it is a command, ready to paste.
    """

    name: str
    state: CheckState
    finding: str
    advice: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the check with the keys of ``tracekit-doctor/1``."""
        return {"name": self.name, "state": self.state, "found": self.finding, "advice": self.advice}


def skip(names: Sequence[str], reason: str) -> tuple[Check, ...]:
    """Return checks that were not made, with the reason."""
    return tuple(Check(name, "skipped", reason) for name in names)
