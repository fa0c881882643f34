"""Fixtures of the browser tests: pages opened in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_support import TIMERS, Opened
from view_fixture import page, small_view


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens a view as a page; at the end no request, no error and no message on the console may have been."""
    bad: list[str] = []
    contexts: list[Any] = []

    def open_page(
        view: bytes | None = None, fragment: str = "", text: str | None = None, **options: Any
    ) -> Any:
        file = tmp_path / f"{len(contexts)}.html"
        file.write_text(text or page(view or small_view()), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)
        context.add_init_script(TIMERS)
        tab = context.new_page()
        tab.on("console", lambda message: bad.append(message.text))
        tab.on("pageerror", lambda error: bad.append(str(error)))
        tab.on("dialog", lambda dialog: (bad.append(dialog.message), dialog.dismiss()))
        tab.on("request", lambda request: request.url.startswith("file:") or bad.append(request.url))
        tab.goto(f"{file.as_uri()}{fragment}")
        if text is None:
            tab.wait_for_selector("html[data-ready]", timeout=20_000)
        return tab

    open_page.bad = bad  # type: ignore[attr-defined]
    yield open_page
    for context in contexts:
        context.close()
    assert bad == []
