"""A copy of the project from which the tests build, and what they build from it."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from package_support import BUILD_WHEEL, build, copy_project


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without anything that was compiled."""
    tree = tmp_path_factory.mktemp("tree")
    copy_project(tree)
    return tree


@pytest.fixture(scope="session")
def wheel_file(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Path:
    """The wheel of this system, where no later build removes it; built once for all processes of a run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "wheel"
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            built = build(request.getfixturevalue("tree"), BUILD_WHEEL)
            folder.mkdir()
            shutil.move(built, folder)
    (wheel,) = folder.iterdir()
    return wheel


@pytest.fixture(scope="session")
def wheel(wheel_file: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(wheel_file) as archive:
        yield archive
