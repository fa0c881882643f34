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
from tracekit.fleet.library_entries import (
    Entry,
    entries,
    labels_of_tags,
    path_of,
    read_about,
    read_inventory,
    write_inventory,
)
from tracekit.fleet.library_rows import read_rows
from tracekit.fleet.rows import Origin, Tables, failure_tables, joined, relabelled
from tracekit.fleet.schema import FAILED

MARKER = "tracekit-library.json"
FOLDER = "fleet"
_INVENTORY = "library.json"
_AT_ONCE = 500
"""The recordings whose rows are written in one step."""


def open_results(path: Path | str) -> Dataset:
    """Return the dataset in a folder, or that of the library in it.

    Raises ``UsageError`` or ``InputError`` where there is neither.
    """
    folder = Path(path).absolute()
    return library_dataset(folder) if (folder / MARKER).is_file() else open_dataset(folder)


def library_dataset(library: Path) -> Dataset:
    """Return the dataset of a library, made equal to its recordings."""
    dataset = create_dataset(library / FOLDER)
    inventory = dataset.path / _INVENTORY
    earlier = read_inventory(inventory, library)
    current = _Update(library, dataset).apply(entries(library, earlier))
    if current != list(earlier.values()):
        write_inventory(inventory, library, current)
    return dataset


class _Update:
    """One update of a dataset; ``_seen`` are the recordings that count already, by identity and digest."""

    def __init__(self, library: Path, dataset: Dataset) -> None:
        self._library, self._dataset = library, dataset
        self._present = dataset.recordings()
        self._seen: set[str] = set()
        self._kept: set[str] = set()
        self._new: list[Tables] = []

    def apply(self, listed: list[Entry]) -> list[Entry]:
        """Add what the dataset lacks and remove what is gone; return the recordings that it has then."""
        current = list(self._counted(listed))
        if self._new or self._kept != self._dataset.recordings():
            self._write(frozenset(self._kept))
        return current

    def _counted(self, listed: list[Entry]) -> Iterator[Entry]:
        for entry in listed:
            if entry.is_counted and entry.recording in self._present and not self._is_copy(entry):
                self._kept.add(entry.recording)
                yield self._count(entry)
            else:
                yield self._added(entry)

    def _is_copy(self, entry: Entry) -> bool:
        return bool({entry.recording, entry.digest, entry.identity} & self._seen)

    def _count(self, entry: Entry) -> Entry:
        self._seen |= {entry.recording, entry.digest, entry.identity} - {""}
        return replace(entry, is_counted=True)

    def _added(self, entry: Entry) -> Entry:
        """Add the rows of a recording, unless it is a copy of one that counts."""
        tables: Tables = {}
        if not self._is_copy(entry):
            tables = self._tables(entry)
            (row,) = tables["recordings"].select(["recording", "identity"]).to_pylist()
            entry = replace(entry, recording=row["recording"], identity=row["identity"] or "")
        if self._is_copy(entry):
            return replace(entry, is_counted=False)
        self._new.append(tables)
        if len(self._new) == _AT_ONCE:
            self._write(self._present | self._kept)
        return self._count(entry)

    def _tables(self, entry: Entry) -> Tables:
        """Return the rows of a recording; where they are damaged, one that states it."""
        folder = self._library / "recordings" / entry.id
        about = read_about(self._library, entry.id) or {}
        path = path_of(self._library, entry.id, about)
        origin = Origin(path, "", labels_of_tags(about.get("tags")))
        try:
            tables = read_rows(folder / "results")
        except InputError as error:
            tables = failure_tables(origin, FAILED, str(error))
        return relabelled(tables, origin, str(about.get("name") or origin.name))

    def _write(self, remaining: frozenset[str]) -> None:
        """Write the new rows in the place of all recordings but some."""
        tables = joined(self._new)
        added = set(tables["recordings"].column("recording").to_pylist()) if tables else set()
        self._dataset.replace(remaining - added, tables)
        self._kept |= added
        self._new = []
