"""The variants in the catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.library.catalog_tables import RECORDINGS, VARIANTS
from tracekit_dashboard.library.variants import Variant

_ROW = VARIANTS.c
_Transaction: TypeAlias = Callable[[], AbstractContextManager[Connection]]
NO_VARIANT = "There is no such analysis of this recording: it was removed, or the link is wrong."
_COLUMNS = [field.name for field in fields(Variant)]


class VariantTable:
    """The variants in the catalog; ``reading`` and ``writing`` begin its transactions."""

    def __init__(self, reading: _Transaction, writing: _Transaction) -> None:
        self._reading, self._writing = reading, writing

    def add(self, variant: Variant) -> None:
        """Add a variant that is new."""
        values = {name: getattr(variant, name) for name in _COLUMNS}
        values["options"] = json.dumps(variant.options, sort_keys=True)
        with self._writing() as connection:
            try:
                connection.execute(insert(VARIANTS).values(values))
            except IntegrityError:  # its recording was removed meanwhile
                raise NotFound("There is no such recording: it was removed.") from None

    def find(self, recording: str, variant: str) -> Variant:
        """Return a variant; raise ``NotFound``, also for one of another recording."""
        variants = self._select_variants(_ROW.recording == recording, _ROW.id == variant)
        if not variants:
            raise NotFound(NO_VARIANT)
        return variants[0]

    def list_of_recording(self, recording: str) -> list[Variant]:
        """Return the variants of a recording, the oldest first."""
        return self._select_variants(_ROW.recording == recording)

    def list_all(self) -> list[Variant]:
        """Return the variants of all recordings."""
        return self._select_variants()

    def list_in_state(self, state: str) -> list[Variant]:
        """Return all variants of that state."""
        return self._select_variants(_ROW.state == state)

    def change(
        self, recording: str, variant: str = "", *, states: Collection[str] = (), **values: Any
    ) -> bool:
        """Set columns of a variant in one of ``states`` (by default any), or of all of a recording.

        Return whether there was one.
        """
        changed = update(VARIANTS).where(_ROW.recording == recording).values(values)
        if variant:
            changed = changed.where(_ROW.id == variant)
        if states:
            changed = changed.where(_ROW.state.in_(states))
        with self._writing() as connection:
            return connection.execute(changed).rowcount > 0

    def claim(self, busy: Collection[tuple[str, ...]]) -> tuple[str, str] | None:
        """Mark the variant that waits longest and is not busy as "reading"; return recording and id."""
        waiting = (
            select(_ROW.recording, _ROW.id)
            .join(RECORDINGS, RECORDINGS.c.id == _ROW.recording)
            .where(_ROW.state == "waiting", RECORDINGS.c.deleted_us.is_(None))
            .order_by(_ROW.added_us)
        )
        with self._writing() as connection:
            keys = [(str(recording), str(variant)) for recording, variant in connection.execute(waiting)]
            key = next((key for key in keys if key not in busy), None)
            if key is not None:
                new_values = {
                    "state": "reading",
                    "stage": "opening",
                    "progress": None,
                    "starts": _ROW.starts + 1,
                }
                row = (_ROW.recording == key[0]) & (_ROW.id == key[1])
                connection.execute(update(VARIANTS).where(row).values(new_values))
        return key

    def count_starts(self, variant: Variant) -> int:
        """Return how often the analysis was begun since the last time that it ended."""
        statement = select(_ROW.starts).where(_ROW.recording == variant.recording, _ROW.id == variant.id)
        with self._reading() as connection:
            return int(connection.execute(statement).scalar() or 0)

    def remove(self, recording: str, variant: str) -> None:
        """Remove a variant; it is no longer its recording's default."""
        with self._writing() as connection:
            connection.execute(delete(VARIANTS).where(_ROW.recording == recording, _ROW.id == variant))

    def count(self, recording: str) -> int:
        """Return the number of a recording's variants."""
        with self._reading() as connection:
            statement = select(func.count()).select_from(VARIANTS).where(_ROW.recording == recording)
            return int(connection.execute(statement).scalar_one())

    def _select_variants(self, *conditions: ColumnElement[bool]) -> list[Variant]:
        statement = select(VARIANTS).where(*conditions).order_by(_ROW.added_us, _ROW.id)
        with self._reading() as connection:
            rows = connection.execute(statement).mappings().all()
        variants = [Variant(**{name: row[name] for name in _COLUMNS}) for row in rows]
        return [replace(variant, options=json.loads(str(variant.options))) for variant in variants]
