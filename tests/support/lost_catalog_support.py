"""A library with one recording of each kind, its catalog lost, and what must be the same after it."""

from __future__ import annotations

from pathlib import Path

from library_support import BUNDLE, XML, opened, ready, upload

from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library

CATALOG = "catalog.sqlite3"


def lose_catalog(folder: Path) -> None:
    for name in (CATALOG, f"{CATALOG}-wal", f"{CATALOG}-shm"):
        (folder / name).unlink(missing_ok=True)


def filled(folder: Path) -> list[Recording]:
    """A library of an upload with a verdict and texts, a deleted upload, and a local recording."""
    with opened(folder) as library:
        first = upload(library, "first.xml", XML)
        ready(library, first)
        library._catalog.change(first.id, verdict="Net ran on the Neural Engine", p50_ns=7, device="Mac")
        library.edit(first.id, name="renamed.xml", tags=["ios27", "b"], note="weeks of work")
        library.notes.put(first.id, "deadbeef01", 1, "look here")
        second = upload(library, "second.xml", XML)
        library.delete(second.id)
        third = library.add_file(BUNDLE)
        library.edit(third.id, tags=["local"])
        return everything(library)


def everything(library: Library) -> list[Recording]:
    return sorted(library.list_recordings() + library.list_recordings(deleted=True), key=lambda each: each.id)


def texts(recording: Recording) -> tuple[object, ...]:
    return (
        recording.id,
        recording.name,
        recording.origin,
        recording.path,
        recording.added,
        recording.tags,
        recording.note,
        recording.deleted,
    )
