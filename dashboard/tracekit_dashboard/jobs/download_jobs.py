"""Files made of a ready recording: reports, tables, profiles for other tools.

Each is made by tracekit's own command line in a worker process, and kept beside the results: reading the
recording again, or purging it, removes both::

    recordings/<id>/results/downloads/<file>     appears whole, by renaming
                    work-…/                      a file that is being made, and its worker's log
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from pathlib import Path

from tracekit.errors import TracekitError, UsageError
from tracekit.text import printable
from tracekit_dashboard.errors import Busy, Conflict
from tracekit_dashboard.jobs.download_formats import DownloadFormat
from tracekit_dashboard.jobs.process import (
    ProcessResult,
    WorkerProcess,
    find_worker_memory_bytes,
    make_work_folder,
)
from tracekit_dashboard.jobs.queue import Job, JobCancelled, JobKind, JobQueue
from tracekit_dashboard.jobs.ready_recordings import ReadyRecordings, read_revision, require_unchanged
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.outside_names import make_one_line
from tracekit_dashboard.library.reading_results import PROCESSES
from tracekit_dashboard.library.store import TEMPORARY, UPLOADED_FILE, split
from tracekit_dashboard.library.uploaded_inputs import find_openable
from tracekit_dashboard.settings import ServerLimits

_FOLDER = "downloads"
_MAX_WAITING_REQUESTS = 2
"""Requests that wait for a file that is being made: each occupies one of the server's few threads."""
_MAX_SENTENCE_LENGTH = 1_000
_MAX_NAME_BYTES = 200
# tracekit infers an input's kind from these endings; an upload's kind is inferred from its content alone.
_ENDINGS = re.compile(r"(\.(trace|tracekit|zip|tar|gz|tgz|bz2|xz|xml))+$", re.IGNORECASE)
_ERROR = re.compile(r"^Error: (.*(?:\n  .*)*)", re.MULTILINE)


class DownloadFailed(TracekitError):  # noqa: N818
    """Failure to make a file, with the reason as a sentence."""


class Downloads:
    """Makes files, a few at once, and keeps them; safe to use from several threads."""

    def __init__(self, library: ReadyRecordings, queue: JobQueue, limits: ServerLimits) -> None:
        self._library, self._queue, self._limits = library, queue, limits
        self._lock = threading.Lock()
        # No more jobs than run at once: each that waits would occupy a thread of the server.
        self.kind = JobKind(
            "download", "This download", limits.downloads, priority=1, max_unfinished=limits.downloads
        )
        self._joined = 0

    def list_processes(self, recording_id: str) -> list[tuple[int, str]]:
        """Return pid and name of the processes to choose from before redacting; mostly none."""
        try:
            pairs = json.loads((self._library.find_results(recording_id) / PROCESSES).read_bytes())
        except FileNotFoundError:
            return []
        return [(int(pid), str(name)) for pid, name in pairs]

    def find_or_make(
        self, recording_id: str, file_format: DownloadFormat, redact: bool = False, process: str = ""
    ) -> Path:
        """Return the file; it is made if it does not exist, once for all who request it meanwhile.

        ``process`` is the pid to keep, one of those that ``list_processes`` lists. Raises ``NotFound`` if the
        recording is deleted or not ready, ``UsageError`` for a process that it does not have, ``Conflict``
        if its file has changed since it was read, ``Busy``, ``NoSpace`` and ``DownloadFailed``.
        """
        results = self._library.find_results(recording_id)
        if redact:
            self._check_process(recording_id, process)
        notes = _build_note_options(self._library, recording_id) if file_format.has_notes else ()
        name = file_format.build_file_name(file_format.name + _build_notes_suffix(notes), redact, process)
        output = results / _FOLDER / name
        redacting = (*(("--redact",) if redact else ()), *(("--process", process) if process else ()))
        options = (*self._library.build_arguments(recording_id), *redacting, *notes)
        key = (*split(recording_id), output.name)
        with self._lock:
            if output.is_file():
                return output
            # All who request the same file meanwhile join one job. Each of them occupies a thread of the
            # server, so their number is bounded like that of the jobs.
            joins = self._queue.find(self.kind, key) is not None
            if joins and self._joined >= _MAX_WAITING_REQUESTS:
                raise Busy("Other downloads are being made. Try again in a moment.")
            job = self._queue.submit(
                self.kind, key, lambda job: self._make_file(job, recording_id, output, file_format, options)
            )
            self._joined += joins
        try:
            job.done.result()
        except JobCancelled:
            self._library.find_results(recording_id)  # raises if the recording was deleted
            raise Conflict("The dashboard is ending.") from None
        finally:
            with self._lock:
                self._joined -= joins
        return output

    def _check_process(self, recording_id: str, process: str) -> None:
        pids = {str(pid) for pid, _name in self.list_processes(recording_id)}
        if pids and not process:
            name = self._library.find_recording(recording_id).name
            raise UsageError(
                f"{name} is a recording of all processes. Choose the one to keep on its page, below Download,"
                " and then redact."
            )
        if process and process not in pids:
            raise UsageError("This recording offers no choice of such a process.")

    def _make_file(
        self,
        job: Job,
        recording_id: str,
        output: Path,
        file_format: DownloadFormat,
        options: tuple[str, ...],
    ) -> None:
        results = self._library.find_results(recording_id)
        recording = require_unchanged(self._library, recording_id, "exported")
        revision_before = read_revision(self._library, recording_id)
        folder = results.parents[2 if split(recording_id)[1] else 0]
        try:
            with make_work_folder(folder, self._limits.free_disk_bytes) as work:
                draft = work / f"made{file_format.ending}"
                inputs = map(str, _find_inputs(recording, folder, work))
                self._run_command(
                    [*file_format.command, *options, "-o", str(draft), *inputs], job, recording, work
                )
                with draft.open("rb") as file:
                    os.fsync(file.fileno())
                # Made beside the results and moved there at the end, if they are still those from which it
                # was made.
                if read_revision(self._library, recording_id) != revision_before:
                    raise Conflict(f"{recording.name} was read again meanwhile. Request the download again.")
                require_unchanged(self._library, recording_id, "exported")
                output.parent.mkdir(mode=0o700, exist_ok=True)
                draft.replace(output)
            self._library.note_results(recording_id)
        except OSError as error:
            self._library.find_results(recording_id)  # a deleted recording is the reason to report
            text = (
                f"This download of {recording.name} could not be made: {error.strerror or 'the disk failed'}."
            )
            raise DownloadFailed(text) from error

    def _run_command(self, command: list[str], job: Job, recording: Recording, work: Path) -> None:
        """Run tracekit; raise ``DownloadFailed`` unless it succeeds in time."""
        process = WorkerProcess(
            "tracekit_dashboard.jobs.workers.tracekit_command",
            command,
            log=work / "log",
            temporary=work / TEMPORARY,
            seconds=self._limits.download_seconds,
            memory_bytes=self._limits.download_memory_bytes or find_worker_memory_bytes(self._limits),
        )
        result = job.run(process)
        if result.code and job.cancelled.is_set():
            self._library.find_results(recording.id)  # raises if the recording was deleted
            raise Conflict(f"This download of {recording.name} was stopped: the dashboard is ending.")
        if problem := _explain_problem(result, recording, work):
            raise DownloadFailed(problem)


def _build_note_options(library: ReadyRecordings, recording_id: str) -> tuple[str, ...]:
    """Return the options that pin a recording's notes."""
    pinned = ((f"{note.time_ns}ns", note.text) for note in library.notes.list_notes(recording_id))
    return tuple(word for time, text in pinned for word in ("--note-at", time, text))


def _build_notes_suffix(notes: tuple[str, ...]) -> str:
    """Return the suffix of the file name: a digest of the notes, so that other notes give another file."""
    return f"-{hashlib.sha256(json.dumps(notes).encode()).hexdigest()[:12]}" if notes else ""


def _find_inputs(recording: Recording, folder: Path, work: Path) -> list[Path]:
    """Return the command's inputs: a local recording in its place, or an upload."""
    if recording.origin == "file":
        return [Path(recording.path)]
    upload = folder / "input"
    single = upload / UPLOADED_FILE
    if not single.is_file():
        return find_openable(upload, recording.name)
    name = os.fsencode(_ENDINGS.sub("", recording.name))[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
    link = work / "input" / name
    if link.name != name:  # empty, or with a separator
        return [single]
    try:
        link.parent.mkdir(mode=0o700)
        os.link(single, link)  # reports show the file's name
    except (OSError, ValueError):
        return [single]
    return [link]


def _explain_problem(result: ProcessResult, recording: Recording, work: Path) -> str:
    """Return why a command failed: its error message, with the recording's name instead of folders."""
    log = result.read_log_tail()
    errors = _ERROR.findall(log)
    if not result.code or result.timed_out or not errors or "Traceback" in log:
        return result.describe_problem(f"This download of {recording.name}")
    text: str = errors[-1]
    folder = work.parent
    source = Path(recording.path) if recording.path else folder / "input" / UPLOADED_FILE
    text = text.replace(printable(f"{source}{os.sep}"), "").replace(printable(str(source)), recording.name)
    for place in (work / "input", work, folder / "input", folder, source.parent):
        text = text.replace(printable(f"{place}{os.sep}"), "")
    return make_one_line(text)[:_MAX_SENTENCE_LENGTH]
