"""The tables of the catalog of recordings, in SQLite."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    text,
)
from sqlalchemy.schema import CreateColumn

_METADATA = MetaData()


def _build_analysis_columns() -> list[Column[Any]]:
    """Return the columns of ``AnalysisState``, and the number of starts since the last one that ended."""
    return [
        Column("state", String, nullable=False, index=True),
        Column("stage", String, nullable=False, default=""),
        Column("progress", Float),
        Column("message", String, nullable=False, default=""),
        Column("verdict", String, nullable=False, default=""),
        Column("duration_ns", Integer, nullable=False, default=0),
        Column("samples", Integer, nullable=False, default=0),
        Column("windows", Integer, nullable=False, default=0),
        Column("engines", String, nullable=False, server_default=""),
        Column("p50_ns", Integer, nullable=False, server_default="0"),
        Column("starts", Integer, nullable=False, default=0),
    ]


RECORDINGS = Table(
    "recordings",
    _METADATA,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("origin", String, nullable=False),
    Column("path", LargeBinary, nullable=False),  # bytes: file names may be undecodable
    Column("fingerprint", String, nullable=False, default=""),
    Column("size_bytes", Integer, nullable=False),
    Column("added_us", Integer, nullable=False),
    *_build_analysis_columns(),
    Column("device", String, nullable=False, default=""),
    Column("system", String, nullable=False, default=""),
    Column("note", String, nullable=False, default=""),
    Column("deleted_us", Integer),
    Column("results_bytes", Integer),
    Column("default_variant", String, nullable=False, server_default=""),
    Column("app", String, nullable=False, server_default=""),
    Column("recorded_us", Integer, nullable=False, server_default="0"),  # 0: not known
    Column("digest", String, nullable=False, server_default=""),  # alike for copies of one recording
    Column("stamp", String, nullable=False, server_default=""),  # of the folder's description
)
VARIANTS = Table(
    "variants",
    _METADATA,
    Column("recording", ForeignKey("recordings.id", ondelete="CASCADE"), primary_key=True),
    Column("id", String, primary_key=True),
    Column("options", String, nullable=False),  # the canonical JSON of Variant.options
    Column("added_us", Integer, nullable=False),
    *_build_analysis_columns(),
)
TAGS = Table(
    "tags",
    _METADATA,
    Column("recording", ForeignKey("recordings.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", String, primary_key=True),
)


def make_tables(connection: Connection) -> None:
    """Make the tables, or add the columns that a catalog of an earlier version lacks; it can read both."""
    _METADATA.create_all(connection)
    for table in (RECORDINGS, VARIANTS):
        present = {row.name for row in connection.execute(text(f"PRAGMA table_info({table.name})"))}
        for column in table.columns:
            if column.name not in present:
                definition = CreateColumn(column).compile(connection)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {definition}"))


def prepare(connection: Any, _record: object) -> None:
    """Set up a connection: WAL lets readers read during a write; SQLite's own ``lower`` is ASCII only."""
    connection.create_function("casefold", 1, str.casefold, deterministic=True)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()
