"""The limits of an analysis as blocks: notes of the marks in a section, and the limits without a mark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tracekit.model.trace import Issue
from tracekit.report.analysis.extent import explain_name
from tracekit.report.document.blocks import Item, Items, Section
from tracekit.report.viewmodel.limits import Footnotes, shorten_issues
from tracekit.text import plural


def add_notes(section: Section, notes: Footnotes, has_explanations: bool = False) -> Section:
    """Return a section with the notes of the marks that it is the first to have."""
    items = tuple(_describe_issue(note.issue, note.mark, has_explanations) for note in notes.notes())
    return replace(section, blocks=(*section.blocks, Items(items, is_of_limits=True))) if items else section


def list_limits(
    issues: Iterable[Issue], most_alike: int, has_explanations: bool = False
) -> tuple[Items, ...]:
    """Return a list of limits, if there are any; of many with one code, some and the number of the others."""
    selected, left_out = shorten_issues(issues, most_alike)
    items = [_describe_issue(issue, "", has_explanations) for issue in selected]
    items += [Item(f"… and {plural(count, 'other')} ({code})") for code, count in left_out]
    return (Items(tuple(items), is_of_limits=True),) if items else ()


def _describe_issue(issue: Issue, mark: str, has_explanation: bool) -> Item:
    count = "" if issue.count < 2 or _has_count(issue) else f"{issue.count:,} × "
    explanation = explain_name(issue.code) if has_explanation else ()
    return Item(f"{issue.message} ({count}{issue.code})", mark, issue.severity, explanation)


def _has_count(issue: Issue) -> bool:
    return re.search(rf"(?<![\d,.])({issue.count:,}|{issue.count})(?![\d,]|\.\d)", issue.message) is not None
