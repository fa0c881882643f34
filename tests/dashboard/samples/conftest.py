"""Literal traces, the reader of views and the fake library of other tests serve here, too."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / one) for one in ("analysis", "report", "dashboard/web", "dashboard/library")]
