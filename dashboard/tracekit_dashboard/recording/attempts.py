"""The server's end of recording: one attempt at a time, which a restart of the server does not lose."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tracekit.errors import TracekitError, UsageError
from tracekit_dashboard.errors import Conflict, NoSpace, NotFound
from tracekit_dashboard.jobs.process import WorkerProcess
from tracekit_dashboard.jobs.queue import Job, JobKind
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.store import Store, acquire_lock, is_attempt_id
from tracekit_dashboard.recording.request import RecordingRequest, describe_target
from tracekit_dashboard.recording.state import (
    DISCARD,
    LIVE,
    LOCK,
    AttemptState,
    MadeRecording,
    forget_state,
    read_state,
    write_state,
)

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
_SAVED = "form.template"
"""The file that xctrace writes last (see ``tracekit.record.recording_result``)."""
_LOST = "The process that recorded was killed"
# ``start`` allows one at a time; the jobs of earlier attempts only wait until xctrace has saved.
RECORDING = JobKind("recording", "Recording", at_once=64, priority=0, is_live=True)


@dataclass(frozen=True)
class Attempt:
    """An attempt that is under way, or has failed and is still shown."""

    id: str
    state: AttemptState


class Attempts:
    """Recording attempts: ``<library>/recorded/<id>/`` holds an attempt's recordings and its state."""

    def __init__(self, folder: Path, library: Library, min_free_bytes: int) -> None:
        self._store = Store(folder.expanduser().absolute())
        self._folder, self._library, self._min_free_bytes = self._store.recorded, library, min_free_bytes
        self._mutex = threading.RLock()
        self._opened: dict[str, tuple[str, ...]] = {}

    # The phases of an attempt. The worker writes them to its folder, and any server reads them:
    #   preparing ─► recording ─► saving ─► done       the recordings are added to the library
    #        │           │           ├────► failed     what was made is added, the reason is shown
    #        │           │           └────► discarded  the folder is removed
    #        └───────────┴─ killed ───────► lost
    # "lost" is read from the lock that the worker no longer holds. Complete bundles may still appear then,
    # because xctrace goes on saving.
    def resume(self) -> None:
        """Resume the attempts of an earlier server: add finished recordings, follow those being saved."""
        for attempt in self.list_attempts():
            if attempt.state.phase in (*LIVE, "lost"):
                self._submit(attempt.id)
        for folder in self._list_folders():
            if read_state(folder) is None:
                self._store.discard_attempt(folder)

    def list_attempts(self) -> list[Attempt]:
        """Return the attempts that are under way or have failed, newest first."""
        with self._mutex:
            for folder in self._list_folders():
                self._settle(folder)
            states = ((folder, self._read_state(folder)) for folder in self._list_folders())
            return [Attempt(folder.name, state) for folder, state in states if state is not None]

    def find_opened(self, attempt_id: str) -> tuple[str, ...] | None:
        """Return the library ids of an attempt's recordings; None until they are in the library."""
        return self._opened.get(attempt_id)

    def start(self, request: RecordingRequest) -> str:
        """Begin an attempt and return its id; raise ``Conflict`` while another one is under way."""
        with self._mutex:
            under_way = next(
                (attempt for attempt in self.list_attempts() if attempt.state.phase in LIVE), None
            )
            if under_way is not None:
                raise Conflict(
                    f"{under_way.state.what} is being recorded already. Only one recording can be made at a"
                    " time: wait until it is saved, or stop it."
                )
            attempt_id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
            folder = self._folder / attempt_id
            try:
                process = self._begin_attempt(folder, request)
            except OSError as error:
                self._store.discard_attempt(folder)
                kind = NoSpace if error.errno in (errno.ENOSPC, errno.EDQUOT) else UsageError
                raise kind(f"Nothing can be recorded: {error.strerror or error}.") from error
            self._submit(attempt_id, process)
            return attempt_id

    def _begin_attempt(self, folder: Path, request: RecordingRequest) -> WorkerProcess:
        folder.mkdir(mode=0o700, parents=True)
        if not write_state(folder, AttemptState("preparing", describe_target(request), request.seconds)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # With the usual folder for temporary files: recorders lock each other out there.
        return WorkerProcess(
            "tracekit_dashboard.jobs.workers.record",
            [str(folder.absolute())],
            log=folder / "recorder.log",
            task={"request": asdict(request), "min_free_bytes": self._min_free_bytes},
            saves=True,
        )

    def _submit(self, attempt_id: str, process: WorkerProcess | None = None) -> None:
        """Follow an attempt to its end; ``process`` is None for those of an earlier server."""

        def follow(job: Job) -> None:
            if process is not None:
                job.run(process)
            self._follow(job)

        job = self._library.queue.submit(RECORDING, (attempt_id,), follow)
        job.process = process

    def stop(self, attempt_id: str) -> None:
        """Stop and save; while it is being saved, the first call warns, and the second one kills xctrace."""
        self._find_attempt(attempt_id)
        self._send_line(attempt_id, "stop")

    def discard(self, attempt_id: str) -> None:
        """Stop an attempt, and remove its recordings."""
        attempt = self._find_attempt(attempt_id)
        folder = self._folder / attempt_id
        if attempt.state.phase not in LIVE:
            self._clear(folder)
            return
        (folder / DISCARD).touch()
        if attempt.state.phase != "saving":
            self._send_line(attempt_id, "stop")

    def close_attempt(self, attempt_id: str) -> None:
        """Close a failed attempt; a partial recording stays on the disk."""
        folder = self._folder / attempt_id
        if self._find_attempt(attempt_id).state.phase in LIVE:
            return
        forget_state(folder)
        self._store.discard_attempt(folder)

    def _clear(self, folder: Path) -> None:
        """Remove the recordings of an attempt, and its folder unless something else lies there."""
        for path in (*folder.glob("*.trace"), *folder.glob("*.recording.json")):
            self._store.discard(path)
        forget_state(folder)
        self._store.discard_attempt(folder)

    def open_partial(self, attempt_id: str) -> Recording:
        """Add a partial recording to the library: some of it may be readable."""
        attempt = self._find_attempt(attempt_id)
        if not attempt.state.left:
            raise NotFound("This attempt left no recording.")
        recording = self._library.add_file(self._folder / attempt_id / attempt.state.left)
        self.close_attempt(attempt_id)
        return recording

    # One attempt -------------------------------------------------------------------------------------------

    def _list_folders(self) -> list[Path]:
        with suppress(OSError):
            folders = (folder for folder in self._folder.iterdir() if is_attempt_id(folder.name))
            return sorted(folders, reverse=True)
        return []

    def _find_attempt(self, attempt_id: str) -> Attempt:
        for attempt in self.list_attempts():
            if attempt.id == attempt_id:
                return attempt
        raise NotFound("This recording is over.")

    def _send_line(self, attempt_id: str, line: str) -> None:
        process = self._find_process(attempt_id)
        if process is None:
            raise Conflict("The dashboard was restarted, so the recording was stopped. It is being saved.")
        process.write_line(line)

    def _find_process(self, attempt_id: str) -> WorkerProcess | None:
        job = self._library.queue.find(RECORDING, (attempt_id,))
        return None if job is None else job.process

    def _read_state(self, folder: Path) -> AttemptState | None:
        state = read_state(folder)
        if state is None or state.phase not in LIVE or self._is_alive(folder):
            return state
        state = read_state(folder) or state  # it may have ended between the two checks
        if state.phase not in LIVE:
            return state
        bundle_name = next((bundle.name for bundle in folder.glob("*.trace")), "")
        consequence = (
            "xctrace may still be saving, and the recording will be found"
            if bundle_name
            else "nothing was saved"
        )
        return replace(state, phase="lost", message=f"{_LOST}: {consequence}.", left=bundle_name)

    def _is_alive(self, folder: Path) -> bool:
        process = self._find_process(folder.name)
        if process is not None:
            # A worker of an earlier server is no child of this one: that it holds its lock is the only proof
            # that it lives.
            return process.is_running()
        if not (folder / LOCK).exists():
            return False
        try:
            acquire_lock(folder / LOCK).release()
        except Conflict:
            return True
        except OSError:
            return False
        return False

    def _follow(self, job: Job) -> None:
        """Poll an attempt until it is settled, also without a page open and for another server's attempts."""
        folder = self._folder / job.key[0]
        while not job.cancelled.is_set():
            with self._mutex:
                self._settle(folder)
                state = self._read_state(folder)
            if state is None or state.phase not in (*LIVE, "lost"):
                return
            job.cancelled.wait(_POLL_SECONDS)

    # Results -----------------------------------------------------------------------------------------------

    def _settle(self, folder: Path) -> None:
        """Add the recordings of an attempt that is over to the library; a failure is tried again."""
        state = self._read_state(folder)
        if state is None or state.phase in LIVE:
            return
        if state.phase == "discarded":
            self._opened[folder.name] = ()
            self._clear(folder)
            return
        recordings = state.made if state.phase != "lost" else (*state.made, *_iter_saved(folder, state))
        if not recordings and state.phase != "done":
            return
        try:
            # Adding a file twice finds the recording that is there already, so a step that failed can be made
            # again.
            added = tuple(self._add_recording(folder, recording) for recording in recordings)
        except TracekitError as error:
            write_state(
                folder, replace(state, phase="failed", message=str(error), made=(), left=recordings[0].name)
            )
            return
        except Exception:  # noqa: BLE001 - such as a full disk, or a library that is being closed
            _LOG.exception("adding a recording to the library")
            return
        self._opened[folder.name] = added
        if state.phase == "failed":
            write_state(folder, replace(state, made=()))
        else:
            forget_state(folder)

    def _add_recording(self, folder: Path, recording_made: MadeRecording) -> str:
        recording = self._library.add_file(folder / Path(recording_made.name).name)
        if recording_made.compute_units or recording_made.note:
            tags = (recording_made.compute_units,) if recording_made.compute_units else None
            self._library.edit(recording.id, tags=tags, note=recording_made.note or None)
        return recording.id


def _iter_saved(folder: Path, state: AttemptState) -> Iterator[MadeRecording]:
    """Yield recordings that were saved completely after their worker had been killed."""
    reported = {recording.name for recording in state.made}
    for path in sorted(folder.glob("*.trace")):
        if path.name not in reported and (path / _SAVED).exists():
            yield MadeRecording(path.name, note="The process that recorded it was killed.")
