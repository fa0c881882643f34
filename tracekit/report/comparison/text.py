"""A comparison as a page of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Comparison, FunctionChange, Group, Side
from tracekit.report import wording
from tracekit.report.comparison import samples
from tracekit.report.comparison import wording as words
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.findings import FINDINGS, finding_changes
from tracekit.report.comparison.headline import sentence
from tracekit.text import align, clip, printable, wrap

_RIGHT = (False, True, True, True, True, True, False, False)
_SYMBOL_WIDTH = 32
_BINARY_WIDTH = 16
MARK = {"passed": "passed", "failed": "FAILED", "open": "open", "not measurable": "not measurable"}


def to_text(comparison: Comparison, changes: Sequence[ChangeResult] = ()) -> str:
    """Return the differences as text, the summary sentence first."""
    sections = [
        wrap(printable(sentence(comparison)), ""),
        _changes(changes),
        _findings(comparison),
        "\n".join(
            [*_side(comparison, "BASE", comparison.base), *_side(comparison, "NEW", comparison.new)],
        ),
        _cautions(comparison),
        *(_samples(comparison) if comparison.without_times else _calls(comparison)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _calls(comparison: Comparison) -> list[str]:
    return [
        *(_group(comparison, group) for group in comparison.groups),
        _one_sided(comparison),
        _functions(comparison),
        wrap(words.footnote(comparison), ""),
    ]


def _samples(comparison: Comparison) -> list[str]:
    """List the shares of samples where no side has times."""
    if not comparison.samples:
        return []
    rows = [samples.sample_cells(row) for row in comparison.samples]
    right = (False, False, False, True, True, True)
    return [f"{samples.TITLE}\n{align(samples.HEADER, rows, right, '  ')}\n{wrap(samples.NOTE, '  ')}"]


def _changes(changes: Sequence[ChangeResult]) -> str:
    lines = []
    for result in changes:
        lines.append(f"{MARK[result.outcome]:<14}  {printable(result.change.text)}")
        lines.append(wrap(printable(words.change_reason(result)), " " * 16))
    return "\n".join(lines)


def _findings(comparison: Comparison) -> str:
    """List the findings of both sides, what appeared first; with what it costs and the next step."""
    listed, left_out = finding_changes(comparison)
    lines = [FINDINGS] if listed else []
    for text in listed:
        lines.append(wrap(f"{text.sign} {text.change}: {text.title} [{text.counts}]", "  "))
        if text.change not in ("appeared", "grew"):
            continue
        lines += [wrap(text.cost, "    ")] if text.cost else []
        for step in text.next_steps:
            lines.append(wrap(f"→ {step.text}", "    "))
            lines += [f"        {step.command}"] if step.command else []
    lines += [f"  … and {left_out:,} more: see the JSON output"] if left_out else []
    return "\n".join(lines)


def _side(comparison: Comparison, name: str, side: Side) -> list[str]:
    lines = [f"{name:<4}  {samples.side_text(comparison, name) or words.verdicts(side)}"]
    for run in side.runs:
        facts = (run.device, run.os, run.template, run.instruments and f"Instruments {run.instruments}")
        listed = ", ".join(fact for fact in facts if fact)
        details = f"; {listed}" if listed else ""
        count = f", {run.windows:,} calls" if len(side.runs) > 1 else ""
        lines.append(wrap(printable(f"{run.name}, run {run.run}{count}{details}"), "      "))
        if comparison.without_times:
            lines.append(wrap(wording.headline(run.answer), "      "))
    return lines


def _cautions(comparison: Comparison) -> str:
    if not comparison.cautions:
        return ""
    entries = [f"! {printable(caution_text(caution))} [{caution.code}]" for caution in comparison.cautions]
    lines = [wrap(entry, "  ") for entry in entries]
    return "\n".join(["Cautions: other explanations of differences, and limits", *lines])


def _group(comparison: Comparison, group: Group) -> str:
    listed, incomplete = words.table_rows(comparison.rows(group))
    lines = [wrap(printable(words.title(group)), "")]
    if listed:
        lines.append(align(words.HEADER, [words.cells(row) for row in listed], _RIGHT, "  "))
    lines += [wrap(printable(note.text), "  ") for note in words.missing(incomplete)]
    if runs := words.run_values(group):
        lines.append(wrap(runs, "  "))
    return "\n".join(lines)


def _one_sided(comparison: Comparison) -> str:
    lines = [wrap(printable(words.one_sided(group)), "  ") for group in comparison.one_sided]
    if comparison.groups_left_out:
        lines.append(f"  … and {comparison.groups_left_out:,} smaller kinds of calls are not compared")
    return "\n".join(["On one side only, or left out", *lines]) if lines else ""


def _functions(comparison: Comparison) -> str:
    heading = "Functions (host samples per call, by the frame that decided the engine, else the leaf)"
    if comparison.functions_missing:
        return f"{heading}\n{wrap(printable(comparison.functions_missing), '  ')}"
    parts = [heading]
    if note := words.functions_note(comparison):
        parts.append(f"  {note}")
    parts += [_function_table(comparison.functions)] if comparison.functions else []
    if comparison.largest_functions:
        parts += [words.largest_functions_title(comparison), _function_table(comparison.largest_functions)]
    return "\n".join(parts)


def _function_table(changes: Sequence[FunctionChange]) -> str:
    rows = []
    for change in changes:
        *numbers, symbol, binary = words.function_cells(change)
        rows.append(
            [*numbers, clip(printable(symbol), _SYMBOL_WIDTH), clip(printable(binary), _BINARY_WIDTH)]
        )
    right = (False, True, True, True, False, False, False)
    return align(words.FUNCTION_HEADER, rows, right, "  ")
