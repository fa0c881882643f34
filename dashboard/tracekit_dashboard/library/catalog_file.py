"""The catalog's file: opened, checked and set aside when it is damaged; its transactions.

The catalog is an index of the recordings' folders (see ``descriptions``), so a file that cannot be read is no
loss: it is renamed, and ``rebuild`` fills a new one. What must never happen is a change that is acknowledged
and stands in no file of the folder: a transaction begins and commits only while the open file is the one at
the catalog's path.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import URL, Connection, create_engine, event, select, text
from sqlalchemy.exc import DatabaseError

from tracekit.errors import InputError, TracekitError
from tracekit_dashboard.errors import CatalogLocked, LibraryFailed, NoSpace
from tracekit_dashboard.library.analysis_state import STATES
from tracekit_dashboard.library.catalog_tables import RECORDINGS, VARIANTS, make_tables, prepare
from tracekit_dashboard.library.store import identify_file

VERSION = 2
"""1 had catalogs without the folders' descriptions."""
_LOCKED_SECONDS = 2.0
"""The time for which a request waits for another program's lock."""
_TURN_SECONDS = 0.25
_MAX_WRITERS = 2
"""Threads that may wait for the lock at once: the others go on serving requests."""
AGAIN = "End the dashboard and start it again: it rebuilds the catalog from the recordings' folders."
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, 0)
"""SQLITE_ERROR is of tables that are no catalog's; text that is not UTF-8 fails in Python, without a code."""
_BESIDE = ("-wal", "-shm", "-journal", "")
"""The files of a database; its own is renamed last: without the others it is a whole, older one."""


class Damaged(Exception):  # noqa: N818 - caught in this module
    """The file is no database, or not one of a catalog."""


class CatalogFile:
    """An open catalog. Every transaction raises ``CatalogLocked``, ``NoSpace`` and ``LibraryFailed``."""

    def __init__(self, path: Path, require_lock: Callable[[], None]) -> None:
        self._path, self._require_lock = path, require_lock
        self.is_new = not path.exists()
        """True for a file that this object made."""
        address = URL.create("sqlite", database=str(path))
        self.engine = create_engine(address, connect_args={"timeout": _LOCKED_SECONDS})
        event.listen(self.engine, "connect", prepare)
        self._writers = threading.BoundedSemaphore(_MAX_WRITERS)
        self.revision = secrets.token_hex(8)
        """Another text after every write: with the same one, whatever was read before is current."""
        try:
            with self.engine.begin() as connection:
                self.version = self._check_version(connection)
                """The version of the tracekit that wrote the file last; 0 for a new file."""
                _require_whole(connection)
                make_tables(connection)
                _require_readable(connection)
            with suppress(OSError):
                path.chmod(0o600)
            self._identity = identify_file(path)
        except UnicodeDecodeError as error:  # Python's sqlite3 fails to decode what a damaged file names
            self.close()
            raise Damaged(str(error)) from error
        except DatabaseError as error:
            self.close()
            if _find_primary_code(error) in _DAMAGE:
                raise Damaged(str(error.orig)) from error
            raise _explain_problem(error) from error
        except BaseException:
            self.close()
            raise

    def _check_version(self, connection: Connection) -> int:
        version = int(connection.execute(text("PRAGMA user_version")).scalar_one())
        if version > VERSION:
            raise InputError(
                str(self._path),
                f"was written by a newer tracekit (version {version}; this one knows {VERSION}).",
                "Update tracekit, or name another folder with --library.",
            )
        return version

    def note_version(self) -> None:
        """Enter this version, once the catalog and the folders agree."""
        with self.begin_writing() as connection:
            connection.execute(text(f"PRAGMA user_version = {VERSION}"))

    def close(self) -> None:
        """Close the file."""
        self.engine.dispose()

    @contextmanager
    def begin_reading(self) -> Iterator[Connection]:
        """Begin a transaction that reads."""
        self.require_in_place()
        try:
            with self.engine.connect() as connection:
                yield connection
        except (DatabaseError, UnicodeDecodeError) as error:
            raise _explain_problem(error) from error

    @contextmanager
    def begin_writing(self) -> Iterator[Connection]:
        """Begin a transaction that is committed at its end, unless an exception leaves it."""
        if not self._writers.acquire(timeout=_TURN_SECONDS):
            raise _make_locked_error()
        try:
            self.require_in_place()
            with self.engine.begin() as connection:
                yield connection
                self.require_in_place()
        except (DatabaseError, UnicodeDecodeError) as error:
            raise _explain_problem(error) from error
        finally:
            # Behind the commit: who reads the new revision reads what was written, too.
            self.revision = secrets.token_hex(8)
            self._writers.release()

    def require_in_place(self) -> None:
        """Raise ``LibraryFailed`` if the path has no file, or another one than this."""
        self._require_lock()
        if identify_file(self._path) != self._identity:
            raise LibraryFailed(
                "The catalog of recordings was removed or replaced while the dashboard ran, so nothing more"
                f" is changed. {AGAIN}"
            )


def open_catalog(path: Path, require_lock: Callable[[], None]) -> tuple[CatalogFile, Path | None]:
    """Return the catalog at a path, which is made unless it is there, and the new place of a damaged one.

    ``require_lock`` is called at the beginning and end of transactions, and raises if the library's lock was
    lost. Raises ``InputError`` for one of a newer tracekit.
    """
    try:
        return CatalogFile(path, require_lock), None
    except Damaged:
        aside = _set_aside(path)
    try:
        return CatalogFile(path, require_lock), aside
    except Damaged as error:
        raise LibraryFailed(f"No catalog of recordings can be made at {path}: {error}.") from error


def _set_aside(path: Path) -> Path:
    """Rename a damaged catalog, and return its new path."""
    aside = path.with_name(f"catalog-damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.sqlite3")
    for ending in _BESIDE:
        source = path.with_name(path.name + ending)
        if source.exists():
            source.rename(aside.with_name(aside.name + ending))
    return aside


def _require_whole(connection: Connection) -> None:
    """Raise ``Damaged`` for what SQLite meets only where it reads, such as an old file with a later log."""
    result = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
    if result != "ok":
        raise Damaged(str(result))


def _require_readable(connection: Connection) -> None:
    """Raise ``Damaged`` for what SQLite does not check: text that is not UTF-8, states that do not exist."""
    for table in (RECORDINGS, VARIANTS):
        for row in connection.execute(select(table)).mappings():
            if row["state"] not in STATES:
                raise Damaged("a state that does not exist")


def _find_primary_code(error: DatabaseError) -> int:
    """Return SQLite's code of a failure: extended codes have the primary one in their low byte."""
    return int(getattr(error.orig, "sqlite_errorcode", 0)) & 0xFF


def _explain_problem(error: DatabaseError | UnicodeDecodeError) -> TracekitError:
    """Return the error for a failure of SQLite."""
    if isinstance(error, UnicodeDecodeError):
        return LibraryFailed(f"The catalog of recordings is damaged. {AGAIN}")
    code = _find_primary_code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return _make_locked_error()
    sentence = f"The catalog of recordings cannot be read or written: {error.orig}."
    if code == sqlite3.SQLITE_FULL:
        return NoSpace(f"{sentence} Make room.")
    return LibraryFailed(f"{sentence} Check the disk and the permissions of the library's folder.")


def _make_locked_error() -> CatalogLocked:
    return CatalogLocked(
        "Another program has locked the catalog of recordings (catalog.sqlite3 in the library's folder), so"
        " nothing was changed. Close that program, such as a database browser or a backup."
    )
