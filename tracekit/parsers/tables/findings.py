"""What a reader of the results must know about the tables that were read, counted up."""

from __future__ import annotations

from tracekit.model.trace import Issue, Severity


class Findings:
    """Issues in the making: the same finding in several tables of one schema is one issue."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Severity, str, str], int] = {}

    def add(self, severity: Severity, code: str, text: str, count: int = 1) -> None:
        """Count a finding; ``{n}`` in ``text`` becomes the sum of the counts. A count of 0 is no finding."""
        if count:
            key = severity, code, text
            self._counts[key] = self._counts.get(key, 0) + count

    def issues(self) -> tuple[Issue, ...]:
        """Return the findings in the order in which they were first made."""
        return tuple(
            Issue(severity, code, text.replace("{n}", f"{count}"), count)
            for (severity, code, text), count in self._counts.items()
        )
