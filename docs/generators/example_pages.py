"""The pages of sample recordings on the site: a report, and the dashboard's workbench without its server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import tracekit
from tracekit.analysis.result import Analysis
from tracekit.report.html.bundle import joined
from tracekit.report.html.elements import tag
from tracekit.report.html.page import DATA_ID, document
from tracekit.report.html.sections import sections
from tracekit.report.viewmodel.payload import packed
from tracekit.report.viewmodel.view import Extras, view_block
from tracekit_dashboard.routes.bundle import read_asset

_ROOT = Path(__file__).resolve().parents[2]
_ENTRY = "/site/workbench.js"
_STYLES = ("/assets/dashboard.css", "/assets/workbench.css")
_OWN_SECTIONS = {"timeline": "Timeline", "samples": "Samples", "notes": "Notes"}
"""Sections that the page's script fills, and the markup of a report lacks."""


def write_workbench(analysis: Analysis) -> str:
    """Return the page of a recording as the dashboard shows it, in one file."""
    extras = Extras()
    own = [
        tag("section", tag("h2", title, id=f"{name}-heading"), id=name, aria_labelledby=f"{name}-heading")
        for name, title in _OWN_SECTIONS.items()
    ]
    info = analysis.trace.info
    body = tag(
        "div",
        tag("header", tag("h1", info.name), tag("div", id="toolbar")),
        tag("div", id="headline", role="region", aria_label="Headline"),
        tag("main", *sections(analysis, extras, left_out={"timeline"}).values(), *own, id="bench"),
        id="trace",
        class_="workbench",
    )
    data = {DATA_ID: packed(view_block(analysis, extras))}
    styles = [*map(read_asset, _STYLES), "body > footer { display: none; }"]  # the panes fill the window
    return document(f"{info.name}: tracekit", [body], data, joined(_ENTRY, _read_module), styles)


PAGES: Mapping[str, tuple[str, Callable[[Analysis], str]]] = {
    "left-the-engine.html": ("fallback-midway-ios27", tracekit.Analysis.to_html),
    "workbench.html": ("waiting-app-ios27", write_workbench),
}
"""The files of the site, the recording of each, and the function that writes it."""


def write_pages(folder: Path) -> None:
    """Write each page into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (sample, write) in PAGES.items():
        analysis = tracekit.analyze(tracekit.open_trace(_ROOT / "sample_traces" / sample))
        (folder / name).write_text(write(analysis), "utf-8")


def _read_module(path: str) -> str:
    """Return the text of a module: the site's own entry, or one of the dashboard or the report."""
    return (_ROOT / "docs" / path[1:]).read_text("utf-8") if path == _ENTRY else read_asset(path)
