"""The folders of a library. Every path is made from an id that the library chose; nothing outside is written.

::

    lock  lock.pid  catalog.sqlite3
    recordings/<id>/input/     an upload: the file ``recording``, or a folder's files
                    results/   the pages' data; it appears whole, by renaming
                    variants/<id>/         a further analysis: the files of its options
                                  results/ as above
                    work-…/    the folder of a running worker
                    worker.log
    uploads/<id>/              see ``uploads``
    comparisons/<id>-<id>/     see ``comparisons``
    recorded/<attempt>/        recordings made on the page, see ``dashboard.recording``
    trash/                     folders that are being removed
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from dashboard.errors import Conflict, NotFound
from tracekit.errors import UsageError
from tracekit.record.output_path import journal_path

_ID = re.compile(r"[0-9a-f]{32}")
_VARIANT = re.compile(r"[0-9a-f]{16}")
UPLOADED_FILE = "recording"
"""An uploaded file's name on the disk; the user's name for it stands in the catalog."""
WORK = "work-"
"""The beginning of the names of folders in which workers write."""
TEMPORARY = "tmp"
"""A work folder's folder for the temporary files of libraries and tools."""


def new_id() -> str:
    """Return 32 random hex digits, which cannot be guessed."""
    return secrets.token_hex(16)


class Store:
    """Paths below one folder, which is made when it is not there; ``lock`` keeps a second server out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def locked(cls, folder: Path) -> tuple[Store, FileLock]:
        """Make the folders and return the store with its lock; raise ``UsageError`` when they cannot be."""
        store = cls(folder.expanduser().absolute())
        try:
            for place in (store.folder, store.recordings, store.uploads, store.comparisons, store.trash):
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
            return store, store._acquire_lock()
        except OSError as error:
            raise UsageError(
                f"The library {folder} cannot be used: {error.strerror or error}."
                " Name another folder with --library."
            ) from error

    def _acquire_lock(self) -> FileLock:
        pid_file = self.folder / "lock.pid"
        try:
            lock = acquired_lock(self.folder / "lock")
        except Conflict:
            holder = ""
            with suppress(OSError, ValueError):
                holder = f" (pid {int(pid_file.read_text('ascii'))})"
            raise Conflict(
                f"Another dashboard{holder} uses the library {self.folder}. Use that one, end it, or name"
                " another folder with --library."
            ) from None
        with suppress(OSError):  # the pid only serves the message above
            pid_file.touch(mode=0o600)
            pid_file.chmod(0o600)  # of an earlier version, which anybody could read
            pid_file.write_text(str(os.getpid()), "ascii")
        return lock

    @property
    def recordings(self) -> Path:
        """The folder of all recordings."""
        return self.folder / "recordings"

    @property
    def uploads(self) -> Path:
        """The folder of all uploads."""
        return self.folder / "uploads"

    @property
    def comparisons(self) -> Path:
        """The folder of all comparisons."""
        return self.folder / "comparisons"

    @property
    def recorded(self) -> Path:
        """The folder of what was recorded from the page."""
        return self.folder / "recorded"

    @property
    def trash(self) -> Path:
        """The folder of folders that are being removed."""
        return self.folder / "trash"

    @property
    def catalog(self) -> Path:
        """The catalog's file."""
        return self.folder / "catalog.sqlite3"

    def recording(self, recording_id: str) -> Path:
        """Return a recording's folder; raise ``NotFound`` for a malformed id."""
        return self.recordings / checked(recording_id)

    def input(self, recording_id: str) -> Path:
        """Return the folder of an upload."""
        return self.recording(recording_id) / "input"

    def variant(self, recording_id: str, variant: str) -> Path:
        """Return the folder of a variant; raise ``NotFound`` for a malformed id."""
        if not _VARIANT.fullmatch(variant):
            raise NotFound("There is no such analysis of this recording.")
        return self.variants(recording_id) / variant

    def variants(self, recording_id: str) -> Path:
        """Return the folder of a recording's variants."""
        return self.recording(recording_id) / "variants"

    def results(self, analysis: str) -> Path:
        """Return the folder of the results of a recording, or of one of its variants; see ``split``."""
        recording_id, variant = split(analysis)
        folder = self.variant(recording_id, variant) if variant else self.recording(recording_id)
        return folder / "results"

    def results_bytes(self, recording_id: str) -> int:
        """Return the size of the results of a recording and of its variants; 0 if there are none.

        A folder or file that another request removes meanwhile counts nothing: ``os.walk`` passes over it.
        """
        size_bytes = 0
        for top in (self.results(recording_id), self.variants(recording_id)):
            for folder, _, names in os.walk(top):
                for name in names:
                    with suppress(OSError):
                        size_bytes += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
        return size_bytes

    def comparison(self, base_id: str, new_id: str) -> Path:
        """Return the folder of what was found in comparing two recordings."""
        return self.comparisons / f"{checked(base_id)}-{checked(new_id)}"

    def upload(self, upload_id: str) -> Path:
        """Return an upload's folder."""
        return self.uploads / checked(upload_id)

    def free_bytes(self) -> int:
        """Return the room on the disk."""
        return shutil.disk_usage(self.folder).free

    def discard(self, path: Path) -> None:
        """Remove a folder or file: it disappears at once and as a whole, its bytes a little later."""
        grave = self.trash / new_id()
        try:
            path.rename(grave)
        except FileNotFoundError:
            return
        _remove(grave)

    def discard_recorded(self, path: Path) -> None:
        """Remove a bundle recorded on the page, with its journal; ignore other paths."""
        folder = path.parent
        if folder.parent != self.recorded.resolve():
            return
        self.discard(path)
        journal_path(path).unlink(missing_ok=True)
        if not any(folder.glob("*.trace")):
            self.discard(folder)

    def collect(self, listed: Collection[str]) -> None:
        """Remove the leftovers of an earlier server: unfinished removals and writes, and unlisted folders."""
        for grave in self.trash.iterdir():
            _remove(grave)
        for folder in self.recordings.iterdir():
            if folder.name not in listed:
                self.discard(folder)
                continue
            for work in folder.glob(f"{WORK}*"):
                self.discard(work)
        for folder in self.comparisons.iterdir():
            if not set(folder.name.split("-")) <= set(listed):
                self.discard(folder)
        for folder in self.uploads.iterdir():
            if not _ID.fullmatch(folder.name):  # an upload that was being begun
                self.discard(folder)

    def upload_ids(self) -> list[str]:
        """Return the ids of the uploads."""
        return sorted(folder.name for folder in self.uploads.iterdir() if _ID.fullmatch(folder.name))


def split(analysis: str) -> tuple[str, str]:
    """Return the recording's and the variant's id of an analysis' id: of ``<id>``, or ``<id>.<id>``."""
    recording_id, _, variant = analysis.partition(".")
    return recording_id, variant


def acquired_lock(path: Path) -> FileLock:
    """Return a lock on a file, held until ``release`` or the end of this process, however it ends.

    Raises ``Conflict`` if another process, or another lock of this process, holds it. The file is never
    removed: removing it would let two processes hold locks of the same name.
    """
    lock = FileLock(path, timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise Conflict(f"{path} is in use by another process.") from None
    return lock


def checked(recording_id: str) -> str:
    """Return a well-formed id; raise ``NotFound`` for any other text of a visitor."""
    if not _ID.fullmatch(recording_id):
        raise NotFound("There is no such recording.")
    return recording_id


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
