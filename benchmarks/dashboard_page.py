"""Measure how quickly the dashboard's page of a large recording opens, zooms and follows a selection.

    python benchmarks/dashboard_page.py [--samples 1000000,10000000] [--repetitions 3] [--only click,zoom]
                                        [--keep FOLDER] [--out FILE.json]

For each number of samples a synthetic recording (30 threads, 50,000 unique stacks, 1,000 windows; as in
``report_size.py``) is analysed and put into a library, and ``tracekit dashboard`` serves it to a headless
Chromium. Needs Playwright's Python package and a Chromium (CHROMIUM, or one on the path).

Times are milliseconds, each with the machine's load, since programs beside this one slow it down; figures
above their target are marked. *first*: from the start of navigation until the sharp timeline of the whole
run and the sums stand. *zoom*: from a real wheel event, Control held, the pointer over a thread's lane and
a range selected, until the frame with the sharp new picture is handed over. *pan*: the same for a wheel
that moves. *viewers*: *zoom* while seven other viewers scroll: each asks for the tiles of a view ten times
a second. *click*: from the button's release in a thread's lane until the sample's stack stands in the
inspector. *summary*, *calls*, *calltree*, *flame*, *samples*: from the button's release until all of that
tab shows the selection. *chain*: the same for the call tree with three transforms, which the server applies
to all stacks. *step*: from the key until one more transform stands; nothing of it is cached. *scroll*:
between two frames while the tree with all its branches open scrolls by 900 pixels a frame; *rows* is how
many there are.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser import chromium, served, timed
from playwright.sync_api import Browser, Page
from recording_library import library_of

TABS = ("summary", "calls", "calltree", "flame", "samples")
"""The tabs that show sums of the selection."""
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "first": (800, None),
    "zoom": (None, 50),
    "pan": (None, 50),
    "viewers": (None, 250),
    "click": (None, 100),
    **dict.fromkeys(TABS, (150, None)),
    "chain": (150, None),
    "step": (None, None),
    "scroll": (17, None),
}
"""At most so many milliseconds as median and as 95th percentile, at any number of samples."""
_SIZE = {"width": 1440, "height": 900}
_SELECTIONS, _CLICKS, _OTHER_VIEWERS, _VIEWS_PER_SECOND = 6, 12, 7, 10
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
_BLURRED = '.timeline[aria-busy="true"]'
_UNSUMMED = ':is(#engines, #windows, #calltree, #flame, #stacks, .sample-rows)[aria-busy="true"]'
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
    for name in took:
        figure = figures[name] = {**timed(took[name], TARGETS[name]), "load": max(loads[name])}
        middle, high = (most or "–" for most in TARGETS[name])
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
        tab.evaluate("(first) => (window.first = first)", until_it_stands(tab))
        yield tab
    finally:
        tab.close()


def until_it_stands(tab: Page) -> float:
    """Wait until a page is ready and waits for nothing; return that time since its navigation began."""
    stood = tab.evaluate(_STANDS, [f"{_BLURRED}, {_UNSUMMED}", _PATIENCE_MS])
    if isinstance(stood, str):
        raise SystemExit(f"The page of {tab.url} does not stand after a minute; it has: {stood}")
    return float(stood)


def _first(browser: Browser, address: str, _steps: int) -> Figures:
    with opened(browser, address) as tab:
        return {"first": [tab.evaluate("first")]}


def _moved(browser: Browser, address: str, steps: int) -> Figures:
    """Measure the wheel, with a range selected."""
    with opened(browser, address) as tab:
        _select(tab, 1)
        zoom, pan = _zoom(tab, steps), _pan(tab, steps)
        tab.keyboard.press("0")
        tab.wait_for_timeout(500)
        with viewers(address):
            return {"zoom": zoom, "pan": pan, "viewers": _zoom(tab, steps)}


def _clicked(browser: Browser, address: str, _steps: int) -> Figures:
    with opened(browser, address) as tab:
        box = _lane(tab)
        tab.evaluate(_WATCH, ["pointerup", _UNINSPECTED])
        for click in range(_CLICKS):
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
        tab.evaluate(_WATCH, ["keydown", _UNSUMMED])
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
    box = _lane(tab)
    tab.evaluate(_WATCH, ["pointerup", _UNSUMMED])
    for index in range(count):
        left, width = 0.05 + 0.1 * index, 0.6 / (index + 1)
        tab.mouse.move(box["x"] + left * box["width"], box["y"])
        tab.mouse.down()
        tab.mouse.move(box["x"] + min(left + width, 0.99) * box["width"], box["y"], steps=4)
        tab.mouse.up()
        tab.wait_for_timeout(1_200)
    return _taken(tab, count)


def _zoom(tab: Page, steps: int) -> list[float]:
    box = _lane(tab)
    tab.evaluate(_WATCH, ["wheel", _BLURRED])
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
    tab.evaluate(_WATCH, ["wheel", _BLURRED])
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


if __name__ == "__main__":
    main()
