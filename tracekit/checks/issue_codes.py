"""The issues that report damage of a recording."""

from __future__ import annotations

from tracekit.analysis.diagnostics import Diagnostic
from tracekit.model.issue_codes import DAMAGE
from tracekit.model.trace import Issue


def is_damage(issue: Issue | Diagnostic) -> bool:
    """Return whether an issue reports damage of the recording, whatever its severity."""
    return issue.severity == "error" or issue.code in DAMAGE
