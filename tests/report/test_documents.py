"""One document, printed by each format: the same sections, columns, cells and notes in the same words."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from markdown_support import shown
from sample_recordings import sample_analysis
from view_support import RECORDINGS

from tracekit import Analysis, compare
from tracekit.report.analysis.document import build_document
from tracekit.report.analysis.extent import PAGE, SHORT_TEXT, TICKET, VERBOSE_TEXT, Extent
from tracekit.report.analysis.text import TextLayout, to_text
from tracekit.report.comparison import document as comparison_document
from tracekit.report.comparison.markdown import to_markdown as comparison_markdown
from tracekit.report.document.blocks import (
    Block,
    Facts,
    Findings,
    Headline,
    Items,
    Paragraph,
    Section,
    Stacks,
    Table,
    iter_blocks,
)
from tracekit.report.document.html_printer import print_html
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.html.sections import sections
from tracekit.report.viewmodel.view import Extras
from tracekit.text import printable

pytestmark = pytest.mark.integration


def read_text(text: str) -> str:
    return " ".join(text.split())


def read_markdown(text: str) -> str:
    return read_text(shown(re.sub(r"(?m)^(?:\| | *- |#+ )|(?<!\\)\*\*|(?<!\\)`+| \|", " ", text)))


def read_html(markup: str) -> str:
    return read_text(html.unescape(re.sub("<[^>]*>", " ", markup)))


FORMATS: dict[str, tuple[Extent, Callable[[Analysis], str]]] = {
    "text": (SHORT_TEXT, lambda analysis: read_text(to_text(analysis, TextLayout(400)))),
    "verbose text": (VERBOSE_TEXT, lambda analysis: read_text(analysis.to_text(verbose=True))),
    "markdown": (TICKET, lambda analysis: read_markdown(analysis.to_markdown())),
    "html": (PAGE, lambda analysis: read_html("".join(sections(analysis, Extras()).values()))),
}


def iter_texts(block: Block) -> Iterator[str]:
    """Yield the texts of a block that every format prints as they are, in order."""
    match block:
        case Headline() | Paragraph():
            yield block.text
        case Table() if block.rows:
            yield from (column.heading for column in block.columns if not block.is_wordy)
            yield from ("".join(cell) for row in block.rows for cell in row)
        case Items():
            yield from (text for item in block.items for text in (item.mark, item.text))
        case Facts():
            yield from (text for fact in block.facts for text in (fact.name, f"{fact.text}{fact.mark}"))
        case Findings():
            for entry in block.entries[:5]:
                yield entry.title
                yield from filter(None, (entry.cost, entry.basis))
                yield from (step.command for step in entry.next_steps[:1])
        case Stacks():
            yield from (stack.text for stack in block.stacks)
        case Section():
            yield f"{block.heading}{block.mark}"
        case _:
            pass


def find_missing(document: Sequence[Section], printed: str, has_empty: bool, most: int = 10_000) -> list[str]:
    """Return the texts of a document that a format does not print, looked for one after the other.

    A format may cut texts of more than ``most`` characters.
    """
    missing, position = [], 0
    for section in document:
        if section.is_empty and not has_empty:
            continue
        blocks = iter_blocks(section.blocks if section.is_lead else (section,))
        for text in (text for block in blocks for text in iter_texts(block)):
            words = read_text(printable(text))[:most]
            found = printed.find(words, position)
            if found < 0:
                missing.append(f"{section.id}: {words}")
            else:
                position = found
    return missing


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_format_prints_each_text_of_the_document_in_its_order(format_: str, name: str) -> None:
    extent, read = FORMATS[format_]
    document = [section for section in build_document(sample_analysis(name), extent) if has_words(section)]
    most = 27 if "text" in format_ else 10_000
    assert find_missing(document, read(sample_analysis(name)), format_ == "html", most) == []


def has_words(section: Section) -> bool:
    return any(text for block in iter_blocks(section.blocks) for text in iter_texts(block))


def tables_of(extent: Extent, analysis: Analysis) -> dict[tuple[str, str], list[str]]:
    """Return the cells of each column by section and name, without marks; of tables with a row per call, some."""
    columns = {}
    for section in build_document(analysis, extent):
        for table in (block for block in section.blocks if isinstance(block, Table)):
            columns |= {(section.id, column.name): list(column.texts) for column in table.columns}
    return columns


@pytest.mark.parametrize("name", RECORDINGS)
def test_formats_differ_in_how_much_they_print_and_in_no_digit(name: str) -> None:
    page = tables_of(PAGE, sample_analysis(name))
    for extent in (replace(SHORT_TEXT, is_folded=False), VERBOSE_TEXT, TICKET):
        for column, cells in tables_of(extent, sample_analysis(name)).items():
            count = min(len(cells), len(page[column]))
            if column[1] != "why":  # the letters of reasons, in order of the rows
                assert cells[:count] == page[column][:count], column


@pytest.mark.parametrize("new", ["concurrent-models-ios27", "ane-e5rt-macos26", "text-addresses-ios16"])
def test_a_comparison_is_one_document_too(new: str) -> None:
    comparison = compare(sample_analysis("fallback-midway-ios27"), sample_analysis(new))
    document = comparison_document.build_document(comparison, (), 10)
    for printed in (
        read_text(print_text(document, Page(has_whole_tables=True))),
        read_markdown(comparison_markdown(comparison)),
        read_html("".join(print_html(document).values())),
    ):
        wanted = [section for section in document if section.id != "functions" and has_words(section)]
        assert find_missing(wanted, printed, False) == []
