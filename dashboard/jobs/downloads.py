"""Files made of a ready recording: reports, tables, profiles for other tools.

Each is made by tracekit's own command line in a worker process, and kept beside the results: reading the
recording again, or purging it, removes both::

    recordings/<id>/results/downloads/<file>     appears whole, by renaming
                    work-…/                      a file that is being made, and its worker's log
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
import threading
from pathlib import Path
from typing import Protocol, TypeAlias

from dashboard.errors import Busy, Conflict, NoSpace
from dashboard.jobs.download_formats import DownloadFormat
from dashboard.jobs.process import WorkerProcess, log_tail, worker_memory_bytes
from dashboard.jobs.queue import Job, JobCancelled, JobQueue
from dashboard.library.catalog import Recording
from dashboard.library.inputs import openable
from dashboard.library.names import one_line
from dashboard.library.reading_results import PROCESSES
from dashboard.library.store import TEMPORARY, UPLOADED_FILE, WORK
from dashboard.settings import Limits
from tracekit.errors import TracekitError, UsageError
from tracekit.text import printable

_LOG = logging.getLogger(__name__)
_FOLDER = "downloads"
_MAX_JOINED = 2
"""Requests that wait for a file that is being made: each occupies one of the server's few threads."""
_MAX_SENTENCE_LENGTH = 1_000
_MAX_NAME_BYTES = 200
# tracekit infers an input's kind from these endings; an upload's kind is inferred from its content alone.
_ENDINGS = re.compile(r"(\.(trace|tracekit|zip|tar|gz|tgz|bz2|xz|xml))+$", re.IGNORECASE)
_ERROR = re.compile(r"^Error: (.*(?:\n  .*)*)", re.MULTILINE)
_Key: TypeAlias = tuple[str, Path]
"""The recording's id and the file."""


class DownloadFailed(TracekitError):  # noqa: N818
    """Failure to make a file, with the reason as a sentence."""


class ReadyRecordings(Protocol):
    """The methods of ``Library`` that downloads and comparisons use."""

    def recording(self, recording_id: str) -> Recording:
        """Return a recording, with a message if its file has changed since it was read."""

    def analysis_path(self, recording_id: str) -> Path:
        """Return the analysis; raise ``NotFound`` if the recording is deleted or not ready."""

    def note_results(self, recording_id: str) -> None:
        """Enter the size of a recording's results, to which a download was added."""


class Downloads:
    """Makes files, a few at once, and keeps them; safe to use from several threads."""

    def __init__(self, library: ReadyRecordings, limits: Limits) -> None:
        self._library, self._limits = library, limits
        self._lock = threading.Lock()
        self._queue: JobQueue[_Key] = JobQueue("downloads", limits.downloads)
        self._joined = 0

    def processes(self, recording_id: str) -> list[tuple[int, str]]:
        """Return pid and name of the processes to choose from before redacting; mostly none."""
        try:
            pairs = json.loads((self._library.analysis_path(recording_id).parent / PROCESSES).read_bytes())
        except FileNotFoundError:
            return []
        return [(int(pid), str(name)) for pid, name in pairs]

    def path(
        self, recording_id: str, file_format: DownloadFormat, redact: bool = False, process: str = ""
    ) -> Path:
        """Return the file; it is made if it does not exist, once for all who request it meanwhile.

        ``process`` is the pid to keep, one of those that ``processes`` lists. Raises ``NotFound`` if the
        recording is deleted or not ready, ``UsageError`` for a process that it does not have, ``Conflict``
        if its file has changed since it was read, ``Busy``, ``NoSpace`` and ``DownloadFailed``.
        """
        analysis = self._library.analysis_path(recording_id)
        if file_format.name == "json" and not redact:
            return analysis
        if redact:
            self._check_process(recording_id, process)
        output = analysis.parent / _FOLDER / file_format.file_name(file_format.name, redact, process)
        options = (*(("--redact",) if redact else ()), *(("--process", process) if process else ()))
        with self._lock:
            if output.is_file():
                return output
            # All who request the same file meanwhile join one job. Each of them occupies a thread of the
            # server, so their number is bounded like that of the jobs.
            job = self._queue.find((recording_id, output))
            joins = job is not None
            if job is None:
                if len(self._queue.unfinished()) >= self._limits.downloads:
                    raise Busy("Other downloads are being made. Try again in a moment.")
                job = self._queue.submit(
                    (recording_id, output), lambda job: self._make(job, file_format, options)
                )
            elif self._joined >= _MAX_JOINED:
                raise Busy("Other downloads are being made. Try again in a moment.")
            self._joined += joins
        try:
            job.done.result()
        except JobCancelled:
            self._library.analysis_path(recording_id)  # raises if the recording was deleted
            raise Conflict("The dashboard is ending.") from None
        finally:
            with self._lock:
                self._joined -= joins
        return output

    def _check_process(self, recording_id: str, process: str) -> None:
        pids = {str(pid) for pid, _name in self.processes(recording_id)}
        if pids and not process:
            name = self._library.recording(recording_id).name
            raise UsageError(
                f"{name} is a recording of all processes. Choose the one to keep on its page, below Download,"
                " and then redact."
            )
        if process and process not in pids:
            raise UsageError("This recording offers no choice of such a process.")

    def end(self, recording_id: str) -> None:
        """Stop making files of a recording, and wait until that has ended."""
        self._queue.cancel(lambda key: key[0] == recording_id)

    def close(self) -> None:
        """Stop making files, and begin no other."""
        self._queue.close()

    def _make(self, job: Job[_Key], file_format: DownloadFormat, options: tuple[str, ...]) -> None:
        recording_id, output = job.key
        analysis = self._library.analysis_path(recording_id)
        recording = self._unchanged(recording_id)
        folder = analysis.parents[1]
        if shutil.disk_usage(folder).free < self._limits.free_disk_bytes:
            raise NoSpace("The disk has too little room left to make this. Make room and try again.")
        revision = _revision(analysis)
        work = folder / f"{WORK}{secrets.token_hex(4)}"
        try:
            work.mkdir(mode=0o700)
            draft = work / f"made{file_format.ending}"
            inputs = map(str, _inputs(recording, folder, work))
            self._run([*file_format.command, *options, "-o", str(draft), *inputs], job, recording, work)
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            # Made beside the results and moved there at the end, if they are still those from which it was
            # made.
            if _revision(self._library.analysis_path(recording_id)) != revision:
                raise Conflict(f"{recording.name} was read again meanwhile. Request the download again.")
            self._unchanged(recording_id)
            output.parent.mkdir(mode=0o700, exist_ok=True)
            draft.replace(output)
            self._library.note_results(recording_id)
        except OSError as error:
            self._library.analysis_path(recording_id)  # a deleted recording is the reason to report
            text = (
                f"This download of {recording.name} could not be made: {error.strerror or 'the disk failed'}."
            )
            raise DownloadFailed(text) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _unchanged(self, recording_id: str) -> Recording:
        """Return a recording whose file is as it was read; raise ``Conflict`` if the file has changed."""
        recording = self._library.recording(recording_id)
        if recording.origin == "file" and recording.message:
            raise Conflict(f"This download of {recording.name} can no longer be made. {recording.message}")
        return recording

    def _run(self, command: list[str], job: Job[_Key], recording: Recording, work: Path) -> None:
        """Run tracekit; raise ``DownloadFailed`` unless it succeeds in time."""
        seconds, memory = self._limits.download_seconds, self._limits.download_memory_bytes
        log = work / "log"
        process = WorkerProcess(
            "dashboard.jobs.workers.tracekit_command",
            [str(memory or worker_memory_bytes(self._limits)), *command],
            log=log,
            temporary=work / TEMPORARY,
        )
        result = job.run(process, seconds)
        if result.timed_out:
            text = f"This download of {recording.name} took longer than {seconds / 60:.0f} minutes."
            raise DownloadFailed(f"{text} It was stopped; the command line has no such limit.")
        if result.code and job.cancelled:
            self._library.analysis_path(recording.id)  # raises if the recording was deleted
            raise Conflict(f"This download of {recording.name} was stopped: the dashboard is ending.")
        if result.code:
            raise DownloadFailed(_sentence(log_tail(log), result.code, recording, work))


def _inputs(recording: Recording, folder: Path, work: Path) -> list[Path]:
    """Return the command's inputs: a local recording in its place, or an upload."""
    if recording.origin == "file":
        return [Path(recording.path)]
    upload = folder / "input"
    single = upload / UPLOADED_FILE
    if not single.is_file():
        return openable(upload, recording.name)
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


def _sentence(log: str, code: int, recording: Recording, work: Path) -> str:
    """Return why a command failed: its error message, with the recording's name instead of folders."""
    name = recording.name
    errors = _ERROR.findall(log)
    if not errors or "Traceback" in log:
        _LOG.error("making a download of %s ended with exit code %d:\n%s", recording.id, code, log)
        ending = f"was killed (signal {-code}), perhaps because memory ran out" if code < 0 else "failed"
        return f"This download of {name} {ending}. The dashboard's terminal has the details."
    text: str = errors[-1]
    folder = work.parent
    source = Path(recording.path) if recording.path else folder / "input" / UPLOADED_FILE
    text = text.replace(printable(f"{source}{os.sep}"), "").replace(printable(str(source)), name)
    for place in (work / "input", work, folder / "input", folder, source.parent):
        text = text.replace(printable(f"{place}{os.sep}"), "")
    return one_line(text)[:_MAX_SENTENCE_LENGTH]


def _revision(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns
