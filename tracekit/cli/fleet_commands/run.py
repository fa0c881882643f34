"""``tracekit fleet run``: many recordings into one dataset of results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from tracekit.cli.output import HELP, Progress, add_limits_option, add_symbols_option, write_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import InputError, UsageError
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.text import plural, printable

if TYPE_CHECKING:
    from tracekit.fleet.fleet_run import Pool, RunSummary
    from tracekit.fleet.labels import LabelSources
    from tracekit.fleet.task import AnalysisChoice, FleetTask
    from tracekit.parsers.limits import Limits

_MAX_LISTED_RECORDINGS = 20
_MIN_MEMORY_BYTES = 1 << 30
_BYTES_PER_GB = 1e9


@click.command("run", context_settings=HELP, short_help="Analyze many recordings into one dataset.")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o", "--output", required=True, metavar="RESULTS", help="The dataset: a folder, made if missing."
)
@click.option(
    "--workers", type=click.IntRange(1, 512), metavar="N", help="Processes (default: one per core)."
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0.25),
    metavar="GB",
    help="Memory of each process; Linux only (default: its part of three quarters of the machine's).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="A recording that takes longer is set aside; 0 is no limit.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler: tcp://HOST:8786."
)
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME=N",
    help="With --scheduler: what each recording needs of a worker's resources. Repeatable.",
)
@click.option(
    "--labels-from-name",
    metavar="PATTERN",
    help="Labels in the names: {app}-{build}-{device}, {device}/{app}-{build}. The column build is the label"
    " build.",
)
@click.option(
    "--labels",
    "table",
    type=click.Path(),
    metavar="FILE",
    help="A CSV of labels: a column recording (the name) or path, and one for each label.",
)
@click.option("--label", "given", multiple=True, metavar="NAME=VALUE", help="A label of all. Repeatable.")
@click.option("--retry-failed", is_flag=True, help="Try recordings again that failed in an earlier run.")
@click.option("--process", metavar="NAME|PID", help="Only this process of each recording.")
@click.option(
    "--window-signpost",
    "signposts",
    multiple=True,
    metavar="PATTERN",
    help="Calls are the signpost intervals subsystem/category/name, with * for anything. Repeatable.",
)
@click.option("--markers", type=click.Path(), metavar="FILE", help="Rules of your own, tried before others.")
@click.option(
    "--compute-units",
    type=click.Choice(COMPUTE_UNITS, case_sensitive=False),
    help="The compute units that the app requests from Core ML (default: those of each recording's journal).",
)
@add_symbols_option
@add_limits_option
def run_command(
    inputs: tuple[str, ...],
    output: str,
    limits: Limits,
    retry_failed: bool,
    scheduler: str | None,
    **options: Any,
) -> None:
    """Analyze many recordings into one dataset; what it has already is not analyzed again.

    INPUT is a recording, a folder to search, a glob, @LIST (a file with an input per line), or an address
    such as s3://bucket/traces. Exports of one recording lie in a folder of their own, or begin like its table
    of contents: X-toc.xml. A recording counts once, whatever its names. Labels also come from a file beside
    it: X.trace.labels.json.

    Run it again after an interruption, with more recordings, or with a later tracekit. Recordings that cannot
    be read are rows with their reason, and named; the exit code is 0 unless none could be read (3).

    \b
    Examples:
      tracekit fleet run traces/ -o results/
      tracekit fleet run 'lab/**/*.trace.zip' -o results/ --labels-from-name '{app}-{build}-{device}'
      tracekit fleet run @nightly.txt s3://lab/runs -o results/ --labels labels.csv --workers 8
      tracekit fleet run traces/ -o results/ --scheduler tcp://127.0.0.1:8786
    """
    from tracekit.fleet.dataset import create_dataset
    from tracekit.fleet.fleet_run import RunSummary, run_fleet

    if not scheduler and options["resources"]:
        raise UsageError("--resource is for a cluster: name its --scheduler.")
    tasks, notes = _plan_tasks(inputs, _label_sources(options), _make_choice(limits, options))
    pool = _make_cluster_pool(scheduler, options["resources"]) if scheduler else _make_local_pool(options)
    dataset = create_dataset(output)
    summary = RunSummary(notes=notes)
    try:
        with _Stages() as stages:
            run_fleet(dataset, tasks, pool, stages, retry_failed=retry_failed, summary=summary)
    except BaseException:
        if summary.analyzed:
            write_message(
                f"{plural(summary.analyzed, 'recording')} analyzed before this. Run the same command again:"
                " the others follow."
            )
        raise
    write_output("\n".join([*_format_summary(summary, output), ""]), "-", force=False)
    if summary.is_empty:
        raise InputError(
            printable(output), "none of the recordings could be analyzed.", "See their reasons above."
        )


class _Stages(ExitStack):
    """The progress of each stage of a run, one after another."""

    def __init__(self) -> None:
        super().__init__()
        self._stage = ""
        self._progress = Progress("")

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._stage = stage
            self.pop_all().close()
            self._progress = self.enter_context(Progress(f"{stage} {plural(total, 'recording')}"))
        self._progress(done, total)


def _label_sources(options: dict[str, Any]) -> LabelSources:
    from tracekit.fleet.labels import LabelSources, NamePattern, parse_labels

    pattern = (
        NamePattern.from_text(options["labels_from_name"])
        if options["labels_from_name"] is not None
        else None
    )
    return LabelSources(pattern, options["table"] or "", parse_labels(options["given"]))


def _make_choice(limits: Limits, options: dict[str, Any]) -> AnalysisChoice:
    from tracekit.fleet.task import AnalysisChoice
    from tracekit.parsers.limits import DEFAULT_LIMITS

    return AnalysisChoice(
        options["process"],
        options["signposts"],
        os.path.abspath(options["markers"]) if options["markers"] else None,  # noqa: PTH100 - links stay
        options["compute_units"],
        tuple(os.path.abspath(path) for path in options["symbols"]),  # noqa: PTH100
        limits.documents // DEFAULT_LIMITS.documents,
    )


def _plan_tasks(
    inputs: tuple[str, ...], sources: LabelSources, choice: AnalysisChoice
) -> tuple[list[FleetTask], list[str]]:
    from tracekit.fleet.labels import collect_labels
    from tracekit.fleet.recording_inputs import find_recordings
    from tracekit.fleet.task import FleetTask

    recordings = find_recordings(inputs)
    labelled = collect_labels(recordings, sources)
    pairs = zip(recordings, labelled.labels, strict=True)
    return [FleetTask(recording, "", labels, choice) for recording, labels in pairs], list(labelled.notes)


def _make_local_pool(options: dict[str, Any]) -> Pool:
    from tracekit.fleet.local import LocalLimits, LocalPool

    workers = options["workers"] or _count_cores()
    memory_bytes = round((options["memory"] or 0) * _BYTES_PER_GB) or _divide_memory(workers)
    return LocalPool(LocalLimits(workers, memory_bytes, options["timeout"]))


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _divide_memory(workers: int) -> int:
    """Return the memory of each worker in bytes; 0, which is no limit, where the machine's is not known."""
    try:
        total_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
    return max(_MIN_MEMORY_BYTES, total_bytes * 3 // 4 // workers)


def _make_cluster_pool(scheduler: str, resources: tuple[str, ...]) -> Pool:
    from tracekit.fleet.cluster import DaskPool

    amounts: dict[str, float] = {}
    for text in resources:
        name, _, number = text.partition("=")
        try:
            amounts[name] = float(number)
        except ValueError:
            raise UsageError(f"--resource is NAME=N with a number, not '{printable(text)}'.") from None
    return DaskPool(scheduler, amounts)


def _format_summary(summary: RunSummary, output: str) -> Iterator[str]:
    """Yield the lines that state what a run did."""
    counts = [
        plural(summary.analyzed, "recording") + " analyzed",
        *([f"{summary.present:,} already there"] if summary.present else []),
    ]
    failed = len(summary.failed) + len(summary.killed) + len(summary.failed_before)
    if summary.duplicates:
        counts.append(f"{len(summary.duplicates):,} the same as others")
    if failed:
        counts.append(f"{failed:,} that could not be analyzed")
    yield f"{printable(output)}: {', '.join(counts)}."
    for title, failures in (
        ("Could not be analyzed", summary.failed),
        ("Set aside", summary.killed),
        ("Failed in an earlier run, and not tried again without --retry-failed", summary.failed_before),
    ):
        yield from _list_failures(
            title, [(address, _strip_address(reason, address)) for address, reason in failures]
        )
    copies = [(address, f"the same as {counted_address}") for address, counted_address in summary.duplicates]
    yield from _list_failures("The same recording under several names, counted once", copies)
    yield from summary.notes


def _list_failures(title: str, pairs: list[tuple[str, str]]) -> Iterator[str]:
    if not pairs:
        return
    yield f"{title}:"
    for address, text in pairs[:_MAX_LISTED_RECORDINGS]:
        yield f"  {printable(address)}: {printable(text)}"
    if len(pairs) > _MAX_LISTED_RECORDINGS:
        yield f"  and {len(pairs) - _MAX_LISTED_RECORDINGS:,} more"


def _strip_address(reason: str, address: str) -> str:
    """Return a reason without the address, its name or its folder's name, because the line begins so."""
    path = printable(address)
    for beginning in (f"{path}: ", f"{path}/", *(f"{name}: " for name in path.split("/")[-2:])):
        if reason.startswith(beginning):
            return reason.removeprefix(beginning)
    return reason
