"""The files in which recordings and further analyses describe themselves: ``about.json`` in their folders.

::

    recordings/<id>/about.json                  name, origin, path, note, tags, deleted or not, verdict
    recordings/<id>/variants/<id>/about.json    the options of a further analysis

They are the truth of a library: the catalog is made from them when it is missing, damaged or older. A file is
replaced as a whole and durably, and nothing is acknowledged before. It may come from another machine or an
older backup, so each value is checked when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracekit_dashboard.library.outside_names import clean_note, clean_tags, make_display_name, make_one_line
from tracekit_dashboard.library.reading_results import FACTS
from tracekit_dashboard.library.slices import sync_folder
from tracekit_dashboard.library.store import Store, is_attempt_id

ABOUT = "about.json"
RECORDING, ANALYSIS = "recording", "analysis"
"""The kinds of folders."""
_VERSION = 1
_MAX_BYTES = 1 << 20
_MAX_INTEGER = 2**62
_MAX_MOMENT_US = 250_000_000_000 * 10**6
"""In the year 9892: ``datetime`` ends with 9999."""
_MAX_TEXT = 20_000
_ORIGINS = ("file", "upload")


class UnreadableDescription(Exception):  # noqa: N818 - caught where folders are read
    """The file is damaged, or of another kind."""


class Newer(UnreadableDescription):
    """The file is of a newer tracekit."""


def write_document(folder: Path, kind: str, values: Mapping[str, Any]) -> None:
    """Replace a folder's description durably; the folder is made if it is not there. Raises ``OSError``."""
    draft = folder / f"{ABOUT}.draft"
    document = {"tracekit": kind, "version": _VERSION, **values}
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
            sync_folder(folder.parent)
        with draft.open("w", encoding="ascii") as file:
            json.dump(document, file, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / ABOUT)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    sync_folder(folder)


def read_document(folder: Path, kind: str) -> dict[str, Any] | None:
    """Return a folder's description, None without one. Raises ``UnreadableDescription``."""
    place = folder / ABOUT
    if not os.path.lexists(place):
        return None
    if not place.is_file():  # opening a pipe would wait for its other end
        raise UnreadableDescription
    try:
        with place.open("rb") as file:
            document = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableDescription from error
    if not isinstance(document, dict) or document.get("tracekit") != kind:
        raise UnreadableDescription
    if not isinstance(document.get("version"), int):
        raise UnreadableDescription
    if document["version"] > _VERSION:
        raise Newer
    return document


class Descriptions:
    """The descriptions of a library's recordings, as columns of the catalog."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, recording_id: str, row: Mapping[str, Any], tags: tuple[str, ...]) -> str:
        """Write the lasting columns of a row and its tags; return the stamp of the file."""
        values = {name: row[name] for name in LASTING if name != "path"}
        path = self._make_relative(os.fsdecode(row["path"])) if row["origin"] == "file" else ""
        folder = self._store.recording_folder(recording_id)
        write_document(folder, RECORDING, {**values, "path": path, "tags": tags})
        return self.read_stamp(recording_id)

    def read(self, recording_id: str) -> tuple[dict[str, Any], tuple[str, ...]] | None:
        """Return the lasting columns and the tags of a recording; None without a description.

        Raises ``UnreadableDescription``.
        """
        document = read_document(self._store.recording_folder(recording_id), RECORDING)
        if document is None:
            return None
        try:
            values = {name: check(document[name]) for name, check in LASTING.items() if name in document}
            tags = clean_tags([_require_text(tag) for tag in document.get("tags", ())])
            values["path"] = os.fsencode(self._make_absolute(values["path"]))
        except (KeyError, ValueError, TypeError) as error:
            raise UnreadableDescription from error
        if not {"name", "origin", "size_bytes", "added_us"} <= values.keys():
            raise UnreadableDescription
        return values, tags

    def read_stamp(self, recording_id: str) -> str:
        """Return a text that differs for each file that was ever written here; "" without one.

        It has the folder of the library as well: a description names recordings inside by a relative path.
        """
        try:
            status = (self._store.recording_folder(recording_id) / ABOUT).stat()
        except OSError:
            return ""
        times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
        return f"{times} {status.st_ino} {status.st_size} {self._store.folder}"

    def _make_relative(self, path: str) -> str:
        """Return a path below the library relative to it, so that a library can be moved."""
        root = f"{self._store.recorded.resolve()}{os.sep}"
        return f"{_INSIDE}{path.removeprefix(root)}" if path.startswith(root) else path

    def _make_absolute(self, path: str) -> str:
        """Return the path of a recording; raise ``ValueError`` for one that leads elsewhere than it shows."""
        if not path.startswith(_INSIDE):
            if path and (os.path.normpath(path) != path or not Path(path).is_absolute()):
                raise ValueError
            return path
        attempt, _, name = path.removeprefix(_INSIDE).replace(os.sep, "/").partition("/")
        if not is_attempt_id(attempt) or name in ("", ".", "..") or "/" in name or "\\" in name:
            raise ValueError
        return str(self._store.recorded.resolve() / attempt / name)


_INSIDE = "recorded:"
"""The beginning of the path of a recording made on the page; no absolute path begins so."""


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _check_line(value: object) -> str:
    return make_one_line(_require_text(value))[:_MAX_TEXT]


def _check_name(value: object) -> str:
    return make_display_name(_require_text(value))


def _check_note(value: object) -> str:
    return clean_note(_require_text(value))


def _check_origin(value: object) -> str:
    if value not in _ORIGINS:
        raise ValueError
    return str(value)


def _check_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MAX_INTEGER:
        raise ValueError
    return value


def _check_path(value: object) -> str:
    if "\0" in _require_text(value):
        raise ValueError
    return _require_text(value)


def check_moment(value: object) -> int:
    """Return microseconds since 1970; raise ``ValueError`` for what is no moment."""
    if not 0 <= _check_integer(value) <= _MAX_MOMENT_US:
        raise ValueError
    return _check_integer(value)


def _check_deleted(value: object) -> int | None:
    return None if value is None else check_moment(value)


_FACTS: dict[str, Callable[[object], Any]] = {
    "duration_ns": _check_integer,
    "samples": _check_integer,
    "windows": _check_integer,
    "p50_ns": _check_integer,
    "recorded_us": check_moment,
}
"""The facts that are no lines of text."""
LASTING: dict[str, Callable[[object], Any]] = {
    "name": _check_name,
    "origin": _check_origin,
    "path": _check_path,
    "fingerprint": _check_line,
    "size_bytes": _check_integer,
    "added_us": check_moment,
    "note": _check_note,
    "deleted_us": _check_deleted,
    "default_variant": _check_line,
    **{name: _FACTS.get(name, _check_line) for name in FACTS},
}
"""The columns of the catalog that outlive it, each with its check: all but the progress of an analysis."""
