"""What became of requirements, as text."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.judge import Result
from tracekit.model.trace import Issue
from tracekit.report.checks.wording import MOST_WARNINGS, left_out, named, reason, sentence, warnings
from tracekit.text import printable, wrap

_MARK = {"passed": "ok", "failed": "FAILED", "not measurable": "not measurable"}
_ORDER = ("failed", "not measurable", "passed")


def to_text(results: Sequence[Result], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return one entry per requirement, what failed first, and then what the recording's warnings say."""
    lines = [f"{printable(name)}: {sentence(results)}", ""]
    for result in sorted(results, key=lambda result: _ORDER.index(result.outcome)):
        lines.append(f"{_MARK[result.outcome]:<14}  {printable(named(result))}")
        lines.append(wrap(printable(reason(result)), " " * 18))
    if warned := warnings(issues):
        told = [f"! {printable(one.message)} [{printable(one.code)}]" for one in warned[:MOST_WARNINGS]]
        more = left_out(warned)
        lines += ["", "To know", *(wrap(one, "  ") for one in (*told, *([more] if more else [])))]
    return "\n".join(lines) + "\n"
