"""What became of requirements, as text."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.gate.judge import Result
from tracekit.export.text import printable
from tracekit.report.gate_words import named, reason, sentence
from tracekit.report.wrapping import wrapped

_MARK = {"passed": "ok", "failed": "FAILED", "not measurable": "not measurable"}
_ORDER = ("failed", "not measurable", "passed")


def to_text(results: Sequence[Result], name: str) -> str:
    """Return one entry per requirement, what failed first."""
    lines = [f"{printable(name)}: {sentence(results)}", ""]
    for result in sorted(results, key=lambda result: _ORDER.index(result.outcome)):
        lines.append(f"{_MARK[result.outcome]:<14}  {printable(named(result))}")
        lines.append(wrapped(printable(reason(result)), " " * 18))
    return "\n".join(lines) + "\n"
