"""The documentation as a site: that of ``make docs`` where it is newer than its pages, else one built for the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT_PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")]


def is_current(site: Path) -> bool:
    """Return True if a site was built after the last change of its pages and of the code that parts are made from."""
    index = site / "searchindex.js"
    files = [*(ROOT / "docs").rglob("*"), *(ROOT / "tracekit").rglob("*")]
    sources = [path for path in files if path.suffix in {".md", ".py", ".js", ".css", ".toml"}]
    return index.exists() and index.stat().st_mtime > max(
        path.stat().st_mtime for path in sources + PROJECT_PAGES
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    built = ROOT / "build/docs"
    if is_current(built):
        return built
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "docs", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=600)
    return folder
