"""Measure how quickly the call tree and the flame graph of a large recording follow a selection, and scroll.

    python benchmarks/dashboard_stacks.py [--samples 1000000,10000000] [--keep FOLDER] [--out FILE.json]

The recordings are those of ``dashboard_page.py``. Times are milliseconds, in a headless Chromium. *tree*,
*flame*: from the button's release until the selection's call tree or flame graph stands, that tab open.
*chain*: the same with three transforms, which the server applies to all stacks. *step*: from the key until
one more transform stands; nothing of it is cached. *scroll*: between two frames while the tree with all its
branches open scrolls by 900 pixels a frame; ``rows`` is how many there are.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from dashboard_page import _ARGUMENTS, _STANDS, _WATCH, fill, served
from playwright.sync_api import Browser, Page, sync_playwright

TARGETS = {"tree": 150, "flame": 150, "chain": 150, "step": None, "scroll": 17}
"""At most so many milliseconds as median."""
_BUSY = ':is(#calltree, #flame, #stacks)[aria-busy="true"]'
_SELECTIONS, _STEPS = 6, "rmd"
_CHAIN = "flat~system~collapse-lib:1"
# Scrolls by 900 pixels in each of 120 frames.
_SCROLL = """() => new Promise((done) => {
  const grid = document.querySelector('[aria-label="Call tree"]');
  const times = [];
  let last = null;
  const step = (now) => {
    if (last !== null) times.push(now - last);
    last = now;
    grid.scrollTop += 900;
    if (times.length < 120) requestAnimationFrame(step);
    else done([times, Number(grid.getAttribute("aria-rowcount")) - 1]);
  };
  requestAnimationFrame(step);
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", default="1000000,10000000", help="numbers of samples, by commas")
    parser.add_argument("--stacks", type=int, default=50_000)
    parser.add_argument("--windows", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=30)
    parser.add_argument("--keep", type=Path, help="keep the libraries in this folder, and use them again")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or driver.chromium.executable_path
        browser = driver.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        for samples in map(int, options.samples.split(",")):
            library = (options.keep or Path(folder)) / str(samples)
            if not library.exists():
                fill(library, samples, options)
            with served(library) as address:
                figures.append(table(samples, *measure(browser, address)))
        browser.close()
    if options.out:
        options.out.write_text(json.dumps({"dashboard_stacks": figures}, indent=2) + "\n")


def measure(browser: Browser, address: str) -> tuple[dict[str, list[float]], int]:
    """Return the times of each kind, and the number of rows that were scrolled."""
    took = {
        "tree": _selected(browser, f"{address}#tab=calltree"),
        "flame": _selected(browser, f"{address}#tab=flame"),
        "chain": _selected(browser, f"{address}#tab=calltree&stacks={_CHAIN}"),
    }
    tab = _opened(browser, f"{address}#tab=calltree")
    tab.get_by_role("treegrid", name="Call tree").focus()
    tab.evaluate(_WATCH, ["keydown", _BUSY])
    for key in _STEPS:
        tab.keyboard.press("ArrowDown")
        tab.wait_for_timeout(500)
        tab.evaluate("took.length = 0") if key == _STEPS[0] else None
        tab.keyboard.press(key)
        tab.wait_for_timeout(2_500)
    took["step"] = [time for time in tab.evaluate("took") if time > 1]
    tab.close()
    tab = _opened(browser, f"{address}#tab=calltree")
    grid = tab.get_by_role("treegrid", name="Call tree")
    grid.focus()
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("End")
    for _ in range(int(grid.get_attribute("aria-rowcount") or 1) - 1):  # from the last root up
        tab.keyboard.press("*")
        tab.keyboard.press("ArrowUp")
    tab.wait_for_timeout(2_000)
    took["scroll"], rows = tab.evaluate(_SCROLL)
    tab.close()
    return took, rows


def _opened(browser: Browser, address: str) -> Page:
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(address)
    tab.evaluate(_STANDS, _BUSY)
    tab.wait_for_timeout(1_000)
    return tab


def _selected(browser: Browser, address: str) -> list[float]:
    tab = _opened(browser, address)
    box = tab.locator(".timeline-pane").bounding_box()
    assert box is not None
    tab.evaluate(_WATCH, ["pointerup", _BUSY])
    for index in range(_SELECTIONS):
        left, width = 0.05 + 0.1 * index, 0.6 / (index + 1)
        tab.mouse.move(box["x"] + left * box["width"], box["y"] + 60)
        tab.mouse.down()
        tab.mouse.move(box["x"] + min(left + width, 0.99) * box["width"], box["y"] + 60, steps=4)
        tab.mouse.up()
        tab.wait_for_timeout(1_500)
    durations_ms: list[float] = tab.evaluate("took")
    tab.close()
    return durations_ms


def table(samples: int, took: dict[str, list[float]], rows: int) -> dict[str, Any]:
    """Print the figures of one size, and return them."""
    print(f"{samples:,} samples, {rows:,} rows (load {os.getloadavg()[0]:.1f})")
    print(f"{'what':>8} {'n':>5} {'p50':>7} {'at most':>8} {'p95':>7}")
    figures: dict[str, Any] = {"samples": samples, "rows": rows}
    for name, at_most in TARGETS.items():
        times = sorted(took[name])
        p50, p95 = statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.95))]
        figures[name] = {"count": len(times), "p50_ms": p50, "p95_ms": p95, "at_most_ms": at_most}
        print(f"{name:>8} {len(times):>5} {p50:>7.1f} {at_most or '–':>8} {p95:>7.1f}")
    return figures


if __name__ == "__main__":
    main()
