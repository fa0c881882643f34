"""The printers of documents: other people's text in any block drives, formats and adds nothing."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser
from typing import get_args

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_support import formats, tables

from tracekit.report.document.blocks import (
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
    Marks,
    Outcome,
    Outcomes,
    Paragraph,
    Picture,
    Section,
    Stack,
    Stacks,
    Strip,
    StripKind,
    StripLine,
    StripPart,
    Table,
    iter_blocks,
)
from tracekit.report.document.html_printer import print_html
from tracekit.report.document.markdown_printer import print_markdown
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.wording.findings import NextStep
from tracekit.text import printable

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
MARKUP = st.sampled_from(
    [*"-+#=>|*_~`<&[]()$@:.\\ \t\n", "1.", "2)", "</p>", "<!--", "```", "://", "www.", "GH-1"]
)
words = st.lists(st.one_of(MARKUP, st.characters(), st.characters(categories=HIDDEN)), max_size=8).map(
    "".join
)


def document_of(word: str) -> tuple[Section, ...]:
    """Return a document with each kind of block, in which every text of a recording is ``word``."""
    columns = (Column(word, [word], marks=Marks({None: [2], 0: [1]})), Column("engine", [word], "engine"))
    steps = (NextStep(word, word), NextStep(word))
    entries = tuple(
        FindingEntry(word, severity, word, word, word, steps, "kind", "docs", number)
        for number, severity in enumerate(("error", "warning", "info", "info", "info", "info", "info"))
    )
    inner = (
        Paragraph(word),
        Table(columns, word),
        Table.from_rows((word, "b"), [(word, word)], is_wordy=True),
        Items((Item(word), Item(word, "[1]", "warning")), is_of_limits=True),
        Facts((Fact("Input", word),)),
        Command(word),
        Findings(entries, 2),
        Outcomes((Outcome("failed", word, word),)),
        Stacks((Stack("ANE", word, ((word, word), (word, "")), 0, 1, 2),)),
        Strip(
            word,
            (StripKind("Neural Engine", "A", "ANE"), StripKind("hand-over", "-", is_gap=True)),
            StripLine(
                "plan", (StripPart(0, 0.5, 0, word, word, range(1), (0, 5)), StripPart(0.5, 1, 1, word))
            ),
            StripLine("call", (StripPart(0.2, 0.9, 0, word, rows=range(0)),), ("0 ms", "7 ms")),
            ((0, 0),),
        ),
        Picture("none"),
    )
    nested = Section("inner", word, (Paragraph(word),), word)
    return (
        Section("lead", "Summary", (Headline(word, "!", word),), is_lead=True),
        Section("all", word, (*inner, nested), word, is_replaced=True),
        Section("folded", word, (Paragraph(word),), is_folded=True),
    )


def test_the_document_has_each_kind_of_block() -> None:
    blocks = [block for section in document_of("x") for block in (section, *iter_blocks(section.blocks))]
    assert {type(block) for block in blocks} == set(get_args(Block))


def is_visible(text: str) -> bool:
    return not any(unicodedata.category(character) in HIDDEN for character in text.replace("\n", ""))


@given(words)
def test_text_drives_no_terminal_and_has_every_word(word: str) -> None:
    text = print_text(document_of(f"{word}."), Page(60))
    assert is_visible(text)
    assert "".join(printable(f"{word}.").split()) in "".join(text.split())


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, [name for name, _ in attrs]))

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", [data]))


def elements_of(markup: str) -> list[tuple[str, list[str]]]:
    parser = _Elements()
    parser.feed(markup)
    parser.close()
    return parser.elements


@given(words)
def test_markup_has_the_same_elements_whatever_the_words(word: str) -> None:
    harmless, hostile = ("".join(print_html(document_of(text)).values()) for text in ("harmless", f"{word}."))
    assert elements_of(hostile) == elements_of(harmless)
    assert is_visible(hostile)


@given(words)
@example("- a")
@example("1. a")
@example("# a")
@example("    a")
def test_markdown_has_the_same_lines_whatever_the_words(word: str) -> None:
    harmless, hostile = (print_markdown(document_of(text)) for text in ("HARMLESS", f"{word}."))
    assert len(hostile.splitlines()) == len(harmless.splitlines())
    assert is_visible(hostile)
    assert [[len(row) for row in table] for table in tables(hostile)] == [
        [len(row) for row in table] for table in tables(harmless)
    ]
    for line, like in zip(hostile.splitlines(), harmless.splitlines(), strict=True):
        prefix, *rest = like.split("HARMLESS")
        assert line.startswith(prefix)
        is_code = like.startswith("    ") and not like.lstrip().startswith("- ")
        if rest and not is_code and "`" not in like:
            text = line.removeprefix(prefix)
            assert (
                not re.match(r"[ \t>|~]|[-+](\s|$)|#+(\s|$)|-[-\s]*$|\d+[.)](\s|$)", text)
                or prefix.rstrip(" -") != ""
            )
            assert formats(re.sub(r"(?<!\\)(\||\*\*|</?(?:details|summary)>)", "", text)) == []
