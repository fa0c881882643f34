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

_METADATA = MetaData()
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
    Column("state", String, nullable=False, index=True),
    Column("stage", String, nullable=False, default=""),
    Column("progress", Float),
    Column("message", String, nullable=False, default=""),
    Column("verdict", String, nullable=False, default=""),
    Column("device", String, nullable=False, default=""),
    Column("system", String, nullable=False, default=""),
    Column("duration_ns", Integer, nullable=False, default=0),
    Column("samples", Integer, nullable=False, default=0),
    Column("windows", Integer, nullable=False, default=0),
    Column("note", String, nullable=False, default=""),
    Column("deleted_us", Integer),
    Column("starts", Integer, nullable=False, default=0),
    Column("results_bytes", Integer),
    Column("default_variant", String, nullable=False, server_default=""),
)
VARIANTS = Table(
    "variants",
    _METADATA,
    Column("recording", ForeignKey("recordings.id", ondelete="CASCADE"), primary_key=True),
    Column("id", String, primary_key=True),
    Column("options", String, nullable=False),  # the canonical JSON of Variant.options
    Column("added_us", Integer, nullable=False),
    Column("state", String, nullable=False, index=True),
    Column("stage", String, nullable=False, default=""),
    Column("progress", Float),
    Column("message", String, nullable=False, default=""),
    Column("verdict", String, nullable=False, default=""),
    Column("duration_ns", Integer, nullable=False, default=0),
    Column("samples", Integer, nullable=False, default=0),
    Column("windows", Integer, nullable=False, default=0),
    Column("starts", Integer, nullable=False, default=0),
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
    columns = {row.name for row in connection.execute(text("PRAGMA table_info(recordings)"))}
    if RECORDINGS.c.results_bytes.name not in columns:
        connection.execute(text("ALTER TABLE recordings ADD COLUMN results_bytes INTEGER"))
    if RECORDINGS.c.default_variant.name not in columns:
        added = "ALTER TABLE recordings ADD COLUMN default_variant VARCHAR NOT NULL DEFAULT ''"
        connection.execute(text(added))


def prepare(connection: Any, _record: object) -> None:
    """Set up a connection: WAL lets readers read during a write; SQLite's own ``lower`` is ASCII only."""
    connection.create_function("casefold", 1, str.casefold, deterministic=True)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()
