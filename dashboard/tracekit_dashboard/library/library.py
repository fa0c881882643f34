"""``Library``: the operations of pages and routes on recordings."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tracekit.errors import InputError
from tracekit_dashboard.errors import Conflict, NotFound
from tracekit_dashboard.jobs.comparisons import Comparisons
from tracekit_dashboard.jobs.download_jobs import Downloads
from tracekit_dashboard.jobs.queue import JobKind, JobQueue
from tracekit_dashboard.jobs.reading import ReadingJobs
from tracekit_dashboard.jobs.spare_worker import SpareWorker
from tracekit_dashboard.jobs.table_jobs import TableJobs
from tracekit_dashboard.jobs.variant_jobs import VariantJobs
from tracekit_dashboard.library.analyses import Analyses
from tracekit_dashboard.library.catalog import (
    FINISHED,
    UNFINISHED,
    Catalog,
    DiskUse,
    Recording,
    get_utc_now,
    make_recording,
)
from tracekit_dashboard.library.catalog_orders import NEWEST
from tracekit_dashboard.library.notes import PinnedNotes
from tracekit_dashboard.library.outside_names import clean_note, clean_tags, make_display_name
from tracekit_dashboard.library.reading_results import SECTIONS_FILE, SUMMARY, VARIANT_FACTS, VIEW
from tracekit_dashboard.library.rebuild import rebuild
from tracekit_dashboard.library.store import Store, make_id, split
from tracekit_dashboard.library.uploaded_inputs import (
    compute_fingerprint,
    measure_size,
    read_head,
    refuse_unknown,
)
from tracekit_dashboard.library.uploads import Uploads
from tracekit_dashboard.library.variants import with_files
from tracekit_dashboard.settings import ServerLimits

_LIMITS = ServerLimits()


class Library:
    """A folder of recordings; safe to use from several threads, and after a restart.

    Raises ``Conflict`` when another server uses the folder, ``InputError`` when its catalog is damaged or of
    a newer tracekit, ``UsageError`` when it cannot be written.
    """

    def __init__(self, folder: Path, limits: ServerLimits = _LIMITS) -> None:
        self._store, self._lock = Store.open_locked(folder)
        try:
            self._catalog = Catalog(self._store)
        except BaseException:
            self._lock.release()
            raise
        self._adding = threading.Lock()
        # Held while results are dropped, and before they are made again: else a slow drop would remove those
        # that were made meanwhile.
        self._dropping = threading.Lock()
        self.queue = JobQueue(limits.jobs)
        self.spare = SpareWorker(limits.spare_seconds)
        self._jobs = ReadingJobs(self._store, self._catalog, self.queue, self.spare, limits)
        self.notes = PinnedNotes(self._find_notes_folder)
        self.downloads = Downloads(self, self.queue, limits)
        self.tables = TableJobs(self, self.queue, limits)
        self.comparisons = Comparisons(self, self._store, self.queue, limits)
        self._variant_jobs = VariantJobs(self._store, self._catalog, self.queue, self.spare, limits)
        self.analyses = Analyses(self._store, self._catalog, self._variant_jobs)
        self.uploads = Uploads(self._store, self._catalog, limits, self._jobs.claim_again)
        try:
            self.notices = rebuild(self._store, self._catalog).build_notices()
            """Sentences about what the start found, for page and terminal; they hold other people's text."""
            self._tidy(limits)
            self._jobs.start()
            self._variant_jobs.start()
        except BaseException:
            self.close()
            raise

    def _tidy(self, limits: ServerLimits) -> None:
        """Clean up after an earlier server."""
        self.uploads.resume()
        for recording_id in self._catalog.list_deleted_before(
            get_utc_now() - timedelta(seconds=limits.deleted_seconds)
        ):
            self._remove_recording(self._catalog.find(recording_id))
        self._store.collect()

    def _find_notes_folder(self, analysis_id: str) -> Path:
        self._store.require_lock()
        return self._store.recording_folder(split(analysis_id)[0])

    def close(self) -> None:
        """Stop the workers, whose work the next start resumes, and release the lock."""
        self.queue.close()
        self.spare.close()
        self._catalog.close()
        self._lock.release()

    @property
    def folder(self) -> Path:
        """The folder of the library."""
        return self._store.folder

    @property
    def recorded(self) -> Path:
        """The folder of recordings made on the page."""
        return self._store.recorded

    def place(self, recording: Recording) -> str:
        """Return where a recording lies: an upload in the library, others where they were added."""
        return recording.path if recording.origin == "file" else str(self._store.input(recording.id))

    def is_recorded(self, recording: Recording) -> bool:
        """Return True for a recording made on the page: the library has the only copy."""
        return recording.origin == "file" and Path(recording.path).is_relative_to(self._store.recorded)

    def add_file(self, path: Path) -> Recording:
        """Add a recording that stays in its place, and return it; an unchanged file is added once.

        Raises ``InputError`` if the file does not exist or cannot be a recording.
        """
        place = _resolve_recording(path)
        current_fingerprint = compute_fingerprint(place)
        with self._adding:
            existing = self._catalog.find_by_file(os.fsencode(place), current_fingerprint)
            if existing is None:
                recording = make_recording(
                    make_id(), make_display_name(_decode_name(place.name)), "file", measure_size(place)
                )
                self._catalog.add(recording, os.fsencode(place), current_fingerprint)
                self._jobs.claim_again()
                return self._catalog.find(recording.id)
        if existing.deleted:
            existing = self.restore(existing.id)
        return self.retry(existing.id) if existing.state in ("failed", "cancelled") else existing

    @property
    def revision(self) -> str:
        """A text that changes whenever the results of ``list_recordings`` and ``count_tags`` change."""
        return self._catalog.revision

    def list_recordings(
        self,
        search: str = "",
        tag: str = "",
        deleted: bool = False,
        offset: int = 0,
        count: int | None = None,
        order: str = NEWEST,
    ) -> list[Recording]:
        """Return the recordings with all words of ``search`` in their texts or tags, by ``order``.

        ``count`` of them from number ``offset`` on, or all from there.
        """
        return self._catalog.search(search, tag, deleted, offset, count, order)

    def find_originals(self, recordings: Sequence[Recording]) -> dict[str, str]:
        """Return the name of the earlier one for each recording that is a copy, by its id."""
        copies = self._catalog.find_copies([recording.digest for recording in recordings])
        first_copies = {digest: entries[0] for digest, entries in copies.items()}
        return {
            recording.id: first_copies[recording.digest][1]
            for recording in recordings
            if recording.digest in first_copies and first_copies[recording.digest][0] != recording.id
        }

    def count(self, search: str = "", tag: str = "", deleted: bool = False) -> int:
        """Return the number of the recordings that ``list_recordings`` finds."""
        return self._catalog.count(search, tag, deleted)

    def count_tags(self) -> list[tuple[str, int]]:
        """Return the tags in use, each with how many recordings have it."""
        return self._catalog.count_tags()

    def find_recording(self, analysis_id: str) -> Recording:
        """Return a recording, even a deleted one, with a message if its file has changed since.

        The id of a variant's results returns its recording with that id, and the variant's facts and state.
        """
        recording_id, variant_id = split(analysis_id)
        recording = self._catalog.find(recording_id)
        if variant_id:
            variant = self.analyses.find(recording_id, variant_id)
            facts = {name: getattr(variant, name) for name in VARIANT_FACTS}
            state: dict[str, Any] = {
                "state": variant.state,
                "message": variant.message,
                "results_bytes": None,
            }
            recording = replace(recording, id=analysis_id, **state, **facts)
        if recording.origin == "file" and recording.state == "ready":
            return replace(recording, message=self._describe_changes(recording))
        return recording

    def _describe_changes(self, recording: Recording) -> str:
        current_fingerprint = compute_fingerprint(Path(recording.path))
        if not current_fingerprint:
            return "The file is no longer in its place. The page shows the last analysis."
        if current_fingerprint != self._catalog.read_fingerprint(split(recording.id)[0]):
            return (
                "The file has changed since it was read. The page shows the earlier analysis; read it again."
            )
        return ""

    def edit(
        self,
        recording_id: str,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        note: str | None = None,
    ) -> Recording:
        """Change the name, tags and note of a recording."""
        self._catalog.find(recording_id)
        values: dict[str, Any] = {}
        if name is not None and name.strip():
            values["name"] = make_display_name(name)
        if note is not None:
            values["note"] = clean_note(note)
        new_tags = None if tags is None else clean_tags(tags)
        self._catalog.change(recording_id, tags=new_tags, **values)
        return self._catalog.find(recording_id)

    def delete(self, recording_id: str) -> None:
        """Mark a recording as deleted, which can be undone until it is purged; stop its worker."""
        self._catalog.find(recording_id)
        self._catalog.set_deleted(recording_id, True)
        self._end_reading(recording_id, "waiting")
        self.comparisons.end_comparisons(recording_id)

    def restore(self, recording_id: str) -> Recording:
        """Undo ``delete``; an interrupted reading begins again."""
        self._catalog.find(recording_id)
        self._catalog.set_deleted(recording_id, False)
        self._jobs.claim_again()
        self._variant_jobs.claim_again()
        return self._catalog.find(recording_id)

    def purge(self, recording_id: str) -> None:
        """Remove a deleted recording for good; a local file stays, unless it was recorded from the page.

        Raises ``Conflict`` for a recording that is not deleted.
        """
        recording = self._catalog.find(recording_id)
        if recording.deleted is None:
            raise Conflict(f"{recording.name} is not deleted. Delete it first.")
        self._remove_recording(recording)
        self._end_work(recording_id)
        self.comparisons.forget(recording_id)

    def _remove_recording(self, recording: Recording) -> None:
        graves: list[Path] = []
        folder = self._store.recording_folder(recording.id)
        self._catalog.remove(recording.id, lambda: graves.append(self._store.move_to_trash(folder)))
        if recording.origin == "file":
            self._store.discard_recorded(Path(recording.path))
        for grave in graves:
            self._store.discard(grave)

    def cancel(self, recording_id: str) -> None:
        """Stop reading a recording; does nothing unless it waits or is being read."""
        self._catalog.find(recording_id)
        self._end_reading(recording_id, "cancelled", self._jobs.kind)

    def _end_reading(self, recording_id: str, state: str, *kinds: JobKind) -> None:
        """End the reading of a recording and its jobs of these kinds, or all; it waits or is cancelled."""
        self._catalog.change(recording_id, states=UNFINISHED, state=state, stage="", progress=None, starts=0)
        self._end_work(recording_id, *kinds)

    def _end_work(self, recording_id: str, *kinds: JobKind) -> None:
        """End the jobs of a recording of these kinds, or all, and the worker that has it in memory."""
        self.queue.end(recording_id, *kinds)
        self.spare.end(recording_id)

    def retry(self, recording_id: str) -> Recording:
        """Read a recording again from the start; does nothing while it waits or is being read.

        Raises ``InputError`` if its file is gone; its results stay.
        """
        recording = self._catalog.find(recording_id)
        if recording.state in UNFINISHED:
            return recording
        self._end_work(recording_id, self._jobs.kind)
        self._note_file(recording)
        self.comparisons.forget(recording_id)
        self.analyses.drop(recording_id)
        self._store.discard(self._store.results(recording_id))
        self._read_again(recording)
        return self._catalog.find(recording_id)

    def _note_file(self, recording: Recording) -> None:
        """Enter the state of a local recording to be read again; raise ``InputError`` if it is gone."""
        if recording.origin == "file":
            place = _resolve_recording(Path(recording.path))
            self._catalog.change(
                recording.id, fingerprint=compute_fingerprint(place), size_bytes=measure_size(place)
            )

    def _read_again(self, recording: Recording) -> None:
        waiting_state: dict[str, Any] = {"state": "waiting", "stage": "", "progress": None, "message": ""}
        waiting_state |= {"starts": 0, "results_bytes": None}
        with self._dropping:
            self._catalog.change(recording.id, states=FINISHED, **waiting_state)
        self._jobs.claim_again()

    def open_recording(self, recording_id: str) -> Recording:
        """Return a recording for its page; results that were dropped begin to be made again."""
        recording = self.find_recording(recording_id)
        if recording.deleted is None and recording.is_dropped:
            with suppress(InputError):  # reading it fails with the same reason, which the page shows
                self._note_file(recording)
            self._read_again(recording)
            return self._catalog.find(recording_id)
        return recording

    def drop_results(self, recording_id: str) -> int:
        """Remove a recording's results and comparisons, which are made again when they are opened.

        Returns the size of the results. Raises ``Conflict`` if they could not be made again as they are.
        """
        recording = self._catalog.find(recording_id)
        if why := self._explain_loss(recording):
            raise Conflict(f"The analysis of {recording.name} stays: {why}")
        with self._dropping:
            # The catalog first: without results, it must not seem to be ready.
            if not self._catalog.change(recording_id, states=("ready",), results_bytes=0):
                raise Conflict(f"{recording.name} has no analysis to drop: it is not ready.")
            self._store.discard(self._store.results(recording_id))
            self.analyses.drop(recording_id)
        self._end_work(recording_id)
        self.comparisons.forget(recording_id)
        return recording.results_bytes or 0

    def drop_all_results(self) -> tuple[int, int]:
        """Drop all results that can be made again; return their size, and how many could not be dropped."""
        dropped_bytes = stayed = 0
        for recording in self._catalog.list_in_state("ready"):
            if recording.is_dropped:
                continue
            try:
                dropped_bytes += self.drop_results(recording.id)
            except (Conflict, NotFound):
                stayed += 1
        return dropped_bytes, stayed

    def _explain_loss(self, recording: Recording) -> str:
        """Return the reason why results could not be made again as they are; "" if they can."""
        if recording.origin == "file":
            if not (current := compute_fingerprint(Path(recording.path))):
                return "the file is no longer in its place, so that it could not be made again."
            is_same = current == self._catalog.read_fingerprint(recording.id)
            return "" if is_same else "the file has changed since it was read."
        return "" if self._store.input(recording.id).is_dir() else "the upload is gone."

    def note_results(self, recording_id: str) -> None:
        """Enter the size of a recording's results, to which a download was added."""
        with self._dropping:
            self.analyses.note_size(split(recording_id)[0])

    def build_arguments(self, analysis_id: str) -> list[str]:
        """Return the arguments with which a command makes the analysis of that id."""
        recording_id, variant_id = split(analysis_id)
        if not variant_id:
            return []
        options = self.analyses.find(recording_id, variant_id).options
        return with_files(options, self._store.variant(recording_id, variant_id)).to_arguments()

    def measure_disk_use(self) -> DiskUse:
        """Return the bytes that uploads, recordings made here, and results take."""
        return self._catalog.measure_disk_use(os.fsencode(self._store.recorded) + os.sep.encode())

    def find_view(self, recording_id: str) -> Path:
        """Return the ``tracekit-view/2`` block, compressed with gzip; see ``find_result``."""
        return self.find_result(recording_id, VIEW)

    def find_results(self, recording_id: str) -> Path:
        """Return the folder of the results; see ``find_result``."""
        return self.find_result(recording_id, SUMMARY).parent

    def find_sections(self, recording_id: str) -> Path:
        """Return a JSON object of the report's sections: name → HTML, compressed; see ``find_result``."""
        return self.find_result(recording_id, SECTIONS_FILE)

    def find_result(self, analysis_id: str, name: str) -> Path:
        """Return a file of the results of a recording or a variant.

        Raises ``NotFound`` if the recording is deleted, or the analysis not ready.
        """
        recording = self._catalog.find(split(analysis_id)[0])
        if recording.deleted:
            raise NotFound(f"{recording.name} was deleted. The library page can restore it.")
        if recording.id != analysis_id:
            recording = self.find_recording(analysis_id)
        elif recording.is_dropped:
            raise NotFound(f"The analysis of {recording.name} was dropped. Its page makes it again.")
        if recording.state != "ready":
            why = recording.message.removeprefix(f"{recording.name}: ").rstrip(".") or recording.state
            raise NotFound(f"{recording.name} is not ready: {why}.")
        path = self._store.results(analysis_id) / name
        if not path.is_file():
            raise NotFound(f"The analysis of {recording.name} is gone. Read it again.")
        return path


def _resolve_recording(path: Path) -> Path:
    """Return the resolved path of a recording; raise ``InputError`` for a file that cannot be one."""
    display_name = _decode_name(path.name)
    try:
        place = path.expanduser().resolve(strict=True)
        mode = place.stat().st_mode
        if stat.S_ISREG(mode):
            refuse_unknown(display_name, read_head(place), place)
        elif not stat.S_ISDIR(mode):
            raise InputError(display_name, "is neither a file nor a folder.", "Name a .trace or an export.")
    except FileNotFoundError:
        raise InputError(display_name, "is not there.", "Check the path.") from None
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself; a name with a NUL
        why = getattr(error, "strerror", None) or "its name leads nowhere"
        raise InputError(display_name, f"cannot be read: {why}.") from error
    return place


def _decode_name(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")
