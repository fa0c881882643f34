"""The file that lists the parts of a dataset: they are the dataset, whatever else the folder holds."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tracekit.errors import InputError, UsageError
from tracekit.fleet.schema import SCHEMA, TABLES
from tracekit.frozen import frozen
from tracekit.text import printable

MARKER = "tracekit-fleet.json"
"""The file's name; a folder with it is a dataset."""
_MAX_BYTES = 64_000_000
_PART_NAME = re.compile(r"[0-9]{6,12}-[0-9a-f]{12}")


@frozen
class DatasetPart:
    """A folder of Parquet files, one per table; never changed after it was listed."""

    name: str
    rows: Mapping[str, int]
    """The number of rows per table; a table without rows has no file."""

    @property
    def number(self) -> int:
        """The number that the name begins with; later parts have higher ones."""
        return int(self.name.partition("-")[0])


@frozen
class Manifest:
    """The parts of a dataset. A recording is in one of them only."""

    parts: tuple[DatasetPart, ...] = field(default=())


def is_dataset(folder: Path) -> bool:
    """Return True if the folder holds a manifest, readable or not."""
    return os.path.lexists(folder / MARKER)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a dataset's folder.

    Raises ``UsageError`` where there is none, ``InputError`` where it is damaged or of a later version.
    """
    path = folder / MARKER
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise _explain_damage(path, "it is too large")
        document = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(
            f"{printable(str(folder))} is not a dataset of results: it has no {MARKER}."
            " Make one with tracekit fleet run INPUT -o RESULTS."
        ) from None
    except OSError as error:
        raise InputError(printable(str(path)), f"cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise _explain_damage(path, "it is not JSON") from error
    _require_version(path, document)
    return Manifest(tuple(_read_parts(path, document)))


def _require_version(path: Path, document: object) -> None:
    name, _, number = SCHEMA.partition("/")
    version = document.get("schema") if isinstance(document, dict) else None
    match = re.fullmatch(rf"{name}/([0-9]{{1,6}})", version) if isinstance(version, str) else None
    if match is None:
        raise _explain_damage(path, "it names no version")
    if int(match[1]) > int(number):
        raise InputError(
            printable(str(path.parent)),
            f"is a dataset of version {match[1]}, which a later tracekit wrote; this one reads {number}.",
            "Install a later tracekit.",
        )


def _read_parts(path: Path, document: dict[str, object]) -> list[DatasetPart]:
    part_entries = document.get("parts")
    if not isinstance(part_entries, list):
        raise _explain_damage(path, "it lists no parts")
    parts = [_read_part(path, entry) for entry in part_entries]
    if len({part.name for part in parts}) < len(parts):
        raise _explain_damage(path, "it lists a part twice")
    return parts


def _read_part(path: Path, entry: object) -> DatasetPart:
    name = entry.get("name") if isinstance(entry, dict) else None
    rows = entry.get("rows") if isinstance(entry, dict) else None
    # A name is a path below the folder: anything but a number and a digest could lead out of it.
    if not isinstance(name, str) or _PART_NAME.fullmatch(name) is None or not isinstance(rows, dict):
        raise _explain_damage(path, "an entry is not a part")
    if not all(isinstance(count, int) and count >= 0 for count in rows.values()):
        raise _explain_damage(path, "an entry counts no rows")
    if not rows.get("recordings"):
        raise _explain_damage(path, "an entry counts no recordings")
    return DatasetPart(name, {table: rows[table] for table in TABLES if rows.get(table)})


def _explain_damage(path: Path, problem: str) -> InputError:
    return InputError(
        printable(str(path)),
        f"is damaged: {problem}.",
        "Its parts may be whole: analyze the recordings again into another folder.",
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put a manifest in the place of the previous one: from now on, the dataset is what it lists."""
    document = {
        "schema": SCHEMA,
        "parts": [{"name": part.name, "rows": dict(part.rows)} for part in manifest.parts],
    }
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{MARKER}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, separators=(",", ":"))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(folder / MARKER)
    finally:
        Path(temporary).unlink(missing_ok=True)
