"""Measure how quickly the dashboard's page of a large recording opens, zooms and follows a selection.

    python benchmarks/dashboard_page.py [--samples 1000000,10000000] [--repetitions 3] [--only click,zoom]
                                        [--keep FOLDER] [--out FILE.json]

For each number of samples a synthetic recording (30 threads, 50,000 unique stacks, 1,000 windows; as in
``report_size.py``) is analysed and put into a library, and ``tracekit dashboard`` serves it to a headless
Chromium. Needs Playwright's Python package and a Chromium (CHROMIUM, or one on the path).

Times are milliseconds, each with the machine's load, since programs beside this one slow it down; figures
above their target are marked. *first*: from the start of navigation until the timeline and the sums of the
whole run stand; *loaded*: until the samples have arrived as well. *zoom*: from a real wheel event, Control
held, the pointer over a thread's lane and a range selected, until the frame with the new picture is handed
over. *pan*: the same for a wheel that moves. *filter*: from the last key until sums and picture follow.
*click*: from the button's release in a thread's lane until the sample's stack stands in the inspector.
*summary*, *calls*, *calltree*, *flame*, *samples*: from the button's release until all of that tab shows
the selection. *chain*: the same for the call tree with three transforms. *step*: from the key until one
more transform stands. *scroll*: between two frames while the tree with all its branches open scrolls by 900
pixels a frame; *rows* is how many there are. *memory*: megabytes of the tab's process.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from browser import chromium, served, timed
from playwright.sync_api import Browser, Page
from recording_library import library_of

TABS = ("summary", "calls", "calltree", "flame", "samples")
"""The tabs that show sums of the selection."""
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "first": (800, None),
    "loaded": (None, None),
    "zoom": (None, 50),
    "pan": (None, 50),
    "filter": (None, None),
    "click": (None, 100),
    **dict.fromkeys(TABS, (100, None)),
    "chain": (100, None),
    "step": (None, None),
    "scroll": (17, None),
    "memory": (300, None),
}
"""At most so many milliseconds as median and as 95th percentile, with a million samples."""
TARGETS_OF_TEN_MILLION = TARGETS | dict.fromkeys((*TABS, "chain"), (250, None)) | {"memory": (700, None)}
_SIZE = {"width": 1440, "height": 900}
_SELECTIONS, _CLICKS = 6, 12
_MANY = 3_000_000
_FILTERS = ("thread:worker", "engine:ane", "bnns", "-mach")
_CHAIN, _STEPS = "flat~system~collapse-lib:1", "rmd"
_PATIENCE_MS = 60_000
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
# The time at which the page is ready and waits for nothing, or its sentence about what is wrong.
_STANDS = """([busy, patience]) => new Promise((done) => {
  const look = () => {
    const stands = document.documentElement.dataset.ready && !document.querySelector(busy);
    if (stands) done(performance.now());
    else if (performance.now() > patience) done(document.body.innerText.slice(0, 400));
    else requestAnimationFrame(look);
  };
  look();
})"""
# From a filter's input until its sums stand, with the pause of 120 ms in which another letter may follow.
_FILTER = """(text) => new Promise((done) => {
  const field = document.querySelector("input[aria-label='Filter samples']");
  const start = performance.now();
  const after = new MutationObserver(() => {
    after.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start), 0));
  });
  const summary = document.querySelector("#toolbar .summary");
  after.observe(summary, { childList: true, characterData: true, subtree: true });
  field.value = text;
  field.dispatchEvent(new Event("input"));
})"""
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
_UNREADY = "html:not([data-ready])"
_UNLOADED = "html:not([data-samples])"
_LANE = ".timeline-labels .label.lane:has(> .name.thread)"
# What the inspector has before a click is marked; it stands when that is gone.
_OLD = "for (const node of document.querySelector('.inspector-content').children) node.dataset.old = 'true'"
_UNINSPECTED = '.inspector-content > [data-old], #inspector[aria-busy="true"]'
Figures = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", default="1000000,10000000", help="numbers of samples, by commas")
    parser.add_argument("--stacks", type=int, default=50_000)
    parser.add_argument("--windows", type=int, default=1_000)
    parser.add_argument("--threads", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=14, help="of the wheel, in each direction")
    parser.add_argument("--only", default=",".join(MEASURES), help="of these, by commas")
    parser.add_argument("--keep", type=Path, help="keep the libraries in this folder, and use them again")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for samples in map(int, options.samples.split(",")):
            library = library_of(
                options.keep or Path(folder), samples, options.stacks, options.windows, options.threads
            )
            recording = next((library / "recordings").iterdir()).name
            with served(library) as address:
                figures.append(measured(browser, f"{address}/recordings/{recording}", samples, options))
    if options.out:
        options.out.write_text(json.dumps({"dashboard_page": figures}, indent=2) + "\n")


def measured(browser: Browser, address: str, samples: int, options: argparse.Namespace) -> dict[str, Any]:
    """Print the figures of one size, and return them."""
    took: Figures = defaultdict(list)
    loads: Figures = defaultdict(list)
    for _ in range(options.repetitions):
        for name in options.only.split(","):
            for kind, times in MEASURES[name](browser, address, options.steps).items():
                took[kind] += times
                loads[kind].append(os.getloadavg()[0])
    print(f"{samples:,} samples, {int(max(took.pop('rows', [0]))):,} rows of the call tree")
    print(f"{'what':>8} {'n':>5} {'p50':>7} {'at most':>8} {'p95':>7} {'at most':>8} {'load':>9}")
    figures: dict[str, Any] = {"samples": samples}
    targets = TARGETS if samples < _MANY else TARGETS_OF_TEN_MILLION
    for name in took:
        figure = figures[name] = {**timed(took[name], targets[name]), "load": max(loads[name])}
        middle, high = (most or "–" for most in targets[name])
        load = f"{min(loads[name]):.1f}–{max(loads[name]):.1f}"
        print(
            f"{name:>8} {figure['count']:>5} {figure['p50_ms']:>7.1f} {middle:>8} {figure['p95_ms']:>7.1f}"
            f" {high:>8} {load:>9}{'  MISSED: ' + ', '.join(figure['missed']) if figure['missed'] else ''}"
        )
    return figures


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """Open a page and close it again; ``first`` of its window is when it stood."""
    tab = browser.new_page(viewport=_SIZE)  # type: ignore[arg-type]
    try:
        tab.goto(address)
        tab.evaluate("(first) => (window.first = first)", until_it_stands(tab, _UNREADY))
        tab.evaluate("(loaded) => (window.loaded = loaded)", until_it_stands(tab, _UNLOADED))
        yield tab
    finally:
        tab.close()


def until_it_stands(tab: Page, unready: str) -> float:
    """Wait until a page is ready; return that time since its navigation began."""
    stood = tab.evaluate(_STANDS, [unready, _PATIENCE_MS])
    if isinstance(stood, str):
        raise SystemExit(f"The page of {tab.url} does not stand after a minute; it has: {stood}")
    return float(stood)


def _first(browser: Browser, address: str, _steps: int) -> Figures:
    with opened(browser, address) as tab:
        return {"first": [tab.evaluate("first")], "loaded": [tab.evaluate("loaded")]}


def _moved(browser: Browser, address: str, steps: int) -> Figures:
    """Measure the wheel, with a range selected."""
    with opened(browser, address) as tab:
        _select(tab, 1)
        return {"zoom": _zoom(tab, steps), "pan": _pan(tab, steps)}


def _filtered(browser: Browser, address: str, _steps: int) -> Figures:
    with opened(browser, address) as tab:
        return {"filter": [tab.evaluate(_FILTER, text) for text in _FILTERS]}


def _remembered(browser: Browser, address: str, _steps: int) -> Figures:
    """Measure the memory of a tab that has drawn and added up what it has."""
    with opened(browser, f"{address}#tab=calltree") as tab:
        _select(tab, _SELECTIONS)
        return {"memory": [max(_renderers_mb())]}


def _renderers_mb() -> list[float]:
    """Return the resident memory of each of the browser's pages, in megabytes; of Linux only."""
    sizes = [0.0]
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                rows = dict(row.split(":", 1) for row in (process / "status").read_text().splitlines())
                sizes.append(int(rows["VmRSS"].split()[0]) / 1_000)
    return sizes


def _clicked(browser: Browser, address: str, _steps: int) -> Figures:
    with opened(browser, address) as tab:
        tab.evaluate(_WATCH, ["pointerup", _UNINSPECTED])
        for click in range(_CLICKS):
            box = _lane(tab)  # narrower from the first click on: the inspector unfolds
            tab.evaluate(_OLD)
            tab.mouse.click(box["x"] + (0.05 + 0.9 * click / _CLICKS) * box["width"], box["y"])
            tab.wait_for_timeout(700)
            if not tab.locator(".inspector-content .frames").count():
                raise SystemExit("A click in a thread's lane shows no stack.")
        return {"click": _taken(tab, _CLICKS)}


def _selected(browser: Browser, address: str, _steps: int) -> Figures:
    took = {}
    for tab_id in TABS:
        with opened(browser, f"{address}#tab={tab_id}") as tab:
            took[tab_id] = _select(tab, _SELECTIONS)
    return took


def _transformed(browser: Browser, address: str, _steps: int) -> Figures:
    took = {}
    with opened(browser, f"{address}#tab=calltree&stacks={_CHAIN}") as tab:
        took["chain"] = _select(tab, _SELECTIONS)
    with opened(browser, f"{address}#tab=calltree") as tab:
        tab.get_by_role("treegrid", name="Call tree").focus()
        tab.evaluate(_WATCH, ["keydown", _UNLOADED])
        for key in _STEPS:
            tab.keyboard.press("ArrowDown")
            tab.wait_for_timeout(300)
            tab.evaluate("took.length = 0")
            tab.keyboard.press(key)
            tab.wait_for_timeout(2_000)
            took.setdefault("step", []).extend(tab.evaluate("took"))
    return took


def _scrolled(browser: Browser, address: str, _steps: int) -> Figures:
    with opened(browser, f"{address}#tab=calltree") as tab:
        grid = tab.get_by_role("treegrid", name="Call tree")
        grid.focus()
        for key in ("Home", "ArrowLeft", "End"):
            tab.keyboard.press(key)
        for _ in range(int(grid.get_attribute("aria-rowcount") or 1) - 1):  # from the last root up
            tab.keyboard.press("*")
            tab.keyboard.press("ArrowUp")
        tab.wait_for_timeout(2_000)
        times, rows = tab.evaluate(_SCROLL)
    return {"scroll": times, "rows": [rows]}


MEASURES = {
    "first": _first,
    "wheel": _moved,
    "filter": _filtered,
    "memory": _remembered,
    "click": _clicked,
    "select": _selected,
    "transforms": _transformed,
    "scroll": _scrolled,
}
"""What can be measured alone, by the names of ``--only``."""


def _lane(tab: Page) -> Any:
    """Return the left edge, the middle height and the width of a thread's lane in sight."""
    label = tab.locator(_LANE).first
    tab.evaluate("(lane) => document.querySelector(lane).scrollIntoView({ block: 'nearest' })", _LANE)
    tab.wait_for_timeout(300)
    pane, row = tab.locator(".timeline-pane").bounding_box(), label.bounding_box()
    assert pane is not None and row is not None
    return {**pane, "y": row["y"] + row["height"] / 2}


def _select(tab: Page, count: int) -> list[float]:
    tab.evaluate(_WATCH, ["pointerup", _UNLOADED])
    for index in range(count):
        box = _lane(tab)
        left, width = 0.05 + 0.1 * index, 0.6 / (index + 1)
        tab.mouse.move(box["x"] + left * box["width"], box["y"])
        tab.mouse.down()
        tab.mouse.move(box["x"] + min(left + width, 0.99) * box["width"], box["y"], steps=4)
        tab.mouse.up()
        tab.wait_for_timeout(1_200)
    return _taken(tab, count)


def _zoom(tab: Page, steps: int) -> list[float]:
    box = _lane(tab)
    tab.evaluate(_WATCH, ["wheel", _UNLOADED])
    tab.mouse.move(box["x"] + 0.4 * box["width"], box["y"])
    tab.keyboard.down("Control")
    for step in range(2 * steps):
        tab.mouse.wheel(0, -200 if step < steps else 200)
        tab.wait_for_timeout(250)
    tab.keyboard.up("Control")
    return _taken(tab, 2 * steps)


def _pan(tab: Page, steps: int) -> list[float]:
    for _ in range(8):
        tab.keyboard.press("w")
    tab.wait_for_timeout(1_000)
    box = _lane(tab)
    tab.evaluate(_WATCH, ["wheel", _UNLOADED])
    tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"])
    for step in range(2 * steps):
        tab.mouse.wheel(200 if step < steps else -300, 0)
        tab.wait_for_timeout(250)
    return _taken(tab, 2 * steps)


def _taken(tab: Page, count: int) -> list[float]:
    times: list[float] = tab.evaluate("took")
    if len(times) != count:
        raise SystemExit(
            f"{len(times)} of {count} steps were measured: the pointer missed, or the page still waits."
        )
    return times


if __name__ == "__main__":
    main()
