"""Fixtures that several folders of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import SHARED


@pytest.fixture
def shared() -> Path:
    """The collection of real recordings beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("no collection of real recordings beside the checkout")
    return SHARED
