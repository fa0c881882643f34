"""The issues of one bundle: each once, in the order in which they were met."""

from __future__ import annotations

from tracekit.model.trace import Issue, Severity
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.types import short_name


class IssueLog:
    """Collects issues; run 0 stands for all runs."""

    def __init__(self) -> None:
        self._issues: dict[tuple[int, str, str], Issue] = {}
        self._doubted: dict[int, dict[str, bool]] = {}

    def add(self, run: int, severity: Severity, code: str, message: str, count: int = 1) -> None:
        """Note an issue; a second one with the same text is the same."""
        self.put(run, Issue(severity, code, message, count))

    def put(self, run: int, issue: Issue) -> None:
        """Note an issue that is made already."""
        self._issues.setdefault((run, issue.code, issue.message), issue)

    def damaged(self, run: int, code: str, error: DamagedFileError, consequence: str) -> None:
        """Note a file that could not be read, and what that means."""
        self.add(run, "warning", code, f"{error.file} {error.problem}; {consequence}")

    def doubt(self, run: int, type_id: str, *, known: bool) -> None:
        """Note a type whose values are given as no export has confirmed; not ``known``: as raw numbers."""
        self._doubted.setdefault(run, {})[short_name(type_id)] = known

    def of(self, run: int | None) -> tuple[Issue, ...]:
        """Return the issues of a run and of the whole bundle; of every run for None."""
        noted = [issue for (at, _, _), issue in self._issues.items() if run is None or at in (0, run)]
        doubted = {
            name: known
            for at, names in self._doubted.items()
            if run in (None, at)
            for name, known in names.items()
        }
        return (*noted, *_doubts(doubted))


def _doubts(doubted: dict[str, bool]) -> list[Issue]:
    texts = {
        True: (
            "types-unconfirmed",
            "are read as other readers of bundles do, which no export has confirmed; compare with"
            " tracekit verify-native where a Mac is at hand",
        ),
        False: ("types-unknown", "are of an unknown layout and given as the raw numbers that are stored"),
    }
    issues = []
    for known, (code, text) in texts.items():
        names = sorted(name for name, told in doubted.items() if told is known)
        if names:
            issues.append(Issue("warning", code, f"values of type {', '.join(names)} {text}", len(names)))
    return issues
