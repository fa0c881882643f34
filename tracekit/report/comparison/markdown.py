"""A comparison as Markdown, for the text of a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison, FunctionChange, Group, Side
from tracekit.report.analysis.markdown_findings import markdown_step
from tracekit.report.comparison import samples
from tracekit.report.comparison import wording as words
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.findings import FINDINGS, finding_changes
from tracekit.report.comparison.headline import mark, sentence
from tracekit.report.comparison.text import MARK
from tracekit.report.markdown_text import plain
from tracekit.text import clip

_MOST_FUNCTIONS = 10
_NAME_WIDTH = 100


def to_markdown(comparison: Comparison, changes: Sequence[ChangeResult] = ()) -> str:
    """Return the differences, the sentence first; text of recordings is escaped and never becomes markup."""
    sections = [
        "## Comparison",
        f"{mark(comparison)[0]} **{plain(mark(comparison)[1])}.** {plain(sentence(comparison))}",
        _changes(changes),
        _findings(comparison),
        "\n".join([_side(comparison, "BASE", comparison.base), _side(comparison, "NEW", comparison.new)]),
        "\n".join(f"> {plain(caution_text(caution))}  " for caution in comparison.cautions),
        *(_samples(comparison) if comparison.without_times else _calls(comparison)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _calls(comparison: Comparison) -> list[str]:
    return [
        *(_group(comparison, group) for group in comparison.groups),
        "\n".join(f"- {plain(words.one_sided(group))}" for group in comparison.one_sided),
        _functions(comparison),
        plain(words.footnote(comparison)),
    ]


def _samples(comparison: Comparison) -> list[str]:
    """Return the shares of samples where no side has times."""
    if not comparison.samples:
        return []
    rows = [[plain(cell) for cell in samples.sample_cells(row)] for row in comparison.samples]
    lines = [f"| {' | '.join(samples.HEADER)} |", "|---|---|---|---:|---:|---:|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return [f"### {samples.TITLE}", "\n".join(lines), plain(samples.NOTE)]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], right: int) -> str:
    """Return a table whose columns 1 to ``right`` are numbers."""
    lines = [
        f"| {' | '.join(header)} |",
        "|" + "|".join("---:" if 1 <= column <= right else "---" for column in range(len(header))) + "|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _changes(changes: Sequence[ChangeResult]) -> str:
    return "\n".join(
        f"- **{MARK[result.outcome]}** {plain(result.change.text)}: {plain(words.change_reason(result))}"
        for result in changes
    )


def _findings(comparison: Comparison) -> str:
    listed, left_out = finding_changes(comparison)
    lines = [f"### {FINDINGS}", ""] if listed else []
    for text in listed:
        lines.append(f"- {text.change}: **{plain(text.title)}** ({plain(text.counts)})")
        if text.change in ("appeared", "grew"):
            lines += [f"  - {plain(text.cost)}"] if text.cost else []
            lines += [f"  - {markdown_step(step)}" for step in text.next_steps]
    lines += [f"- … and {left_out:,} more: see the JSON output"] if left_out else []
    return "\n".join(lines)


def _side(comparison: Comparison, name: str, side: Side) -> str:
    runs = "; ".join(
        ", ".join(filter(None, (f"{run.name}, run {run.run}", run.device, run.os, run.template)))
        for run in side.runs
    )
    amount = samples.side_text(comparison, name) or words.verdicts(side)
    return f"- **{name}** {plain(amount)} – {plain(runs)}"


def _group(comparison: Comparison, group: Group) -> str:
    listed, incomplete = words.table_rows(comparison.rows(group))
    parts = [f"### {plain(words.title(group))}"]
    if listed:
        rows = [[plain(cell) for cell in words.cells(row)] for row in listed]
        parts.append(_table(words.HEADER, rows, 5))
    parts += ["\n".join(f"- {plain(note.text)}" for note in words.missing(incomplete))]
    parts += [plain(words.run_values(group))]
    return "\n\n".join(part for part in parts if part)


def _functions(comparison: Comparison) -> str:
    heading = f"### {words.CHANGED_FUNCTIONS} (host samples per call)"
    if comparison.functions_missing:
        return f"{heading}\n\n{plain(comparison.functions_missing)}"
    note = words.functions_note(comparison)
    parts = [f"{heading}\n\n{plain(note)}"] if note else []
    parts += [_function_table(comparison.functions)] if comparison.functions else []
    if comparison.largest_functions:
        title = words.largest_functions_title(comparison)
        parts.append(f"### {title} (host samples per call)")
        parts.append(_function_table(comparison.largest_functions))
    return "\n\n".join(parts)


def _function_table(changes: Sequence[FunctionChange]) -> str:
    rows = [
        [plain(clip(cell, _NAME_WIDTH)) for cell in words.function_cells(change)]
        for change in changes[:_MOST_FUNCTIONS]
    ]
    return _table(words.FUNCTION_HEADER, rows, 3)
