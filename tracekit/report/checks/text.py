"""The results of checks as text; beside the other formats of this subject, as everywhere in ``report``."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import CheckResult
from tracekit.model.trace import Issue
from tracekit.report.checks.wording import (
    MOST_WARNINGS,
    more_warnings,
    reason,
    requirement_text,
    sentence,
    warnings,
)
from tracekit.text import printable, wrap

_MARK = {"passed": "passed", "failed": "FAILED", "open": "open", "not measurable": "not measurable"}
_ORDER = ("failed", "open", "not measurable", "passed")


def to_text(results: Sequence[CheckResult], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return one entry per requirement, failures first, and then the recording's warnings."""
    lines = [f"{printable(name)}: {sentence(results)}", ""]
    for result in sorted(results, key=lambda result: _ORDER.index(result.outcome)):
        lines.append(f"{_MARK[result.outcome]:<14}  {printable(requirement_text(result))}")
        lines.append(wrap(printable(reason(result)), " " * 18))
    if listed := warnings(issues):
        entries = [
            f"! {printable(issue.message)} [{printable(issue.code)}]" for issue in listed[:MOST_WARNINGS]
        ]
        entries += [more] if (more := more_warnings(listed)) else []
        lines += ["", "Limits of this recording", *(wrap(entry, "  ") for entry in entries)]
    return "\n".join(lines) + "\n"
