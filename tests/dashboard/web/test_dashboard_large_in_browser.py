"""The page of a recording whose samples stay with the server: pictures, sums, filter, failures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dashboard_support import Served, drawn
from large_recording import Sample, write_export
from library_support import settled

PATIENCE_MS = 60_000
MIDDLE = "#s=30000000000-30100000000"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[Sample]]]:
    """A dashboard on the large recording, and what is in that."""
    folder = tmp_path_factory.mktemp("large")
    written = write_export(folder / "large.xml")
    dashboard = Served(folder / "library")
    recording = dashboard.library.add_file(folder / "large.xml")
    assert settled(dashboard.library, recording, 180).state == "ready"
    yield dashboard, written
    dashboard.close()


@pytest.fixture
def samples(large: tuple[Served, list[Sample]]) -> list[Sample]:
    return large[1]


@pytest.fixture
def shown(large: tuple[Served, list[Sample]], tab: Any) -> Callable[..., Any]:
    """Opens the recording with what an address adds; the page is then at rest."""

    def show(fragment: str = "") -> Any:
        tab.goto(f"{large[0].address}{fragment}")
        tab.wait_for_selector("html[data-ready]", timeout=PATIENCE_MS)
        return at_rest(tab)

    return show


def at_rest(tab: Any) -> Any:
    """The page once nothing is on its way any more."""
    busy = tab.locator(
        ", ".join(f"{engine}[aria-busy=true]" for engine in (".timeline", "#engines", "#flame"))
    )
    for _ in range(200):
        tab.wait_for_timeout(50)
        if busy.count() == 0:
            return tab
    waiting = busy.evaluate_all("all => all.map((one) => one.id || one.className)")
    raise AssertionError(f"these wait for something that does not come: {waiting}")


def summary(tab: Any) -> str:
    return at_rest(tab).locator("#toolbar .summary").inner_text()


def under_the_pointer(tab: Any, label: str, x: float) -> str:
    """The tooltip over a lane, ``x`` from 0 to 1."""
    tab.locator("#timeline").scroll_into_view_if_needed()
    row = tab.locator(".timeline-labels .label", has_text=re.compile(f"^{label}")).first.bounding_box()
    box = tab.locator(".timeline-pane").bounding_box()
    tab.mouse.move(box["x"] + x * box["width"], row["y"] + row["height"] / 2)
    drawn(tab)
    return str(tab.locator("[role=tooltip], .tooltip").first.inner_text())


def has_old_figures(tab: Any, section: str) -> bool:
    """Return True if a section, of an open tab or not, marks its figures as those of the previous selection."""
    return bool(tab.locator(f"#{section} > .old-figures").evaluate("note => !note.hidden"))


def share(text: str, engine: str) -> int:
    """Return the share of a pixel that an engine fills, in percent."""
    return int(re.search(rf"{engine} (\d+) %", text)[1])  # type: ignore[index]


def in_all(count: int) -> str:
    """Return the flame graph's text for a number of samples of a millisecond, in three digits."""
    return f"{count if count > 99 else f'{count}.0'} ms in all."


def between(samples: list[Sample], from_ms: float, to_ms: float) -> Counter[str]:
    return Counter(sample.thread for sample in samples if from_ms <= sample.time_ms < to_ms)


def test_the_whole_run_is_there_at_once(shown: Callable[..., Any], samples: list[Sample]) -> None:
    tab = shown()
    assert summary(tab) == f"{len(samples):,} of {len(samples):,} samples"
    bars = tab.locator("#engines .live-only").inner_text()
    kernels = sum(sample.stack == "kernel" for sample in samples)
    assert f"{kernels:,} samples" in bars
    assert f"{len(samples) - kernels:,} samples" in bars
    assert share(under_the_pointer(tab, "alpha", 0.5), "CPU") == pytest.approx(50, abs=2)
    assert share(under_the_pointer(tab, "beta", 0.5), "OTHER") == pytest.approx(90, abs=2)


def test_zoomed_in_samples_are_distinguished(shown: Callable[..., Any]) -> None:
    tab = shown()
    tab.locator(".timeline-scroll").focus()
    for _ in range(22):
        tab.keyboard.press("w")
        tab.wait_for_timeout(20)
    tab.wait_for_timeout(600)
    begin, end = map(int, re.search(r"t=(\d+)-(\d+)", at_rest(tab).url).groups())  # type: ignore[union-attr]
    assert end - begin < 40e6
    rows = {}
    for step in range(1, 40):
        at_ns = begin + (end - begin) * step / 40
        rows[at_ns] = under_the_pointer(tab, "alpha", step / 40)
    pixel_ns = (end - begin) / tab.locator(".timeline-pane").bounding_box()["width"]
    compared = set()
    for at_ns, text in rows.items():
        at_ms, fraction = divmod(at_ns / 1e6, 1)
        if not 2 * pixel_ns < fraction * 1e6 < 1e6 - 2 * pixel_ns:
            continue
        works = int(at_ms) % 4 < 2
        assert ("CPU 100 %" if works else "no samples here") in text, (at_ns, text)
        compared.add(works)
    assert compared == {True, False}


def test_a_selection_counts_what_lies_in_it(shown: Callable[..., Any], samples: list[Sample]) -> None:
    tab = shown("#s=29999500000-30100000001&lanes=1")
    text = summary(tab)
    lanes = ("alpha", "gamma", "beta")  # those with the most work of ML first, then the busiest
    inside = between(samples, 29_999.5, 30_100.000001)
    assert text.startswith(f"{inside[lanes[1]]:,} of {len(samples):,} samples")
    assert "nearest" not in text
    assert "1 of 3 threads" in text


def test_dragging_selects_and_everything_follows(shown: Callable[..., Any], samples: list[Sample]) -> None:
    tab = shown("#t=30000000000-30200000000")
    tab.locator("#timeline").scroll_into_view_if_needed()
    box, timeline = (tab.locator(part).bounding_box() for part in (".timeline-pane", "#timeline"))
    tab.mouse.move(box["x"] + box["width"] / 4, box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=5)
    tab.mouse.up()
    text = summary(tab)
    assert tab.locator("#timeline").bounding_box() == timeline  # the longer sentence above moves nothing
    tab.wait_for_timeout(600)
    begin, end = map(int, re.search(r"s=(\d+)-(\d+)", tab.url).groups())  # type: ignore[union-attr]
    # The address has whole nanoseconds outside of the selection; no sample lies in between.
    inside = sum(between(samples, begin / 1e6, end / 1e6).values())
    assert 0 < inside < 200
    assert text.startswith(f"{inside:,} of {len(samples):,} samples")
    tab.locator("#tab-flame").click()
    assert in_all(inside) in tab.locator("#flame .flame > .note").inner_text()
    tab.locator("#tab-samples").click()
    assert tab.locator("#stacks .live-only > ol > li").count() == 3


def test_the_filter_is_the_servers_work(shown: Callable[..., Any], samples: list[Sample]) -> None:
    tab = shown(f"{MIDDLE}&tab=flame")
    tab.get_by_label("Filter samples").fill("sum -thread:gamma")
    tab.wait_for_timeout(300)
    fitting = [sample for sample in samples if sample.stack == "sum" and sample.thread != "gamma"]
    inside = [sample for sample in fitting if 30_000 <= sample.time_ms < 30_100]
    assert summary(tab).startswith(f"{len(inside):,} of {len(samples):,} samples")
    tab.get_by_role("button", name="Clear selection").click()
    assert summary(tab) == f"{len(fitting):,} of {len(samples):,} samples"
    tab.get_by_text("Functions as a table").click()
    table = tab.locator("#flame table", has_text="Matrix.sum()")
    table.wait_for()
    assert "BNNSFilterApply" not in table.inner_text()
    tab.get_by_label("Filter samples").fill("nothing is called so")
    tab.wait_for_timeout(300)
    assert summary(tab).startswith("0 of ")
    assert "No samples in the selection." in tab.locator("#flame .flame > .note").inner_text()


def test_the_flame_graph_inverts_what_is_selected(shown: Callable[..., Any], samples: list[Sample]) -> None:
    tab = shown(f"{MIDDLE}&q=engine:cpu&invert=1&tab=flame")
    inside = [sample for sample in samples if sample.stack == "kernel" and 30_000 <= sample.time_ms < 30_100]
    assert in_all(len(inside)) in tab.locator("#flame .flame > .note").inner_text()
    tab.locator("#tab-samples").click()
    heaviest = tab.locator("#stacks .live-only summary").first.inner_text()
    assert f"{len(inside)} samples" in heaviest
    assert "BNNSFilterApply" in tab.locator("#stacks .live-only .deciding").first.inner_text()


def test_transforms_are_the_servers_work_and_stand_in_the_address(
    shown: Callable[..., Any], samples: list[Sample]
) -> None:
    tab = shown(f"{MIDDLE}&tab=calltree")
    inside = [sample for sample in samples if 30_000 <= sample.time_ms < 30_100]
    kernels = sum(sample.stack == "kernel" for sample in inside)
    tab.locator("#calltree .tree-row", has_text="predictionFromFeatures").first.click()
    tab.keyboard.press("d")
    chips = tab.locator("#calltree .chips")
    text = f"{len(inside) - kernels} of {len(inside)} samples"
    chips.get_by_text(text).wait_for()
    assert f"{len(inside) - kernels} ms in all." in tab.locator("#calltree .calltree > .note").inner_text()
    assert summary(tab).startswith(f"{len(inside)} of {len(samples):,} samples")
    tab.wait_for_url(re.compile("stacks=drop"), wait_until="commit")
    with tab.expect_response(lambda response: "transforms=drop" in response.url) as answer:
        tab.reload()
    assert answer.value.status == 200
    chips.get_by_text(text).wait_for()
    assert "Without samples in: -[MLModel predictionFromFeatures" in chips.inner_text()
    chips.get_by_role("button", name="Remove:").click()
    tab.locator("#calltree .tree-row", has_text="predictionFromFeatures").first.wait_for()


def test_without_a_response_the_page_shows_it_and_goes_on(shown: Callable[..., Any]) -> None:
    tab = shown()
    tab.route("**/api/recordings/*/tile?*", lambda route: route.abort())
    tab.route("**/api/recordings/*/sums?*", lambda route: route.abort())
    tab.locator(".timeline-scroll").focus()
    for _ in range(30):
        tab.keyboard.press("w")
    tab.wait_for_timeout(500)
    assert tab.locator(".timeline").get_attribute("aria-busy") == "false"
    assert "could not be fetched: the dashboard does not answer." in tab.locator("#status").inner_text()
    assert "CPU 50 %" in under_the_pointer(tab, "alpha", 0.5)
    tab.keyboard.press("]")
    tab.wait_for_timeout(500)
    assert "could not be added up" in tab.locator("#toolbar .problem-line").inner_text()
    assert tab.locator("#flame").get_attribute("aria-busy") == "false"
    tab.unroute_all()
    tab.keyboard.press("w")
    assert " of " in summary(tab)
    tab.expected.append("ERR_FAILED")


def test_a_failure_is_seen_marks_what_is_old_and_mends_itself(
    shown: Callable[..., Any], samples: list[Sample]
) -> None:
    tab = shown("#q=thread:alpha")
    alpha, beta = (sum(sample.thread == name for sample in samples) for name in ("alpha", "beta"))
    assert summary(tab).startswith(f"{alpha:,} of")
    tab.route("**/api/recordings/*/sums?*", lambda route: route.abort())
    tab.get_by_label("Filter samples").fill("thread:beta")
    line = tab.locator("#toolbar .problem-line")
    line.wait_for()
    assert "could not be added up: the dashboard does not answer." in line.inner_text()
    assert (
        "The figures below are those of the previous selection."
        in tab.locator("#toolbar .summary").inner_text()
    )
    for section in ("engines", "calltree", "flame", "stacks"):
        assert tab.locator(f"#{section}").get_attribute("aria-busy") == "false"
        assert has_old_figures(tab, section)
    tab.unroute_all()
    line.wait_for(state="hidden", timeout=10_000)  # asked for again without a word
    assert summary(tab).startswith(f"{beta:,} of")
    assert tab.locator(".outdated").count() == 0
    assert not has_old_figures(tab, "flame")
    tab.expected.append("ERR_FAILED")


def test_a_failure_is_mended_by_trying_again(shown: Callable[..., Any]) -> None:
    tab = shown()
    tab.route(
        "**/api/recordings/*/sums?*", lambda route: route.fulfill(status=404, json={"error": "Not now."})
    )
    tab.get_by_label("Filter samples").fill("thread:beta")
    line = tab.locator("#toolbar .problem-line")
    line.wait_for()
    assert "could not be added up: Not now." in at_rest(tab).locator("#toolbar .problem-line").inner_text()
    tab.unroute_all()
    line.get_by_role("button", name="Try again").click()
    line.wait_for(state="hidden")
    assert " of " in summary(tab)
    tab.expected.append("404")


def test_a_restarted_dashboard_is_polled_again(shown: Callable[..., Any], sooner: None) -> None:
    tab = shown()
    tab.route("**/api/alive", lambda route: route.abort())
    tab.route(
        "**/api/recordings/*/sums?*", lambda route: route.fulfill(status=404, json={"error": "Not now."})
    )
    tab.get_by_label("Filter samples").fill("thread:beta")
    line = tab.locator("#toolbar .problem-line")
    line.wait_for()
    tab.locator(".gone[role=alert]").wait_for(timeout=15_000)
    tab.unroute_all()
    line.wait_for(state="hidden", timeout=15_000)
    assert " of " in summary(tab)
    tab.expected += ["404", "ERR_FAILED"]


def test_a_filter_that_is_too_long_is_reported(shown: Callable[..., Any]) -> None:
    tab = shown()
    tab.get_by_label("Filter samples").fill("x" * 2_001)
    line = tab.locator("#toolbar .problem-line")
    line.wait_for()
    tab.wait_for_timeout(300)
    assert "A filter has no more than 2,000 characters." in line.inner_text()
    assert has_old_figures(tab, "flame")
    tab.get_by_label("Filter samples").fill("thread:beta")
    line.wait_for(state="hidden")
    assert not has_old_figures(tab, "flame")
    tab.expected.append("400")
