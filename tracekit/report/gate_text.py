"""What became of requirements, as text."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.gate.judge import Result
from tracekit.export.text import printable
from tracekit.model import Issue
from tracekit.report.gate_words import MOST_WARNINGS, left_out, named, reason, sentence, warnings
from tracekit.report.wrapping import wrapped

_MARK = {"passed": "ok", "failed": "FAILED", "not measurable": "not measurable"}
_ORDER = ("failed", "not measurable", "passed")


def to_text(results: Sequence[Result], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return one entry per requirement, what failed first, and then what the recording's warnings say."""
    lines = [f"{printable(name)}: {sentence(results)}", ""]
    for result in sorted(results, key=lambda result: _ORDER.index(result.outcome)):
        lines.append(f"{_MARK[result.outcome]:<14}  {printable(named(result))}")
        lines.append(wrapped(printable(reason(result)), " " * 18))
    if warned := warnings(issues):
        told = [f"! {printable(one.message)} [{printable(one.code)}]" for one in warned[:MOST_WARNINGS]]
        more = left_out(warned)
        lines += ["", "To know", *(wrapped(one, "  ") for one in (*told, *([more] if more else [])))]
    return "\n".join(lines) + "\n"
