"""The recordings of the dashboard's library as their folders describe them, and what a dataset has of them.

LIBRARY/recordings/<id>/about.json            name, path, tags, whether it is deleted
LIBRARY/recordings/<id>/results/rows.arrow    the rows of its own analysis
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from tracekit.errors import InputError
from tracekit.fleet.library_rows import ROWS
from tracekit.frozen import frozen
from tracekit.text import printable

_ID = re.compile(r"[0-9a-f]{32}")
_MAX_ABOUT_BYTES, _MAX_INVENTORY_BYTES = 1 << 20, 256_000_000
_LABEL = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,63})[=:]\s*(\S.*)")
_RECORDED = "recorded:"
"""The beginning of the path of a recording that was made on the page, in the library's own folder."""
TAG = "tag"
"""The label of all tags that are no labels by themselves."""


@frozen
class LibraryEntry:
    """A recording of a library with rows: what is needed of it while its files stay as they are."""

    id: str
    stamp: str
    """Another text for each description and each rows that were ever written."""
    added_us: int
    digest: str
    """Alike for copies of one recording; "" where that is not known."""
    recording: str = ""
    """The identity of its rows; "" before they are read."""
    identity: str = ""
    """Alike for copies of one recording whose files differ; "" where that is not certain."""
    is_counted: bool = False
    """True for the recording that the dataset's rows are of, not for its copies."""


def list_entries(library: Path, earlier: Mapping[str, LibraryEntry]) -> list[LibraryEntry]:
    """Return the recordings that have rows and are not deleted, those that were added first before others."""
    candidates = (_read_entry(library, name, earlier.get(name)) for name in _iter_ids(library))
    return sorted((entry for entry in candidates if entry), key=lambda entry: (entry.added_us, entry.id))


def _iter_ids(library: Path) -> Iterator[str]:
    try:
        with os.scandir(library / "recordings") as folders:
            yield from (folder.name for folder in folders if _ID.fullmatch(folder.name))
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(printable(str(library)), f"cannot be read: {error.strerror or error}.") from error


def _read_entry(library: Path, name: str, earlier: LibraryEntry | None) -> LibraryEntry | None:
    folder = f"{library}/recordings/{name}"
    try:  # plain texts: this is done for each recording, whenever the dataset is opened
        states = [os.stat(f"{folder}/about.json"), os.stat(f"{folder}/results/{ROWS}")]  # noqa: PTH116
    except OSError:
        return None
    stamp = " ".join(f"{state.st_mtime_ns} {state.st_size}" for state in states)
    if earlier is not None and earlier.stamp == stamp:
        return earlier
    about = read_about(library, name)
    if about is None or about.get("deleted_us") is not None:
        return None
    added_us, digest = about.get("added_us"), about.get("digest")
    return LibraryEntry(
        name,
        stamp,
        added_us if isinstance(added_us, int) else 0,
        digest if isinstance(digest, str) else "",
    )


def read_about(library: Path, name: str) -> dict[str, Any] | None:
    """Return the description of a recording; None where it cannot be read: the library lists no such one."""
    try:
        with (library / "recordings" / name / "about.json").open("rb") as file:
            document = json.loads(file.read(_MAX_ABOUT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def locate_recording(library: Path, name: str, about: Mapping[str, Any]) -> str:
    """Return where a recording lies: an upload in the library, others where they were added."""
    path = str(about.get("path") or "")
    if about.get("origin") != "file" or not path:
        return str(library / "recordings" / name / "input")
    return f"{library}/recorded/{path.removeprefix(_RECORDED)}" if path.startswith(_RECORDED) else path


def parse_tags(tags: object) -> dict[str, str]:
    """Return the labels that tags give: ``build=422`` and ``build:422`` a label, all others ``tag``.

    Of a label that two tags give different values none is known, so it is left out.
    """
    given: dict[str, set[str]] = {}
    for tag in tags if isinstance(tags, list) else []:
        if isinstance(tag, str):
            match = _LABEL.fullmatch(tag)
            name, value = match.groups() if match else (TAG, tag)
            given.setdefault(name, set()).add(value.strip())
    joined_tags = {TAG: ", ".join(sorted(given[TAG]))} if TAG in given else {}
    return {**{name: next(iter(values)) for name, values in given.items() if len(values) == 1}, **joined_tags}


def read_inventory(path: Path, library: Path) -> dict[str, LibraryEntry]:
    """Return the recordings that a dataset was made from; none where the file is lost or of elsewhere."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        if path.stat().st_size <= _MAX_INVENTORY_BYTES:
            document = json.loads(path.read_bytes())
            if document["library"] == os.fspath(library):
                inventory_entries = [LibraryEntry(*values) for values in document["recordings"]]
                return {entry.id: entry for entry in inventory_entries if _is_valid(entry)}
    return {}


def _is_valid(entry: LibraryEntry) -> bool:
    texts = (entry.id, entry.stamp, entry.digest, entry.recording, entry.identity)
    return all(isinstance(text, str) for text in texts) and isinstance(entry.added_us, int)


def write_inventory(path: Path, library: Path, recordings: Sequence[LibraryEntry]) -> None:
    """Replace the list of recordings that a dataset was made from; without it, they are read again."""
    document = {"library": os.fspath(library), "recordings": [astuple(entry) for entry in recordings]}
    with suppress(OSError):
        with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            json.dump(document, file, separators=(",", ":"))
        Path(file.name).replace(path)
