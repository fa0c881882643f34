"""``tracekit collect``: recordings of device farms and test results as a store, reports as rows."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.output import HELP, Progress, write_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import InputError, UsageError
from tracekit.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tracekit.fleet.collect.metrickit import MetricKitReport
    from tracekit.fleet.recording_inputs import RecordingInput

_NOTHING = 3


@click.command("collect", context_settings=HELP, short_help="Collect recordings of CI into a store of packs.")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(), metavar="INPUT...")
@click.option(
    "-o", "--output", "store", metavar="STORE", help="The folder of the packs, made if it is missing."
)
@click.option(
    "--redact",
    is_flag=True,
    help="Leave out other processes, home folders, users, volumes and the device's name.",
)
@click.option(
    "--results",
    metavar="RESULTS",
    help="Append reports of MetricKit to this dataset, as rows of the table field.",
)
def collect_command(inputs: tuple[str, ...], store: str | None, redact: bool, results: str | None) -> None:
    """Collect what CI and the field produce: recordings into STORE, reports of MetricKit into RESULTS.

    INPUT is a recording, a folder of a device farm, an .xcresult bundle (on a Mac: its attachments are
    searched), or a JSON file that MXMetricPayload.jsonRepresentation() wrote. A recording is packed under its
    name and the digest of its content, so that one that is there already, whatever its name, is not
    collected again. What cannot be read is named, and the others are collected.

    \b
    Examples:
      tracekit collect farm/ -o store/
      tracekit collect Tests.xcresult farm/ -o store/ --redact
      tracekit collect metrickit/ --results results/
    """
    if store is None and results is None:
        raise UsageError(
            "Name where it goes: -o STORE for recordings, --results RESULTS for reports of MetricKit."
        )

    from tracekit.fleet.collect.collected_inputs import find_collect_inputs

    found = find_collect_inputs(inputs)
    counts: Counter[str] = Counter()
    problems = list(found.problems)
    with tempfile.TemporaryDirectory(prefix="tracekit-collect-") as folder:
        attached = list(_iter_attached_recordings(found.bundles, Path(folder), problems))
        recordings = [*found.recordings, *attached]
        if store is not None:
            problems += _collect_recordings(recordings, Path(store), redact, counts)
        elif recordings:
            problems.append(f"{plural(len(recordings), 'recording')} not collected: name a store with -o.")
    if results is not None:
        problems += _append_reports(found.reports, results, counts)
    elif found.reports:
        problems.append(f"{plural(len(found.reports), 'report')} of MetricKit not added: name --results.")
    for problem in problems:
        write_message(f"note: {printable(problem)}")
    parts = [f"{count:,} {what}" for what, count in sorted(counts.items())]
    summary = f"{', '.join(parts) or 'nothing collected'}; {plural(len(problems), 'problem')}."
    write_output(f"{summary}\n", "-", force=False)
    if not counts:
        click.get_current_context().exit(_NOTHING)


def _iter_attached_recordings(
    bundles: Sequence[Path], folder: Path, problems: list[str]
) -> Iterator[RecordingInput]:
    """Yield the recordings that are attached to test results."""
    from tracekit.fleet.collect.xcresult import export_attachments
    from tracekit.fleet.recording_inputs import find_recordings

    for number, bundle in enumerate(bundles):
        target = folder / str(number)
        try:
            attachments = export_attachments(bundle, target)
        except (InputError, UsageError) as error:
            problems.append(str(error))
            continue
        traces = [path for path in attachments if path.suffix == ".ktrace"]
        if traces:
            problems.append(
                f"{bundle}: {plural(len(traces), '.ktrace attachment')} not read. On a Mac, xctrace import"
                " makes a .trace of each."
            )
        for path in attachments:
            if path.suffix not in (".ktrace", ".png", ".jpeg", ".jpg", ".heic", ".mp4", ".plist"):
                try:
                    yield from find_recordings([str(path)])
                except UsageError as error:
                    problems.append(str(error))


def _collect_recordings(
    recordings: Sequence[RecordingInput], store: Path, redact: bool, counts: Counter[str]
) -> list[str]:
    from tracekit.fleet.collect.pack_store import ADDED, FAILED, collect

    problems = []
    with Progress(f"Collecting {plural(len(recordings), 'recording')}") as progress:
        for done, collected in enumerate(collect(recordings, store, redact), 1):
            progress(done, len(recordings))
            if collected.reason:
                problems.append(collected.reason)
            if collected.state != FAILED:
                what = "collected" if collected.state == ADDED else "already there"
                counts[what] += 1
    return problems


def _append_reports(reports: Sequence[MetricKitReport], results: str, counts: Counter[str]) -> list[str]:
    from tracekit.fleet.collect.metrickit import build_report_tables
    from tracekit.fleet.dataset import create_dataset
    from tracekit.fleet.dataset_rows import join_tables

    problems, parts = [], []
    for report in {report.content: report for report in reports}.values():
        try:
            parts.append(build_report_tables(report))
        except InputError as error:
            problems.append(str(error))
    if parts:
        create_dataset(results).append(join_tables(parts))
        counts[f"{'report' if len(parts) == 1 else 'reports'} of MetricKit added"] += len(parts)
    return problems
