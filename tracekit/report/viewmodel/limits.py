"""Limits at the numbers that they limit: marks in tables, and the notes below that explain them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.model.issue_codes import BUSY, CALLS, LENGTHS, VERDICTS, Part, Reach, find_reach
from tracekit.model.trace import Issue
from tracekit.model.vocabulary import SERVING
from tracekit.report import wording
from tracekit.report.document.blocks import Marks

_MOST_QUOTED = 200
"""A finding quotes messages of this length in full."""
_MOST_MARKED_ROWS = 1_000
"""A limit of more windows is marked once, at the head of their column."""
_STATED = ("report-cause", "waiting-threads")
"""Issues of texts that the headline and the notes below the threads state in full."""
ENGINE_BUSY: Mapping[str, tuple[Reach, ...]] = {
    str(engine): (BUSY, Reach(Part.BUSY, engine)) for engine in SERVING
}
"""What limits an engine's busy time in windows; of the whole run, overlapping windows limit nothing."""


@frozen
class Limit:
    """An issue with what it limits; ``windows`` and ``models`` are None where it limits all of them."""

    issue: Issue
    reach: Reach
    windows: tuple[int, ...] | None = None
    models: tuple[str, ...] | None = None

    @property
    def is_of_whole_answer(self) -> bool:
        """True for a limit that is printed directly below the headline."""
        return self.reach.part is Part.RUN and self.issue.severity != "info"


@frozen
class Note:
    """The text of a mark."""

    mark: str
    issue: Issue


def list_limits(analysis: Analysis) -> tuple[Limit, ...]:
    """Return the limits of an analysis in the order of its diagnostics."""
    issues = wording.issues(analysis.diagnostics)
    affected_windows = (getattr(diagnostic, "windows", None) for diagnostic in analysis.diagnostics)
    total = len(analysis.window_rows)
    return tuple(
        _build_limit(analysis, issue, None if windows is None or len(windows) == total else windows)
        for issue, windows in zip(issues, affected_windows, strict=True)
    )


def _build_limit(analysis: Analysis, issue: Issue, windows: tuple[int, ...] | None) -> Limit:
    reach = find_reach(issue.code, issue.message)
    if windows is None:
        return Limit(issue, reach)
    names = analysis.window_rows["model"].iloc[list(windows)].astype("str").unique().tolist()
    return Limit(issue, reach, windows, tuple(name for name in names if name) or None)


def build_affects_document(limit: Limit) -> dict[str, Any]:
    """Return ``affects`` of an issue in ``tracekit-analysis/1``."""
    return {
        "part": str(limit.reach.part),
        "engine": limit.reach.engine and str(limit.reach.engine),
        "windows": limit.windows and list(limit.windows),
        "models": limit.models and list(limit.models),
    }


def build_issue_documents(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the issues as plain data, with what each of them limits."""
    return [
        {**asdict(limit.issue), "affects": build_affects_document(limit)} for limit in list_limits(analysis)
    ]


def _without_findings(limits: tuple[Limit, ...], findings: Iterable[Finding[Any]]) -> tuple[Limit, ...]:
    """Return the remaining limits; those that a finding states become references to it.

    A finding clips what it quotes: a long message is kept in full as a limit.
    """
    kinds: dict[str, str] = {}
    for finding in findings:
        quoted = (message for _, message in finding.numbers.get("issues", ()))
        codes = (action.arguments["code"] for action in finding.actions if action.kind == "check-issue")
        kinds |= dict.fromkeys((*codes, *(text for text in quoted if len(text) < _MOST_QUOTED)), finding.kind)
    return tuple(
        replace(limit, issue=_refer_to_findings(limit.issue, kinds))
        for limit in limits
        if not (limit.is_of_whole_answer and limit.issue.message in kinds)
    )


def _refer_to_findings(issue: Issue, kinds: Mapping[str, str]) -> Issue:
    kind = kinds.get(issue.code) or kinds.get(issue.message)
    return issue if kind is None else replace(issue, message=f"see the finding {kind} above", count=1)


class Footnotes:
    """The limits of one output, each shown in one place.

    An output asks for the marks of each number when it writes it (``marks``), and for the notes of these
    below each table (``notes``); ``remaining`` are the limits of numbers that it does not show. With
    ``has_findings`` the output shows the findings first, and what they state is not repeated.
    """

    def __init__(self, analysis: Analysis, has_findings: bool = False) -> None:
        limits = list_limits(analysis)
        if analysis.thread_work is not None:
            limits = tuple(limit for limit in limits if limit.issue.code not in _STATED)
        if has_findings:
            limits = _without_findings(limits, analysis.findings)
        self.whole = tuple(limit.issue for limit in limits if limit.is_of_whole_answer)
        """The limits directly below the headline."""
        self._limits = tuple(limit for limit in limits if not limit.is_of_whole_answer)
        self._numbers: dict[int, int] = {}
        self._noted = 0

    def marks(self, *reaches: Reach, rows: int = 0) -> Marks:
        """Return the marks of a column in a table of the first ``rows`` windows.

        A limit of some windows is marked at their rows; at the head, if none of them is among the rows.
        """
        marks = Marks()
        for position, limit in self._match_limits(reaches):
            within = [window for window in limit.windows or () if window < rows]
            self._mark(position, within if len(within) <= _MOST_MARKED_ROWS else (), marks)
        return marks

    def model_marks(self, *reaches: Reach, models: Iterable[str]) -> Marks:
        """Return the marks of a column in a table of models: those of some models are at their rows."""
        marks = Marks()
        listed_models = set(models)
        for position, limit in self._match_limits(reaches):
            limited_models = listed_models.intersection(limit.models or ())
            self._mark(position, limited_models if len(limited_models) < len(listed_models) else (), marks)
        return marks

    def notes(self) -> list[Note]:
        """Return the notes of the marks since the last call."""
        new = list(self._numbers.items())[self._noted :]
        self._noted = len(self._numbers)
        return [Note(f"[{number}]", self._limits[position].issue) for position, number in new]

    def remaining(self) -> tuple[Issue, ...]:
        """Return the limits that have no mark."""
        return tuple(
            limit.issue for position, limit in enumerate(self._limits) if position not in self._numbers
        )

    def _match_limits(self, reaches: Iterable[Reach]) -> list[tuple[int, Limit]]:
        wanted_reaches = set(reaches)
        return [
            (position, limit) for position, limit in enumerate(self._limits) if limit.reach in wanted_reaches
        ]

    def _mark(self, position: int, rows: Collection[object], marks: Marks) -> None:
        """Mark a limit at rows of a column, or at its head without any."""
        number = self._numbers.setdefault(position, len(self._numbers) + 1)
        for row in rows or (None,):
            marks.numbers.setdefault(row, []).append(number)


@frozen
class WindowMarks:
    """The marks of a table of windows, by column."""

    number: Marks
    length: Marks
    verdict: Marks
    busy: Mapping[str, Marks]
    """By engine."""


def window_marks(notes: Footnotes, rows: int, engines: Iterable[str]) -> WindowMarks:
    """Return the marks of a table of the first ``rows`` windows with a busy column for each engine."""
    return WindowMarks(
        number=notes.marks(CALLS, rows=rows),
        length=notes.marks(LENGTHS, rows=rows),
        verdict=notes.marks(VERDICTS, rows=rows),
        busy={engine: notes.marks(*ENGINE_BUSY[engine], rows=rows) for engine in engines},
    )


def shorten_issues(issues: Iterable[Issue], max_per_code: int) -> tuple[list[Issue], list[tuple[str, int]]]:
    """Return at most ``max_per_code`` issues of each code, and the codes of the others with their numbers."""
    counts: Counter[str] = Counter()
    kept = []
    for issue in issues:
        counts[issue.code] += 1
        if counts[issue.code] <= max_per_code:
            kept.append(issue)
    return kept, [(code, count - max_per_code) for code, count in counts.items() if count > max_per_code]
