"""Measure how quickly the report's page opens, zooms and follows a selection in a real browser.

    python benchmarks/report_page.py [--page REPORT.html] [--repetitions 5] [--out FILE.json]

Without ``--page``, a synthetic view stands in: a million samples in bins, 50,000 call-tree nodes, 1,000
windows, 30 threads. Needs Playwright's Python package and a Chromium (CHROMIUM, or one on the path).

Times are milliseconds. *ready*: from the start of navigation until everything is drawn and listens. *zoom*:
from a real wheel event, Control held, with the pointer over the lanes and a range selected, until the frame
that shows it is handed over. *select*: from the button's release until sums, table and flame graph have
followed. *focus*: the same for a click in the flame graph.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from browser import chromium, percentiles
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

TARGETS = {"ready": 1000, "zoom": 50, "select": 200, "focus": 50}
_WHEEL_STEPS = 14
# From an event's own time until after the frame that the next animation callbacks draw.
_WATCH = """([kind, frames]) => {
  window.watching?.abort();
  window.watching = new AbortController();
  const took = window.took = [];
  const after = new MessageChannel();
  const waiting = [];
  after.port1.onmessage = () => took.push(performance.now() - waiting.shift());
  const then = (left, done) => left === 0 ? done() : requestAnimationFrame(() => then(left - 1, done));
  addEventListener(kind, (event) => {
    then(frames, () => { waiting.push(event.timeStamp); after.port2.postMessage(0); });
  }, { capture: true, passive: true, signal: watching.signal });
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, help="a report to measure instead of the synthetic one")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = options.page.resolve() if options.page else synthetic(Path(folder))
        runs = [measure(browser, page.as_uri()) for _ in range(options.repetitions)]
        size_mb = page.stat().st_size / 1e6
    print(f"{page.name}: {size_mb:.1f} MB")
    print(f"{'what':>8} {'n':>5} {'p50':>7} {'p95':>7} {'target':>7}")
    figures = {}
    for name, target in TARGETS.items():
        took = [time for run in runs for time in run[name]]
        p50, p95 = percentiles(took)
        figures[name] = {
            "count": len(took),
            "p50_ms": p50,
            "p95_ms": p95,
            "target_ms": target,
        }
        print(f"{name:>8} {len(took):>5} {p50:>7.1f} {p95:>7.1f} {target:>7}")
    if options.out:
        options.out.write_text(json.dumps({"report_page": {"size_mb": size_mb, **figures}}, indent=2) + "\n")


def synthetic(folder: Path) -> Path:
    from view_fixture import big_view, page

    file = folder / "synthetic.html"
    file.write_text(page(big_view()), "utf-8")
    return file


def measure(browser: Browser, address: str) -> dict[str, list[float]]:
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]", timeout=60_000)
    ready = tab.evaluate("performance.getEntriesByName('tracekit-ready')[0].startTime")
    select = _select(tab)
    zoom = _zoom(tab)
    focus = _focus(tab)
    tab.close()
    return {"ready": [ready], "select": select, "zoom": zoom, "focus": focus}


def _lanes(tab: Page) -> Any:
    tab.locator(".timeline-scroll").scroll_into_view_if_needed()
    return tab.locator(".timeline-pane").bounding_box()


def _select(tab: Page) -> list[float]:
    box = _lanes(tab)
    tab.evaluate(_WATCH, ["pointerup", 2])
    for width in (0.5, 0.3, 0.2):
        tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 250)
        tab.mouse.down()
        tab.mouse.move(box["x"] + (0.3 + width) * box["width"], box["y"] + 250, steps=4)
        tab.mouse.up()
        tab.wait_for_timeout(400)
    return _taken(tab)


def _zoom(tab: Page) -> list[float]:
    box = _lanes(tab)
    tab.evaluate(_WATCH, ["wheel", 1])
    tab.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 250)
    tab.keyboard.down("Control")
    for step in range(_WHEEL_STEPS):
        tab.mouse.wheel(0, -100 if step < _WHEEL_STEPS / 2 else 100)
        tab.wait_for_timeout(120)
    tab.keyboard.up("Control")
    return _taken(tab)


def _focus(tab: Page) -> list[float]:
    canvas = tab.locator("#flame .flame-scroll canvas")
    canvas.scroll_into_view_if_needed()
    tab.evaluate(_WATCH, ["click", 1])
    for row in (2, 1, 0):
        canvas.click(position={"x": 60, "y": row * 19 + 8})
        tab.wait_for_timeout(200)
    return _taken(tab)


def _taken(tab: Page) -> list[float]:
    milliseconds: list[float] = tab.evaluate("took")
    return milliseconds


if __name__ == "__main__":
    main()
