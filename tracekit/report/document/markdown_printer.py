"""A document as Markdown in the dialect of GitHub; other people's text formats nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import assert_never

from tracekit.report.document.blocks import (
    DECIDES,
    SEVERITY_WORD,
    Block,
    Command,
    Facts,
    FindingEntry,
    Findings,
    Headline,
    Item,
    Items,
    Outcomes,
    Paragraph,
    Picture,
    Section,
    Stack,
    Stacks,
    Strip,
    Table,
    count_note,
    make_sentence,
)
from tracekit.report.markdown_text import code, plain
from tracekit.text import clip, printable

_LINE_MARKUP = re.compile(r"^([0-9]*)([-+.)](?=\s|$)|#(?=#*(?:\s|$))|-(?=[-\s]*$))")
"""What begins a heading, a list or a rule at the beginning of a line."""
_MOST_UNFOLDED = 5
_MOST_FRAMES = 12
_LONGEST = 1_000
_LONGEST_NAME = 160
_LONGEST_COMMAND = 4_000
_STRIP_WIDTH = 76


def print_markdown(sections: Iterable[Section], level: int = 3) -> str:
    """Return sections with headings of a level, those inside of others one level below."""
    return _join_parts(*(_print_section(section, level) for section in sections)) + "\n"


def escape_text(text: object, longest: int = _LONGEST) -> str:
    """Return text cut and as Markdown shows it as it is, at the beginning of a line as well."""
    return _LINE_MARKUP.sub(r"\1\\\2", plain(clip(str(text), longest)).lstrip())


def _join_parts(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _print_section(section: Section, level: int) -> str:
    if section.is_empty:
        return ""
    body = _join_parts(*(_print_block(block, level) for block in section.blocks))
    if not body or section.is_lead:
        return body
    heading = f"{escape_text(section.heading)}{plain(section.mark)}"
    about = escape_text(make_sentence(section.about))
    if section.is_folded:
        return _fold(heading, _join_parts(about, body))
    return _join_parts(f"{'#' * level} {heading}", about, body)


def _fold(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _print_block(block: Block, level: int) -> str:  # noqa: PLR0912 - a case for each kind of block
    match block:
        case Headline():
            outcome = f"{block.sign} **{plain(block.word)}.** " if block.word else ""
            text = escape_text(block.text)
            return f"{outcome}{text}" if outcome else f"**{text}**"
        case Paragraph():
            return escape_text(block.text)
        case Table():
            return _print_table(block)
        case Items():
            return "\n".join(_print_item(item) for item in block.items)
        case Facts():
            return "; ".join(
                f"{plain(fact.name)}: {escape_text(fact.text)}{plain(fact.mark)}" for fact in block.facts
            )
        case Command():
            return f"    {clip(printable(block.text), _LONGEST_COMMAND)}"
        case Findings():
            return _print_findings(block)
        case Outcomes():
            outcomes = block.outcomes
            return "\n".join(
                f"- **{entry.word}** {escape_text(entry.requirement)}: {escape_text(entry.reason)}"
                for entry in outcomes
            )
        case Stacks():
            return "\n\n".join(_print_stack(stack.cut(_MOST_FRAMES)) for stack in block.stacks)
        case Strip():
            return _print_strip(block)
        case Picture():
            return ""
        case Section():
            return _print_section(block, level + 1)
        case _:
            assert_never(block)


def _print_table(table: Table) -> str:
    if not table.rows:
        return ""
    header = [f"{plain(column.name)}{plain(column.marks.head)}" for column in table.columns]
    rule = ["--:" if column.is_number else "---" for column in table.columns]
    rows = ([f"{escape_text(text)}{plain(mark)}" for text, mark in row] for row in table.rows)
    return "\n".join(_print_line(line) for line in (header, rule, *rows))


def _print_strip(strip: Strip) -> str:
    from tracekit.report.document.strip_lines import format_legend, format_lines

    lines = "\n".join(f"    {line}" for line in format_lines(strip, _STRIP_WIDTH))
    return _join_parts(escape_text(strip.caption), lines, escape_text(format_legend(strip)))


def _print_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _print_item(item: Item) -> str:
    mark = f"{plain(item.mark)} " if item.mark else ""
    severity = "" if item.severity == "info" else f"{item.severity}: "
    return f"- {mark}{severity}{escape_text(item.text)}"


def _print_findings(block: Findings) -> str:
    entries = "\n".join(_print_finding(entry) for entry in block.entries[:_MOST_UNFOLDED])
    titles = [_print_title(entry) for entry in block.entries[_MOST_UNFOLDED:]]
    titles += [f"- {count_note(block.left_out)}"] if block.left_out else []
    return _join_parts(entries, _fold("More findings, of less weight", "\n".join(titles)) if titles else "")


def _print_title(entry: FindingEntry) -> str:
    kind = f" ({plain(entry.kind)})" if entry.kind else ""
    return f"- {entry.change or SEVERITY_WORD[entry.severity]}: **{escape_text(entry.title)}**{kind}"


def _print_finding(entry: FindingEntry) -> str:
    lines = [_print_title(entry)]
    lines += [f"  - {escape_text(part)}" for part in (entry.cost, entry.basis, entry.detail) if part]
    for step in entry.next_steps:
        command = f" {code(clip(step.command, _LONGEST))}" if step.command else ""
        lines.append(f"  - {escape_text(step.text)}{command}")
    return "\n".join(lines)


def _print_stack(stack: Stack) -> str:
    lines = [f"… {stack.above:,} more above"] if stack.above else []
    for position, (symbol, binary) in enumerate(stack.frames):
        mark = f"  {DECIDES}" if position == stack.deciding else ""
        frame = f"{clip(printable(symbol), _LONGEST_NAME)}  {clip(printable(binary), _LONGEST_NAME)}"
        lines.append(f"{frame.rstrip()}{mark}")
    lines += [f"… {stack.below:,} more below"] if stack.below else []
    frames = "\n".join(f"    {line}" for line in lines)
    return f"{escape_text(stack.engine)} {escape_text(stack.text)}:\n\n{frames}"
