"""``python -m ….workers.record <folder>``: record, and report in the folder's state file.

The server writes one line of JSON (``{"request": …, "min_free_bytes": …}``) to standard input and keeps it
open. Each further line requests a stop, and so does the end of the input, which is the server's end: the
recording is saved in any case, and the next server finds it. This process leads a session of its own, so that
Ctrl-C in the server's terminal does not reach it; a signal sent to it stops and saves as well.
"""

from __future__ import annotations

import json
import logging
import shutil
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import FileLock

import tracekit
from tracekit.errors import TracekitError
from tracekit.record.signals import StopRequests, turn_signals_into_requests
from tracekit_dashboard.errors import Conflict
from tracekit_dashboard.library.store import acquire_lock
from tracekit_dashboard.recording.request import RecordingRequest, describe_target, reword_for_page
from tracekit_dashboard.recording.state import DISCARD, LOCK, AttemptState, MadeRecording, write_state

if TYPE_CHECKING:
    from tracekit.record.record_request import PlannedRecording
    from tracekit.record.recorder import StopReason
    from tracekit.record.session import RecordingAttempt
    from tracekit.xctrace.tool import Xctrace
    from tracekit.xctrace.version import Version

_LOCK_SECONDS = 5.0
_WRITE_SECONDS = 10.0
_ENDING: dict[StopReason, str] = {
    "disk": "The disk is nearly full, so the recording was stopped early.",
    "overdue": "xctrace did not stop at its time limit, so it was stopped.",
}


class AttemptWorker:
    """One attempt: one recording, or one per compute-unit setting. Implements ``RecordingListener``."""

    def __init__(self, folder: Path, request: RecordingRequest, min_free_bytes: int) -> None:
        self._folder, self._request, self._min_free_bytes = folder, request, min_free_bytes
        self._state = AttemptState("preparing", describe_target(request), request.seconds)
        self.requests = StopRequests()

    def run(self) -> None:
        """Record, with the result in the state; raises nothing."""
        try:
            with turn_signals_into_requests(self.requests):
                self._record_all()
        except (TracekitError, OSError) as error:
            self._fail_attempt(error)
        except Exception as error:
            logging.exception("recording failed")
            self._fail_attempt(error)
        # A file and not a message: it is seen even if the server was restarted between the request and the
        # end.
        if (self._folder / DISCARD).exists():
            for path in (*self._folder.glob("*.trace"), *self._folder.glob("*.recording.json")):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            self._update_state(phase="discarded", made=(), left="")
        # The last state is the only account of the result: without it, the server would take the worker for
        # killed.
        until = time.monotonic() + _WRITE_SECONDS
        while not write_state(self._folder, self._state) and time.monotonic() < until:
            time.sleep(0.5)  # making room on the disk takes a moment

    def _record_all(self) -> None:
        from tracekit.record.record_request import plan_recordings
        from tracekit.xctrace.mac_host import Mac
        from tracekit.xctrace.tool import require_xctrace
        from tracekit.xctrace.version import read_version

        self._update_state()
        tool = require_xctrace()
        version = read_version(tool)
        self._request.check_process(Mac().processes() if self._request.pid else ())
        jobs = plan_recordings(
            self._request.request(self._folder, self._min_free_bytes), tool, version, Mac()
        )
        for number, job in enumerate(jobs, 1):
            # A stop ends the present recording (the recorder counts the same requests) and lets no further
            # one begin.
            if self.requests.count:
                self._skip_from(number, len(jobs))
                return
            self._update_state(
                phase="preparing",
                number=number,
                count=len(jobs),
                compute_units=job.compute_units,
                began=0.0,
                size_bytes=0,
                note="",
            )
            self._record_one(job, tool, version)
        self._update_state(phase="failed" if self._state.message else "done")

    def _skip_from(self, number: int, count: int) -> None:
        left_out = "nothing was recorded" if number == 1 else f"{count - number + 1} of {count} were not made"
        self._update_state(
            phase="failed", message=f"{self._state.message} It was stopped: {left_out}.".strip()
        )

    def _record_one(self, job: PlannedRecording, tool: Xctrace, version: Version) -> None:
        """Make one recording; a failure does not prevent the next one."""
        from tracekit.record.messages import build_recording_error
        from tracekit.record.recording_series import with_journal
        from tracekit.record.session import record
        from tracekit.xctrace.mac_host import Mac

        recording = record(tool, job.settings, job.final, self.requests, self, host=Mac())
        recording = with_journal(recording, tool, version, tracekit.__version__)
        if recording.result.is_analyzable:
            saved_recording = MadeRecording(recording.bundle.name, job.compute_units, _format_note(recording))
            self._update_state(made=(*self._state.made, saved_recording))
            return
        self._explain_error(build_recording_error(recording, tool))
        if recording.bundle.exists():
            self._update_state(left=recording.bundle.name)

    # Progress ----------------------------------------------------------------------------------------------

    def _update_state(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)
        write_state(self._folder, self._state)

    def _fail_attempt(self, error: Exception) -> None:
        self._explain_error(error)
        self._update_state(phase="failed")

    def _explain_error(self, error: Exception) -> None:
        lines: list[str] = []
        if isinstance(error, TracekitError):
            text, lines = reword_for_page(str(error)), list(error.lines)
        elif isinstance(error, OSError):
            text = f"The recording failed: {error.strerror or error}."
        else:
            text = (
                f"The recording failed because of an error in tracekit ({type(error).__name__}). The file"
                f" recorder.log in {self._folder} has the details."
            )
        text = text.replace(f"{self._folder}/", "")
        earlier_message = self._state.message
        self._update_state(
            message=f"{earlier_message} {text}".strip(), command="\n".join(lines) or self._state.command
        )

    def on_recording(self) -> None:
        """See ``RecordingListener``."""
        self._update_state(phase="recording", began=time.time(), note="")

    def on_saving(self, reason: StopReason) -> None:
        """See ``RecordingListener``."""
        self._update_state(phase="saving", began=time.time(), note=_ENDING.get(reason, ""))

    def on_no_output(self) -> None:
        """See ``RecordingListener``."""
        self._update_state(note="xctrace was started, but has not reported that it records.")

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """See ``RecordingListener``."""
        del saving, seconds
        if size_bytes != self._state.size_bytes:
            self._update_state(size_bytes=size_bytes)

    def on_stop_while_saving(self, seconds: float) -> None:
        """See ``RecordingListener``."""
        self._update_state(insist_until=time.time() + seconds)


def _format_note(recording: RecordingAttempt) -> str:
    from tracekit.record.messages import format_saved_message

    return " ".join(reword_for_page(format_saved_message(recording)).split("\n")[1:])


def _request_stops(lines: IO[bytes], requests: StopRequests) -> None:
    """Request a stop at every line, and at the end if there was none: a second request could kill xctrace."""
    while lines.readline():
        requests.request()
    if not requests.count:
        requests.request()


def _acquire_lock(path: Path) -> FileLock:
    """Acquire the lock; a server that tests it holds it for a moment."""
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            return acquire_lock(path)
        except Conflict:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def make_attempt(folder: Path, lines: IO[bytes]) -> None:
    """Make the attempt whose request is the first line; each further line requests a stop."""
    task = json.loads(lines.readline())
    request = task["request"]
    request["compute_units"] = tuple(request["compute_units"])
    lock = _acquire_lock(folder / LOCK)
    attempt = AttemptWorker(folder, RecordingRequest(**request), task["min_free_bytes"])
    threading.Thread(target=_request_stops, args=(lines, attempt.requests), daemon=True).start()
    attempt.run()
    lock.release()


if __name__ == "__main__":
    # Unbuffered: nothing to lock at the end.
    make_attempt(Path(sys.argv[1]), open(0, "rb", buffering=0, closefd=False))  # noqa: SIM115
