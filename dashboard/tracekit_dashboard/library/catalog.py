"""The recordings and their states, in SQLite. Only the server writes to it, from any of its threads.

What lasts of a recording stands in its folder as well (``descriptions``), and is written there before the
catalog's change is committed: the catalog can be lost. ``tracekit/cli/noise.py`` reads it in a process of its
own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, delete, func, insert, select, update

from tracekit_dashboard.errors import Conflict, LibraryFailed, NoSpace, NotFound
from tracekit_dashboard.library.analysis_state import AnalysisState
from tracekit_dashboard.library.catalog_file import AGAIN, open_catalog
from tracekit_dashboard.library.catalog_orders import NEWEST, build_order
from tracekit_dashboard.library.catalog_search import build_conditions
from tracekit_dashboard.library.catalog_tables import RECORDINGS, TAGS
from tracekit_dashboard.library.descriptions import LASTING, Descriptions
from tracekit_dashboard.library.reading_results import FACTS
from tracekit_dashboard.library.slices import FULL
from tracekit_dashboard.library.store import Store
from tracekit_dashboard.library.variant_table import VariantTable

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
    """Equal for copies of one recording; "" if this cannot be determined."""

    @property
    def is_dropped(self) -> bool:
        """Return True if the results of a recording that was read are to be made again when it is opened."""
        return self.state == "ready" and self.results_bytes == 0


@dataclass(frozen=True)
class KnownRow:
    """The columns of a row that are compared with the folders."""

    name: str
    origin: str
    stamp: str
    """The stamp of the description from which the row was made."""
    deleted_us: int | None


@dataclass(frozen=True)
class CatalogEntry:
    """A recording's description as a row: ``values`` of the columns, with the stamp of the file."""

    id: str
    values: Mapping[str, Any]
    tags: tuple[str, ...]
    stamp: str

    def to_row(self) -> dict[str, Any]:
        """Return the whole row: an insertion of many takes the same columns for each."""
        return {**_NO_FACTS, **self.values, "id": self.id, "stamp": self.stamp}


@dataclass(frozen=True)
class DiskUse:
    """Bytes that a library takes: recordings that it holds itself, and the results of all."""

    uploads_bytes: int
    recorded_bytes: int
    results_bytes: int


_SAME = [column.name for column in fields(Recording) if column.name in _ROW and column.name != "path"]


_NO_FACTS = {
    "fingerprint": "",
    "note": "",
    "deleted_us": None,
    "default_variant": "",
    "results_bytes": None,
    **{name: 0 if isinstance(RECORDINGS.c[name].type, Integer) else "" for name in FACTS},
}
"""Defaults for values that descriptions of other versions may lack."""


class Catalog:
    """Opens or makes the catalog of a library; a damaged one is set aside.

    Raises ``InputError`` for one of a newer tracekit. Every method raises ``CatalogLocked`` while another
    program has locked the file, ``NoSpace`` and ``LibraryFailed``.
    """

    def __init__(self, store: Store) -> None:
        self._descriptions = Descriptions(store)
        self.file, self.set_aside = open_catalog(store.catalog, store.require_lock)
        """The second is the new path of a damaged catalog; None if there was none."""
        self._reading, self._writing = self.file.begin_reading, self.file.begin_writing
        self.variants = VariantTable(self._reading, self._writing)

    @property
    def revision(self) -> str:
        """A text that changes with every write; while it is unchanged, earlier reads are current."""
        return self.file.revision

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def add(self, recording: Recording, path: bytes = b"", fingerprint: str = "") -> None:
        """Add a recording that is new."""
        values = {name: getattr(recording, name) for name in _SAME}
        values |= {"path": path, "fingerprint": fingerprint, "added_us": to_microseconds(recording.added)}
        with self._writing() as connection:
            connection.execute(insert(RECORDINGS).values(values))
            self._write_description(connection, recording.id)

    def _write_description(self, connection: Connection, recording_id: str) -> None:
        """Write a row's lasting columns into the recording's folder, before the transaction is committed."""
        row = connection.execute(select(RECORDINGS).where(_ROW.id == recording_id)).mappings().one()
        current = self._descriptions.read_stamp(recording_id)
        if current and current != row["stamp"]:  # a catalog that was overwritten in its place is an older one
            raise LibraryFailed(f"The catalog does not fit the recording's folder. {AGAIN}")
        tags = connection.execute(
            select(TAGS.c.tag).where(TAGS.c.recording == recording_id).order_by(TAGS.c.tag)
        )
        try:
            stamp = self._descriptions.write(recording_id, dict(row), tuple(tags.scalars()))
        except OSError as error:
            reason = f"The recording's folder cannot be written: {error.strerror or error}."
            raise (
                NoSpace(f"{reason} Make room.")
                if error.errno in FULL
                else LibraryFailed(f"{reason} Check the disk and the permissions of the library's folder.")
            ) from error
        connection.execute(update(RECORDINGS).where(_ROW.id == recording_id).values(stamp=stamp))

    def find(self, recording_id: str) -> Recording:
        """Return a recording, even a deleted one; raise ``NotFound``."""
        recordings = self._select_recordings(_ROW.id == recording_id)
        if not recordings:
            raise NotFound("There is no such recording: it was removed, or the link is wrong.")
        return recordings[0]

    def search(
        self,
        words: str,
        tag: str,
        deleted: bool,
        offset: int = 0,
        count: int | None = None,
        order: str = NEWEST,
    ) -> list[Recording]:
        """Return the recordings with all the words in their texts or tags, by ``order``.

        ``count`` of them from number ``offset`` on, or all from there. Raises ``UsageError`` for more words
        than a search takes.
        """
        return self._select_recordings(
            *build_conditions(words, tag, deleted), offset=offset, count=count, order=order
        )

    def find_copies(self, digests: Collection[str]) -> dict[str, list[tuple[str, str]]]:
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
            statement = select(func.count()).select_from(RECORDINGS)
            return int(
                connection.execute(statement.where(*build_conditions(words, tag, deleted))).scalar_one()
            )

    def find_by_file(self, path: bytes, fingerprint: str) -> Recording | None:
        """Return the newest recording of a file with that fingerprint."""
        recordings = self._select_recordings(
            _ROW.path == path, _ROW.fingerprint == fingerprint, _ROW.origin == "file"
        )
        return recordings[0] if recordings else None

    def read_fingerprint(self, recording_id: str) -> str:
        """Return the fingerprint that ``add`` was given."""
        with self._reading() as connection:
            return str(
                connection.execute(select(_ROW.fingerprint).where(_ROW.id == recording_id)).scalar() or ""
            )

    def list_in_state(self, state: str) -> list[Recording]:
        """Return all recordings of that state, deleted or not."""
        return self._select_recordings(_ROW.state == state)

    def list_deleted_before(self, moment: datetime) -> list[str]:
        """Return the ids of the recordings that were deleted before a moment."""
        rows = self._select_recordings(_ROW.deleted_us < to_microseconds(moment))
        return [recording.id for recording in rows]

    def change(
        self,
        recording_id: str,
        *,
        states: Collection[str] = (),
        tags: Sequence[str] | None = None,
        **values: Any,
    ) -> bool:
        """Set columns, and replace the tags, if the recording is in one of ``states`` (by default any).

        Return whether it was.
        """
        with self._writing() as connection:
            statement = update(RECORDINGS).where(_ROW.id == recording_id)
            if states:
                statement = statement.where(_ROW.state.in_(states))
            # Without a value, the write lock is taken all the same: the tags are replaced under it.
            is_changed = connection.execute(statement.values(values or {"id": recording_id})).rowcount > 0
            if is_changed and tags is not None:
                _set_tags(connection, recording_id, tags)
            if is_changed and (tags is not None or not LASTING.keys().isdisjoint(values)):
                self._write_description(connection, recording_id)
            return is_changed

    def set_deleted(self, recording_id: str, deleted: bool) -> None:
        """Mark a recording as deleted, or as not deleted."""
        self.change(recording_id, deleted_us=to_microseconds(get_utc_now()) if deleted else None)

    def count_tags(self) -> list[tuple[str, int]]:
        """Return the tags in use, each with how many recordings have it."""
        with self._reading() as connection:
            statement = (
                select(TAGS.c.tag, func.count())
                .join(RECORDINGS, _ROW.id == TAGS.c.recording)
                .where(_ROW.deleted_us.is_(None))
                .group_by(TAGS.c.tag)
                .order_by(TAGS.c.tag)
            )
            return [(tag, count) for tag, count in connection.execute(statement)]

    def measure_disk_use(self, recorded: bytes) -> DiskUse:
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
            statement = update(RECORDINGS).where(_ROW.id == oldest).values(values).returning(_ROW.id)
            recording_id = connection.execute(statement).scalar()
        return None if recording_id is None else str(recording_id)

    def count_starts(self, recording_id: str) -> int:
        """Return how often a reading was begun since the last one that ended."""
        with self._reading() as connection:
            return int(connection.execute(select(_ROW.starts).where(_ROW.id == recording_id)).scalar() or 0)

    def remove(self, recording_id: str, remove_folder: Callable[[], None]) -> None:
        """Remove a deleted recording from the catalog, with the step that makes its folder disappear.

        Raises ``Conflict`` for one that is not deleted, or was restored meanwhile.
        """
        statement = delete(RECORDINGS).where(_ROW.id == recording_id, _ROW.deleted_us.is_not(None))
        with self._writing() as connection:
            if not connection.execute(statement).rowcount:
                raise Conflict("This recording is not deleted. Delete it first.")
            remove_folder()

    def list_known(self) -> dict[str, KnownRow]:
        """Return the columns of each row that are compared with its folder, by recording id."""
        columns = select(_ROW.id, _ROW.name, _ROW.origin, _ROW.stamp, _ROW.deleted_us)
        with self._reading() as connection:
            return {row.id: KnownRow(*row[1:]) for row in connection.execute(columns)}

    def enter_entries(self, entries: Sequence[CatalogEntry]) -> None:
        """Add rows for descriptions, and make the lasting columns of those that are there equal to them."""
        with self._writing() as connection:
            known = set(connection.execute(select(_ROW.id)).scalars())
            for entry in entries:
                if entry.id in known:
                    row = {name: entry.values[name] for name in LASTING if name in entry.values}
                    if entry.values["state"] == "ready" and entry.values.get("results_bytes") != 0:
                        row |= {"state": "ready", "results_bytes": None}  # whatever an older catalog has
                    changed = update(RECORDINGS).where(_ROW.id == entry.id)
                    connection.execute(changed.values(**row, stamp=entry.stamp))
                    connection.execute(delete(TAGS).where(TAGS.c.recording == entry.id))
            added = [entry.to_row() for entry in entries if entry.id not in known]
            tags = [{"recording": entry.id, "tag": tag} for entry in entries for tag in entry.tags]
            for table, rows in ((RECORDINGS, added), (TAGS, tags)):
                if rows:
                    connection.execute(insert(table), rows)

    def write_descriptions(self, recording_ids: Collection[str], **values: Any) -> None:
        """Write the descriptions of recordings that lack them, after setting columns."""
        with self._writing() as connection:
            for recording_id in recording_ids:
                if values:
                    connection.execute(update(RECORDINGS).where(_ROW.id == recording_id).values(values))
                self._write_description(connection, recording_id)

    def _select_recordings(
        self,
        *conditions: ColumnElement[bool],
        offset: int = 0,
        count: int | None = None,
        order: str = NEWEST,
    ) -> list[Recording]:
        statement = select(RECORDINGS).where(*conditions).order_by(*build_order(order))
        with self._reading() as connection:
            rows = connection.execute(statement.offset(offset).limit(count)).mappings().all()
            tags: dict[str, list[str]] = {}
            # All ids of many rows would be more parameters than SQLite takes.
            ids = select(_ROW.id).where(*conditions) if count is None else [row["id"] for row in rows]
            of_these = select(TAGS).where(TAGS.c.recording.in_(ids))
            for recording_id, tag in connection.execute(of_these.order_by(TAGS.c.tag)):
                tags.setdefault(recording_id, []).append(tag)
        return [_build_recording(dict(row), tuple(tags.get(row["id"], ()))) for row in rows]


def get_utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def make_recording(recording_id: str, name: str, origin: str, size_bytes: int) -> Recording:
    """Return a recording that was added just now and waits to be read."""
    return Recording(recording_id, name, origin, "", size_bytes, get_utc_now(), state="waiting")


def _set_tags(connection: Connection, recording_id: str, tags: Sequence[str]) -> None:
    connection.execute(delete(TAGS).where(TAGS.c.recording == recording_id))
    if tags:
        connection.execute(insert(TAGS), [{"recording": recording_id, "tag": tag} for tag in tags])


def _build_recording(row: dict[str, Any], tags: tuple[str, ...]) -> Recording:
    values = {name: row[name] for name in _SAME}
    deleted = row["deleted_us"]
    return Recording(
        **values,
        path=os.fsdecode(row["path"]),
        added=_from_microseconds(row["added_us"]),
        recorded=_from_microseconds(row["recorded_us"]) if row["recorded_us"] else None,
        tags=tags,
        deleted=None if deleted is None else _from_microseconds(deleted),
    )


def to_microseconds(moment: datetime) -> int:
    """Return a moment as the catalog has it: since 1970."""
    return round(moment.timestamp() * 1e6)


def _from_microseconds(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1e6, UTC)
