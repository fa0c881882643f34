"""The weight of an installation: distributions, bytes and imported modules cannot grow unnoticed.

A limit is raised by a change that says why; figures of a fresh environment are in docs/architecture.md.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from package_support import ROOT, list_needed

pytestmark = pytest.mark.integration  # starts processes


def measure_bytes(item: Distribution) -> int:
    """Return the size of a distribution's files without what Python compiles from them."""
    paths = [Path(str(item.locate_file(file))) for file in item.files or () if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


@pytest.mark.parametrize(
    ("extras", "most_distributions", "most_megabytes"),
    [(frozenset(), 13, 310), (frozenset(["dashboard"]), 44, 425)],
    ids=["analysis", "dashboard"],
)
def test_an_installation(extras: frozenset[str], most_distributions: int, most_megabytes: int) -> None:
    needed = list_needed(extras)
    sizes = {name: measure_bytes(item) / 1e6 for name, item in needed.items() if name != "coreml-tracekit"}
    assert ("dash" in needed) is ("dashboard" in extras)
    assert len(needed) <= most_distributions, sorted(needed)
    if sys.platform == "linux":  # libraries differ in size from system to system
        assert sum(sizes.values()) <= most_megabytes, sizes


def test_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert sum(member.file_size for member in wheel.infolist()) <= 10e6


@pytest.mark.parametrize(
    ("code", "most_modules"),
    [("import tracekit", 70), ("import tracekit.cli", 150), ("import tracekit; tracekit.analyze", 900)],
)
def test_an_import(code: str, most_modules: int) -> None:
    printed = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:] = {sys.path!r}; {code}; print(len(sys.modules))",
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    assert int(printed) <= most_modules
