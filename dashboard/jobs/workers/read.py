"""``python -m dashboard.jobs.workers.read <library> <id>``: open → analyse → write the pages' data.

The server writes one line of JSON (a ``Task``) to standard input and keeps it open, see ``worker_process``.
The worker prints lines of JSON: ``{"stage": …, "progress": …}``, and ``{"failed": sentence}`` before an end
with exit code 1. The results appear as a whole in ``results/`` of the recording's folder, by renaming.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.jobs import worker_process
from dashboard.jobs.worker_process import Channel
from dashboard.library.inputs import left_out, openable
from dashboard.library.names import one_line
from dashboard.library.reading_results import write_results
from dashboard.library.run_inventory import inventory, write_inventory
from dashboard.library.store import UPLOADED_FILE, Store, split
from dashboard.library.variants import with_files
from tracekit.cli.analysing import analyse_trace, given_windows, recorded_compute_units
from tracekit.cli.analysis_options import AnalysisOptions, Values
from tracekit.errors import InputError, TracekitError
from tracekit.parsers.limits import RAISE_OPTION

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.model.trace import Issue, RunInfo, Trace

_MAX_SENTENCE_LENGTH = 1_000
_MAX_LISTED_FILES = 5


@dataclass(frozen=True)
class Task:
    """The recording to read: ``path`` as ``os.fsencode`` in hex, "" for an upload; ``name`` is for display.

    ``work`` names a folder in the recording's folder, which the server removes at the end. ``options`` are
    those of the variant, as the catalog has them.
    """

    name: str
    path: str
    work: str
    options: Values


def main(folder: str, analysis_id: str) -> int:
    """Make one analysis of a recording and return the exit code."""
    channel = Channel.on_standard_output()
    task = Task(**json.loads(sys.stdin.buffer.readline()))
    worker_process.end_with_server()
    worker_process.limit_resources()
    store = Store(Path(folder))
    recording_id, _variant = split(analysis_id)
    results = store.results(analysis_id)
    work = store.recording(recording_id) / task.work / "results"
    path = Path(os.fsdecode(bytes.fromhex(task.path))) if task.path else store.input(recording_id)
    try:
        work.mkdir(mode=0o700)
        options = with_files(task.options, results.parent)
        opened = read(path, task.name, not task.path, channel, options)
        channel.stage("analysing")
        analysis = analyse_trace(opened.trace, options, opened.recorded_units, given_windows(options))
        channel.stage("writing")
        write_inventory(work, inventory(opened.runs, opened.trace))
        write_results(work, analysis)
        # One renaming makes all results visible at once; whatever ends the worker before it leaves no results
        # at all.
        work.rename(results)
    except (TracekitError, MemoryError, OSError, RecursionError) as error:
        channel.send(failed=sentence(error, task.name, path))
        return 1
    except Exception as error:  # noqa: BLE001 - the page shows a sentence, and the log has the traceback
        traceback.print_exc()
        channel.send(
            failed=f"Reading {task.name} failed because of an error in tracekit ({type(error).__name__})."
            " The file worker.log in the recording's folder of the library has the details."
        )
        return 1
    return 0


def analysed(path: Path, name: str, uploaded: bool, channel: Channel, side: str = "") -> Analysis:
    """Open and analyse a recording; ``side`` is appended to the stages where there are several recordings."""
    opened = read(path, name, uploaded, channel, AnalysisOptions(), side)
    channel.stage(f"analysing{side}")
    return analyse_trace(opened.trace, AnalysisOptions(), opened.recorded_units, [])


@dataclass(frozen=True)
class Opened:
    """One run of a recording, read."""

    trace: Trace
    runs: tuple[RunInfo, ...]
    recorded_units: str
    """The compute units of the journal beside the recording, "" for none."""


def read(
    path: Path, name: str, uploaded: bool, channel: Channel, options: AnalysisOptions, side: str = ""
) -> Opened:
    """Read the run and the table of samples that the options choose, of an upload or of a local file."""
    channel.stage(f"opening{side}")
    from tracekit.detect import open_source
    from tracekit.load import trace_of
    from tracekit.model.schemas import READ_TABLES

    single = path / UPLOADED_FILE
    inputs = [path] if not uploaded else [single] if single.is_file() else openable(path, name)
    source = open_source(
        inputs if len(inputs) > 1 else inputs[0],
        channel,
        schemas=READ_TABLES,
        symbols=options.symbols,
        overlays=options.overlays,
        offset_ns=options.offset_ns,
    )
    trace = trace_of(source, options.run, options.samples, any_table=True)
    if uploaded:  # its name on the disk is one of the library's
        trace = replace(trace, info=replace(trace.info, name=name))
        trace = replace(trace, issues=(*trace.issues, *_ignored_files(path, inputs)))
    return Opened(trace, source.toc(), recorded_compute_units((str(path),)))


def _ignored_files(folder: Path, inputs: list[Path]) -> list[Issue]:
    """Return an issue about files that were uploaded with the recording but are no part of it."""
    from tracekit.model.trace import Issue

    names = left_out(folder, inputs) if folder.is_dir() and folder / UPLOADED_FILE not in inputs else []
    more = f" and {len(names) - _MAX_LISTED_FILES} more" if len(names) > _MAX_LISTED_FILES else ""
    listed = one_line(f"{', '.join(names[:_MAX_LISTED_FILES])}{more}")
    message = f"not read, because these files are no part of the recording: {listed}"
    return [Issue("info", "files-ignored", message)] if names else []


def _for_the_page(advice: str) -> str:
    """Return advice about command-line arguments, worded for people who add files to a page."""
    advice = advice.replace(f"add {RAISE_OPTION}", f"analyze it on the command line with {RAISE_OPTION}")
    return re.sub(r"\b([Nn])ame (?=the |one )", lambda match: "add " if match[1] == "n" else "Add ", advice)


def sentence(error: BaseException, name: str, path: Path) -> str:
    """Return the reason of a failure in words that name the recording and no folder of this machine."""
    if isinstance(error, MemoryError):
        return f"{name} needs more memory than a worker may use."
    if isinstance(error, RecursionError):
        return f"{name} is nested deeper than any recording."
    if isinstance(error, OSError):
        return f"{name} could not be read to its end: {error.strerror or error}."
    text = str(error)
    if isinstance(error, InputError) and Path(error.source).name in (path.name, UPLOADED_FILE):
        text = f"{name}: {error.problem} {_for_the_page(error.advice)}".strip()
    text = text.replace(f"{path / UPLOADED_FILE}/", f"{name}/")  # a file in an archive
    for place in (f"{path}{os.sep}", str(path), f"{path.parent}{os.sep}"):
        text = text.replace(place, "" if place.endswith(os.sep) else name)
    return one_line(text)[:_MAX_SENTENCE_LENGTH]


if __name__ == "__main__":
    worker_process.run(lambda: main(*sys.argv[1:3]))
