"""A part of a dataset: a folder with a Parquet file per table, written once."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracekit.errors import InputError
from tracekit.fleet.manifest import DatasetPart, Manifest
from tracekit.fleet.recording_copies import COLUMNS, Run, read_runs
from tracekit.fleet.schema import FAILURES, TABLES, build_arrow_schema
from tracekit.text import printable

PARTS = "parts"
_WRITING = ".writing"
_KEPT_SECONDS = 600
"""The time for which a reader that began before may still open the files of a part that was replaced."""


def write_part(folder: Path, number: int, tables: Mapping[str, pa.Table]) -> DatasetPart:
    """Write tables as a new part, which no manifest lists yet."""
    target = folder / PARTS
    writing = target / f"{_WRITING}-{number:06}-{os.getpid()}"
    rows = {name: table.num_rows for name, table in tables.items() if table.num_rows}
    part = DatasetPart(f"{number:06}-{_digest_names(tables['recordings'])}", rows)
    try:
        writing.mkdir(parents=True)
        for name in rows:
            _write_table(writing / f"{name}.parquet", tables[name])
        writing.rename(target / part.name)
    finally:
        shutil.rmtree(writing, ignore_errors=True)
    return part


def _write_table(path: Path, table: pa.Table) -> None:
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)
        file.flush()
        os.fsync(file.fileno())


def _digest_names(recordings: pa.Table) -> str:
    names = "\n".join(recordings.column("recording").to_pylist())
    return hashlib.sha256(names.encode()).hexdigest()[:12]


def fit_schema(name: str, table: pa.Table) -> pa.Table:
    """Return a table with the columns and types of the schema; columns that it lacks are null."""
    schema = build_arrow_schema(name)
    if table.schema.equals(schema):
        return table.replace_schema_metadata(schema.metadata)
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def locate_part_file(folder: Path, part: DatasetPart, name: str) -> Path:
    """Return the path of a table of a part, whether or not it has rows."""
    return folder / PARTS / part.name / f"{name}.parquet"


def require_types(folder: Path, part: DatasetPart, name: str) -> None:
    """Raise ``InputError`` unless the columns of a part's table have the types of the schema."""
    path = locate_part_file(folder, part, name)
    is_missing = not path.is_file()  # any moment, unlike the other problems
    for problem in (
        ("is missing, although the dataset lists it.",) if is_missing else _find_problems(str(path), name)
    ):
        raise InputError(printable(str(path)), problem, "Analyze the recordings again into another folder.")


@lru_cache(maxsize=4096)
def _find_problems(path: str, name: str) -> tuple[str, ...]:
    """Return what is wrong with a file: nothing, or the first problem. A part's file never changes."""
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        return (f"is not a readable Parquet file: {printable(str(error)).rstrip('.')}.",)
    for field in build_arrow_schema(name):
        index = schema.get_field_index(field.name)
        if index >= 0 and _strip_encoding(schema.field(index).type) != _strip_encoding(field.type):
            return (
                f"the column {field.name} is {schema.field(index).type}, where this version of the dataset"
                f" has {field.type}.",
            )
    return ()


def _strip_encoding(kind: pa.DataType) -> pa.DataType:
    """Return a type without its encoding: a dictionary of texts and a column of texts are the same."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def read_table(folder: Path, part: DatasetPart, name: str) -> pa.Table:
    """Return a table of a part in the columns of the schema."""
    if name not in part.rows:
        return build_arrow_schema(name).empty_table()
    require_types(folder, part, name)
    return fit_schema(name, pq.read_table(locate_part_file(folder, part, name)))


def find_replaceable(folder: Path, part: DatasetPart) -> Mapping[str, frozenset[str]]:
    """Return the recordings of a part that new rows replace, by the content or the path of the new ones.

    A recording is replaced by one of the same content. A file that could not be analyzed is replaced by the
    next one at its path as well: it may have been half uploaded.
    """
    require_types(folder, part, "recordings")
    return _read_replaceable(str(locate_part_file(folder, part, "recordings")))


@lru_cache(maxsize=4096)
def _read_replaceable(path: str) -> Mapping[str, frozenset[str]]:
    table = pq.read_table(path, columns=["recording", "content", "path", "state"])
    result: dict[str, set[str]] = {}
    for recording, content, place, state in zip(
        *(column.to_pylist() for column in table.columns), strict=True
    ):
        for key in [content, *([place] if state in FAILURES else [])]:
            if key:
                result.setdefault(key, set()).add(recording)
    return {key: frozenset(recordings) for key, recordings in result.items()}


def list_runs(folder: Path, part: DatasetPart) -> list[Run]:
    """Return the rows of a part's table of recordings."""
    require_types(folder, part, "recordings")
    return _read_file_runs(str(locate_part_file(folder, part, "recordings")))


@lru_cache(maxsize=4096)
def _read_file_runs(path: str) -> list[Run]:
    file = pq.ParquetFile(path)
    present = [name for name in COLUMNS if name in file.schema_arrow.names]
    return read_runs(fit_schema("recordings", file.read(present)))


def list_recordings(folder: Path, part: DatasetPart) -> frozenset[str]:
    """Return the recordings of a part."""
    require_types(folder, part, "recordings")
    return _read_file_recordings(str(locate_part_file(folder, part, "recordings")))


@lru_cache(maxsize=4096)
def _read_file_recordings(path: str) -> frozenset[str]:
    return frozenset(pq.read_table(path, columns=["recording"]).column("recording").to_pylist())


def collect_replacing_keys(recordings: pa.Table) -> set[str]:
    """Return the contents and paths of new recordings, which ``find_replaceable`` ones may have."""
    columns = (recordings.column(name).to_pylist() for name in ("content", "path"))
    return {value for column in columns for value in column if value}


def without(name: str, table: pa.Table, recordings: Collection[str]) -> pa.Table:
    """Return the rows of a table that belong to none of some recordings."""
    excluded = pc.is_in(table.column("recording"), value_set=pa.array(sorted(recordings), pa.string()))
    return fit_schema(name, table.filter(pc.invert(excluded)))


def merge_parts(folder: Path, parts: Iterable[DatasetPart]) -> dict[str, pa.Table]:
    """Return the tables of several parts as one table each."""
    kept = list(parts)
    return {
        name: fit_schema(name, pa.concat_tables([read_table(folder, part, name) for part in kept]))
        for name in TABLES
    }


def remove_leftovers(folder: Path, manifest: Manifest) -> None:
    """Remove what killed writers left and what was replaced some time ago; the writer's lock is held."""
    listed_names = {part.name for part in manifest.parts}
    for path in _iter_entries(folder / PARTS):
        if path.name in listed_names:
            continue
        with suppress(OSError):
            is_old = time.time() - path.stat().st_mtime > _KEPT_SECONDS
            if path.name.startswith(_WRITING) or is_old:
                shutil.rmtree(path, ignore_errors=True)


def mark_retired(folder: Path, parts: Iterable[DatasetPart]) -> None:
    """Note the time at which parts were replaced; ``remove_leftovers`` removes them some time later."""
    for part in parts:
        with suppress(OSError):
            os.utime(folder / PARTS / part.name)


def next_number(folder: Path, manifest: Manifest) -> int:
    """Return a number that no part has, listed or not."""
    numbers = [part.number for part in manifest.parts]
    numbers += [
        int(head) for path in _iter_entries(folder / PARTS) if (head := path.name.split("-")[0]).isdigit()
    ]
    return max(numbers, default=0) + 1


def _iter_entries(folder: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from folder.iterdir()
