"""Stored tables of real bundles against what xctrace exported from them, read by another parser."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from real_bundles import BUNDLES, SIGNPOST

from tracekit.detect import open_source
from tracekit_dashboard.tables.cache import TableCache
from tracekit_dashboard.tables.contents import build_contents_document, read_table
from tracekit_dashboard.tables.pages import list_page_cells
from tracekit_dashboard.tables.row_lanes import LaneChoice, build_lane_document
from tracekit_dashboard.tables.row_selection import RowQuery
from tracekit_dashboard.tables.storing import store_table

pytestmark = pytest.mark.integration

EXPORT = BUNDLES / "robtaylor__apple-profiler" / "xml" / "signpost_intervals.xml"


def exported_rows(path: Path) -> list[tuple[int, int, str, str]]:
    """Return start, duration, name and process of each row; a cell with ``ref`` repeats the one of that id."""
    node = ET.parse(path).getroot().find("node")
    assert node is not None
    names = [column.findtext("mnemonic") for column in node.findall("schema/col")]
    cells = {cell.get("id"): cell for cell in node.iter() if cell.get("id")}
    rows = []
    for row in node.findall("row"):
        by_name = {name: cells.get(cell.get("ref"), cell) for name, cell in zip(names, row, strict=True)}
        process = by_name["process"].get("fmt") or ""
        texts = [by_name[name].text or "" for name in ("start", "duration", "name")]
        rows.append((int(texts[0]), int(texts[1]), texts[2], process))
    return rows


@pytest.mark.skipif(not EXPORT.exists(), reason="the shared recordings are not there")
def test_signposts_of_a_bundle_are_stored_filtered_sorted_and_drawn_as_exported(tmp_path: Path) -> None:
    source = open_source(str(BUNDLES / SIGNPOST))
    (run,) = build_contents_document(source, None)["runs"]
    number = next(table["number"] for table in run["tables"] if table["schema"] == "os-signpost-interval")
    store_table(tmp_path / "t", read_table(source, 1, number), 1 << 30)
    cache = TableCache()
    table = cache.find_table(tmp_path / "t")
    expected = exported_rows(EXPORT)  # the first rows of the table
    names = [column.name for column in table.columns]
    chosen = [names.index(name) for name in ("start", "duration", "name", "process")]
    rows = cache.select_rows(table, RowQuery()).rows[: len(expected)]
    assert [tuple(cells) for cells in list_page_cells(table, rows, chosen)] == expected
    last = expected[-1][0]
    long = cache.select_rows(
        table, RowQuery(where=((chosen[1], "> 5 ms"),), sort=(chosen[1], True), from_ns=0, to_ns=last + 1)
    )
    of_the_export = [row for row in long.rows.tolist() if row < len(expected)]
    lengths = {row: expected[row][1] for row in range(len(expected)) if expected[row][1] > 5_000_000}
    assert of_the_export == sorted(lengths, key=lambda row: (-lengths[row], row))
    lane = build_lane_document(table, LaneChoice(), cache.find_lane(table, LaneChoice()), 0, last + 1, 4_000)
    drawn = {
        row: (start, end) for row, start, end in zip(lane["row"], lane["start"], lane["end"], strict=True)
    }
    assert {row: drawn[row] for row in range(len(expected))} == {
        row: (start, start + length) for row, (start, length, _, _) in enumerate(expected)
    }
