"""Fixtures of the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_support import Mac


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    folder = tmp_path / "work"
    folder.mkdir()
    return Mac(folder, monkeypatch)
