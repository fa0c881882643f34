"""The changes that people accepted as the new level: a small file beside the parts of a dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from tracekit.errors import InputError, UsageError
from tracekit.text import printable

NAME = "accepted-changes.json"
_SCHEMA = "tracekit-fleet-accepted/1"
_MOST_BYTES = 50_000_000


@dataclass(frozen=True, order=True)
class Accepted:
    """A change by its place: it stays accepted when further builds move its edges by none."""

    app: str
    device: str
    device_model: str
    model: str
    metric: str
    build: str


def read_accepted(folder: Path) -> frozenset[Accepted]:
    """Return the accepted changes of a dataset; none where the file is missing."""
    path = folder / NAME
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _explain_damage(path)
        document = json.loads(path.read_bytes())
        if document["schema"] != _SCHEMA:
            raise _explain_damage(path)
        entries = [Accepted(**entry) for entry in document["accepted"]]
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise InputError(str(path), f"it cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _explain_damage(path) from error
    if not all(isinstance(value, str) for entry in entries for value in asdict(entry).values()):
        raise _explain_damage(path)
    return frozenset(entries)


def write_accepted(folder: Path, accepted: Iterable[Accepted]) -> None:
    """Replace the accepted changes of a dataset, in one renaming."""
    path = folder / NAME
    document = {"schema": _SCHEMA, "accepted": [asdict(entry) for entry in sorted(set(accepted))]}
    try:
        with NamedTemporaryFile("w", dir=folder, prefix=f".{NAME}-", delete=False) as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        Path(file.name).replace(path)
    except OSError as error:
        raise UsageError(
            f"{printable(str(path))} cannot be written: {error.strerror or error}. Nothing was accepted."
        ) from error


def _explain_damage(path: Path) -> InputError:
    return InputError(
        str(path),
        "it is not a list of accepted changes of this version of tracekit."
        " Remove it; then every change counts as not accepted",
    )
