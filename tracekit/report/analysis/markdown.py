"""The analysis as Markdown for a ticket of one or two screens."""

from __future__ import annotations

from tracekit.analysis.result import Analysis
from tracekit.report.analysis.document import build_document
from tracekit.report.analysis.extent import TICKET
from tracekit.report.document.markdown_printer import escape_text, print_markdown
from tracekit.report.viewmodel.view import Extras
from tracekit.text import format_ms

_LONGEST_NOTE = 4_000


def to_markdown(analysis: Analysis, extras: Extras | None = None) -> str:
    """Return the document below a title, the writer's note and link, and the notes with their times."""
    extras = extras or Extras()
    summary, *sections = build_document(analysis, TICKET, extras.commands)
    notes = (f"- {format_ms(note.time_ns)}: {escape_text(note.text, _LONGEST_NOTE)}" for note in extras.notes)
    head = [
        f"### {escape_text(extras.title or analysis.trace.info.name)}",
        print_markdown([summary]).rstrip("\n"),
        escape_text(extras.note, _LONGEST_NOTE),
        "\n".join(notes),
        f"<{extras.web_link}>" if extras.web_link else "",
    ]
    return "\n\n".join([*filter(None, head), print_markdown(sections, 4)])
