"""The dashboard opens every kind of input, and its page starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dashboard_support import READY, Serve, opened
from every_input import INPUTS
from library_support import settled


def test_the_page_of_every_input_starts(serve: Serve, tab: Any, tmp_path: Path) -> None:
    dashboard = serve()
    for kind, write in INPUTS.items():
        (folder := tmp_path / kind).mkdir()
        recording = settled(dashboard.library, dashboard.library.add_file(write(folder)), 180)
        assert (kind, recording.state, recording.message) == (kind, "ready", "")
        opened(tab, f"{dashboard.base}recordings/{recording.id}", READY)
        assert tab.locator(".problem:visible").count() == 0, kind
        assert tab.get_by_text("Loading …").locator("visible=true").count() == 0, kind
