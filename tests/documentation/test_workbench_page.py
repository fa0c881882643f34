"""The page with a workbench on sample data: what it points at is shown, on a phone and on a desktop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

POINTED_AT = {
    "A slow call": ("#inspector", "Call 4 of Segmenter"),
    "All calls": ("#windows", "Classifier"),
    "Work between calls": ("#inspector", "Selection: 580 ms"),
    "A finding in the timeline": ("#inspector", "Finding 2"),
    "The evidence": ("#evidence", "ane-hw-intervals"),
}
"""Links of the page, and where the workbench shows which words then."""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1440, 900)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_link_sets_the_workbench(browser: Any, site: Path, width: int, height: int, scheme: str) -> None:
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto((site / "workbench.html").as_uri())
    frame = tab.frame_locator("iframe.workbench")
    frame.locator("html[data-ready]").wait_for(state="attached")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.locator("iframe.workbench").bounding_box()["height"] >= 700
    for link, (place, words) in POINTED_AT.items():
        tab.get_by_role("link", name=link).click()
        frame.locator(place, has_text=words).first.wait_for(timeout=10_000)
        assert tab.url.endswith("workbench.html")  # the link stays in its frame
        if place == "#inspector":
            left = frame.locator(place).evaluate("pane => pane.getBoundingClientRect().left")
            assert (left > 600) is (width == 1440)  # beside the timeline, or a sheet over it
    assert problems == []
    tab.close()
