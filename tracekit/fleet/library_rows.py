"""The rows of a recording of the dashboard's library: one Arrow file in its folder of results."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from tracekit.errors import InputError
from tracekit.fleet.dataset_parts import fit_schema
from tracekit.fleet.dataset_rows import Tables, pack_tables, unpack_tables
from tracekit.fleet.schema import TABLES
from tracekit.text import printable

ROWS = "rows.arrow"
"""The file's name. It has a row for each table with rows: the table's name, and its Arrow stream."""
_MAX_BYTES = 1 << 30
_ADVICE = "Read the recording again on the dashboard's page."


def write_rows(folder: Path, tables: Tables) -> None:
    """Write the rows of a recording into its folder of results."""
    streams = pack_tables({name: table for name, table in tables.items() if table.num_rows})
    content = pa.table({"table": list(streams), "stream": pa.array(streams.values(), pa.large_binary())})
    with (folder / ROWS).open("wb") as file:
        with pa.ipc.new_file(file, content.schema) as writer:
            writer.write_table(content)
        file.flush()
        os.fsync(file.fileno())


def read_rows(folder: Path) -> Tables:
    """Return the rows in a folder of results, in the columns of the schema.

    Raises ``InputError`` where they are missing, damaged, or of no single recording.
    """
    path = folder / ROWS
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            raise InputError(printable(str(path)), "is missing or too large.", _ADVICE)
        tables = _decode_tables(path.read_bytes())
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(printable(str(path)), f"is damaged: {printable(str(error))}.", _ADVICE) from error
    if "recordings" not in tables or tables["recordings"].num_rows != 1:
        raise InputError(printable(str(path)), "is damaged: it is not of one recording.", _ADVICE)
    return tables


def _decode_tables(data: bytes) -> Tables:
    content = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    content.validate(full=True)  # offsets of a damaged file may lead out of it
    names, streams = content.column("table").to_pylist(), content.column("stream").to_pylist()
    tables = unpack_tables(
        {name: stream for name, stream in zip(names, streams, strict=True) if name in TABLES}
    )
    for table in tables.values():
        table.validate(full=True)
    return {name: fit_schema(name, table) for name, table in tables.items()}
