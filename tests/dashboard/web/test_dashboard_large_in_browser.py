"""The page of a large recording, and the samples of a page: they come after the first picture, or fail to."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dashboard_support import FALLBACK, Serve, Served, delayed_work_done, drawn, opened, until
from large_recording import Sample, write_export
from library_support import settled

from tracekit_dashboard.library.library import Library

PATIENCE_MS = 60_000
MIDDLE = "#s=30000000000-30100000000"
AT_WORK = (r"SampleApp \(0x5a3a", 285 / 568)
"""A lane of the small recording, and where in the run it works on the CPU."""
SAMPLES = "**/api/recordings/*/samples"


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
def large_page(large: tuple[Served, list[Sample]], tab: Any) -> Callable[..., Any]:
    """Opens the recording with what an address adds; the page is then at rest."""

    def show(fragment: str = "") -> Any:
        return with_samples(opened(tab, f"{large[0].address}{fragment}"))

    return show


@pytest.fixture
def small(fallback: Served, tab: Any) -> Callable[..., Any]:
    """Opens a small recording with what an address adds, whatever becomes of its samples."""
    return lambda fragment="": opened(tab, f"{fallback.address}{fragment}")


def with_samples(tab: Any) -> Any:
    tab.wait_for_selector("html[data-samples]", timeout=PATIENCE_MS)
    drawn(tab)
    return tab


def summary(tab: Any) -> str:
    drawn(tab)
    return str(tab.locator(".view-tools .summary").inner_text())


def problem(tab: Any) -> Any:
    """The line about samples that could not be loaded, once it is there."""
    line = tab.locator("#toolbar .problem.problem-line")
    line.wait_for(timeout=PATIENCE_MS)
    return line


def under_the_pointer(tab: Any, label: str, x: float) -> str:
    """The tooltip over a lane, ``x`` from 0 to 1."""
    name = tab.locator(".timeline-labels .label", has_text=re.compile(f"^{label}")).first
    name.scroll_into_view_if_needed()
    tooltip = tab.locator("[role=tooltip], .tooltip").first
    for _ in range(20):  # a line about the samples that comes or goes moves the lanes
        row, box = name.bounding_box(), tab.locator(".timeline-pane").bounding_box()
        tab.mouse.move(box["x"] + x * box["width"], row["y"] + row["height"] / 2)
        drawn(tab)
        if text := str(tooltip.inner_text()):
            return text
        tab.mouse.move(0, 0)
    raise AssertionError(f"there is no tooltip over {label}")


def flame_note(tab: Any) -> str:
    """The sentence above the flame graph of the open tab."""
    return str(tab.locator("#flame .flame > .note").text_content())


def share(text: str, engine: str) -> int:
    """Return the share of a pixel that an engine fills, in percent."""
    return int(re.search(rf"{engine} (\d+) %", text)[1])  # type: ignore[index]


def in_all(count: int) -> str:
    """Return the flame graph's text for a number of samples of a millisecond, in three digits."""
    return f"{count if count > 99 else f'{count}.0'} ms in all."


def between(samples: list[Sample], from_ms: float, to_ms: float) -> Counter[str]:
    return Counter(sample.thread for sample in samples if from_ms <= sample.time_ms < to_ms)


def test_the_whole_run_is_there_at_once(large_page: Callable[..., Any], samples: list[Sample]) -> None:
    tab = large_page()
    assert summary(tab) == f"{len(samples):,} of {len(samples):,} samples"
    bars = tab.locator("#engines .live-only").inner_text()
    kernels = sum(sample.stack == "kernel" for sample in samples)
    assert f"{kernels:,} samples" in bars
    assert f"{len(samples) - kernels:,} samples" in bars
    assert share(under_the_pointer(tab, "alpha", 0.5), "CPU") == pytest.approx(50, abs=2)
    assert share(under_the_pointer(tab, "beta", 0.5), "OTHER") == pytest.approx(90, abs=2)


def test_zoomed_in_samples_are_distinguished(large_page: Callable[..., Any]) -> None:
    tab = large_page()
    tab.locator(".timeline-scroll").focus()
    for _ in range(22):
        tab.keyboard.press("w")
        tab.wait_for_timeout(20)
    delayed_work_done(tab)
    begin, end = map(int, re.search(r"t=(\d+)-(\d+)", tab.url).groups())  # type: ignore[union-attr]
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


def test_a_selection_counts_what_lies_in_it(large_page: Callable[..., Any], samples: list[Sample]) -> None:
    tab = large_page("#s=29999500000-30100000001&lanes=1")
    text = summary(tab)
    lanes = ("alpha", "gamma", "beta")  # those with the most work of ML first, then the busiest
    inside = between(samples, 29_999.5, 30_100.000001)
    assert text.startswith(f"{inside[lanes[1]]:,} of {len(samples):,} samples")
    assert "nearest" not in text
    assert "1 of 3 threads" in text


def test_dragging_selects_and_everything_follows(
    large_page: Callable[..., Any], samples: list[Sample]
) -> None:
    tab = large_page("#t=30000000000-30200000000")
    tab.locator("#timeline").scroll_into_view_if_needed()
    box, timeline = (tab.locator(part).bounding_box() for part in (".timeline-pane", "#timeline"))
    tab.mouse.move(box["x"] + box["width"] / 4, box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=5)
    tab.mouse.up()
    text = summary(tab)
    # The longer sentence above moves nothing; the selection opens the inspector at the side.
    moved = tab.locator("#timeline").bounding_box()
    assert [moved[key] for key in ("x", "y", "height")] == [timeline[key] for key in ("x", "y", "height")]
    assert moved["width"] < timeline["width"]
    delayed_work_done(tab)
    begin, end = map(int, re.search(r"s=(\d+)-(\d+)", tab.url).groups())  # type: ignore[union-attr]
    # The address has whole nanoseconds outside of the selection; no sample lies in between.
    inside = sum(between(samples, begin / 1e6, end / 1e6).values())
    assert 0 < inside < 200
    assert text.startswith(f"{inside:,} of {len(samples):,} samples")
    tab.locator("#tab-flame").click()
    assert in_all(inside) in tab.locator("#flame .flame > .note").inner_text()
    tab.locator("#tab-samples").click()
    assert tab.locator("#stacks .live-only > ol > li").count() == 3


def test_the_filter_counts_the_samples_that_fit(
    large_page: Callable[..., Any], samples: list[Sample]
) -> None:
    tab = large_page(f"{MIDDLE}&tab=flame")
    tab.get_by_label("Filter samples").fill("sum -thread:gamma")
    delayed_work_done(tab)
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
    delayed_work_done(tab)
    assert summary(tab).startswith("0 of ")
    assert "No samples in the selection." in tab.locator("#flame .flame > .note").inner_text()


def test_the_flame_graph_inverts_what_is_selected(
    large_page: Callable[..., Any], samples: list[Sample]
) -> None:
    tab = large_page(f"{MIDDLE}&q=engine:cpu&invert=1&tab=flame")
    inside = [sample for sample in samples if sample.stack == "kernel" and 30_000 <= sample.time_ms < 30_100]
    assert in_all(len(inside)) in tab.locator("#flame .flame > .note").inner_text()
    tab.locator("#tab-samples").click()
    heaviest = tab.locator("#stacks .live-only summary").first.inner_text()
    assert f"{len(inside)} samples" in heaviest
    assert "BNNSFilterApply" in tab.locator("#stacks .live-only .deciding").first.inner_text()


def test_transforms_change_the_tree_and_stand_in_the_address(
    large_page: Callable[..., Any], samples: list[Sample]
) -> None:
    tab = large_page(f"{MIDDLE}&tab=calltree")
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
    tab.reload()
    chips.get_by_text(text).wait_for()
    assert "Without samples in: -[MLModel predictionFromFeatures" in chips.inner_text()
    chips.get_by_role("button", name="Remove:").click()
    tab.locator("#calltree .tree-row", has_text="predictionFromFeatures").first.wait_for()


def hold(tab: Any) -> list[Any]:
    """Let requests for samples wait, in the list that is returned."""
    waiting: list[Any] = []

    def take(route: Any) -> None:
        waiting.append(route)

    tab.route(SAMPLES, take)
    return waiting


def cut(tab: Any, etag: str = "") -> None:
    """Let the first response with samples end in the middle; ``etag`` replaces its own."""

    def first_half(route: Any) -> None:
        whole = route.fetch()
        headers = whole.headers | ({"etag": etag} if etag else {})
        assert int(headers["content-length"]) == len(whole.body())
        route.fulfill(status=200, headers=headers, body=whole.body()[: len(whole.body()) // 2])

    tab.route(SAMPLES, first_half, times=1)


def test_samples_that_were_cut_off_are_taken_up_in_the_middle(small: Callable[..., Any], tab: Any) -> None:
    cut(tab)
    with tab.expect_response(lambda response: response.status == 206, timeout=PATIENCE_MS) as answer:
        small("#q=engine:ANE")
        assert "the connection was lost. Without them" in problem(tab).inner_text()
        assert summary(tab) == "384 of 384 samples"
    begin, end, size = map(int, re.findall(r"\d+", answer.value.headers["content-range"]))
    assert (begin, end) == (size // 2, size - 1)
    assert summary(with_samples(tab)) == "26 of 384 samples"
    assert not tab.locator("#toolbar .problem-line:visible").count()


def test_a_file_that_was_written_anew_is_taken_from_its_start(small: Callable[..., Any], tab: Any) -> None:
    cut(tab, etag='"another"')
    with tab.expect_request(lambda request: "range" in request.headers, timeout=PATIENCE_MS) as again:
        small()
    assert again.value.headers["if-range"] == '"another"'
    assert again.value.response().status == 200
    assert summary(with_samples(tab)) == "384 of 384 samples"


def test_damaged_samples_leave_the_whole_run_and_can_be_tried_again(
    small: Callable[..., Any], tab: Any
) -> None:
    def damage(route: Any) -> None:
        whole = route.fetch()
        route.fulfill(response=whole, body=whole.body()[:-100] + bytes(100))

    tab.route(SAMPLES, damage, times=1)
    small("#s=0-200000000&q=engine:ANE&tab=flame")
    line = problem(tab)
    assert "they are damaged or of another version" in line.inner_text()
    assert summary(tab) == "384 of 384 samples"
    assert "CPU" in under_the_pointer(tab, *AT_WORK)
    assert "384 ms in all." in flame_note(tab)
    line.get_by_role("button", name="Try again").click()
    assert summary(with_samples(tab)).startswith("22 of 384 samples")
    line.wait_for(state="hidden")


@pytest.mark.parametrize(
    ("written", "replacement", "sentence"),
    [
        (b"tracekit-samples/1", b"tracekit-samples/9", "they are damaged or of another version"),
        (rb'"digest":".', b'"digest":"x', "this recording was analyzed again."),
    ],
)
def test_samples_of_another_version_or_analysis_ask_for_a_reload(
    written: bytes, replacement: bytes, sentence: str, small: Callable[..., Any], tab: Any
) -> None:
    def replace(route: Any) -> None:
        whole = route.fetch()
        block = gzip.decompress(whole.body())
        assert len(re.findall(written, block)) == 1
        body = gzip.compress(re.sub(written, replacement, block))
        route.fulfill(status=200, headers={"etag": '"x"'}, body=body)

    tab.route(SAMPLES, replace)
    small("#q=engine:ANE")
    assert sentence in problem(tab).inner_text()
    assert "Reload the page" in problem(tab).inner_text()
    assert summary(tab) == "384 of 384 samples"


@pytest.mark.parametrize(
    ("lose", "sentence"),
    [
        (Library.delete, "fallback-midway-ios27 was deleted. The library page can restore it."),
        (Library.drop_results, "The analysis of fallback-midway-ios27 was dropped. Its page makes it again."),
    ],
)
def test_without_its_recording_an_open_page_keeps_the_whole_run(
    lose: Callable[[Library, str], Any], sentence: str, serve: Serve, tab: Any
) -> None:
    dashboard = serve(FALLBACK)
    waiting = hold(tab)
    opened(tab, dashboard.address)
    until(tab, lambda: waiting)
    lose(dashboard.library, dashboard.library.list_recordings()[0].id)
    waiting[0].continue_()
    assert f"could not be loaded: {sentence}" in problem(tab).inner_text()
    assert summary(tab) == "384 of 384 samples"
    tab.expected.append("404")


def test_on_a_slow_line_the_page_works_before_its_samples(small: Callable[..., Any], tab: Any) -> None:
    waiting = hold(tab)
    small("#tab=flame")
    progress = tab.locator("#toolbar .note", has_text="The samples are loading.")
    progress.wait_for()
    assert progress.get_by_label("Samples loaded").evaluate("bar => bar.value") == 0
    assert "CPU" in under_the_pointer(tab, *AT_WORK)
    assert "384 ms in all." in flame_note(tab)
    tab.get_by_label("Filter samples").fill("engine:ANE")
    tab.wait_for_url(re.compile("q=engine"), wait_until="commit")
    assert summary(tab) == "384 of 384 samples"
    waiting[0].continue_()
    assert summary(with_samples(tab)) == "26 of 384 samples"
    assert "26.0 ms in all." in flame_note(tab)
    assert not progress.is_visible()


def test_a_dashboard_that_is_back_sends_the_samples(
    small: Callable[..., Any], tab: Any, sooner: None
) -> None:
    tab.route("**/api/alive", lambda route: route.abort())
    tab.route(SAMPLES, lambda route: route.fulfill(status=404, json={"error": "Not now."}))
    small("#q=engine:ANE")
    assert "Not now." in problem(tab).inner_text()
    tab.locator(".gone[role=alert]").wait_for(timeout=15_000)
    tab.unroute_all()
    assert summary(with_samples(tab)) == "26 of 384 samples"
    tab.expected += ["404", "ERR_FAILED"]
