"""Measure how quickly the dashboard's page of a large recording opens, zooms and follows a selection.

    python benchmarks/dashboard_page.py [--samples 1000000,10000000] [--repetitions 3] [--out FILE.json]

For each number of samples a synthetic recording (30 threads, 50,000 unique stacks, 1,000 windows; as in
``report_size.py``) is analysed and put into a library, and ``tracekit dashboard`` serves it to a headless
Chromium. Needs Playwright's Python package and a Chromium (CHROMIUM, or one on the path).

Times are milliseconds. *first*: from the start of navigation until the sharp timeline of the whole run and
the sums stand. *zoom*: from a real wheel event, Control held, the pointer over the lanes and a range
selected, until the frame with the sharp new picture is handed over. *pan*: the same for a wheel that moves.
*select*: from the button's release until sums, stacks and flame graph of the selection stand. *viewers*:
*zoom* while seven other viewers scroll: each asks for the tiles of a view ten times a second.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
TARGETS = {
    "first": {1_000_000: (1_000, None), 10_000_000: (2_000, None)},
    "zoom": {1_000_000: (50, 100), 10_000_000: (50, 100)},
    "pan": {1_000_000: (50, 100), 10_000_000: (50, 100)},
    "select": {1_000_000: (200, None), 10_000_000: (None, None)},
    "viewers": {1_000_000: (None, 250), 10_000_000: (None, 250)},
}
"""At most so many milliseconds as median and as 95th percentile."""
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
_SELECTIONS, _OTHER_VIEWERS, _VIEWS_PER_SECOND = 4, 7, 10
# From an event's own time until after the frame in which nothing is being waited for any more.
_WATCH = """([kind, busy]) => {
  window.watching?.abort();
  window.watching = new AbortController();
  const took = window.took = [];
  let latest = null, asked = false;
  const after = new MessageChannel();
  after.port1.onmessage = (message) => took.push(performance.now() - message.data);
  const look = () => {
    if (latest === null) { asked = false; return; }
    if (!document.querySelector(busy)) {
      after.port2.postMessage(latest);
      latest = null;
    }
    requestAnimationFrame(look);
  };
  addEventListener(kind, (event) => {
    latest = event.timeStamp;
    // Two frames on, the page has had the occasion to say that it waits.
    if (!asked) { asked = true; requestAnimationFrame(() => requestAnimationFrame(look)); }
  }, { capture: true, passive: true, signal: watching.signal });
}"""
# The time at which the page is ready and waits for nothing.
_STANDS = """(busy) => new Promise((done) => {
  const look = () => {
    const stands = document.documentElement.dataset.ready && !document.querySelector(busy);
    if (stands) done(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""
_BLURRED = '.timeline[aria-busy="true"]'
_UNSUMMED = ':is(#engines, #flame, #stacks)[aria-busy="true"]'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", default="1000000,10000000", help="numbers of samples, by commas")
    parser.add_argument("--stacks", type=int, default=50_000)
    parser.add_argument("--windows", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=14, help="of the wheel, in each direction")
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
                runs = [measure(browser, address, options.steps) for _ in range(options.repetitions)]
            figures.append(table(samples, runs))
        browser.close()
    if options.out:
        options.out.write_text(json.dumps({"dashboard_page": figures}, indent=2) + "\n")


def fill(library: Path, samples: int, options: argparse.Namespace) -> None:
    """Make a library with one analysed recording."""
    from report_size import synthetic

    from dashboard.library.catalog import Catalog, new_recording
    from dashboard.library.reading_results import write_results
    from dashboard.library.store import Store, new_id
    from tracekit.analysis import analyze

    begun = time.perf_counter()
    trace = synthetic(samples, options.stacks, options.windows, options.threads)
    analysis = analyze(trace, windows="coreml")
    analysed = time.perf_counter()
    store, lock = Store.locked(library)
    recording = new_recording(new_id(), f"{samples:,} samples", "upload", 0)
    results = store.results(recording.id)
    results.mkdir(parents=True)
    write_results(results, analysis)
    catalog = Catalog(store.catalog)
    catalog.add(recording, b"", "")
    catalog.change(recording.id, state="ready", samples=samples, windows=len(analysis.window_rows))
    catalog.close()
    lock.release()
    size = sum(file.stat().st_size for file in results.rglob("*") if file.is_file())
    print(
        f"{samples:,} samples: analysed in {analysed - begun:.1f} s,"
        f" written in {time.perf_counter() - analysed:.1f} s, {size / 1e6:.0f} MB on the disk"
    )


@contextmanager
def served(library: Path) -> Iterator[str]:
    """Run the dashboard on a library; yield the address of its recording."""
    recording = next((library / "recordings").iterdir()).name
    command = [sys.executable, "-m", "tracekit", "dashboard", "--no-browser", "--library", str(library)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(  # noqa: S603 - our own program
        command, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            yield f"{line.split()[-1].rstrip('/')}/recordings/{recording}"
        finally:
            server.terminate()


def measure(browser: Browser, address: str, steps: int) -> dict[str, list[float]]:
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(address)
    first = tab.evaluate(_STANDS, f"{_BLURRED}, {_UNSUMMED}")
    select = _select(tab)
    zoom = _zoom(tab, steps)
    pan = _pan(tab, steps)
    tab.keyboard.press("0")
    with viewers(address):
        crowded = _zoom(tab, steps)
    tab.close()
    return {"first": [first], "zoom": zoom, "pan": pan, "select": select, "viewers": crowded}


def _lanes(tab: Page) -> Any:
    tab.locator(".timeline-scroll").evaluate("(element) => element.scrollIntoView({ block: 'center' })")
    return tab.locator(".timeline-pane").bounding_box()


def _select(tab: Page) -> list[float]:
    box = _lanes(tab)
    tab.evaluate(_WATCH, ["pointerup", _UNSUMMED])
    for index in range(_SELECTIONS):
        left, width = 0.1 + 0.15 * index, 0.6 / (index + 1)
        tab.mouse.move(box["x"] + left * box["width"], box["y"] + 250)
        tab.mouse.down()
        tab.mouse.move(box["x"] + min(left + width, 0.99) * box["width"], box["y"] + 250, steps=4)
        tab.mouse.up()
        tab.wait_for_timeout(1_000)
    return _taken(tab)


def _zoom(tab: Page, steps: int) -> list[float]:
    box = _lanes(tab)
    tab.evaluate(_WATCH, ["wheel", _BLURRED])
    tab.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 250)
    tab.keyboard.down("Control")
    for step in range(2 * steps):
        tab.mouse.wheel(0, -200 if step < steps else 200)
        tab.wait_for_timeout(250)
    tab.keyboard.up("Control")
    return _taken(tab)


def _pan(tab: Page, steps: int) -> list[float]:
    box = _lanes(tab)
    for _ in range(8):
        tab.keyboard.press("w")
    tab.wait_for_timeout(1_000)
    tab.evaluate(_WATCH, ["wheel", _BLURRED])
    tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 250)
    for step in range(2 * steps):
        tab.mouse.wheel(200 if step < steps else -300, 0)
        tab.wait_for_timeout(250)
    return _taken(tab)


def _taken(tab: Page) -> list[float]:
    durations_ms: list[float] = tab.evaluate("took")
    return durations_ms


@contextmanager
def viewers(address: str) -> Iterator[None]:
    """Let others scroll meanwhile; each looks at places and levels of its own."""
    ended = threading.Event()
    crowd = [
        threading.Thread(target=_scroll, args=(address, number, ended)) for number in range(_OTHER_VIEWERS)
    ]
    for viewer in crowd:
        viewer.start()
    try:
        yield
    finally:
        ended.set()
        for viewer in crowd:
            viewer.join()


def _scroll(address: str, number: int, ended: threading.Event) -> None:
    """Request tiles as a page does: three tiles of a level side by side, their first lanes."""
    dice = random.Random(number)  # noqa: S311 - the same places each time
    host, _, recording = address.removeprefix("http://").partition("/recordings/")
    connection = http.client.HTTPConnection(host, timeout=60)
    while not ended.wait(1 / _VIEWS_PER_SECOND):
        level = dice.randint(3, 12)
        first_tile = dice.randrange(max(1, (1 << level) - 3))
        for index in range(first_tile, min(first_tile + 3, 1 << level)):
            connection.request("GET", f"/api/recordings/{recording}/tile?level={level}&index={index}&block=0")
            connection.getresponse().read()
    connection.close()


def table(samples: int, runs: list[dict[str, list[float]]]) -> dict[str, Any]:
    """Print the figures of one size, and return them."""
    print(f"{samples:,} samples (load {os.getloadavg()[0]:.1f})")
    print(f"{'what':>8} {'n':>5} {'p50':>7} {'at most':>8} {'p95':>7} {'at most':>8}")
    figures: dict[str, Any] = {"samples": samples}
    for name, by_size in TARGETS.items():
        took = sorted(time for run in runs for time in run[name])
        p50, p95 = statistics.median(took), took[min(len(took) - 1, int(len(took) * 0.95))]
        middle, high = by_size.get(samples, (None, None))
        figures[name] = {"count": len(took), "p50_ms": p50, "p95_ms": p95, "at_most_ms": [middle, high]}
        print(f"{name:>8} {len(took):>5} {p50:>7.1f} {middle or '–':>8} {p95:>7.1f} {high or '–':>8}")
    return figures


if __name__ == "__main__":
    main()
