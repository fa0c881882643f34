"""The analysis as a page of text for a terminal."""

from __future__ import annotations

from dataclasses import replace

from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.report import wording
from tracekit.report.analysis.document import build_document
from tracekit.report.analysis.extent import SHORT_TEXT, VERBOSE_TEXT, Extent
from tracekit.report.document.text_printer import Page, print_text


@frozen
class TextLayout:
    """The shape of the text: lines of ``width``; all sections and columns if it is verbose.

    Commands in it read ``recording``, the input as the user named it; "" for its name alone; ``files`` are
    the models and plans, as the user named them.
    """

    width: int = 80
    is_verbose: bool = False
    max_windows: int | None = None
    recording: str = ""
    files: tuple[str, ...] = ()

    @property
    def extent(self) -> Extent:
        """The part of an analysis that the text has."""
        extent = VERBOSE_TEXT if self.is_verbose else SHORT_TEXT
        extent = replace(extent, recording=self.recording, files=self.files)
        return extent if self.max_windows is None else replace(extent, most_calls=self.max_windows)


LAYOUT = TextLayout()


def to_text(analysis: Analysis, layout: TextLayout = LAYOUT) -> str:
    """Return the document of an analysis as text, short or verbose."""
    page = Page(layout.width, layout.is_verbose)
    text = print_text(build_document(analysis, layout.extent), page)
    return text if layout.is_verbose else f"{text}\n{page.wrap(_describe_verbose(analysis))}\n"


def _describe_verbose(analysis: Analysis) -> str:
    """Name what the verbose text adds for this recording."""
    has_short = any(finding.severity == "info" for finding in analysis.findings)
    noun = wording.noun_of(analysis.window_rows)
    parts = [
        "what each finding rests on" if has_short else "",
        f"more {noun}s (as --max-windows does) and every column of them" if len(analysis.window_rows) else "",
        "more threads and columns" if analysis.thread_work is not None else "",
        "submissions to the Neural Engine" if analysis.submission_summary else "",
        "the log" if wording.log_lines(analysis.requests) else "",
        "counters" if len(analysis.events) or len(analysis.trace.metrics) else "",
        "what each table shows",
        "the recording in full",
    ]
    adds = f"-v adds {', '.join(part for part in parts if part)}."
    return f"{adds} tracekit explain NAME explains a finding or an issue." if analysis.findings else adds
