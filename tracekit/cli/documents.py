"""Write a document in the format of a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracekit.cli.output import write_output
from tracekit.cli.terminal import measure_text_width

if TYPE_CHECKING:
    from tracekit.report.document.blocks import Section


def print_document(sections: Sequence[Section], file_format: str, output: str) -> str:
    """Print sections as ``text``, as wide as ``output`` allows, or as ``markdown``."""
    if file_format == "markdown":
        from tracekit.report.document.markdown_printer import print_markdown

        return print_markdown(sections)
    from tracekit.report.document.text_printer import Page, print_text

    return print_text(sections, Page(measure_text_width(output)))


def write_document(sections: Sequence[Section], file_format: str, output: str, force: bool) -> None:
    """Write sections as ``text`` or ``markdown``."""
    write_output(print_document(sections, file_format, output), output, force)
