"""A Mac on which claims are tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof_support import ProvingMac

from tracekit.proof import workbench


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProvingMac:
    """Short recordings, and little patience with those that hang."""
    monkeypatch.setattr(workbench, "SHORT_SECONDS", 0.4)
    monkeypatch.setattr(workbench, "PATIENCE_SECONDS", 1.0)
    folder = tmp_path / "work"
    folder.mkdir()
    return ProvingMac(folder, monkeypatch)
