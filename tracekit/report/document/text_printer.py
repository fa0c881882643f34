"""A document as text: wrapped paragraphs, and tables that fit the width of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from tracekit.frozen import frozen
from tracekit.report.document.blocks import (
    DECIDES,
    SEVERITY_WORD,
    Block,
    Column,
    Command,
    Fact,
    Facts,
    FindingEntry,
    Findings,
    Headline,
    Item,
    Items,
    Outcome,
    Outcomes,
    Paragraph,
    Picture,
    Section,
    Stack,
    Stacks,
    Strip,
    Table,
    count_note,
)
from tracekit.text import PARAGRAPH_WIDTH, align, clip, printable, wrap

_UNITS = re.compile(r"(?<=[0-9]) (?=(?:ms|µs|s)\b|%)")
_NO_BREAK = "\N{NO-BREAK SPACE}"
_INDENT = "  "
_OUTCOME_INDENT = " " * 18
_GAP = 2
_NARROW, _NARROWEST = 20, 12
"""The fewest characters of a clipped column while others can be left out, and otherwise."""


@frozen
class Page:
    """Lines of a width; where tables are whole, theirs may be longer."""

    width: int = 80
    has_whole_tables: bool = False

    def wrap(self, text: str, indent: str = "") -> str:
        """Return text wrapped to the width, at most a readable one; a unit stays with its number."""
        unbroken = _UNITS.sub(_NO_BREAK, printable(text))
        return wrap(unbroken, indent, min(self.width, PARAGRAPH_WIDTH)).replace(_NO_BREAK, " ")


PAGE = Page()


def print_text(sections: Iterable[Section], page: Page = PAGE) -> str:
    """Return sections as text."""
    texts = (_print_section(section, page) for section in sections)
    return "\n\n".join(text for text in texts if text) + "\n"


def _print_section(section: Section, page: Page) -> str:
    if section.is_empty:
        return ""
    indent, gap = ("", "\n\n") if section.is_lead else (_INDENT, "\n")
    blocks = [block for block in section.blocks if not isinstance(block, Section)]
    texts = [text for block in blocks if (text := _print_block(block, page, indent))]
    inner = (_print_section(block, page) for block in section.blocks if isinstance(block, Section))
    sections = [text for text in inner if text]
    if (texts or sections) and not section.is_lead:
        about = f" ({section.about})" if section.about else ""
        texts.insert(0, page.wrap(f"{section.heading}{section.mark}{about}"))
    return "\n\n".join(text for text in (gap.join(texts), *sections) if text)


def _print_block(  # noqa: PLR0912 - a case for each kind of block
    block: Block, page: Page, indent: str
) -> str:
    match block:
        case Headline():
            outcome = f"{block.sign} {block.word}. " if block.word else ""
            return page.wrap(f"{outcome}{block.text}")
        case Paragraph():
            return page.wrap(block.text, indent)
        case Table():
            return print_table(block, page, indent)
        case Items():
            return "\n".join(_print_item(item, page, indent) for item in block.items)
        case Facts():
            size = max((len(fact.name) for fact in block.facts), default=0)
            facts = (f"{fact.name:<{size}}  {fact.text}{fact.mark}" for fact in block.facts)
            return "\n".join(page.wrap(fact, indent) for fact in facts)
        case Command():
            return f"{indent}    {printable(block.text)}"
        case Findings():
            lines = [line for entry in block.entries for line in _iter_finding(entry, page, indent)]
            return "\n".join([*lines, *([f"{indent}{count_note(block.left_out)}"] if block.left_out else [])])
        case Outcomes():
            return "\n".join(_print_outcome(outcome, page, indent) for outcome in block.outcomes)
        case Stacks():
            return "\n".join(_print_stack(stack, indent) for stack in block.stacks)
        case Strip():
            return _print_strip(block, page, indent)
        case Picture():
            return ""
        case Section():
            return _print_section(block, page)
        case _:
            assert_never(block)


def _print_item(item: Item, page: Page, indent: str) -> str:
    mark = f"{item.mark:<2} " if item.mark else ""
    severity = "" if item.severity == "info" else f"{item.severity}: "
    return page.wrap(f"{mark}{severity}{item.text}", indent)


def _iter_finding(entry: FindingEntry, page: Page, indent: str) -> Iterable[str]:
    kind = f" ({entry.kind})" if entry.kind else ""
    word = entry.change or SEVERITY_WORD[entry.severity]
    yield page.wrap(f"{word}: {entry.title}{kind}", indent)
    for part in filter(None, (entry.cost, entry.basis, entry.detail)):
        yield page.wrap(part, f"{indent}  ")
    for step in entry.next_steps:
        yield page.wrap(f"→ {step.text}", f"{indent}  ")
        if step.command:  # A command is pasted: it stays on one line, however long.
            yield f"{indent}      {printable(step.command)}"


def _print_outcome(outcome: Outcome, page: Page, indent: str) -> str:
    requirement = f"{indent}{outcome.word:<14}  {printable(outcome.requirement)}"
    return f"{requirement}\n{page.wrap(outcome.reason, indent + _OUTCOME_INDENT)}"


def _print_stack(stack: Stack, indent: str) -> str:
    lines = [f"{indent}{stack.engine} {stack.text}"]
    lines += [f"{indent}  … {stack.above:,} more above"] if stack.above else []
    for position, (symbol, binary) in enumerate(stack.frames):
        mark = f"  {DECIDES}" if position == stack.deciding else ""
        lines.append(f"{indent}  {symbol}  {binary}".rstrip() + mark)
    lines += [f"{indent}  … {stack.below:,} more below"] if stack.below else []
    return "\n".join(map(printable, lines))


def _print_strip(strip: Strip, page: Page, indent: str) -> str:
    from tracekit.report.document.strip_lines import format_legend, format_lines

    lines = format_lines(strip, min(page.width, PARAGRAPH_WIDTH) - len(indent))
    legend = page.wrap(format_legend(strip), indent)
    return "\n".join([page.wrap(strip.caption, indent), *(f"{indent}{line}" for line in lines), legend])


def print_table(table: Table, page: Page, indent: str = "") -> str:
    """Return a table whose lines have at most the page's width, where that is possible."""
    if not table.rows:
        return ""
    if table.is_wordy:
        return "\n".join(_print_row(row, page, indent) for row in table.rows)
    columns = list(map(_escape_column, table.columns))
    about = ""
    if not page.has_whole_tables:
        if table.narrow is not None and _measure_line(columns, indent) > page.width:
            columns = list(map(_escape_column, table.narrow.columns))
            about = f"{page.wrap(table.narrow.caption, indent)}\n\n" if table.narrow.caption else ""
        fitted_columns = _fit_columns(columns.copy(), indent, page.width)
        if _measure_line(fitted_columns, indent) > page.width:
            return about + _print_records(columns, page, indent)
        columns = fitted_columns
    rows = list(zip(*(map("".join, column.cells) for column in columns), strict=True))
    right = [column.is_number for column in columns]
    return about + align([column.heading for column in columns], rows, right, indent)


def _print_records(columns: Sequence[Column], page: Page, indent: str) -> str:
    """Return each row as a line per column."""
    rows = zip(*(column.cells for column in columns), strict=True)
    records = (
        Facts(tuple(map(Fact, [column.heading for column in columns], *zip(*row, strict=True))))
        for row in rows
    )
    return "\n\n".join(_print_block(record, page, indent) for record in records)


def _print_row(row: Sequence[tuple[str, str]], page: Page, indent: str) -> str:
    """Return a row of long texts as a paragraph."""
    name, *parts = map("".join, row)
    return page.wrap(f"{name}: {'; '.join(filter(None, parts))}", indent)


def _escape_column(column: Column) -> Column:
    texts = [printable(text) for text in column.texts]
    texts = [clip_name(text, column.width) for text in texts] if column.width else texts
    return replace(column, name=printable(column.name), texts=texts)


def _measure_column(column: Column) -> int:
    return max(map(len, (column.heading, *map("".join, column.cells))))


def _measure_line(columns: Sequence[Column], indent: str) -> int:
    return len(indent) + sum(_measure_column(column) + _GAP for column in columns) - _GAP


def _fit_columns(columns: list[Column], indent: str, width: int) -> list[Column]:
    """Return columns that fit a width: the widest are cut, and those of the highest rank left out."""
    while (excess := _measure_line(columns, indent) - width) > 0:
        least_important = max(columns, key=lambda column: column.rank)
        narrowest = _NARROW if least_important.rank else _NARROWEST
        spare = sum(_measure_column(column) - _limit_width(column, narrowest) for column in columns)
        if excess <= spare or not least_important.rank:
            return _cut_columns(columns, min(excess, spare))
        columns.remove(least_important)
    return columns


def _limit_width(column: Column, width: int) -> int:
    """Return the width of a column that is cut to ``width``, as far as that is possible."""
    limit = max(width, len(column.heading)) if column.is_clipped else _measure_column(column)
    return min(_measure_column(column), limit)


def _cut_columns(columns: Sequence[Column], excess: int) -> list[Column]:
    """Return columns that are shorter by ``excess`` in all: none is cut while another one is wider."""
    widths = list(map(_measure_column, columns))
    most = sum(widths) - excess
    limit = max(widths)
    while sum(widths) > most:
        limit -= 1
        widths = [_limit_width(column, limit) for column in columns]
    return list(map(_cut_column, columns, widths))


def _cut_column(column: Column, width: int) -> Column:
    """Return a column with its texts cut to a width; their marks stay."""
    return replace(column, texts=[clip_name(text, width - len(mark)) for text, mark in column.cells])


def clip_name(name: str, width: int) -> str:
    """Return a name of at most ``width`` characters; a ``(thread 0x1f3)`` or ``(process 412)`` stays."""
    head, bracket, end = name.rpartition(" (")
    is_kept = bool(bracket) and end.startswith(("thread ", "process ")) and len(end) + 4 < width
    return f"{clip(head, width - len(end) - 2)}{bracket}{end}" if is_kept else clip(name, width)
