"""The native reader of ``.trace`` bundles against what xctrace exported from them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from real_bundles import (
    BUNDLES,
    FINDER,
    SIGNPOST,
    UNIPROF,
    WEBKIT,
    cells,
    exported,
    run_of,
    table,
)

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("bundle", "schema", "export", "rows"),
    [
        (FINDER, "cpu-profile", "finder_cpu_profile.xml", 91),
        (SIGNPOST, "os-signpost", "signpost_events.xml", 50),  # the exports hold the first 50 rows
        (SIGNPOST, "os-signpost-interval", "signpost_intervals.xml", 50),
    ],
)
def test_every_cell_equals_the_export(shared: Path, bundle: str, schema: str, export: str, rows: int) -> None:
    """All columns of all rows: names, addresses, binaries, os_log arguments one by one."""
    decoded, expected = table(bundle, schema), exported(f"robtaylor__apple-profiler/xml/{export}", schema)
    assert decoded.columns == expected.columns
    assert len(expected) == rows
    for column in decoded.columns:
        assert cells(decoded, column)[:rows] == cells(expected, column), column.mnemonic


def test_finder_has_all_frames_of_its_export(shared: Path) -> None:
    profile = table(FINDER, "cpu-profile")
    assert sum(len(stack) for stack in cells(profile, profile.columns[-1])) == 2292


@pytest.mark.parametrize(("bundle", "toc"), [(FINDER, "finder_toc.xml"), (SIGNPOST, "signpost_toc.xml")])
def test_toc_equals_the_export(shared: Path, bundle: str, toc: str) -> None:
    run = ET.parse(BUNDLES / "robtaylor__apple-profiler/xml" / toc).getroot().find("run")
    assert run is not None
    device, process = run.find("info/target/device"), run.find("info/target/process")
    assert device is not None
    run_info = run_of(bundle, 1)
    summary = {field.tag: field.text for field in run.iterfind("info/summary/*")}
    assert (run_info.info.device, run_info.info.model) == (device.get("name"), device.get("model"))
    assert (run_info.info.os, run_info.info.platform) == (device.get("os-version"), device.get("platform"))
    if process is None:  # <all-processes/>
        assert (run_info.info.process, run_info.info.pid) == ("", None)
    else:
        assert (run_info.info.process, str(run_info.info.pid)) == (process.get("name"), process.get("pid"))
    assert summary == {
        "start-date": run_info.info.start,
        "end-date": run_info.info.end,
        "duration": f"{(run_info.info.duration_ns or 0) / 1e9:.6f}",
        "end-reason": run_info.info.end_reason,
        "instruments-version": run_info.info.instruments,
        "template-name": run_info.info.template,
        "recording-mode": run_info.info.recording_mode,
        "time-limit": run_info.info.time_limit,
    }
    assert run_info.pids == {
        int(process.get("pid", "")) for process in run.iter("process") if process.get("path")
    }
    listed = [{"schema": info.schema, **info.attributes} for info in run_info.tables]
    assert unordered(listed) == unordered([dict(element.attrib) for element in run.iter("table")])


def unordered(listed: list[dict[str, str]]) -> Counter[frozenset[tuple[str, str]]]:
    return Counter(frozenset(attributes.items()) for attributes in listed)


@pytest.mark.parametrize(("bundle", "run"), [(UNIPROF, 1), (WEBKIT, 1), (WEBKIT, 2)])
def test_lists_in_attributes_are_quoted_as_in_exports(shared: Path, bundle: str, run: int) -> None:
    """No export of these runs has a table of contents; all seven of the collection write categories so."""
    seen = re.findall(
        r'<table[^>]* category="(&quot;Hang Risk[^"]*)"',
        (BUNDLES / "robtaylor__apple-profiler/xml/hangs_toc.xml").read_text(),
    )
    categories = [
        info.attributes["category"]
        for info in run_of(bundle, run).tables
        if "message-type" in info.attributes
    ]
    assert categories == [category.replace("&quot;", '"') for category in seen]


def test_time_profile_equals_the_export(shared: Path) -> None:
    decoded, expected = (
        table(UNIPROF, "time-profile"),
        exported("shadi-gamal__uniprof/test-simple-export.xml", "time-profile"),
    )
    assert decoded.columns == expected.columns
    assert len(decoded) == len(expected) == 518
    for column in decoded.columns[:-1]:
        assert cells(decoded, column) == cells(expected, column), column.mnemonic
    stacks, exports = cells(decoded, decoded.columns[-1]), cells(expected, expected.columns[-1])
    assert [row for row, stack in enumerate(stacks) if stack is None] == [517]
    assert exports[517] is None
    differences: Counter[str] = Counter()
    for stack, export in zip(stacks[:517], exports[:517], strict=True):
        for frame, shown in zip(stack, export, strict=True):
            differences[uniprof_difference(frame, shown)] += 1
    assert differences == {
        "equal": 1045,
        # The export does not mark inlined functions; the archive of symbols does.
        "inlined": 121,
        # Inlined as well; the export repeats the first line that it met in a function, the bundle has each's.
        "inlined, line 7 for 6": 394,
        # The first sample, taken while dyld was alone in the process: xctrace found no binary there.
        "dyld without a binary": 5,
    }


def uniprof_difference(frame: tuple[Any, ...], shown: tuple[Any, ...]) -> str:
    assert frame[0] == shown[0]
    if frame == shown:
        return "equal"
    if shown[1].startswith("0x"):
        assert (frame[2][1], shown[2:]) == ("/usr/lib/dyld", (None, "", -1, False))
        assert int(shown[1], 16) in (frame[0], frame[0] - 1)
        assert not frame[1].startswith("0x")
        return "dyld without a binary"
    assert frame[1] == "expensive_loop"
    assert frame[:4] == shown[:4]
    assert (frame[5], shown[5]) == (True, False)
    if frame[4] == shown[4]:
        return "inlined"
    return f"inlined, line {frame[4]} for {shown[4]}"
