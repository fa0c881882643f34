"""The folders of a library. Every path is made from an id that the library chose; nothing outside is written.

::

    tracekit-library.json      the mark of a library
    lock  lock.pid  catalog.sqlite3
    recordings/<id>/about.json what the recording is, see ``descriptions``
                    input/     an upload: the file ``recording``, or a folder's files
                    results/   the pages' data; it appears whole, by renaming
                    variants/<id>/         a further analysis: its description, the files of its options
                                  results/ as above
                    work-…/    the folder of a running worker
                    worker.log
    uploads/<id>/              see ``uploads``
    comparisons/<id>-<id>/     see ``comparisons``
    fleet/                     the rows of all recordings, see ``fleet.library_dataset``; it can be removed
    recorded/<attempt>/        recordings made on the page, see ``tracekit_dashboard.recording``
    trash/removed-…            folders that are being removed

What has another name is not tracekit's: it is never removed, nor changed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from tracekit.errors import UsageError
from tracekit.record.output_path import build_journal_path
from tracekit_dashboard.errors import Conflict, LibraryFailed, NotFound

_ID = re.compile(r"[0-9a-f]{32}")
_VARIANT = re.compile(r"[0-9a-f]{16}")
_PAIR = re.compile(r"([0-9a-f]{32})-([0-9a-f]{32})")
_BEGUN_UPLOAD = re.compile(r"new-[0-9a-f]{32}")
_ATTEMPT = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")
_WORK_FOLDER = re.compile(r"work-[0-9a-f]{8}")
MARKER = "tracekit-library.json"
_FORMAT = 1
"""The version of the folder's format, which the marker has."""
_CATALOG = "catalog.sqlite3"
_CATALOGS = (_CATALOG, "catalog-damaged-")
"""The beginnings of the names of catalogs, of the files beside them and of those that were set aside."""
_PARTS = ("recordings", "uploads", "comparisons", "trash")
_OF_ATTEMPTS = {"recorder.log", "lock", "discard", "state.json", "state.json.new", ".DS_Store"}
"""The files of an attempt to record, apart from its recordings."""
_OF_SYSTEMS = frozenset(
    [
        ".DS_Store",
        ".localized",
        ".Spotlight-V100",
        ".fseventsd",
        ".Trashes",
        ".TemporaryItems",
        "lost+found",
        "desktop.ini",
        "Thumbs.db",
        "$RECYCLE.BIN",
        "Icon\r",
    ]
)
"""Names of files that operating systems create in folders."""
_GRAVE = re.compile(r"removed-[0-9a-f]{32}")
"""Name of a folder in the trash that is being removed."""
UPLOADED_FILE = "recording"
"""An uploaded file's name on the disk; the user's name for it stands in the catalog."""
WORK = "work-"
"""The beginning of the names of folders in which workers write."""
TEMPORARY = "tmp"
"""A work folder's folder for the temporary files of libraries and tools."""


def make_id() -> str:
    """Return 32 random hex digits, which cannot be guessed."""
    return secrets.token_hex(16)


class Store:
    """Paths below one folder, which is made when it is not there; ``lock`` keeps a second server out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_earlier = False
        """True for a library of a version that wrote no marker."""
        self._lock_identity: tuple[int, int] | None = None

    @classmethod
    def open_locked(cls, folder: Path) -> tuple[Store, FileLock]:
        """Make the folders and return the store with its lock.

        Raises ``UsageError`` for a folder that is somebody's own or cannot be written, ``Conflict`` when
        another server uses it.
        """
        store = cls(folder.expanduser().absolute())
        try:
            store.is_earlier = not store._is_free() and not (store.folder / MARKER).exists()
            store.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = store._acquire_library_lock()
            try:
                for name in _PARTS:
                    (store.folder / name).mkdir(mode=0o700, exist_ok=True)
                store._write_marker()
            except BaseException:
                lock.release()
                raise
        except OSError as error:
            raise UsageError(
                f"The library {folder} cannot be used: {error.strerror or error}."
                " Name another folder with --library."
            ) from error
        return store, lock

    def _is_free(self) -> bool:
        """Return True for a folder without content, False for a library.

        Raises ``UsageError`` for any other folder.
        """
        try:
            names = {entry.name for entry in self.folder.iterdir() if not _is_of_system(entry.name)}
        except FileNotFoundError:
            return True
        if MARKER in names:
            self._check_marker()
            return False
        if not names:
            return True
        # A library of an earlier version, or one whose making was interrupted, has no marker.
        of_library = {*_PARTS, "recorded", "fleet", "lock", "lock.pid", f"{MARKER}.draft"}
        unexpected_names = {name for name in names - of_library if not name.startswith(_CATALOGS)}
        lock = self.folder / "lock"
        has_lock = not lock.exists() or (lock.is_file() and lock.stat().st_size == 0)
        if names & {"lock", _CATALOG} and has_lock and not unexpected_names:
            return False
        raise UsageError(
            f"{self.folder} is not empty and is not a tracekit library. Nothing in it was changed."
            " Name a new or an empty folder with --library."
        )

    def _check_marker(self) -> None:
        """Raise ``UsageError`` for a library in the format of a newer tracekit."""
        try:
            version = json.loads((self.folder / MARKER).read_bytes())["version"]
        except (ValueError, KeyError, TypeError):
            return  # damaged: its name is the mark, and it is written anew
        if isinstance(version, int) and version > _FORMAT:
            raise UsageError(
                f"The library {self.folder} was made by a newer tracekit (format {version}; this one has"
                f" {_FORMAT}). Update tracekit, or name another folder with --library."
            )

    def _write_marker(self) -> None:
        marker = self.folder / MARKER
        content = json.dumps({"tracekit": "library", "version": _FORMAT})
        with suppress(FileNotFoundError, UnicodeDecodeError):
            if marker.read_text("ascii") == content:
                return
        draft = marker.with_name(f"{MARKER}.draft")
        draft.write_text(content, "ascii")
        draft.replace(marker)

    def _acquire_library_lock(self) -> FileLock:
        pid_file = self.folder / "lock.pid"
        try:
            lock = acquire_lock(self.folder / "lock")
        except Conflict:
            holder = ""
            with suppress(OSError, ValueError):
                holder = f" (pid {int(pid_file.read_text('ascii'))})"
            raise Conflict(
                f"Another dashboard{holder} uses the library {self.folder}. Use that one, end it, or name"
                " another folder with --library."
            ) from None
        self._lock_identity = identify_file(self.folder / "lock")
        with suppress(OSError):  # the pid only serves the message above
            pid_file.touch(mode=0o600)
            pid_file.chmod(0o600)  # of an earlier version, which anybody could read
            pid_file.write_text(str(os.getpid()), "ascii")
        return lock

    def require_lock(self) -> None:
        """Raise ``LibraryFailed`` if the file of the held lock is gone or replaced.

        Another server may use the folder then.
        """
        if self._lock_identity and identify_file(self.folder / "lock") != self._lock_identity:
            raise LibraryFailed(
                "The library's folder was moved or replaced while the dashboard ran, so nothing more is"
                " changed. End the dashboard, put the folder in its place, and start the dashboard again."
            )

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
        return self.folder / _CATALOG

    def recording_folder(self, recording_id: str) -> Path:
        """Return a recording's folder; raise ``NotFound`` for a malformed id."""
        return self.recordings / check_id(recording_id)

    def input(self, recording_id: str) -> Path:
        """Return the folder of an upload."""
        return self.recording_folder(recording_id) / "input"

    def variant(self, recording_id: str, variant: str) -> Path:
        """Return the folder of a variant; raise ``NotFound`` for a malformed id."""
        if not _VARIANT.fullmatch(variant):
            raise NotFound("There is no such analysis of this recording.")
        return self.variants(recording_id) / variant

    def variants(self, recording_id: str) -> Path:
        """Return the folder of a recording's variants."""
        return self.recording_folder(recording_id) / "variants"

    def results(self, analysis: str) -> Path:
        """Return the folder of the results of a recording, or of one of its variants; see ``split``."""
        recording_id, variant = split(analysis)
        folder = self.variant(recording_id, variant) if variant else self.recording_folder(recording_id)
        return folder / "results"

    def measure_results(self, recording_id: str) -> int:
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
        """Return the folder with the results of comparing two recordings."""
        return self.comparisons / f"{check_id(base_id)}-{check_id(new_id)}"

    def upload(self, upload_id: str) -> Path:
        """Return an upload's folder."""
        return self.uploads / check_id(upload_id)

    def measure_free_bytes(self) -> int:
        """Return the room on the disk."""
        return shutil.disk_usage(self.folder).free

    def discard(self, path: Path) -> None:
        """Remove a folder or file: it disappears at once and as a whole, its bytes a little later."""
        _remove_path(self.move_to_trash(path))

    def move_to_trash(self, path: Path) -> Path:
        """Move a folder or file to the trash, and return its place there; ignore one that is gone."""
        grave = self.trash / f"removed-{make_id()}"
        with suppress(FileNotFoundError):
            path.rename(grave)
        return grave

    def discard_recorded(self, path: Path) -> None:
        """Remove a bundle recorded on the page, with its journal; ignore other paths."""
        folder = path.parent
        if folder.parent != self.recorded.resolve() or not is_attempt_id(folder.name):
            return
        self.discard(path)
        build_journal_path(path).unlink(missing_ok=True)
        self.discard_attempt(folder)

    def discard_attempt(self, folder: Path) -> None:
        """Remove the folder of an attempt to record, unless it holds a recording or foreign files."""
        with suppress(FileNotFoundError):
            if all(_is_of_attempt(entry.name) for entry in folder.iterdir()):
                self.discard(folder)

    def make_scratch_folder(self) -> Path:
        """Return a new folder for temporary files, which the next start removes if they are left behind."""
        folder = self.trash / f"removed-{make_id()}"
        folder.mkdir(mode=0o700)
        return folder

    def collect(self) -> None:
        """Remove the leftovers of an earlier server: unfinished removals and writes, by their names."""
        ids = set(self.list_recording_ids())
        for entry in self.trash.iterdir():
            if _GRAVE.fullmatch(entry.name):
                _remove_path(entry)
        for recording_id in ids:
            self._discard_works(self.recording_folder(recording_id))
        self._discard_works(self.comparisons)
        for entry in self.comparisons.iterdir():
            pair = _PAIR.fullmatch(entry.name)
            if pair and not set(pair.groups()) <= ids:
                self.discard(entry)
        for entry in self.uploads.iterdir():
            if _BEGUN_UPLOAD.fullmatch(entry.name):
                self.discard(entry)

    def _discard_works(self, folder: Path) -> None:
        for entry in folder.glob(f"{WORK}*"):
            if _WORK_FOLDER.fullmatch(entry.name):
                self.discard(entry)

    def iter_foreign_entries(self) -> Iterator[str]:
        """Yield the paths of what is not tracekit's, in the folders where every name is its own."""
        known = {
            "recordings": (_ID,),
            "uploads": (_ID, _BEGUN_UPLOAD),
            "comparisons": (_PAIR, _WORK_FOLDER),
            "trash": (_GRAVE,),
        }
        for part, patterns in known.items():
            for name in sorted(entry.name for entry in (self.folder / part).iterdir()):
                if not _is_of_system(name) and not any(pattern.fullmatch(name) for pattern in patterns):
                    yield f"{part}/{name}"

    def list_recording_ids(self) -> list[str]:
        """Return the ids of the folders of recordings, or of links to such folders.

        Some file systems and tools change the case of names: such a folder is renamed.
        """
        with os.scandir(self.recordings) as entries:
            folders = [entry.name for entry in entries if entry.is_dir()]
        names = [name for name in folders if _ID.fullmatch(name.lower())]
        for name in names:
            if name != name.lower():
                with suppress(OSError):  # both exist
                    (self.recordings / name).rename(self.recordings / name.lower())
        return sorted(name for name in {name.lower() for name in names} if (self.recordings / name).is_dir())

    def upload_ids(self) -> list[str]:
        """Return the ids of the uploads."""
        return sorted(folder.name for folder in self.uploads.iterdir() if _ID.fullmatch(folder.name))


def is_attempt_id(name: str) -> bool:
    """Return True for a name that may be of an attempt to record."""
    return _ATTEMPT.fullmatch(name) is not None


def is_variant_id(name: str) -> bool:
    """Return True for a name that may be a variant's."""
    return _VARIANT.fullmatch(name) is not None


def identify_file(path: Path) -> tuple[int, int] | None:
    """Return a value that differs between a file and its replacement at a path; None without a file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a string is quicker, and this is done for each request
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_of_attempt(name: str) -> bool:
    return name in _OF_ATTEMPTS or name.startswith(".tracekit-")


def _is_of_system(name: str) -> bool:
    return name.startswith("._") or name in _OF_SYSTEMS


def split(analysis: str) -> tuple[str, str]:
    """Return the recording's and the variant's id of an analysis' id: of ``<id>``, or ``<id>.<id>``."""
    recording_id, _, variant = analysis.partition(".")
    return recording_id, variant


def acquire_lock(path: Path) -> FileLock:
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


def check_id(recording_id: str) -> str:
    """Return a well-formed id; raise ``NotFound`` for any other text of a visitor."""
    if not _ID.fullmatch(recording_id):
        raise NotFound("There is no such recording.")
    return recording_id


def _remove_path(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
