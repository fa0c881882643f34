"""Literal recordings of builds of an app, and a library that lists them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from compare_support import recorded

from tracekit import Analysis
from tracekit.model.trace import TraceInfo
from tracekit_dashboard.library.catalog import Catalog, Recording
from tracekit_dashboard.library.store import Store

APP = "/Applications/App.app/Contents/MacOS/App"
INFO = TraceInfo(
    "literal", "xctrace-xml", device="Mac", model="MacBook Pro", os="15.0", process="App", pid=7, start="1"
)


def with_binaries(analysis: Analysis, binaries: Mapping[str, str]) -> Analysis:
    """Return the recording with these binaries (path → UUID) on its stacks; the first is in place of ``App``."""
    stacks = analysis.trace.stacks
    rows = stacks.binaries.copy()
    # The stacks of literal recordings have App | main below frames of the system.
    places = [rows.index[rows["name"] == "App"][0], *rows.index[rows["name"] != "App"]]
    for place, (path, uuid) in zip(places, binaries.items(), strict=False):
        rows.loc[place, ["name", "path", "uuid"]] = pd.Series(
            {"name": path.rpartition("/")[2], "path": path, "uuid": uuid}
        )
    return replace(analysis, trace=replace(analysis.trace, stacks=replace(stacks, binaries=rows)))


def of_build(uuid: str, length: float = 10.0, info: TraceInfo = INFO, model: str = "Net") -> Analysis:
    """Return a recording of ten calls of a build of the app."""
    lengths = [length + number % 3 / 10 for number in range(10)]
    return with_binaries(recorded(lengths, models=[model] * 10, info=info), {APP: uuid})


def write_library(folder: Path, recordings: Sequence[tuple[str, str]], state: str = "ready") -> Path:
    """Write the catalog of a library with these recordings: (path, device)."""
    (folder / "recordings").mkdir(parents=True)
    with closing(Catalog(Store(folder))) as catalog:
        for number, (path, device) in enumerate(recordings):
            added = datetime(2026, 1, 1, second=number, tzinfo=UTC)
            recording = Recording(
                f"{number:032x}", path, "file", path, 1, added, state=state, device=device, windows=1
            )
            catalog.add(recording, os.fsencode(path))
    return folder
