"""``tracekit spread``: how much runs of a program differ, and which changes comparisons decide."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import click

from tracekit.cli.analysing import add_analysis_options, analyse
from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.cli.documents import write_document
from tracekit.cli.noise import is_library, list_library_programs
from tracekit.cli.output import HELP, add_document_options, write_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import NotMeasurableError, UsageError
from tracekit.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracekit.analysis.result import Analysis
    from tracekit.comparison.program_spread import NumberSpread
    from tracekit.report.document.blocks import Section

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json"}


@click.command("spread", context_settings=HELP, short_help="Show how much runs of a program differ.")
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True, type=click.Path())
@add_analysis_options
@add_document_options(_FORMATS)
def spread_command(
    inputs: tuple[str, ...],
    file_format: str,
    options: AnalysisOptions,
    output: str,
    force: bool,
) -> None:
    """Show how much runs of one program differ, and the smallest changes that comparisons decide.

    Each INPUT is one run of the same build, or one INPUT is the folder of a dashboard's library, whose
    recordings are taken apart by program, device, system and build.

    \b
    Examples:
      tracekit spread run1.trace run2.trace run3.trace run4.trace run5.trace
      tracekit spread ~/library

    Exit codes: 0; 5 if no two runs of a build have a number in common.
    """
    programs = _measure_programs(_collect_programs(inputs, options), ", ".join(inputs))
    if file_format == "json":
        from tracekit.report.spread.json import to_json

        write_output(to_json(programs), output, force, is_document=True)
        return
    from tracekit.report.spread.document import build_spread

    sections: list[Section] = []
    for name, builds, spreads in programs:
        sections += build_spread(name, spreads, builds)
    write_document(sections, file_format, output, force)


def _collect_programs(
    inputs: Sequence[str], options: AnalysisOptions
) -> list[tuple[str, list[tuple[Analysis, ...]]]]:
    """Return the recordings of each program, in groups of one build."""
    if any(map(is_library, inputs)):
        if len(inputs) > 1:
            raise UsageError(
                "A library is read by itself: give its folder alone, or recordings of one build."
            )
        return list_library_programs(inputs[0], options)
    if inputs.count("-") > 1:
        raise UsageError("Standard input can be one of the recordings, not several.")
    if len(inputs) < 2:
        raise UsageError(
            "One recording shows no spread between runs: give two or more, or a library's folder."
        )
    analyses = [analyse((path,), options) for path in inputs]
    names = sorted({analysis.trace.info.process for analysis in analyses} - {""})
    if len(names) > 1:
        raise UsageError(f"Runs of one program are needed; these are of {printable(' and '.join(names))}.")
    infos = [analysis.trace.info for analysis in analyses]
    places = sorted({f"{info.device or 'a device'} ({info.platform} {info.os})" for info in infos})
    if len(places) > 1:
        listed = printable(", ".join(places))
        write_message(
            f"note: the runs are of several devices or systems, which differ by more than runs do: {listed}."
        )
    return [(names[0] if names else "", _group_by_build(analyses))]


def _group_by_build(analyses: Sequence[Analysis]) -> list[tuple[Analysis, ...]]:
    """Return recordings in groups with the same main binary; those that do not show it are one group."""
    from tracekit.comparison.builds import find_program_binaries

    groups: defaultdict[str, list[Analysis]] = defaultdict(list)
    for analysis in analyses:
        binaries = find_program_binaries(analysis.trace)
        groups["" if isinstance(binaries, str) else next(iter(binaries.values()))].append(analysis)
    return [tuple(group) for group in groups.values()]


def _measure_programs(
    programs: Sequence[tuple[str, list[tuple[Analysis, ...]]]], source: str
) -> list[tuple[str, int, list[NumberSpread]]]:
    from tracekit.comparison.program_spread import measure_spreads, select_alike

    measured = []
    for name, builds in programs:
        alike, others = select_alike(builds)
        if others:
            write_message(
                f"note: {plural(others, 'run')} not used: without calls, or with calls of another kind."
            )
        if spreads := measure_spreads(alike):
            measured.append((name, len(alike), spreads))
    if not measured:
        raise NotMeasurableError(
            f"{source}: no two different runs of a build have calls of the same model, five or more (ten"
            " for a p90), so nothing shows a spread between runs."
        )
    return measured
