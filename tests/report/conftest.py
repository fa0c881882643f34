"""Fixtures of the browser tests: a browser, pages opened in it, and what checks them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_support import Opened, missing
from view_fixture import page, small_view

HOW_TO_GET = "the page is not tested in a browser: pip install playwright, and apt-get install chromium (or set CHROMIUM)"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing(HOW_TO_GET)
    with sync_playwright() as driver:
        own = driver.chromium.executable_path
        if found is None and not Path(own).exists():
            missing(HOW_TO_GET)
        started = driver.chromium.launch(executable_path=found or own, args=ARGUMENTS)
        yield started
        started.close()


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


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> str:
    """axe-core's source: from AXE_CORE, or from npm, kept in pytest's cache."""
    if given := os.environ.get("AXE_CORE"):
        return Path(given).read_text("utf-8")
    folder = Path(request.config.cache.mkdir("axe-core"))  # type: ignore[union-attr]
    file = folder / "node_modules" / "axe-core" / "axe.min.js"
    npm = shutil.which("npm")
    if not file.exists() and npm is not None:
        command = [
            npm,
            "install",
            "--no-save",
            "--no-audit",
            "--ignore-scripts",
            "--prefix",
            str(folder),
            "axe-core@4",
        ]
        subprocess.run(command, capture_output=True, timeout=60, check=False)
    if not file.exists():
        pytest.skip(
            "accessibility is not checked: npm could not fetch axe-core (AXE_CORE may name axe.min.js)"
        )
    return file.read_text("utf-8")
