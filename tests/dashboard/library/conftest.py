"""Libraries: one that reads nothing, one in which two workers read, and workers that do as told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from library_support import BUNDLE, EXPORTS, opened, upload, upload_folder
from worker_support import FILES, FOLDERS, TWO, Reading, Workers

from dashboard.library.library import Library


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
