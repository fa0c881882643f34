"""The live page and the saved report show the same numbers of the same selection, filter and transforms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dashboard_support import SAMPLES, Served, drawn, opened
from large_recording import write_export

import tracekit
from tracekit.analysis.result import Analysis
from tracekit.report.html import page
from tracekit_dashboard.library.reading_results import write_results
from tracekit_dashboard.settings import ServerLimits

RECORDINGS = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
_FIGURES = """() => {
    const linesOf = (place) => [...document.querySelectorAll(place)].map((element) => element.textContent);
    return {
        summary: linesOf(".view-tools .summary"),
        engines: linesOf("#engines .live-only"),
        tree: [...linesOf("#calltree .calltree > .note"), ...linesOf("#calltree .tree-row").slice(0, 12)],
        flame: linesOf("#flame .flame > .note"),
        stacks: linesOf("#stacks .live-only li"),
    };
}"""
Figures = dict[str, list[str]]


class Shelf:
    """A dashboard, which is given analyses that are made in this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.dashboard = Served(folder / "library", limits=ServerLimits(workers=0))

    def add(self, source: Path, full: bool = False) -> tuple[Analysis, str, str]:
        """Return the analysis of a recording, the address of its live page and that of its saved report."""
        analysis = tracekit.analyze(tracekit.open_trace(source))
        library = self.dashboard.library
        recording = library.add_file(source)
        results = library._store.results(recording.id)
        results.mkdir(parents=True)
        write_results(results, analysis)
        library._catalog.change(recording.id, state="ready", results_bytes=1)
        report = self._folder / f"{recording.id}.html"
        report.write_text(page.to_html(analysis, full=full), "utf-8")
        return analysis, f"{self.dashboard.base}recordings/{recording.id}", report.as_uri()


@pytest.fixture(scope="module")
def shelf_of_analyses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path_factory.mktemp("agree"))
    yield shelf
    shelf.dashboard.close()


def live(tab: Any, address: str, fragment: str) -> Figures:
    """Return the figures of a recording's page, each of whose tabs is opened."""
    tab.goto("about:blank")  # else a page would only follow the fragment
    opened(tab, f"{address}#{fragment}", "html[data-samples]")
    for name in ("calltree", "flame", "samples"):
        tab.locator(f"#tab-{name}").click()
    drawn(tab)
    return dict(tab.evaluate(_FIGURES))


def saved(tab: Any, address: str, fragment: str) -> Figures:
    tab.goto("about:blank")
    opened(tab, f"{address}#{fragment}")
    drawn(tab)
    return dict(tab.evaluate(_FIGURES))


def selections(analysis: Analysis) -> list[str]:
    """Return fragments that select: the middle of the busiest lane, transformed; the work of machine learning."""
    trace = analysis.trace
    end = int(trace.samples["time_ns"].max()) if len(trace.samples) else 1_000
    return [
        f"s={end // 4}-{3 * end // 4}&lanes=0&stacks=system",
        f"s={end // 8}-{end}&q=-engine%3Aother&invert=1",
    ]


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_sample_recording_has_the_same_figures(name: str, shelf_of_analyses: Shelf, tab: Any) -> None:
    analysis, page_address, report_address = shelf_of_analyses.add(SAMPLES / name)
    for fragment in selections(analysis):
        figures = live(tab, page_address, fragment)
        assert figures == saved(tab, report_address, fragment)
        assert f"of {len(analysis.trace.samples):,} samples" in figures["summary"][0]
        assert figures["flame"] != []


def test_a_recording_above_the_report_s_limit_has_those_of_a_full_report(
    shelf_of_analyses: Shelf, tab: Any, tmp_path: Path
) -> None:
    written = write_export(tmp_path / "large.xml")
    _, page_address, report_address = shelf_of_analyses.add(tmp_path / "large.xml", full=True)
    for fragment, inside in {
        "s=20000000000-40000000001&lanes=1&stacks=system": [
            sample for sample in written if sample.thread == "gamma" and 20_000 <= sample.time_ms <= 40_000
        ],
        "q=sum%20-thread%3Agamma&invert=1": [
            sample for sample in written if sample.thread != "gamma" and sample.stack == "sum"
        ],
    }.items():
        figures = live(tab, page_address, fragment)
        assert figures == saved(tab, report_address, fragment)
        assert figures["summary"][0].startswith(f"{len(inside):,} of {len(written):,} samples")
        assert "sum" in "".join(figures["stacks"])
