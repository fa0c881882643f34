"""Libraries (one without workers, one with two), fake workers, and a fake Mac that records."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from library_support import BUNDLE, EXPORTS, opened, upload, upload_folder
from recording_support import desk_of
from recording_thread import WorkerThread
from short_tools import answer_in_process
from worker_support import FILES, FOLDERS, TWO, Reading, Workers
from xctrace_support import FakeXctrace, install

from tracekit_dashboard.library.library import Library
from tracekit_dashboard.recording import attempts
from tracekit_dashboard.recording.attempts import Attempts


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with opened(tmp_path / "library") as made:
        yield made


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workers:
    return Workers(tmp_path / "notes", monkeypatch)


@pytest.fixture(scope="session")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reading]:
    with opened(tmp_path_factory.mktemp("reading"), TWO) as library:
        added = {"local bundle": library.add_file(BUNDLE), "local exports": library.add_file(EXPORTS)}
        added |= {name: upload(library, name, content) for name, content in FILES.items()}
        added |= {name: upload_folder(library, name, files) for name, files in FOLDERS.items()}
        yield Reading(library, added)


@pytest.fixture
def xctrace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeXctrace]:
    """A Mac for the processes that record; at the end, nothing of it runs."""
    fake = install(tmp_path / "mac")
    for name, value in fake.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DEVELOPER_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield fake
    left = fake.running()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


@pytest.fixture
def recording_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Recordings are made in threads of the server's process."""
    monkeypatch.setattr(attempts, "WorkerProcess", WorkerThread)
    answer_in_process(monkeypatch)
    yield
    WorkerThread.end_all()


@pytest.fixture
def desk(library: Library, tmp_path: Path, xctrace: FakeXctrace, recording_threads: None) -> Attempts:
    """The place where a server starts recordings, which are made in threads; ``desk_of`` starts processes."""
    return desk_of(library, tmp_path)
