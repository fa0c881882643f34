"""The introduction to the recordings that come with the package."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.report.document.blocks import Command, Item, Items, Paragraph, Section
from tracekit.samples import SampleRecording
from tracekit.text import format_shell_command


def build_introduction(samples: Sequence[SampleRecording]) -> list[Section]:
    """Return what each recording illustrates, what to look at, and the commands to go on with."""
    introduction = Paragraph(
        "Two recordings come with tracekit. They are made up, so that what happened in them is known."
    )
    lead = Section("samples", "Sample recordings", (introduction,), is_lead=True)
    return [lead, *(_build_section(sample) for sample in samples)]


def _build_section(sample: SampleRecording) -> Section:
    path = str(sample.path)
    return Section(
        sample.path.stem,
        sample.path.name,
        (
            Paragraph(sample.subject),
            Items(tuple(map(Item, sample.details))),
            Command(format_shell_command(["tracekit", "analyze", path])),
            Command(format_shell_command(["tracekit", "report", path, "-o", f"{sample.path.stem}.html"])),
        ),
    )
