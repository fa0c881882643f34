"""One recording → its rows, or the reason why there are none: what a worker of either pool does."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from tracekit.analysis import analyze
from tracekit.analysis.result import Analysis
from tracekit.detect import open_source
from tracekit.errors import InputError, TracekitError, UsageError
from tracekit.fleet import stores
from tracekit.fleet.content_hashes import compute_fingerprint, digest_content
from tracekit.fleet.dataset_rows import (
    Origin,
    Tables,
    build_analysis_tables,
    build_failure_tables,
    join_tables,
    pack_tables,
    unpack_tables,
)
from tracekit.fleet.recording_inputs import RecordingInput
from tracekit.fleet.schema import ANALYZED, FAILED
from tracekit.frozen import frozen
from tracekit.load import trace_of
from tracekit.model.schemas import READ_TABLES
from tracekit.model.trace import Trace
from tracekit.parsers.limits import DEFAULT_LIMITS
from tracekit.parsers.source import Source
from tracekit.record.journal import read_recorded_compute_units
from tracekit.text import printable


@frozen
class AnalysisChoice:
    """The options of all analyses of a run: those of ``tracekit analyze`` that fit many recordings."""

    process: str | None = None
    signposts: tuple[str, ...] = ()
    markers: str | None = None
    compute_units: str | None = None
    symbols: tuple[str, ...] = ()
    limits_factor: int = 1

    def to_text(self) -> str:
        """Return the options that are chosen as JSON, "" for none."""
        chosen_options = {
            name: value for name, value in asdict(self).items() if value != getattr(AnalysisChoice(), name)
        }
        return json.dumps(chosen_options, sort_keys=True) if chosen_options else ""


@frozen
class FleetTask:
    """A recording to analyze. ``content`` is its SHA-256, "" where the worker finds it, of an object."""

    recording: RecordingInput
    content: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    choice: AnalysisChoice = AnalysisChoice()

    def make_origin(self, content: str = "") -> Origin:
        """Return what the rows have of the recording besides its analysis."""
        return Origin(self.recording.address, content or self.content, self.labels, self.choice.to_text())


@frozen
class TaskOutcome:
    """The result of a task: the rows, and for a recording that was not analyzed the reason."""

    task: FleetTask
    content: str
    state: str
    tables: Tables
    reason: str = ""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "tables": pack_tables(self.tables)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, tables=unpack_tables(state["tables"]))


def run_task(task: FleetTask) -> TaskOutcome:
    """Analyze every run of a recording. No error of a recording leaves this function."""
    content = task.content
    path = Path(task.recording.address)
    try:
        task.recording.require_readable()
        with ExitStack() as stack:
            fingerprint_before = compute_fingerprint(task.recording)
            path, members = _fetch_recording(task, stack)
            content = content or digest_content(path, members)
            tables = _build_tables(task, content, path, members)
            _require_unchanged(task.recording, fingerprint_before)
    except TracekitError as error:
        # The path of a copy that is gone helps nobody: the object has the address.
        reason = str(error).replace(printable(str(path)), printable(task.recording.address))
        return make_failure(task, reason, content)
    except MemoryError:
        return make_failure(task, "It needs more memory than a worker may use: raise --memory.", content)
    except Exception as error:  # noqa: BLE001 - a defect of tracekit, which shall not end the batch
        reason = f"tracekit failed: {type(error).__name__}: {printable(str(error))}. Please report this."
        return make_failure(task, reason, content)
    return TaskOutcome(task, content, ANALYZED, tables)


def _require_unchanged(recording: RecordingInput, fingerprint_before: str) -> None:
    if compute_fingerprint(recording) != fingerprint_before:
        raise InputError(
            printable(recording.address),
            "changed while it was read: it may be half uploaded.",
            "Run again when it is whole.",
        )


def make_failure(task: FleetTask, reason: str, content: str = "", state: str = FAILED) -> TaskOutcome:
    """Return the outcome of a recording that was not analyzed."""
    known = content or task.content
    return TaskOutcome(
        task, known, state, build_failure_tables(task.make_origin(known), state, reason), reason
    )


def _fetch_recording(task: FleetTask, stack: ExitStack) -> tuple[Path, tuple[str, ...]]:
    """Return the recording on this machine's disk: its path, and those of its files that count."""
    recording = task.recording
    if not recording.is_remote:
        return Path(recording.address), recording.members
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tracekit-fleet-")))
    most_bytes = stores.MAX_BYTES * task.choice.limits_factor
    copy = stores.copy_to(folder, recording.address, recording.members, most_bytes)
    is_bundle = copy.name.endswith(".trace")
    members = () if is_bundle else tuple(str(path) for path in sorted(copy.glob("*")))
    return copy, members if copy.is_dir() else ()


def _build_tables(task: FleetTask, content: str, path: Path, members: tuple[str, ...]) -> Tables:
    """Return the rows of every run; a run that cannot be analyzed is a failure of its own beside others."""
    choice, origin = task.choice, task.make_origin(content)
    source = open_source(
        list(members) or str(path),
        schemas=READ_TABLES,
        limits=DEFAULT_LIMITS.times(choice.limits_factor),
        symbols=choice.symbols,
    )
    compute_units = choice.compute_units or read_recorded_compute_units(path)
    runs = _list_runs(source)
    parts: list[Tables] = []
    for run in runs:
        try:
            analysis = _analyze_trace(trace_of(source, run), choice, compute_units)
        except (InputError, UsageError) as error:
            if len(runs) == 1:
                raise
            parts.append(build_failure_tables(origin, FAILED, str(error), run))
        else:
            parts.append(build_analysis_tables(analysis, origin))
    return join_tables(parts)


def _analyze_trace(trace: Trace, choice: AnalysisChoice, compute_units: str) -> Analysis:
    return analyze(
        trace,
        signposts=choice.signposts,
        process=choice.process,
        markers=choice.markers,
        compute_units=compute_units,
    )


def _list_runs(source: Source) -> list[int | None]:
    """Return the runs that hold rows; the first one where none is known to, so that its error is stated."""
    runs = [run.info.run for run in source.toc() if any(table.row_count for table in run.tables)]
    return [*runs] or [None]
