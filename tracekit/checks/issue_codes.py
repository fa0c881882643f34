"""The issues that report damage of a recording."""

from __future__ import annotations

from tracekit.analysis.diagnostics import Diagnostic
from tracekit.model.issue_codes import ISSUE_CODES
from tracekit.model.trace import Issue

DAMAGE: frozenset[str] = frozenset(
    {
        *(code for code in ISSUE_CODES if code.endswith("-damaged")),
        "document-incomplete",
        "recording-unfinished",
        "table-unreadable",
    }
)
"""Issues about data that could not be read: warnings, because the remaining data is still usable."""


def is_damage(issue: Issue | Diagnostic) -> bool:
    """Return whether an issue reports damage of the recording, whatever its severity."""
    return issue.severity == "error" or issue.code in DAMAGE
