"""The options of a recording's analysis in a real browser: another run, a lane as the calls, Back, the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, SAMPLES, Running, Serve, eventually, opened
from library_support import wait_for

SIGNPOST = "org.example.SampleApp/PointsOfInterest/Inference"


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """Exports of a recording of two runs, the second of half as many calls' samples as the first."""
    folder = tmp_path / "two runs"
    folder.mkdir()
    for name in ("time-profile.xml", "os-signpost.xml"):
        text = (SAMPLES / "ane-e5rt-macos26" / name).read_text("utf-8")
        (folder / name).write_text(text, "utf-8")
        (folder / f"2-{name}").write_text(text.replace("/run[1]/", "/run[2]/"), "utf-8")
    return folder


def variant_shown(tab: Any, chip: str) -> None:
    """Wait until the page of a further analysis stands."""
    tab.wait_for_url("**?variant=*", timeout=PATIENCE_MS)
    tab.locator("#options .chip", has_text=chip).wait_for(timeout=PATIENCE_MS)
    eventually(tab, "document.documentElement.dataset.ready")


def test_another_run_and_a_lane_as_the_calls(serve: Serve, tab: Any, two_runs: Path, axe: str) -> None:
    served = serve(two_runs)
    opened(tab, served.address)
    first = tab.url
    # The pointer on the options lets the server open the recording; the analysis is made by that worker.
    assert served.library.spare.take(served.library.list_recordings()[0].id) is None
    tab.get_by_role("button", name="Run 1").hover()
    wait_for(lambda: served.library.spare._process is not None)
    prepared = served.library.spare._process
    tab.get_by_role("button", name="Run 1").click()
    tab.get_by_label("Run", exact=True).select_option("2")
    assert barriers(tab, axe) == []
    tab.get_by_role("button", name="Analyze", exact=True).click()
    variant_shown(tab, "Run 2")
    assert served.library.spare._process is prepared
    # Nothing warns of another run: it was chosen. The commands of next steps have it.
    limits = " ".join(tab.locator("#issues > :not(.findings)").all_inner_texts())
    assert "limit" in limits and "run 2" not in limits
    # The lane of signposts becomes the calls, of the same run.
    tab.get_by_role("button", name="use as calls").click()
    variant_shown(tab, SIGNPOST)
    assert tab.locator("#options .chip").count() == 2
    assert "12 calls" in tab.locator("#headline").inner_text()
    # Back returns; what was made stays, and can be the default.
    tab.go_back()
    tab.locator("#options .chip").wait_for()
    tab.go_back()
    eventually(tab, f"location.href === {first!r}")
    tab.locator(".analyses summary").click()
    tab.get_by_role("button", name=f"Make default: Run 2, Calls from {SIGNPOST}").click()
    tab.locator(".analyses li", has_text=SIGNPOST).get_by_text("default").wait_for()
    opened(tab, first)
    tab.locator("#options .chip", has_text=SIGNPOST).wait_for()
    assert served.library.list_recordings()[0].default_variant != ""
    tab.locator(".analyses summary").click()
    tab.get_by_role("link", name="Numbers side by side").click()
    tab.locator("#trend th .note", has_text=SIGNPOST).first.wait_for()
    opened(tab, first)
    tab.get_by_role("button", name="Calls from: back to the default").click()
    variant_shown(tab, "Run 2")
    eventually(tab, "document.querySelectorAll('#options .chip').length === 1")


def test_failures_and_addresses_leave_the_page_usable(serve: Serve, tab: Any) -> None:
    served = serve(SAMPLES / "ane-e5rt-macos26")
    address = served.address
    for query, sentence in (
        ("?windows=coreml&window=1ms-2ms", "Choose calls in one way"),
        ("?variant=0123456789abcdef", "There is no such analysis of this recording"),
        ("?<script>alert(1)</script>=1", "is no option of an analysis"),
    ):
        opened(tab, address + query)
        assert sentence in tab.locator("p.problem:visible").first.inner_text()
        assert "12 calls" in tab.locator("#headline").inner_text()
    # An analysis that fails: its sentence, beside the picture of the first one.
    opened(tab, f"{address}?process=nobody")
    tab.locator("#options .problem", has_text="no samples of a process 'nobody'").wait_for(
        timeout=PATIENCE_MS
    )
    assert "12 calls" in tab.locator("#headline").inner_text()
    # The command of a finding's next step has a button, as its option has in the evidence.
    opened(tab, f"{address}?variant=first")
    assert tab.locator("#evidence button.advice").count() > 0
    # A selected range becomes the only call.
    opened(tab, f"{address}?variant=first#s=100000000-200000000")
    tab.get_by_label("More choices").click()
    tab.get_by_role("button", name="Analyze selection as one call").click()
    variant_shown(tab, "100000000ns-200000000ns")
    tab.locator("#tab-calls").click()
    eventually(tab, "document.querySelectorAll('#windows-live tbody tr').length === 1")


def test_the_command_opens_the_analysis_of_its_options(running: Running, tab: Any, two_runs: Path) -> None:
    started = running(str(two_runs), "--run", "2", "--window-signpost", SIGNPOST)
    assert "?variant=" in started.address
    tab.goto(started.address)
    variant_shown(tab, SIGNPOST)
    assert tab.locator("#options .chip", has_text="Run 2").count() == 1
