"""A copy of the project from which the tests build, and what they build from it."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from package_support import BUILD_WHEEL, build, copy_project


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without anything that was compiled."""
    tree = tmp_path_factory.mktemp("tree")
    copy_project(tree)
    return tree


@pytest.fixture(scope="session")
def wheel_file(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this system, where no later build removes it."""
    return Path(shutil.move(build(tree, BUILD_WHEEL), tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="session")
def wheel(wheel_file: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(wheel_file) as archive:
        yield archive
