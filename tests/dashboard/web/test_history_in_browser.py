"""The history page in a real browser: changes, builds, filters, keyboard, a narrow page and both colour schemes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, Served, pictures
from fleets import DeviceShift, EngineChange, Fleet, Step, Unmeasured, write_fleet

PHONE, OLD = "iPhone 17 Pro 1", "iPhone 14 2"
FLEET = Fleet(
    devices=3, models=3, builds=45, runs=5, calls=12, seed=3, spread=0.01,
    steps=(Step("Encoder", PHONE, 30, 1.1),),
    engine_changes=(EngineChange("Decoder", OLD, 34, "CPU", 0.6),),
    shifts=(DeviceShift(OLD, 25, 1.0, "iOS 27.1 (24B5)"),),
    unmeasured=(Unmeasured(PHONE, 20, 22),),
    failed=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("history")
    dataset = write_fleet(folder / "results", FLEET)
    dashboard = Served(folder / "library", fleet=dataset.path)
    yield dashboard.base
    dashboard.close()


def history(tab: Any, base: str, query: str = "") -> Any:
    tab.goto(f"{base}history{query}")
    tab.wait_for_selector(".history-picture", timeout=PATIENCE_MS)
    return tab


def test_a_change_is_shown_with_its_evidence(base: str, tab: Any, axe: str) -> None:
    history(tab, base)
    tab.get_by_role("button", name="▲ p50 +10").click()
    aside = tab.get_by_role("complementary", name="Selection")
    aside.get_by_text("Compare one recording of each:").wait_for()
    aside.get_by_role("row", name="Neural Engine").wait_for()
    text = aside.inner_text()
    assert text.startswith(f"Encoder, {PHONE}\n")
    assert "from build 430 (" in text and "95 % interval" in text
    assert "3 models on the device moved by" in text
    assert "tracekit record --app 429/Dictate.app --interleave 430/Dictate.app" in text
    assert "--require 'no changes in \"Encoder\"' --accept" in text
    assert (
        "Build 429: 5 recordings" in text and "tracekit compare farm/run145.trace farm/run150.trace" in text
    )
    assert barriers(tab, axe) == []
    pictures(tab, "history")


def test_two_builds_of_a_series_are_compared_by_keys(base: str, tab: Any) -> None:
    history(tab, base)
    tab.get_by_role("group", name=f"Encoder on {PHONE}").focus()
    tab.keyboard.press("ArrowLeft")
    assert tab.locator(".history-tip").inner_text().startswith("Build 444\np50 ")
    tab.keyboard.press("Enter")
    assert "Build 444, first recorded 2026-02-18" in tab.locator(".history-inspector").inner_text()
    for _ in range(20):
        tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="Build 424 and build 444").wait_for()
    change = tab.locator(".history-table tr", has_text="p50").locator("td").last.inner_text()
    assert 8 < float(change.removeprefix("+").removesuffix(" %")) < 12


def test_filters_are_in_the_address(base: str, tab: Any) -> None:
    history(tab, base)
    assert tab.locator(".history-row").count() == 9
    tab.get_by_label("Model").select_option("Decoder")
    assert tab.locator(".history-row").count() == 3
    tab.get_by_label("with changes only").check()
    assert tab.locator(".history-row h2").all_inner_texts() == ["Decoder", "Decoder"]
    assert "model=Decoder" in tab.url and "changed=" in tab.url
    history(tab, base, tab.url.partition("/history")[2])
    assert tab.locator(".history-row").count() == 2


def test_a_narrow_page_has_everything(base: str, tab: Any, axe: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    history(tab, base, "?changed=")
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    tab.get_by_role("button", name="▲ p50 +10").click()
    tab.get_by_role("heading", name=f"Encoder, {PHONE}").wait_for()
    assert barriers(tab, axe) == []


def test_without_a_dataset_the_page_has_the_command(fallback: Served, tab: Any) -> None:
    tab.goto(f"{fallback.base}history")
    tab.get_by_text("tracekit dashboard --fleet results/").wait_for(timeout=PATIENCE_MS)
