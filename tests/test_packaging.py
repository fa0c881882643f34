"""The wheel holds what an installed tracekit needs, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built in a copy of the tree, offline, with the setuptools of the development environment."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE", "tracekit", "dashboard", "sample_traces", "tests"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        "out",
        ".",
    ]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (built,) = (tree / "out").glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_packages_and_their_data(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {
        "tracekit/py.typed",
        "tracekit/analysis/classification/markers.toml",
        "dashboard/__init__.py",
    } <= names
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "tracekit").rglob("*.py")}
    assert modules <= names


def test_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tracekit", "dashboard"}


def test_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    assert b"tracekit = tracekit.cli:main" in wheel.read(f"{info}/entry_points.txt")
    assert any(name.endswith("LICENSE") for name in wheel.namelist())
