"""docs/rules.md: its lists are those of the files of rules."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WRITER = runpy.run_path(str(ROOT / "docs" / "write_rules.py"))


def test_the_page_is_written_from_the_rules() -> None:
    assert (ROOT / "docs" / "rules.md").read_text("utf-8") == WRITER["render_page"](), "run make columns"
