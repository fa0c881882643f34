"""A document as markup with the ids and classes that the page's scripts and styles use."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from typing import assert_never

from tracekit.model.trace import Severity
from tracekit.report.document.blocks import (
    DECIDES,
    SEVERITY_WORD,
    BarPart,
    Block,
    Column,
    ColumnKind,
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
from tracekit.report.document.html_strip import print_strip
from tracekit.report.html.elements import Html, badge, join, table, tag
from tracekit.report.wording.findings import NextStep
from tracekit.text import format_percent, plural

_SIGN: dict[Severity, str] = {"error": "✕", "warning": "!", "info": "i"}
"""The sign of a severity: colour is never the only mark."""
_GONE = "gone"
"""What became of a finding that only the older recording has: it warns of nothing any more."""
_MOST_UNFOLDED = 5
_MOST_CHANGES = 4
_BAR_WIDTH = 1000
_NO_PICTURES: Mapping[str, Html | None] = {}


def print_html(
    sections: Iterable[Section],
    pictures: Mapping[str, Html | None] = _NO_PICTURES,
    hidden: Container[str] = (),
    can_fold: bool = False,
) -> dict[str, Html]:
    """Return the markup of each section by id; ``pictures`` has that of each ``Picture``.

    Where the page ``can_fold``, a section that is folded shows its heading until it is opened.
    """
    return {
        section.id: tag(
            "section",
            _print_section(section, pictures, can_fold and section.is_folded),
            id=section.id,
            aria_labelledby=f"{section.id}-heading",
            hidden=section.id in hidden,
        )
        for section in sections
    }


def _print_section(section: Section, pictures: Mapping[str, Html | None], is_folded: bool) -> Html:
    heading = tag("h2", section.heading, section.mark, id=f"{section.id}-heading")
    content = _print_content(section, pictures)
    if not is_folded:
        return join([heading, content])
    return tag("details", tag("summary", heading), content, class_="folded-section")


def _print_content(section: Section, pictures: Mapping[str, Html | None]) -> Html:
    """Return what follows the heading; what a script replaces is one element, without the limits."""
    about = tag("p", make_sentence(section.about)) if section.about else None
    if not section.is_replaced:
        return join([about, *(print_block(block, pictures, section.heading) for block in section.blocks)])
    limits = [block for block in section.blocks if isinstance(block, Items) and block.is_of_limits]
    blocks = (
        print_block(block, pictures, section.heading) for block in section.blocks if block not in limits
    )
    return join([tag("div", about, *blocks, id=f"{section.id}-static"), *map(print_block, limits)])


def print_block(  # noqa: PLR0912 - a case for each kind of block
    block: Block, pictures: Mapping[str, Html | None] = _NO_PICTURES, heading: str = ""
) -> Html | None:
    """Return a block; the heading of its section is the caption of a table without one."""
    match block:
        case Headline():
            return _print_headline(block)
        case Paragraph():
            return tag("p", block.text)
        case Table():
            return _print_table(block, block.caption or heading)
        case Items():
            items = (_print_item(item) for item in block.items)
            return tag("ul", *items, class_="limits" if block.is_of_limits else None) if block.items else None
        case Facts():
            facts = ((tag("dt", fact.name), tag("dd", fact.text, fact.mark)) for fact in block.facts)
            return tag("dl", *(part for pair in facts for part in pair))
        case Command():
            return tag("pre", block.text)
        case Findings():
            return _print_findings(block)
        case Outcomes():
            outcomes = block.outcomes
            texts = (
                (tag("strong", f"{entry.word} {entry.requirement}"), f": {entry.reason}")
                for entry in outcomes
            )
            return tag("ul", *(tag("li", *text) for text in texts))
        case Stacks():
            return tag("ol", *(tag("li", _print_stack(stack)) for stack in block.stacks), class_="stacks")
        case Strip():
            return print_strip(block)
        case Picture():
            return pictures.get(block.name)
        case Section():
            return _print_inner_section(block, pictures)
        case _:
            assert_never(block)


def _print_inner_section(section: Section, pictures: Mapping[str, Html | None]) -> Html:
    heading = tag("h3", section.heading, section.mark)
    content = _print_content(section, pictures)
    if not section.is_folded:
        return tag("div", heading, content)
    return tag("details", tag("summary", heading), content, class_="folded-part")


def _print_headline(headline: Headline) -> Html:
    if not headline.word:
        return tag("p", headline.text)
    sign = tag("span", f"{headline.sign} ", aria_hidden="true")
    word = tag("strong", sign, f"{headline.word}.", class_=f"outcome outcome-{headline.outcome}")
    return tag("p", word, f" {headline.text}")


def _print_table(block: Table, caption: str) -> Html:
    columns = map(_print_column, block.columns)
    header = [column.heading for column in block.columns]
    numbers = [column.is_number for column in block.columns]
    return table(header, list(zip(*columns, strict=True)), numbers, caption)


def _print_column(column: Column) -> list[object]:
    cells = map(_print_cell, repeat(column.kind), column.cells)
    if not column.bars:
        return list(cells)
    return [join([_print_bar(bar), cell]) for bar, cell in zip(column.bars, cells, strict=True)]


def _print_bar(bar: Sequence[BarPart]) -> Html | None:
    """Return the parts of a whole in their colours."""
    if not bar:
        return None
    starts = accumulate((part.share for part in bar), initial=0.0)
    parts = (
        tag(
            "path",
            d=f"M{_BAR_WIDTH * start:.1f} 0h{_BAR_WIDTH * part.share:.1f}v1h-{_BAR_WIDTH * part.share:.1f}z",
            class_=f"of-{part.engine or 'none'}",
        )
        for start, part in zip(starts, bar, strict=False)
    )
    names = ", ".join(f"{part.name} {format_percent(part.share)}" for part in bar)
    return tag(
        "svg",
        tag("title", names),
        *parts,
        class_="parts-bar",
        role="img",
        viewBox=f"0 0 {_BAR_WIDTH} 1",
        preserveAspectRatio="none",
    )


def _print_cell(kind: ColumnKind, cell: tuple[str, str]) -> object:
    text, mark = cell
    return join([badge(text), mark]) if kind == "engine" and text else f"{text}{mark}"


def _print_item(item: Item) -> Html:
    mark = f"{item.mark} " if item.mark else None
    severity = None if item.severity == "info" else join([tag("strong", f"{item.severity}:"), " "])
    return tag("li", mark, severity, item.text, _print_explanation("What it means", item.explanation))


def _print_explanation(summary: str, paragraphs: Sequence[str]) -> Html | None:
    """Return what a name means, folded: a saved page has no documentation to link to."""
    if not paragraphs:
        return None
    texts = (tag("p", text) for text in paragraphs)
    return tag("details", tag("summary", summary), *texts, class_="explanation")


def _print_findings(block: Findings) -> Html:
    """Return findings as a list; those after the first few are folded, sooner in a comparison."""
    items = [_print_finding(entry) for entry in block.entries]
    most = _MOST_CHANGES if any(entry.change for entry in block.entries) else _MOST_UNFOLDED
    folded = items[most:]
    more = f"{plural(len(folded), 'more finding')}, of less weight"
    return join(
        [
            tag("ol", *items[:most], class_="findings"),
            tag("details", tag("summary", more), tag("ol", *folded, class_="findings")) if folded else None,
            tag("p", count_note(block.left_out), class_="note") if block.left_out else None,
        ]
    )


def _print_finding(entry: FindingEntry) -> Html:
    """Return a finding; of a note only the title, the remainder is folded, so that it hides no warning.

    Of what became of it between two recordings, only the next step is.
    """
    cost = tag("p", entry.cost, class_="cost") if entry.cost else None
    basis = tag("p", entry.basis, class_="note") if entry.basis else None
    steps = [_print_step(step) for step in entry.next_steps]
    folded = [
        tag("p", entry.detail) if entry.detail else None,
        *steps[1:],
        _print_explanation("What it means, and what it does not prove", entry.explanation),
    ]
    parts = [cost, basis, *steps[:1]]
    if entry.change:
        parts, folded = [cost, basis], [*steps[:1], *folded]
    elif entry.severity == "info":
        parts, folded = [], [*parts, *folded]
    change = f"{entry.change}: " if entry.change else None
    sign = _print_gone() if entry.change == _GONE else print_severity(entry.severity)
    more = [tag("details", tag("summary", "More" if parts else "More and the next step"), *folded)]
    return tag(
        "li",
        tag("h3", sign, change, entry.title),
        *parts,
        *(more if any(folded) else []),
        class_=f"finding finding-{entry.change.replace(' ', '-')}" if entry.change else "finding",
        data_finding=entry.number,
    )


def _print_gone() -> Html:
    return tag("span", "✓", class_="severity severity-gone", aria_hidden="true")


def print_severity(severity: Severity) -> Html:
    """Return the mark of a severity: a sign in its colour, and its word for those who do not see it."""
    return join(
        [
            tag("span", _SIGN[severity], class_=f"severity severity-{severity}", aria_hidden="true"),
            tag("span", f"{SEVERITY_WORD[severity]}: ", class_="unseen"),
        ]
    )


def _print_step(step: NextStep) -> Html:
    """Return a next step; a click on the command selects all of it. A live page links to the step's place."""
    sentence = tag("p", step.text, class_="next")
    if not step.command:
        return sentence
    command = tag("pre", tag("code", step.command), class_="command", tabindex="0")
    if step.place:
        return tag("div", sentence, command, data_place=step.place)
    return join([sentence, command])


def _print_stack(stack: Stack) -> Html:
    frames = [
        tag(
            "li",
            tag("mark", symbol) if position == stack.deciding else symbol,
            tag("small", f" {binary}") if binary else None,
            tag("small", f" {DECIDES}") if position == stack.deciding else None,
        )
        for position, (symbol, binary) in enumerate(stack.frames)
    ]
    above = tag("li", f"… {stack.above:,} more above") if stack.above else None
    below = tag("li", f"… {stack.below:,} more below") if stack.below else None
    head = tag("summary", badge(stack.engine), f" {stack.text}")
    return tag("details", head, tag("ol", above, *frames, below, class_="frames"))
