"""``python -m ….workers.read <library>``: open → analyse → write the pages' data.

The server writes tasks to standard input, one line of JSON (a ``ReadingTask``) each, and keeps it open, see
``worker_process``. The worker prints lines of JSON: ``{"stage": …, "progress": …}``, ``{"done": true}`` if it
waits for another task, and ``{"failed": sentence}`` before an end with exit code 1. The results appear as a
whole in ``results/`` of the recording's or the variant's folder, by renaming.

The recording that was opened last stays in memory: the next task does not read it unless it has changed.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.cli.analysing import (
    add_models,
    analyse_trace,
    find_recorded_units,
    parse_given_windows,
    read_model_files,
)
from tracekit.cli.analysis_options import AnalysisOptions, Values
from tracekit.errors import InputError
from tracekit_dashboard.jobs import worker_process
from tracekit_dashboard.jobs.worker_process import Channel
from tracekit_dashboard.jobs.workers.failures import run_and_report
from tracekit_dashboard.library.history_rows import write_history_rows
from tracekit_dashboard.library.outside_names import make_one_line
from tracekit_dashboard.library.reading_results import write_results
from tracekit_dashboard.library.run_inventory import build_inventory, write_inventory
from tracekit_dashboard.library.store import TEMPORARY, UPLOADED_FILE, Store, split
from tracekit_dashboard.library.uploaded_inputs import compute_fingerprint, find_inputs, list_left_out
from tracekit_dashboard.library.variants import FILES, with_files

if TYPE_CHECKING:
    from tracekit.analysis.model_join.given_files import GivenFiles
    from tracekit.analysis.result import Analysis
    from tracekit.model.trace import Issue, RunInfo, Trace

_MAX_LISTED_FILES = 5
_ANALYSIS_OPTIONS = (
    *("process", "thread", "window", "windows", "windows-csv", "window-signpost", "markers"),
    "request-spans",
    *("compute-units", "model", "plan"),
)
"""The options that choose what is analyzed of a trace; with another value of any other, it is read again."""


@dataclass(frozen=True)
class ReadingTask:
    """An analysis to make: ``analysis`` is its id, ``options`` are those of the variant in the catalog.

    ``path`` of the recording is ``os.fsencode`` in hex, "" for an upload; ``name`` is for display. ``work``
    names a folder in the recording's folder, which the server removes at the end; "" only opens the
    recording. Afterwards the worker waits for another task, unless it took more memory than ``stay_bytes``.
    """

    analysis: str
    name: str
    path: str
    work: str
    options: Values
    stay_bytes: int


@dataclass(frozen=True)
class Opened:
    """One run of a recording, read."""

    trace: Trace
    runs: tuple[RunInfo, ...]


def run_tasks(folder: str) -> int:
    """Do tasks until one fails, or the process has grown too large, and return the exit code."""
    channel = Channel.on_standard_output()
    reader = _TaskReader(Store(Path(folder)), channel)
    for values in worker_process.iter_tasks():
        task = ReadingTask(**values)
        code = reader.do_task(task)
        if code or worker_process.measure_peak_bytes() > task.stay_bytes:
            return code
        channel.send(done=True)
    return 0


class _TaskReader:
    """Makes analyses; ``_opened`` is the run that was read last, and ``_key`` what it was read from."""

    def __init__(self, store: Store, channel: Channel) -> None:
        self._store, self._channel = store, channel
        self._key: tuple[Any, ...] = ()
        self._opened: Opened | None = None

    def do_task(self, task: ReadingTask) -> int:
        """Do a task and return the exit code; a failure is sent to the server."""
        folder = self._store.recording_folder(split(task.analysis)[0])
        path = Path(os.fsdecode(bytes.fromhex(task.path))) if task.path else folder / "input"
        worker_process.use_temporary(
            folder / task.work / TEMPORARY if task.work else self._store.make_scratch_folder()
        )

        def unforeseen(error: str) -> str:
            begin = f"Reading {task.name} failed because of an error in tracekit ({error})."
            return f"{begin} The file worker.log in the recording's folder of the library has the details."

        return run_and_report(
            lambda: self._analyse_task(task, path, folder / task.work),
            self._channel,
            task.name,
            path,
            unforeseen,
        )

    def _analyse_task(self, task: ReadingTask, path: Path, work: Path) -> None:
        results = self._store.results(task.analysis)
        options = with_files(task.options, results.parent)
        files = _read_given_files(options, task.options, results.parent)
        opened = self._read_task(task, path, options)
        if not task.work:
            return
        draft = work / "results"
        draft.mkdir(mode=0o700)
        self._channel.begin_stage("analysing")
        analysis = _analyse_run(opened.trace, path, options, files)
        self._channel.begin_stage("writing")
        write_inventory(draft, build_inventory(opened.runs, opened.trace))
        write_results(draft, analysis)
        if not split(task.analysis)[1]:
            write_history_rows(draft, analysis, path, find_inputs(path, task.name, not task.path))
        # One renaming makes all results visible at once; whatever ends the worker before it leaves no results
        # at all.
        draft.rename(results)

    def _read_task(self, task: ReadingTask, path: Path, options: AnalysisOptions) -> Opened:
        # The state before reading: what changes meanwhile is read again by the next task.
        reading = {name: value for name, value in task.options.items() if name not in _ANALYSIS_OPTIONS}
        key = (path, compute_fingerprint(path), task.name, reading)
        if self._opened is None or key != self._key:
            self._opened = None  # the memory of the earlier one is free before the next is read
            self._opened = read_run(path, task.name, not task.path, self._channel, options)
            self._key = key
        return self._opened


def _read_given_files(options: AnalysisOptions, values: Values, folder: Path) -> GivenFiles | None:
    """Return the model and the plan of a variant, whose folder this is; errors have the files' own names."""
    try:
        return read_model_files(options)
    except InputError as error:
        names = {
            str(folder / FILES[option]): values[option]["name"] for option in FILES.keys() & values.keys()
        }
        raise InputError(names.get(error.source, error.source), error.problem, error.advice) from error


def _analyse_run(
    trace: Trace, path: Path, options: AnalysisOptions, files: GivenFiles | None = None
) -> Analysis:
    inputs = (str(path),)
    analysis = analyse_trace(trace, options, find_recorded_units(inputs), parse_given_windows(options))
    return add_models(analysis, inputs, files)


def read_and_analyse(path: Path, name: str, uploaded: bool, channel: Channel, side: str = "") -> Analysis:
    """Open and analyse a recording; ``side`` is appended to the stages where there are several recordings."""
    opened = read_run(path, name, uploaded, channel, AnalysisOptions(), side)
    channel.begin_stage(f"analysing{side}")
    return _analyse_run(opened.trace, path, AnalysisOptions())


def read_run(
    path: Path, name: str, uploaded: bool, channel: Channel, options: AnalysisOptions, side: str = ""
) -> Opened:
    """Read the run and the table of samples that the options choose, of an upload or of a local file."""
    channel.begin_stage(f"opening{side}")
    from tracekit.detect import open_source
    from tracekit.load import trace_of
    from tracekit.model.schemas import READ_TABLES

    inputs = find_inputs(path, name, uploaded)
    source = open_source(
        inputs if len(inputs) > 1 else inputs[0],
        channel,
        schemas=READ_TABLES,
        symbols=options.symbols,
        overlays=options.overlays,
        offset_ns=options.offset_ns,
    )
    trace = trace_of(source, options.run, options.samples)
    if uploaded:  # its name on the disk is one of the library's
        trace = replace(trace, info=replace(trace.info, name=name))
        trace = replace(trace, issues=(*trace.issues, *_report_ignored_files(path, inputs)))
    return Opened(trace, source.toc())


def _report_ignored_files(folder: Path, inputs: list[Path]) -> list[Issue]:
    """Return an issue about files that were uploaded with the recording but are no part of it."""
    from tracekit.model.trace import Issue

    names = list_left_out(folder, inputs) if folder.is_dir() and folder / UPLOADED_FILE not in inputs else []
    more = f" and {len(names) - _MAX_LISTED_FILES} more" if len(names) > _MAX_LISTED_FILES else ""
    file_list = make_one_line(f"{', '.join(names[:_MAX_LISTED_FILES])}{more}")
    message = f"not read, because these files are no part of the recording: {file_list}"
    return [Issue("info", "files-ignored", message)] if names else []


if __name__ == "__main__":
    worker_process.run_worker(lambda: run_tasks(sys.argv[1]))
