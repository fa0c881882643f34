"""A browser for tests of pages, and what checks a page in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

HOW_TO_GET = (
    "the page is not tested in a browser: pip install playwright, and apt-get install chromium-headless-shell"
    " (or chromium, or set CHROMIUM)"
)
WITHOUT = (
    # Chromium's own window renders its address bar's list in two further processes, half of what a page costs.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    # Playwright's own list, in whose place this one stands.
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(WITHOUT)}",
]
SHELL = "chromium-headless-shell"
BROWSERS = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The first that is installed is used; the shell, which has no window of its own, takes two thirds of the time."""


def missing(reason: str) -> NoReturn:
    """Skip; where TRACEKIT_COMPLETE_TESTS is set, as in CI, fail."""
    if os.environ.get("TRACEKIT_COMPLETE_TESTS"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    configured = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing(HOW_TO_GET)
    with sync_playwright() as driver:
        bundled = driver.chromium.executable_path
        if configured is None and not Path(bundled).exists():
            missing(HOW_TO_GET)
        started = driver.chromium.launch(executable_path=configured or bundled, args=ARGUMENTS)
        yield started
        started.close()


ABOUT_COLOR = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
FINITE_ANIMATIONS = """() => Promise.all(document.getAnimations()
    .filter(animation => animation.effect.getComputedTiming().endTime < Infinity)
    .map(animation => animation.finished.catch(() => null)))"""
VIOLATIONS = """options => axe.run(document, { resultTypes: ['violations'], ...options }).then(({ violations }) =>
    violations.map(({ id, nodes }) => [id, nodes.map(node => node.html.slice(0, 200))]))"""


def barriers(tab: Any, axe: str) -> list[Any]:
    """Return what axe finds wrong with a page: by all its rules in the light scheme, by those on colour in the dark."""
    tab.evaluate(axe)
    found = []
    for scheme, options in (("light", {}), ("dark", ABOUT_COLOR)):
        tab.emulate_media(color_scheme=scheme)
        tab.evaluate(FINITE_ANIMATIONS)
        found += [(scheme, *violation) for violation in tab.evaluate(VIOLATIONS, options)]
    tab.emulate_media(color_scheme="light")
    return found


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> str:
    """axe-core's source: from AXE_CORE, or from npm, kept in pytest's cache."""
    if given := os.environ.get("AXE_CORE"):
        return Path(given).read_text("utf-8")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # two at once would write the same files
    folder = Path(request.config.cache.mkdir(f"axe-core{worker}"))  # type: ignore[union-attr]
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
