"""Real exports through the whole analysis: measured engines, and tables that are empty, absent or unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import SHARED

from tracekit import Analysis, analyze
from tracekit.load import open_trace
from tracekit.report import wording

pytestmark = pytest.mark.integration

XML = SHARED / "traces" / "xml"
MAMBA = XML / "mattmireles__mamba-asr-mps"


def analysed(*paths: Path, signposts: tuple[str, ...] = ()) -> Analysis:
    return analyze(open_trace([str(path) for path in paths]), signposts=signposts)


def states(analysis: Analysis) -> dict[str, str]:
    return {table.source: table.state for table in analysis.evidence}


@pytest.mark.parametrize(
    ("file", "table"),
    [
        ("ane_hw_intervals.xml", "ane-hw-intervals-internal"),
        ("coreml_os_signpost.xml", "coreml-os-signpost"),
        ("fp16_w8_coreml_rows.xml", "coreml-os-signpost"),
        ("os_signpost_coreml.xml", "os-signpost"),
    ],
)
def test_an_empty_table_is_empty_and_proves_nothing(shared: Path, file: str, table: str) -> None:
    analysis = analysed(MAMBA / file)
    actual = states(analysis)
    assert actual.pop(table) == "empty"
    assert set(actual.values()) == {"absent"}
    assert analysis.measured.engines == frozenset()
    assert analysis.headline.endswith("no sample, and no interval of inference on an engine.")


def test_tables_that_were_recorded_and_not_exported_are_absent(shared: Path) -> None:
    analysis = analysed(MAMBA / "quick_probe_toc.xml", MAMBA / "mps_hw_intervals.xml")
    actual = {table.source: (table.state, wording.remark(table)) for table in analysis.evidence}
    assert actual["mps-hw-intervals"][0] == "rows"
    assert actual["ane-hw-intervals-internal"] == ("absent", "recorded, but not exported into this input")
    assert actual["thread-state"] == ("absent", "not recorded")


def test_mps_work_is_the_gpus_with_a_doubt(shared: Path) -> None:
    """The union of the ten rows, counted by hand: they do not overlap."""
    analysis = analysed(MAMBA / "mps_hw_intervals.xml")
    (row,) = analysis.totals.to_dict("records")
    assert (row["engine"], row["phase"], row["busy_ns"]) == ("GPU", "execute", 2_554_876)
    assert {issue.code for issue in analysis.issues} >= {"mps-engine-unknown", "no-samples"}


def test_the_window_server_is_no_inference(shared: Path) -> None:
    analysis = analysed(XML / "skastr0__probe-cli" / "metal-system-trace.metal-gpu-intervals.xml")
    assert len(analysis.window_rows) == 0
    assert "GPU" not in analysis.measured.engines
    busy = analysis.totals.set_index("engine")["busy_ns"]
    assert busy["GRAPHICS"] == 6_083 + 18_917


def test_signposts_of_a_real_system_make_windows(shared: Path) -> None:
    path = XML / "robtaylor__apple-profiler" / "real_signpost_intervals.xml"
    windows = analysed(path, signposts=("com.apple.SkyLight/*/RenderInterval",)).window_rows
    assert len(windows) > 3
    assert (windows["start_ns"].iloc[0], windows["end_ns"].iloc[0]) == (587_704_541, 587_704_541 + 4_353_375)
    assert set(windows["basis"]) == {"measured"}


def test_requests_to_a_language_model_are_windows_of_no_known_engine(shared: Path) -> None:
    analysis = analysed(XML / "sforteln__xctrace-query-mcp-server" / "schema-table__ModelInferenceTable.xml")
    assert analysis.window_rows["label"].tolist() == ["Request 1", "Request 2"]
    assert analysis.verdicts.names == ["UNKNOWN", "UNKNOWN"]
