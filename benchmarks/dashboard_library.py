"""Measure the library's page with many recordings: the first list, a search, a page turned, and polls.

    python benchmarks/dashboard_library.py [--recordings 10000] [--repetitions 5] [--out FILE.json]

A library of literal recordings, every tenth with a tag and a note, is served by ``tracekit dashboard`` to a
headless Chromium. Needs Playwright's Python package and a Chromium (CHROMIUM, or one on the path).

Times are milliseconds. *list*: from the start of navigation until the rows stand. *search*: from the request
for a word of one recording until the rows stand; the pause after the last key is not part of it. *turn*: from
a click on Older until the rows stand. *idle* and *changed*: bytes of a poll's response with nothing new, and
after a deletion. *nodes*: elements of the page.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from browser import ROOT, chromium, served
from playwright.sync_api import Page, Response

sys.path[:0] = [str(ROOT)]
TARGETS = {"list": 1_000, "search": 200, "turn": 200, "idle": 50_000, "changed": 50_000, "nodes": 2_500}
"""At most so many milliseconds, bytes or elements, as the median of the repetitions."""
_ROWS = "#library tbody tr"
_STANDS = """(name) => new Promise((done) => {
  const look = () => {
    if (document.querySelector("#library tbody tr a")?.textContent === name) done(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recordings", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        fill(Path(folder), options.recordings)
        with served(Path(folder)) as address:
            runs = []
            for number in range(options.repetitions):
                tab = browser.new_page(viewport={"width": 1280, "height": 900})
                runs.append(measure(tab, address, number, options.recordings))
                tab.close()
    figures = table(options.recordings, runs)
    if options.out:
        options.out.write_text(json.dumps({"dashboard_library": figures}, indent=2) + "\n")


def fill(folder: Path, count: int) -> None:
    """Make a library of literal recordings; number 0 is the newest."""
    from tracekit_dashboard.library.catalog import Catalog, make_recording
    from tracekit_dashboard.library.store import Store

    store, lock = Store.open_locked(folder)
    catalog = Catalog(store)
    newest = make_recording("", "", "upload", 12_345_678)
    for number in range(count):
        catalog.add(
            replace(
                newest,
                id=f"{number:032x}",
                name=f"run-{number:06}.trace",
                state="failed",  # a ready one without results would be read again
                message="The file ends early. Record again, or add all of its files.",
                added=newest.added - timedelta(minutes=number),
                device="iPhone17,1",
                system="iOS 27.0",
                note="" if number % 10 else "before the change of the second model",
            )
        )
        if number % 10 == 0:
            catalog.change(f"{number:032x}", tags=[f"build-{number // 1_000}"])
    catalog.close()
    lock.release()


def measure(tab: Page, address: str, repetition: int, count: int) -> dict[str, float]:
    """Return the figures of one visit; each deletes another recording."""
    sizes: list[int] = []

    def note(response: Response) -> None:
        if "_dash-update" in response.url:
            sizes.append(int(response.headers.get("content-length", "0")))

    tab.goto(address)
    tab.wait_for_selector(_ROWS)
    figures = {"list": float(tab.evaluate("performance.now()"))}
    figures["nodes"] = tab.evaluate("document.querySelectorAll('*').length")
    tab.on("response", note)
    tab.wait_for_timeout(2_500)
    figures["idle"] = max(sizes, default=0)
    sizes.clear()
    tab.get_by_role("button", name="Delete:").nth(10).click()
    tab.get_by_role("button", name="Undo:").wait_for()
    tab.wait_for_timeout(1_500)
    figures["changed"] = max(sizes)
    figures["turn"] = _turned(tab)
    figures["search"] = _found(tab, f"run-{count - 2 - repetition:06}")
    return figures


def _turned(tab: Page) -> float:
    began = time.perf_counter()
    first = tab.locator(f"{_ROWS} a").first.inner_text()
    tab.get_by_role("button", name="Older", exact=True).click()
    while tab.locator(f"{_ROWS} a").first.inner_text() == first:
        pass
    return 1_000 * (time.perf_counter() - began)


def _found(tab: Page, name: str) -> float:
    with tab.expect_request("**/_dash-update-component*") as _sent:
        tab.locator("#library-search").fill(name)
        tab.wait_for_timeout(190)
    began = tab.evaluate("performance.now()")
    return float(tab.evaluate(_STANDS, f"{name}.trace")) - float(began)


def table(count: int, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Print the figures, and return them."""
    print(f"{count:,} recordings (load {os.getloadavg()[0]:.1f})")
    print(f"{'what':>8} {'median':>8} {'at most':>8} {'target':>8}")
    figures: dict[str, Any] = {"recordings": count}
    for name, target in TARGETS.items():
        values = [run[name] for run in runs]
        figures[name] = {"median": statistics.median(values), "most": max(values), "target": target}
        print(f"{name:>8} {statistics.median(values):>8,.0f} {max(values):>8,.0f} {target:>8,}")
    return figures


if __name__ == "__main__":
    main()
