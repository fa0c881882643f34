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
from tracekit.fleet.dataset_parts import (
    collect_replacing_keys,
    find_replaceable,
    fit_schema,
    list_recordings,
    list_runs,
    locate_part_file,
    mark_retired,
    merge_parts,
    next_number,
    read_table,
    remove_leftovers,
    require_types,
    without,
    write_part,
)
from tracekit.fleet.manifest import DatasetPart, Manifest, is_dataset, read_manifest, write_manifest
from tracekit.fleet.recording_copies import RecordingCopy, find_uncounted_runs, find_whole_copies, read_runs
from tracekit.fleet.schema import TABLES, build_arrow_schema
from tracekit.text import printable

_LOCK = ".lock"
_LOCK_SECONDS = 60
_MIN_PARTS_TO_MERGE = 16
"""So many small parts are merged when the next one is written: a query opens few files."""
_MAX_RECORDINGS_TO_MERGE, _MAX_ROWS_TO_MERGE = 1000, 500_000
"""A part with so many recordings, or so many rows, is not merged again."""


class Dataset:
    """The results of many recordings. Readers need no lock, and see the parts of the last commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        read_manifest(path)

    def read_parts(self) -> tuple[DatasetPart, ...]:
        """Return the parts as of now."""
        return read_manifest(self.path).parts

    def find_files(self, name: str) -> list[Path]:
        """Return the Parquet files of a table, checked against the schema; none where it has no rows.

        Raises ``InputError``, which names the part, where a file is missing, damaged or of other types.
        """
        parts = [part for part in self.read_parts() if name in part.rows]
        for part in parts:
            require_types(self.path, part, name)
        return [locate_part_file(self.path, part, name) for part in parts]

    def open_table(self, name: str) -> pds.Dataset:
        """Return a table over all parts in the columns of the schema; those that a part lacks are null."""
        schema = build_arrow_schema(name)
        texts = [field.name for field in schema if pa.types.is_dictionary(field.type)]
        files = self.find_files(name)
        if not files:
            return pds.dataset(schema.empty_table())
        format_ = pds.ParquetFileFormat(
            read_options=pds.ParquetReadOptions(dictionary_columns=texts),
            default_fragment_scan_options=pds.ParquetFragmentScanOptions(page_checksum_verification=True),
        )
        return pds.dataset([str(path) for path in files], schema=schema, format=format_)

    def count(self, name: str) -> int:
        """Return the number of rows of a table."""
        return sum(part.rows.get(name, 0) for part in self.read_parts())

    def append(self, tables: Mapping[str, pa.Table]) -> list[RecordingCopy]:
        """Add the rows of some recordings in one step; return the files that no longer count because of it.

        Recordings of the dataset with the content of a new one are replaced (``parts.find_replaceable``). Of
        several copies with different files, new or in the dataset, the best one counts (``copies``). A
        missing table or column is empty. Raises ``UsageError`` if the dataset cannot be written.
        """
        rows = _complete_tables(tables)
        copies: list[RecordingCopy] = []
        if rows["recordings"].num_rows:
            self._commit_change(lambda manifest: self._add_rows(manifest, rows, copies))
        return copies

    def read_recording_ids(self) -> frozenset[str]:
        """Return the identities of all recordings."""
        return frozenset().union(*(list_recordings(self.path, part) for part in self.read_parts()))

    def replace(self, remaining: Collection[str], tables: Mapping[str, pa.Table]) -> None:
        """Remove all recordings but some, and add the rows of others, in one step."""
        self._commit_change(
            lambda manifest: self._replace_rows(manifest, frozenset(remaining), _complete_tables(tables))
        )

    def merge_parts(self) -> None:
        """Merge all small parts; queries open fewer files. ``append`` does so now and then by itself."""
        self._commit_change(lambda manifest: self._merge_small_parts(manifest, 2))

    def _commit_change(self, change: Callable[[Manifest], Manifest]) -> None:
        """Replace the manifest by a changed one, as the only writer."""
        with _hold_write_lock(self.path):
            manifest = read_manifest(self.path)
            remove_leftovers(self.path, manifest)
            changed = change(manifest)
            if changed != manifest:
                write_manifest(self.path, changed)
                mark_retired(self.path, _find_removed_parts(manifest.parts, changed.parts))

    def _add_rows(
        self, manifest: Manifest, rows: Mapping[str, pa.Table], copies: list[RecordingCopy]
    ) -> Manifest:
        """Return the manifest with new rows, and add the copies among them and the others to ``copies``."""
        replaced = self._find_replaced(manifest, collect_replacing_keys(rows["recordings"]))
        present = [run for part in manifest.parts for run in list_runs(self.path, part)]
        present = [run for run in present if run.recording not in replaced]
        new = read_runs(rows["recordings"])
        pairs = find_uncounted_runs(present, new)
        copies += find_whole_copies(pairs, [*present, *new])
        excluded = {run.recording for run, _ in pairs}
        if excluded:
            rows = {name: without(name, table, excluded) for name, table in rows.items()}
        parts = list(self._iter_parts_without(manifest, replaced | excluded))
        if rows["recordings"].num_rows:
            parts.append(write_part(self.path, next_number(self.path, manifest), rows))
        return self._merge_small_parts(Manifest(tuple(parts)), _MIN_PARTS_TO_MERGE)

    def _find_replaced(self, manifest: Manifest, keys: set[str]) -> set[str]:
        """Return the recordings that new ones with these contents and paths replace."""
        replaceable_recordings = [find_replaceable(self.path, part) for part in manifest.parts]
        return {name for old in replaceable_recordings for key in keys & old.keys() for name in old[key]}

    def _iter_parts_without(self, manifest: Manifest, recordings: AbstractSet[str]) -> Iterator[DatasetPart]:
        """Yield the parts of a manifest without some recordings."""
        for part in manifest.parts:
            removed = list_recordings(self.path, part) & recordings
            if not removed:
                yield part
            elif len(removed) < part.rows["recordings"]:
                yield self._rewrite_part(manifest, part, removed)

    def _replace_rows(
        self, manifest: Manifest, recordings: frozenset[str], rows: Mapping[str, pa.Table]
    ) -> Manifest:
        removed = self.read_recording_ids() - recordings
        remaining = list(self._iter_parts_without(manifest, removed))
        if rows["recordings"].num_rows:
            remaining.append(write_part(self.path, next_number(self.path, manifest), rows))
        return self._merge_small_parts(Manifest(tuple(remaining)), _MIN_PARTS_TO_MERGE)

    def _rewrite_part(
        self, manifest: Manifest, part: DatasetPart, recordings: Collection[str]
    ) -> DatasetPart:
        tables = {name: without(name, read_table(self.path, part, name), recordings) for name in TABLES}
        return write_part(self.path, next_number(self.path, manifest), tables)

    def _merge_small_parts(self, manifest: Manifest, fewest: int) -> Manifest:
        """Merge the small parts, as many as make a full one, where there are ``fewest`` of them."""
        small = [part for part in manifest.parts if not _is_full(part)]
        if len(small) < fewest:
            return manifest
        parts = {part.name: part for part in manifest.parts}
        for group in (group for group in _group_parts(small) if len(group) > 1):
            part = write_part(self.path, next_number(self.path, manifest), merge_parts(self.path, group))
            for old in group:
                del parts[old.name]
            parts[part.name] = part
        return Manifest(tuple(parts.values()))


def _complete_tables(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return every table in the columns of the schema; those that are missing have no rows."""
    return {
        name: fit_schema(name, tables.get(name, build_arrow_schema(name).empty_table())) for name in TABLES
    }


def _find_removed_parts(
    parts: tuple[DatasetPart, ...], remaining: tuple[DatasetPart, ...]
) -> list[DatasetPart]:
    """Return the parts that do not remain."""
    names = {part.name for part in remaining}
    return [part for part in parts if part.name not in names]


def _is_full(part: DatasetPart) -> bool:
    return (
        part.rows["recordings"] >= _MAX_RECORDINGS_TO_MERGE or sum(part.rows.values()) >= _MAX_ROWS_TO_MERGE
    )


def _group_parts(parts: list[DatasetPart]) -> Iterator[list[DatasetPart]]:
    group: list[DatasetPart] = []
    for part in parts:
        group.append(part)
        if _is_full(DatasetPart(part.name, _sum_rows(group))):
            yield group
            group = []
    if group:
        yield group


def _sum_rows(parts: list[DatasetPart]) -> dict[str, int]:
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
            raise _explain_unwritable(folder, error) from error
        with _hold_write_lock(folder):
            if not is_dataset(folder):
                write_manifest(folder, Manifest())
    return open_dataset(folder)


def _refuse_foreign(folder: Path) -> None:
    try:
        is_empty = not folder.exists() or all(path.name == _LOCK for path in folder.iterdir())
    except NotADirectoryError:
        raise UsageError(f"{printable(str(folder))} is a file. Name a folder for the results.") from None
    except OSError as error:
        raise _explain_unwritable(folder, error) from error
    if not is_empty:
        raise UsageError(
            f"{printable(str(folder))} is neither empty nor a dataset of results: nothing is written into it."
            " Name another folder."
        )


@contextmanager
def _hold_write_lock(folder: Path) -> Iterator[None]:
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
        raise _explain_unwritable(folder, error) from error


def _explain_unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{printable(str(folder))} cannot be written: {error.strerror or error}."
        " What the dataset held before is unchanged."
    )
