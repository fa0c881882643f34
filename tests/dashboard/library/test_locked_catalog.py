"""A catalog that another program has locked: requests wait a moment, say so, and succeed after it."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from library_support import CONTENT, QUIET, XML, received, send, upload
from sqlalchemy.exc import OperationalError

from tracekit_dashboard.errors import CatalogLocked, LibraryFailed, NoSpace
from tracekit_dashboard.jobs import reading
from tracekit_dashboard.jobs.queue import Job, JobStatus
from tracekit_dashboard.library import catalog_file
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library

pytestmark = pytest.mark.integration

LOCKED = r"^Another program has locked the catalog of recordings .* so nothing was changed"


@contextmanager
def locked(library: Library, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Hold the lock of a program that writes, or with EXCLUSIVE one that lets nobody read."""
    other = sqlite3.connect(library._store.catalog, isolation_level=None)
    if kind == "EXCLUSIVE":
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute(f"BEGIN {kind}")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the waits before a library is opened."""
    monkeypatch.setattr(catalog_file, "_LOCKED_SECONDS", 0.2)
    monkeypatch.setattr(catalog_file, "_TURN_SECONDS", 0.02)
    monkeypatch.setattr(reading, "_LOCKED_SECONDS", 0.05)


def test_a_write_names_the_lock_and_succeeds_after_it(library: Library) -> None:
    recording = upload(library, "x", XML)
    with locked(library):
        with pytest.raises(CatalogLocked, match=LOCKED):
            library.edit(recording.id, note="new")
        assert library.find_recording(recording.id).note == ""  # reading goes on
    assert library.edit(recording.id, note="new").note == "new"


def test_a_short_lock_is_waited_for(library: Library) -> None:
    recording = upload(library, "x", XML)
    with ThreadPoolExecutor() as pool:
        with locked(library):
            edited = pool.submit(library.edit, recording.id, note="new")
            time.sleep(0.05)
        assert edited.result().note == "new"


def test_few_requests_wait_and_the_others_are_refused_at_once(library: Library) -> None:
    recording = upload(library, "x", XML)

    def edit(_number: int) -> float:
        began = time.monotonic()
        with pytest.raises(CatalogLocked):
            library.edit(recording.id, note="new")
        return time.monotonic() - began

    with locked(library), ThreadPoolExecutor(8) as pool:
        seconds = sorted(pool.map(edit, range(8)))
    assert len([each for each in seconds if each < 0.15]) >= 6
    assert library.edit(recording.id, note="new").note == "new"


def test_a_lock_against_readers_is_named_too(tmp_path: Path) -> None:
    library = Library(tmp_path, QUIET)
    library._catalog.file.engine.dispose()
    with locked(library, "EXCLUSIVE"), pytest.raises(CatalogLocked, match=LOCKED):
        library.list_recordings()
    assert library.list_recordings() == []
    library.close()


def test_an_upload_can_be_finished_after_it(library: Library) -> None:
    number = library.uploads.begin("x", len(CONTENT))
    send(library, number, CONTENT)
    with locked(library), pytest.raises(CatalogLocked):
        library.uploads.finish(number)
    assert received(library, library.uploads.finish(number).id) == CONTENT


def test_a_result_that_cannot_be_recorded_is_recorded_after_it(library: Library) -> None:
    recording = upload(library, "x", XML)
    assert library._catalog.claim(()) == recording.id
    job = Job(library._jobs.kind, (recording.id, ""), lambda _job: None)
    thread = threading.Thread(
        target=library._jobs._retry_while_locked, args=(lambda: library._jobs._finish(job, "It is damaged."),)
    )
    with locked(library):
        library._jobs._note_progress(recording.id, JobStatus("running", "analysing"))  # is left out
        thread.start()
        time.sleep(0.3)
        assert library.find_recording(recording.id).state == "reading"
    thread.join(5)
    finished: Recording = library.find_recording(recording.id)
    assert (finished.state, finished.message) == ("failed", "It is damaged.")


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        (sqlite3.SQLITE_FULL, NoSpace, "Make room."),
        (sqlite3.SQLITE_IOERR_FSYNC, LibraryFailed, "Check the disk"),
        (sqlite3.SQLITE_READONLY_DBMOVED, LibraryFailed, "the permissions"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, CatalogLocked, "Close that program"),
    ],
)
def test_each_failure_of_the_file_has_its_own_sentence(code: int, kind: type[Exception], advice: str) -> None:
    failure = sqlite3.OperationalError("it failed")
    failure.sqlite_errorcode = code
    problem = catalog_file._explain_problem(OperationalError("", None, failure))
    assert type(problem) is kind
    assert advice in str(problem)
