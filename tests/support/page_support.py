"""Actions of the browser tests on a page, and readings from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Opened = Callable[..., Any]
TIMERS = """
    const { setTimeout: start, clearTimeout: stop } = window, pending = new Map();
    window.setTimeout = (call, delay, ...values) => {
        const id = start(() => { pending.delete(id); call(...values); }, delay);
        pending.set(id, () => call(...values));
        return id;
    };
    window.clearTimeout = (id) => { pending.delete(id); stop(id); };
    window.finishTimers = () => {
        for (let round = 0; round < 3; round += 1)
            for (const [id, call] of [...pending]) { window.clearTimeout(id); call(); }
    };
"""
"""Runs before a page's own scripts; its ``finishTimers`` makes no test wait for what the page does after a pause."""


def settled(tab: Any) -> Any:
    """Return the page after its next two frames, when every scheduled drawing is done."""
    frames = "requestAnimationFrame(() => requestAnimationFrame(() => done()))"
    tab.evaluate(f"() => new Promise(done => {frames})")
    return tab


def finished(tab: Any) -> Any:
    """Return the page once everything is done that it does after a pause."""
    settled(tab).evaluate("finishTimers()")
    return settled(tab)


def summary(tab: Any) -> str:
    """Return the toolbar's text about the selection."""
    return settled(tab).locator("#toolbar .summary").inner_text()


def chosen(tab: Any) -> str:
    """Return the address's fragment, which holds the reader's choices."""
    return finished(tab).evaluate("location.hash")


def shown_range(tab: Any) -> tuple[float, float]:
    """Return the visible part of the run in ms; the fixture's run is 100 ms long."""
    match = re.search(r"[#&]t=(\d+)-(\d+)", chosen(tab))
    return (int(match[1]) / 1e6, int(match[2]) / 1e6) if match else (0.0, 100.0)


def flame_note(tab: Any) -> str:
    return settled(tab).locator("#flame .flame > .note").inner_text()


def breadcrumb(tab: Any) -> list[str]:
    return settled(tab).locator("#flame .breadcrumb").inner_text().split()


def lanes_box(tab: Any) -> dict[str, float]:
    tab.locator("#timeline").scroll_into_view_if_needed()
    return tab.locator(".timeline-pane").bounding_box()


def point_at(tab: Any, time_ms: float, label: str) -> tuple[float, float]:
    """Return the point of a time on the row of a label, while the whole run is visible."""
    box = lanes_box(tab)
    row = tab.locator(
        ".timeline-labels .label", has_text=re.compile(f"^{re.escape(label)}")
    ).first.bounding_box()
    return box["x"] + box["width"] * time_ms / 100, row["y"] + row["height"] / 2


def drag(tab: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    tab.mouse.move(*start)
    tab.mouse.down()
    tab.mouse.move(*end, steps=4)
    tab.mouse.up()
