"""A model and its plan that a visitor holds against a recording, in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, Serve, eventually, opened

SAMPLE = Path(__file__).resolve().parents[3] / "sample_traces" / "operators-leave-macos27"
PLAN = next(SAMPLE.rglob("analytics.mil"))

pytestmark = pytest.mark.browser


def test_a_model_and_its_plan_are_held_against_the_calls(
    serve: Serve, tab: Any, tmp_path: Path, axe: str
) -> None:
    served = serve(SAMPLE)
    opened(tab, f"{served.address}#tab=evidence")
    assert barriers(tab, axe) == []
    assert tab.locator("#operators").count() == 0

    def hold(**files: Path) -> None:
        for label, path in files.items():
            tab.locator("#model").get_by_label(label, exact=True).set_input_files(path)
        tab.get_by_role("button", name="Hold against the calls").click()

    plan = tmp_path / "analytics.mil"
    plan.write_text("nothing")
    hold(Plan=plan)
    refusal = tab.locator("#options .problem")
    refusal.wait_for(timeout=PATIENCE_MS)
    assert refusal.inner_text().startswith("analytics.mil: is no plan of a kind that tracekit reads.")
    packed = shutil.make_archive(str(tmp_path / "Encoder.mlmodelc"), "zip", SAMPLE, "Encoder.mlmodelc")
    hold(Model=Path(packed), Plan=PLAN)
    tab.wait_for_url("**?variant=*", timeout=PATIENCE_MS)
    chips = tab.locator("#options .chip")
    chips.nth(1).wait_for(timeout=PATIENCE_MS)
    eventually(tab, "document.documentElement.dataset.ready")
    assert [text.split(" ▾")[0] for text in chips.all_inner_texts()] == [
        "Model Encoder.mlmodelc.zip",
        "Plan analytics.mil",
    ]
    tab.get_by_role("tab", name="Summary").click()
    strip = tab.locator("#operators")
    assert strip.is_visible()
    assert "gather_12" in strip.inner_text()
    assert "Unsupported gather index type" in strip.inner_text()
    strip.locator(".strip-part[data-first]").first.click()
    assert "gather_12" in strip.locator("tr.chosen").inner_text()
    address = tab.url
    tab.get_by_role("button", name="Plan: back to the default").click()
    tab.wait_for_url(lambda url: url.partition("#")[0] != address.partition("#")[0], timeout=PATIENCE_MS)
    eventually(tab, "document.documentElement.dataset.ready")
    assert "Unsupported gather index type" not in tab.locator("#operators").text_content()
