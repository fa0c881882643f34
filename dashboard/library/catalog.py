"""The recordings and their states, in SQLite. Only the server writes to it, from any of its threads.

``tracekit/cli/noise.py`` reads it as well, in a process of its own.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    create_engine,
    delete,
    event,
    func,
    insert,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.exc import DatabaseError

from dashboard.errors import CatalogLocked, LibraryFailed, NoSpace, NotFound
from dashboard.library.analysis_state import AnalysisState
from dashboard.library.catalog_orders import NEWEST, order_by
from dashboard.library.catalog_tables import RECORDINGS, TAGS, make_tables, prepare
from dashboard.library.variant_table import VariantTable
from tracekit.errors import InputError, TracekitError, UsageError

VERSION = 1
_ROW = RECORDINGS.c
UNFINISHED = ("waiting", "reading")
FINISHED = ("ready", "failed", "cancelled")


@dataclass(frozen=True)
class Recording(AnalysisState):
    """A recording as a page shows it. ``path`` is for the server alone; ``name``, ``note``, ``tags``,
    ``device`` and ``app`` hold other people's text.
    """

    id: str
    name: str
    origin: str
    """ "file", referenced where it lies, or "upload"."""
    path: str
    size_bytes: int
    added: datetime
    device: str = ""
    system: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    deleted: datetime | None = None
    results_bytes: int | None = None
    """The size of the results and of those of variants; 0 if they were dropped, None if there are none."""
    default_variant: str = ""
    """The id of the variant that its page shows; "" is the analysis without options."""
    app: str = ""
    recorded: datetime | None = None
    digest: str = ""
    """Alike for copies of one recording; "" where that cannot be told."""

    @property
    def is_dropped(self) -> bool:
        """Return True if the results of a recording that was read are to be made again when it is opened."""
        return self.state == "ready" and self.results_bytes == 0


@dataclass(frozen=True)
class DiskUse:
    """Bytes that a library takes: recordings that it holds itself, and the results of all."""

    uploads_bytes: int
    recorded_bytes: int
    results_bytes: int


_SAME = [column.name for column in fields(Recording) if column.name in _ROW and column.name != "path"]


_LOCKED_SECONDS = 2.0
"""The time for which a request waits for another program's lock."""
_TURN_SECONDS = 0.25
_MAX_WRITERS = 2
"""Threads that may wait for the lock at once: the others go on serving requests."""
_MAX_WORDS = 30
"""Words of a search: each reads the texts of all recordings, at every poll of a page."""


def _problem(error: DatabaseError) -> TracekitError:
    """Return what a failure of SQLite means."""
    # Extended codes have the primary one in their low byte.
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return _locked()
    sentence = f"The catalog of recordings cannot be read or written: {error.orig}."
    if code == sqlite3.SQLITE_FULL:
        return NoSpace(f"{sentence} Make room.")
    return LibraryFailed(f"{sentence} Check the disk and the permissions of the library's folder.")


def _locked() -> CatalogLocked:
    return CatalogLocked(
        "Another program has locked the catalog of recordings (catalog.sqlite3 in the library's folder), so"
        " nothing was changed. Close that program, such as a database browser or a backup."
    )


class Catalog:
    """Opens or makes the catalog; raises ``InputError`` when it is damaged or of a newer tracekit.

    Every method raises ``CatalogLocked`` while another program has locked the file, ``NoSpace`` and
    ``LibraryFailed``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        address = URL.create("sqlite", database=str(path))
        self._engine = create_engine(address, connect_args={"timeout": _LOCKED_SECONDS})
        event.listen(self._engine, "connect", prepare)
        self._writers = threading.BoundedSemaphore(_MAX_WRITERS)
        self.variants = VariantTable(self._reading, self._writing)
        self.revision = secrets.token_hex(8)
        """Another text after every write: with the same one, whatever was read before is current."""
        try:
            with self._engine.begin() as connection:
                self._check_version(connection)
                make_tables(connection)
        except DatabaseError as error:
            self.close()
            problem = _problem(error)
            if not isinstance(problem, LibraryFailed):
                raise problem from error
            raise InputError(
                str(path), f"is no catalog of recordings, or a damaged one ({error.orig}).", "Move it away."
            ) from error
        except InputError:
            self.close()
            raise
        with suppress(OSError):
            path.chmod(0o600)

    def _check_version(self, connection: Connection) -> None:
        version = connection.execute(text("PRAGMA user_version")).scalar_one()
        if version > VERSION:
            raise InputError(
                str(self._path),
                f"was written by a newer tracekit (version {version}; this one knows {VERSION}).",
                "Update tracekit, or name another folder with --library.",
            )
        connection.execute(text(f"PRAGMA user_version = {VERSION}"))

    def close(self) -> None:
        """Close the file."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except DatabaseError as error:
            raise _problem(error) from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        if not self._writers.acquire(timeout=_TURN_SECONDS):
            raise _locked()
        try:
            with self._engine.begin() as connection:
                yield connection
        except DatabaseError as error:
            raise _problem(error) from error
        finally:
            # Behind the commit: who reads the new revision reads what was written, too.
            self.revision = secrets.token_hex(8)
            self._writers.release()

    def add(self, recording: Recording, path: bytes = b"", fingerprint: str = "") -> None:
        """Add a recording that is new."""
        values = {name: getattr(recording, name) for name in _SAME}
        values |= {"path": path, "fingerprint": fingerprint, "added_us": _microseconds(recording.added)}
        with self._writing() as connection:
            connection.execute(insert(RECORDINGS).values(values))

    def find(self, recording_id: str) -> Recording:
        """Return a recording, even a deleted one; raise ``NotFound``."""
        recordings = self._select(_ROW.id == recording_id)
        if not recordings:
            raise NotFound("There is no such recording: it was removed, or the link is wrong.")
        return recordings[0]

    def search(
        self,
        words: str,
        tag: str,
        deleted: bool,
        first: int = 0,
        count: int | None = None,
        order: str = NEWEST,
    ) -> list[Recording]:
        """Return the recordings with all the words in their texts or tags, by ``order``.

        ``count`` of them from number ``first`` on, or all from there. Raises ``UsageError`` for more words
        than a search takes.
        """
        return self._select(*_conditions(words, tag, deleted), first=first, count=count, order=order)

    def copies(self, digests: Collection[str]) -> dict[str, list[tuple[str, str]]]:
        """Return id and name of the recordings of each digest, the one that was added first before others."""
        rows = (
            select(_ROW.digest, _ROW.id, _ROW.name)
            .where(_ROW.digest.in_(set(digests) - {""}), _ROW.deleted_us.is_(None))
            .order_by(_ROW.added_us, _ROW.id)
        )
        copies: dict[str, list[tuple[str, str]]] = {}
        with self._reading() as connection:
            for digest, recording_id, name in connection.execute(rows):
                copies.setdefault(digest, []).append((recording_id, name))
        return copies

    def count(self, words: str, tag: str, deleted: bool) -> int:
        """Return the number of the recordings that ``search`` finds."""
        with self._reading() as connection:
            counted = select(func.count()).select_from(RECORDINGS)
            return int(connection.execute(counted.where(*_conditions(words, tag, deleted))).scalar_one())

    def of_file(self, path: bytes, fingerprint: str) -> Recording | None:
        """Return the newest recording of a file with that fingerprint."""
        recordings = self._select(_ROW.path == path, _ROW.fingerprint == fingerprint, _ROW.origin == "file")
        return recordings[0] if recordings else None

    def fingerprint(self, recording_id: str) -> str:
        """Return the fingerprint that ``add`` was given."""
        with self._reading() as connection:
            return str(
                connection.execute(select(_ROW.fingerprint).where(_ROW.id == recording_id)).scalar() or ""
            )

    def in_state(self, state: str) -> list[Recording]:
        """Return all recordings of that state, deleted or not."""
        return self._select(_ROW.state == state)

    def deleted_before(self, moment: datetime) -> list[str]:
        """Return the ids of the recordings that were deleted before a moment."""
        rows = self._select(_ROW.deleted_us < _microseconds(moment))
        return [recording.id for recording in rows]

    def ids(self) -> set[str]:
        """Return all ids, deleted or not."""
        with self._reading() as connection:
            return set(connection.execute(select(_ROW.id)).scalars())

    def change(self, recording_id: str, *, states: Collection[str] = (), **values: Any) -> bool:
        """Set columns if the recording is in one of ``states`` (by default any); return whether it was."""
        with self._writing() as connection:
            changed = update(RECORDINGS).where(_ROW.id == recording_id).values(values)
            if states:
                changed = changed.where(_ROW.state.in_(states))
            return connection.execute(changed).rowcount > 0

    def set_deleted(self, recording_id: str, deleted: bool) -> None:
        """Mark as deleted, or no longer so."""
        self.change(recording_id, deleted_us=_microseconds(now()) if deleted else None)

    def set_tags(self, recording_id: str, tags: Sequence[str]) -> None:
        """Replace the tags."""
        with self._writing() as connection:
            connection.execute(delete(TAGS).where(TAGS.c.recording == recording_id))
            for tag in tags:
                connection.execute(insert(TAGS).values(recording=recording_id, tag=tag))

    def tags(self) -> list[tuple[str, int]]:
        """Return the tags in use, each with how many recordings have it."""
        with self._reading() as connection:
            counted = (
                select(TAGS.c.tag, func.count())
                .join(RECORDINGS, _ROW.id == TAGS.c.recording)
                .where(_ROW.deleted_us.is_(None))
                .group_by(TAGS.c.tag)
                .order_by(TAGS.c.tag)
            )
            return [(tag, count) for tag, count in connection.execute(counted)]

    def disk_use(self, recorded: bytes) -> DiskUse:
        """Return the sizes of all recordings; paths of those made here begin with ``recorded``."""
        is_upload = _ROW.origin == "upload"
        is_recorded = (_ROW.origin == "file") & (func.substr(_ROW.path, 1, len(recorded)) == recorded)
        sums = [func.sum(_ROW.size_bytes).filter(part) for part in (is_upload, is_recorded)]
        with self._reading() as connection:
            row = connection.execute(select(*sums, func.sum(_ROW.results_bytes))).one()
        return DiskUse(*(int(size or 0) for size in row))

    def claim(self, busy: Collection[str]) -> str | None:
        """Mark the recording that waits longest and is not busy as "reading", and return its id."""
        oldest = (
            select(_ROW.id)
            .where(_ROW.state == "waiting", _ROW.deleted_us.is_(None), _ROW.id.not_in(busy))
            .order_by(_ROW.added_us)
            .limit(1)
            .scalar_subquery()
        )
        values = {"state": "reading", "stage": "opening", "progress": None, "starts": _ROW.starts + 1}
        with self._writing() as connection:
            claimed = update(RECORDINGS).where(_ROW.id == oldest).values(values).returning(_ROW.id)
            recording_id = connection.execute(claimed).scalar()
        return None if recording_id is None else str(recording_id)

    def starts(self, recording_id: str) -> int:
        """Return how often a reading was begun since the last one that ended."""
        with self._reading() as connection:
            return int(connection.execute(select(_ROW.starts).where(_ROW.id == recording_id)).scalar() or 0)

    def remove(self, recording_id: str) -> None:
        """Remove a recording from the catalog."""
        with self._writing() as connection:
            connection.execute(delete(RECORDINGS).where(_ROW.id == recording_id))

    def _select(
        self,
        *conditions: ColumnElement[bool],
        first: int = 0,
        count: int | None = None,
        order: str = NEWEST,
    ) -> list[Recording]:
        chosen = select(RECORDINGS).where(*conditions).order_by(*order_by(order))
        with self._reading() as connection:
            rows = connection.execute(chosen.offset(first).limit(count)).mappings().all()
            tags: dict[str, list[str]] = {}
            # All ids of many rows would be more parameters than SQLite takes.
            ids = select(_ROW.id).where(*conditions) if count is None else [row["id"] for row in rows]
            of_these = select(TAGS).where(TAGS.c.recording.in_(ids))
            for recording_id, tag in connection.execute(of_these.order_by(TAGS.c.tag)):
                tags.setdefault(recording_id, []).append(tag)
        return [_recording(dict(row), tuple(tags.get(row["id"], ()))) for row in rows]


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def new_recording(recording_id: str, name: str, origin: str, size_bytes: int) -> Recording:
    """Return a recording that was added just now and waits to be read."""
    return Recording(recording_id, name, origin, "", size_bytes, now(), state="waiting")


def _conditions(words: str, tag: str, deleted: bool) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [
        _ROW.deleted_us.is_not(None) if deleted else _ROW.deleted_us.is_(None)
    ]
    if tag:
        conditions.append(_ROW.id.in_(select(TAGS.c.recording).where(TAGS.c.tag == _valid(tag))))
    distinct = dict.fromkeys(_valid(words).split())
    if len(distinct) > _MAX_WORDS:
        raise UsageError(f"A search takes {_MAX_WORDS} words, and this one has {len(distinct):,}. Use fewer.")
    return conditions + [_mentions(word) for word in distinct]


def _valid(text: str) -> str:
    """Return text that SQLite takes: a request can have half of a UTF-16 pair."""
    return text.encode("utf-8", "replace").decode()


def _mentions(word: str) -> ColumnElement[bool]:
    def has(text: ColumnElement[str]) -> ColumnElement[bool]:
        return func.instr(func.casefold(text), word.casefold()) > 0

    tagged = _ROW.id.in_(select(TAGS.c.recording).where(has(TAGS.c.tag)))
    # One call of Python per row; no word has a line feed, so none is found across two columns.
    columns = (_ROW.name, _ROW.app, _ROW.verdict, _ROW.note, _ROW.device, _ROW.system, _ROW.message)
    texts: ColumnElement[str] = columns[0]
    for column in columns[1:]:
        texts = texts + "\n" + column
    return or_(has(texts), tagged)


def _recording(row: dict[str, Any], tags: tuple[str, ...]) -> Recording:
    values = {name: row[name] for name in _SAME}
    deleted = row["deleted_us"]
    return Recording(
        **values,
        path=os.fsdecode(row["path"]),
        added=_moment(row["added_us"]),
        recorded=_moment(row["recorded_us"]) if row["recorded_us"] else None,
        tags=tags,
        deleted=None if deleted is None else _moment(deleted),
    )


def _microseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1e6)


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)
