"""The dashboard's library as a dataset: a folder in the library that is brought up to date when it is opened.

    LIBRARY/tracekit-library.json    the mark of a library
    LIBRARY/fleet/                   the dataset (``dataset``), and the recordings that it was made from

The folders of the recordings are the truth. The dataset is made from them, so it may be removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tracekit.errors import InputError
from tracekit.fleet.dataset import Dataset, create_dataset, open_dataset
from tracekit.fleet.dataset_rows import Origin, Tables, build_failure_tables, join_tables, relabel_tables
from tracekit.fleet.library_entries import (
    LibraryEntry,
    list_entries,
    locate_recording,
    parse_tags,
    read_about,
    read_inventory,
    write_inventory,
)
from tracekit.fleet.library_rows import read_rows
from tracekit.fleet.schema import FAILED

MARKER = "tracekit-library.json"
FOLDER = "fleet"
_INVENTORY = "library.json"
_RECORDINGS_PER_COMMIT = 500
"""The recordings whose rows are written in one step."""


def open_results(path: Path | str) -> Dataset:
    """Return the dataset in a folder, or that of the library in it.

    Raises ``UsageError`` or ``InputError`` where there is neither.
    """
    folder = Path(path).absolute()
    return update_library_dataset(folder) if (folder / MARKER).is_file() else open_dataset(folder)


def update_library_dataset(library: Path) -> Dataset:
    """Return the dataset of a library, made equal to its recordings."""
    dataset = create_dataset(library / FOLDER)
    inventory = dataset.path / _INVENTORY
    earlier = read_inventory(inventory, library)
    current = _Update(library, dataset).apply(list_entries(library, earlier))
    if current != list(earlier.values()):
        write_inventory(inventory, library, current)
    return dataset


class _Update:
    """One update of a dataset; ``_seen`` are the recordings that count already, by identity and digest."""

    def __init__(self, library: Path, dataset: Dataset) -> None:
        self._library, self._dataset = library, dataset
        self._present = dataset.read_recording_ids()
        self._seen: set[str] = set()
        self._kept: set[str] = set()
        self._new: list[Tables] = []

    def apply(self, library_entries: list[LibraryEntry]) -> list[LibraryEntry]:
        """Add what the dataset lacks and remove what is gone; return the recordings that it has then."""
        current = list(self._iter_counted(library_entries))
        if self._new or self._kept != self._dataset.read_recording_ids():
            self._write(frozenset(self._kept))
        return current

    def _iter_counted(self, library_entries: list[LibraryEntry]) -> Iterator[LibraryEntry]:
        for entry in library_entries:
            if entry.is_counted and entry.recording in self._present and not self._is_copy(entry):
                self._kept.add(entry.recording)
                yield self._mark_counted(entry)
            else:
                yield self._add_entry(entry)

    def _is_copy(self, entry: LibraryEntry) -> bool:
        return bool({entry.recording, entry.digest, entry.identity} & self._seen)

    def _mark_counted(self, entry: LibraryEntry) -> LibraryEntry:
        self._seen |= {entry.recording, entry.digest, entry.identity} - {""}
        return replace(entry, is_counted=True)

    def _add_entry(self, entry: LibraryEntry) -> LibraryEntry:
        """Add the rows of a recording, unless it is a copy of one that counts."""
        tables: Tables = {}
        if not self._is_copy(entry):
            tables = self._read_tables(entry)
            (row,) = tables["recordings"].select(["recording", "identity"]).to_pylist()
            entry = replace(entry, recording=row["recording"], identity=row["identity"] or "")
        if self._is_copy(entry):
            return replace(entry, is_counted=False)
        self._new.append(tables)
        if len(self._new) == _RECORDINGS_PER_COMMIT:
            self._write(self._present | self._kept)
        return self._mark_counted(entry)

    def _read_tables(self, entry: LibraryEntry) -> Tables:
        """Return the rows of a recording; where they are damaged, one that states it."""
        folder = self._library / "recordings" / entry.id
        about = read_about(self._library, entry.id) or {}
        path = locate_recording(self._library, entry.id, about)
        origin = Origin(path, "", parse_tags(about.get("tags")))
        try:
            tables = read_rows(folder / "results")
        except InputError as error:
            tables = build_failure_tables(origin, FAILED, str(error))
        return relabel_tables(tables, origin, str(about.get("name") or origin.name))

    def _write(self, remaining: frozenset[str]) -> None:
        """Write the new rows in the place of all recordings but some."""
        tables = join_tables(self._new)
        added = set(tables["recordings"].column("recording").to_pylist()) if tables else set()
        self._dataset.replace(remaining - added, tables)
        self._kept |= added
        self._new = []
