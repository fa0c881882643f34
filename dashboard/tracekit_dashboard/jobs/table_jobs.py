"""Reading a recording's tables for its page: each once, by a worker, when it is opened first.

The tables are kept beside the results: reading the recording again, or dropping or purging it, removes them::

    recordings/<id>/results/tables/<run>-<number>/   appears whole, by renaming: see ``tables.storing``
                    work-…/                          a table that is being read, and its worker's log
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit_dashboard.errors import Busy, Conflict, NotFound
from tracekit_dashboard.jobs.process import make_work_folder, start_task_process
from tracekit_dashboard.jobs.queue import Job, JobKind, JobQueue, JobStatus
from tracekit_dashboard.jobs.ready_recordings import ReadyRecordings, read_revision, require_unchanged
from tracekit_dashboard.jobs.workers.table import MADE, TableTask
from tracekit_dashboard.library.store import split
from tracekit_dashboard.settings import ServerLimits
from tracekit_dashboard.tables.table_files import CONTENTS, FOLDER

_MAX_WAITING = 16
_MAX_FAILURES = 1_000


class TableFailed(TracekitError):  # noqa: N818
    """Failure to read a table, with the reason as a sentence."""


@dataclass(frozen=True)
class TablePlace:
    """A table by its run and its number in the run's list; the number 0 is the list of all tables."""

    run: int
    number: int

    @property
    def name(self) -> str:
        """The name of its folder or file."""
        return f"{self.run}-{self.number}" if self.number else CONTENTS


class TableJobs:
    """Reads tables and keeps them; safe to use from several threads."""

    def __init__(self, library: ReadyRecordings, queue: JobQueue, limits: ServerLimits) -> None:
        self._library, self._queue, self._limits = library, queue, limits
        self.kind = JobKind(
            "table", "Reading this table", limits.table_workers, priority=1, max_unfinished=_MAX_WAITING
        )
        self._lock = threading.Lock()
        self._failures: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    def find_or_read(
        self, analysis_id: str, place: TablePlace, should_retry: bool = False
    ) -> Path | JobStatus:
        """Return the folder of a stored table, or the file of the list; while it is read, return its status.

        Reading begins with the first call; ``should_retry`` begins it again after a failure. Raises
        ``NotFound`` if the recording is deleted or not ready, ``TableFailed`` with the reason if the table
        cannot be read, ``Conflict`` if the recording's file has changed, ``Busy`` and ``NoSpace``.
        """
        recording_id = self._find_home(analysis_id)
        output = self._library.find_results(recording_id) / FOLDER / place.name
        key = (recording_id, place.name)
        # A failure belongs to one reading of the recording: after the next one, the table is tried again.
        failure_key = (*key, read_revision(self._library, recording_id))
        with self._lock:
            if output.exists():
                return output
            job = self._queue.find(self.kind, key)
            if job is None:
                if should_retry:
                    self._failures.pop(failure_key, None)
                if failure := self._failures.get(failure_key):
                    raise TableFailed(failure)
                require_unchanged(self._library, recording_id, "opened further")
                job = self._queue.submit(self.kind, key, lambda job: self._make_table(job, output, place))
        return job.status

    def _find_home(self, analysis_id: str) -> str:
        """Return the analysis beside which tables are kept: the first one, for all, or else this one."""
        recording_id = split(analysis_id)[0]
        try:
            self._library.find_results(recording_id)
        except NotFound:
            return analysis_id
        return recording_id

    def _make_table(self, job: Job, output: Path, place: TablePlace) -> None:
        recording_id, name = job.key
        revision_before = read_revision(self._library, recording_id)
        try:
            self._read_table(job, output, place, revision_before)
        except (Busy, NotFound):  # the next request starts it again, or reports what has gone
            raise
        except (TracekitError, OSError) as error:
            if not job.cancelled.is_set():
                self._note_failure(
                    (recording_id, name, revision_before),
                    str(error) if isinstance(error, TracekitError) else f"The disk failed: {error.strerror}.",
                )
            raise

    def _note_failure(self, key: tuple[str, str, str], failure: str) -> None:
        with self._lock:
            self._failures[key] = failure
            if len(self._failures) > _MAX_FAILURES:
                self._failures.popitem(last=False)

    def _read_table(self, job: Job, output: Path, place: TablePlace, revision_before: str) -> None:
        recording = self._library.find_recording(job.key[0])
        folder = output.parents[4 if split(recording.id)[1] else 2]
        is_uploaded = recording.origin != "file"
        with make_work_folder(folder, self._limits.free_disk_bytes) as work:
            task = TableTask(
                recording.name,
                os.fsencode(folder / "input" if is_uploaded else recording.path).hex(),
                is_uploaded,
                place.run,
                place.number,
                _find_schema(output.parent / CONTENTS, place),
                self._limits.table_bytes,
            )
            process = start_task_process(
                "tracekit_dashboard.jobs.workers.table",
                [str(work)],
                asdict(task),
                work,
                self._limits.table_seconds,
                self._limits,
            )
            result = job.run(process)
            if not (work / MADE).exists():
                raise TableFailed(
                    result.describe_problem("Reading this table") or "The table was not stored."
                )
            if read_revision(self._library, recording.id) != revision_before:
                raise Conflict(f"{recording.name} was read again meanwhile. Open the table again.")
            output.parent.mkdir(mode=0o700, exist_ok=True)
            (work / MADE).replace(output)
        self._library.note_results(recording.id)


def _find_schema(contents: Path, place: TablePlace) -> str:
    """Return the schema of a table by the list, so that no other is opened; "" if it is not known."""
    try:
        runs = json.loads(contents.read_bytes())["runs"]
        tables = next(run["tables"] for run in runs if run["run"] == place.run)
        table = tables[place.number - 1]
        return "" if table["is_cut"] else str(table["schema"])
    except (OSError, ValueError, LookupError, StopIteration):
        return ""
