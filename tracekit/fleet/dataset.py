"""A dataset of results: a folder of Parquet parts that grows, in which a recording counts once.

    RESULTS/
      tracekit-fleet.json            the manifest: the version, and the parts that are the dataset
      parts/000007-3fa9c1d2e4b5/     a part, never changed: <table>.parquet for each table with rows
      .lock                          held by the writer

A part becomes visible when the manifest that lists it takes the place of the previous one, in one renaming. A
writer that is killed before leaves a folder that no manifest lists, and a later writer removes that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pds
from filelock import FileLock, Timeout

from tracekit.errors import UsageError
from tracekit.fleet.copies import Copy, runs_of, whole_copies, without_counting
from tracekit.fleet.manifest import Manifest, Part, is_dataset, read_manifest, write_manifest
from tracekit.fleet.parts import (
    in_schema,
    merged,
    next_number,
    part_file,
    read_table,
    recordings_of,
    remove_leftovers,
    replaceable,
    replacing,
    require_types,
    retire,
    runs_in,
    without,
    write_part,
)
from tracekit.fleet.schema import TABLES, arrow_schema
from tracekit.text import printable

_LOCK = ".lock"
_LOCK_SECONDS = 60
_SMALL_PARTS = 16
"""So many small parts are merged when the next one is written: a query opens few files."""
_FULL_RECORDINGS, _FULL_ROWS = 1000, 500_000
"""A part with so many recordings, or so many rows, is not merged again."""


class Dataset:
    """The results of many recordings. Readers need no lock, and see the parts of the last commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        read_manifest(path)

    def parts(self) -> tuple[Part, ...]:
        """Return the parts as of now."""
        return read_manifest(self.path).parts

    def files(self, name: str) -> list[Path]:
        """Return the Parquet files of a table, checked against the schema; none where it has no rows.

        Raises ``InputError``, which names the part, where a file is missing, damaged or of other types.
        """
        parts = [part for part in self.parts() if name in part.rows]
        for part in parts:
            require_types(self.path, part, name)
        return [part_file(self.path, part, name) for part in parts]

    def table(self, name: str) -> pds.Dataset:
        """Return a table over all parts in the columns of the schema; those that a part lacks are null."""
        schema = arrow_schema(name)
        texts = [field.name for field in schema if pa.types.is_dictionary(field.type)]
        files = self.files(name)
        if not files:
            return pds.dataset(schema.empty_table())
        format_ = pds.ParquetFileFormat(
            read_options=pds.ParquetReadOptions(dictionary_columns=texts),
            default_fragment_scan_options=pds.ParquetFragmentScanOptions(page_checksum_verification=True),
        )
        return pds.dataset([str(path) for path in files], schema=schema, format=format_)

    def count(self, name: str) -> int:
        """Return the number of rows of a table."""
        return sum(part.rows.get(name, 0) for part in self.parts())

    def append(self, tables: Mapping[str, pa.Table]) -> list[Copy]:
        """Add the rows of some recordings, in one step, and return the files that do not count by that.

        Recordings of the dataset that have a content of the new ones are replaced (``parts.replaceable``). Of
        copies whose files differ, among the new ones and those of the dataset, the best counts (``copies``).
        A table or a column that is missing is empty. Raises ``UsageError`` where nothing can be written.
        """
        rows = _all_tables(tables)
        copies: list[Copy] = []
        if rows["recordings"].num_rows:
            self._commit(lambda manifest: self._with(manifest, rows, copies))
        return copies

    def recordings(self) -> frozenset[str]:
        """Return the identities of all recordings."""
        return frozenset().union(*(recordings_of(self.path, part) for part in self.parts()))

    def replace(self, remaining: Collection[str], tables: Mapping[str, pa.Table]) -> None:
        """Remove all recordings but some, and add the rows of others, in one step."""
        self._commit(lambda manifest: self._exactly(manifest, frozenset(remaining), _all_tables(tables)))

    def compact(self) -> None:
        """Merge all small parts; queries open fewer files. ``append`` does so now and then by itself."""
        self._commit(lambda manifest: self._merged(manifest, 2))

    def _commit(self, change: Callable[[Manifest], Manifest]) -> None:
        """Replace the manifest by a changed one, as the only writer."""
        with _writing(self.path):
            manifest = read_manifest(self.path)
            remove_leftovers(self.path, manifest)
            changed = change(manifest)
            if changed != manifest:
                write_manifest(self.path, changed)
                retire(self.path, _difference(manifest.parts, changed.parts))

    def _with(self, manifest: Manifest, rows: Mapping[str, pa.Table], copies: list[Copy]) -> Manifest:
        """Return the manifest with new rows, and add the copies among them and the others to ``copies``."""
        replaced = self._replaced(manifest, replacing(rows["recordings"]))
        present = [run for part in manifest.parts for run in runs_in(self.path, part)]
        present = [run for run in present if run.recording not in replaced]
        new = runs_of(rows["recordings"])
        pairs = without_counting(present, new)
        copies += whole_copies(pairs, [*present, *new])
        excluded = {run.recording for run, _ in pairs}
        if excluded:
            rows = {name: without(name, table, excluded) for name, table in rows.items()}
        parts = list(self._without(manifest, replaced | excluded))
        if rows["recordings"].num_rows:
            parts.append(write_part(self.path, next_number(self.path, manifest), rows))
        return self._merged(Manifest(tuple(parts)), _SMALL_PARTS)

    def _replaced(self, manifest: Manifest, keys: set[str]) -> set[str]:
        """Return the recordings that new ones with these contents and paths replace."""
        listed = [replaceable(self.path, part) for part in manifest.parts]
        return {name for old in listed for key in keys & old.keys() for name in old[key]}

    def _without(self, manifest: Manifest, recordings: AbstractSet[str]) -> Iterator[Part]:
        """Yield the parts of a manifest without some recordings."""
        for part in manifest.parts:
            removed = recordings_of(self.path, part) & recordings
            if not removed:
                yield part
            elif len(removed) < part.rows["recordings"]:
                yield self._part_without(manifest, part, removed)

    def _exactly(
        self, manifest: Manifest, recordings: frozenset[str], rows: Mapping[str, pa.Table]
    ) -> Manifest:
        removed = self.recordings() - recordings
        remaining = list(self._without(manifest, removed))
        if rows["recordings"].num_rows:
            remaining.append(write_part(self.path, next_number(self.path, manifest), rows))
        return self._merged(Manifest(tuple(remaining)), _SMALL_PARTS)

    def _part_without(self, manifest: Manifest, part: Part, recordings: Collection[str]) -> Part:
        tables = {name: without(name, read_table(self.path, part, name), recordings) for name in TABLES}
        return write_part(self.path, next_number(self.path, manifest), tables)

    def _merged(self, manifest: Manifest, fewest: int) -> Manifest:
        """Merge the small parts, as many as make a full one, where there are ``fewest`` of them."""
        small = [part for part in manifest.parts if not _is_full(part)]
        if len(small) < fewest:
            return manifest
        parts = {part.name: part for part in manifest.parts}
        for group in (group for group in _groups(small) if len(group) > 1):
            part = write_part(self.path, next_number(self.path, manifest), merged(self.path, group))
            for old in group:
                del parts[old.name]
            parts[part.name] = part
        return Manifest(tuple(parts.values()))


def _all_tables(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return every table in the columns of the schema; those that are missing have no rows."""
    return {name: in_schema(name, tables.get(name, arrow_schema(name).empty_table())) for name in TABLES}


def _difference(parts: tuple[Part, ...], remaining: tuple[Part, ...]) -> list[Part]:
    """Return the parts that do not remain."""
    names = {part.name for part in remaining}
    return [part for part in parts if part.name not in names]


def _is_full(part: Part) -> bool:
    return part.rows["recordings"] >= _FULL_RECORDINGS or sum(part.rows.values()) >= _FULL_ROWS


def _groups(parts: list[Part]) -> Iterator[list[Part]]:
    group: list[Part] = []
    for part in parts:
        group.append(part)
        if _is_full(Part(part.name, _summed(group))):
            yield group
            group = []
    if group:
        yield group


def _summed(parts: list[Part]) -> dict[str, int]:
    return {name: sum(part.rows.get(name, 0) for part in parts) for name in TABLES}


def open_dataset(path: Path | str) -> Dataset:
    """Return the dataset in a folder. Raises ``UsageError`` or ``InputError`` where there is none."""
    return Dataset(Path(path).absolute())


def create_dataset(path: Path | str) -> Dataset:
    """Return the dataset in a folder, which is made if it is missing or empty.

    Raises ``UsageError`` for a folder of anything else, which is left as it is.
    """
    folder = Path(path).absolute()
    if not is_dataset(folder):
        _refuse_foreign(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(folder, error) from error
        with _writing(folder):
            if not is_dataset(folder):
                write_manifest(folder, Manifest())
    return open_dataset(folder)


def _refuse_foreign(folder: Path) -> None:
    try:
        is_empty = not folder.exists() or all(path.name == _LOCK for path in folder.iterdir())
    except NotADirectoryError:
        raise UsageError(f"{printable(str(folder))} is a file. Name a folder for the results.") from None
    except OSError as error:
        raise _unwritable(folder, error) from error
    if not is_empty:
        raise UsageError(
            f"{printable(str(folder))} is neither empty nor a dataset of results: nothing is written into it."
            " Name another folder."
        )


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Hold the right to write. Errors of the disk leave the dataset as it was."""
    lock = FileLock(folder / _LOCK, mode=0o644)
    try:
        with lock.acquire(timeout=_LOCK_SECONDS):
            yield
    except Timeout:  # before OSError, which it is, too
        raise UsageError(
            f"{printable(str(folder))}: another tracekit has been writing for {_LOCK_SECONDS} s. Try again."
        ) from None
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{printable(str(folder))} cannot be written: {error.strerror or error}."
        " What the dataset held before is unchanged."
    )
