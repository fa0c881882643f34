"""Recordings in which nothing was recorded, and those of a simulator: their own words, and no claim beyond them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trace_support import UI, trace_of

from tracekit import analyze
from tracekit.model.tables import NOT_COUNTED, TableInfo
from tracekit.model.trace import Issue, Trace, TraceInfo
from tracekit.report import wording

REFUSED = Issue(
    "error",
    "recording-refused",
    "Instruments reported while recording: Could not set the recording priority.",
)
ENGINES = ("time-profile", "ane-hw-intervals", "metal-gpu-intervals", "ODIEProfile")


def recording(counts: dict[str, int | None], *issues: Issue, samples: bool = False) -> Trace:
    tables = tuple(TableInfo(schema, row_count=rows) for schema, rows in counts.items())
    trace = trace_of([(0, "a", UI), (50, "a", UI)] if samples else [])
    return replace(trace, tables=tables, issues=issues, has_toc=True)


def states(trace: Trace) -> dict[str, tuple[str, str]]:
    return {entry.table: (entry.state, str(entry.use)) for entry in analyze(trace).evidence}


def headline(trace: Trace) -> str:
    return wording.headline(analyze(trace).answer)


def test_tables_without_rows_of_a_refused_recording_were_not_recorded() -> None:
    trace = recording(dict.fromkeys(ENGINES, 0), REFUSED)
    found = states(trace)
    assert {found[schema] for schema in ENGINES} == {("absent", "not recorded: refused")}
    assert found["coreml-os-signpost"] == ("absent", "not recorded")
    assert headline(trace) == "Nothing was recorded: no table that an analysis reads has a row."
    (finding,) = [finding for finding in analyze(trace).findings if finding.kind == "no-model-seen"]
    assert [action.arguments["purpose"] for action in finding.actions] == ["refused"]


def test_without_the_message_it_shows_in_no_table_having_a_row() -> None:
    """An export has no list of problems: that samples and engines all lack rows is what remains of it."""
    trace = recording(dict.fromkeys(ENGINES, 0))
    assert states(trace)["ane-hw-intervals"] == ("absent", "no table has a row")
    assert headline(trace) == "Nothing was recorded: no table that an analysis reads has a row."


@pytest.mark.parametrize(
    "counts",
    [
        {"time-profile": 0},  # an idle process, alone
        {"ane-hw-intervals": 0, "metal-gpu-intervals": 0},  # samples were not asked for, or not exported
        {"time-profile": None, "ane-hw-intervals": 0, "metal-gpu-intervals": 0},
        {"time-profile": 0, "ane-hw-intervals": 0, "metal-gpu-intervals": 3},
        {"time-profile": 0, "ane-hw-intervals": 0, "kdebug": 1},
    ],
)
def test_other_tables_without_rows_are_empty(counts: dict[str, int | None]) -> None:
    trace = recording(counts)
    found = states(trace)
    assert {found[schema][0] for schema, rows in counts.items() if rows == 0} == {"empty"}
    assert headline(trace) != "Nothing was recorded: no table that an analysis reads has a row."


def test_a_refused_bundle_has_tables_whose_rows_no_one_counts() -> None:
    counts: dict[str, int | None] = {"time-profile": 0, "ane-hw-intervals": 0, "kdebug": NOT_COUNTED}
    assert headline(recording(counts, REFUSED)).startswith("Nothing was recorded")
    assert states(recording(counts))["ane-hw-intervals"][0] == "empty"


def test_what_a_refused_recording_has_all_the_same_counts() -> None:
    trace = recording({"time-profile": 2, "ane-hw-intervals": 0}, REFUSED, samples=True)
    found = states(trace)
    assert found["time-profile"][0] == "rows"
    assert found["ane-hw-intervals"] == ("absent", "not recorded: refused")
    assert not headline(trace).startswith("Nothing was recorded")


# Simulators ---------------------------------------------------------------------------------------------------

DEVICES = (
    "/Users/me/Library/Developer/CoreSimulator/Devices/0F4D5D74-A4FE-4261-9596-8073565E7927/data/App.app/App"
)
RUNTIME = (
    "/Library/Developer/CoreSimulator/Volumes/iOS_23D8133/Library/Developer/CoreSimulator/Profiles/Runtimes"
    "/iOS 26.3.simruntime/Contents/Resources/RuntimeRoot/System/Library/Frameworks/CoreML.framework/CoreML"
)


def two_processes(path: str, info: TraceInfo | None = None) -> Trace:
    """A recording of App7, whose binary App lies at a path, and App88, which the binary does not reach."""
    stacks = [("App | main",), ("Other | main",)]
    trace = trace_of([(0, "a", stacks[0]), (1, "b", stacks[1])], processes={"b": 88})
    binaries = trace.stacks.binaries.assign(path=[path, "/Applications/Other.app/Other"])
    return replace(
        trace, stacks=replace(trace.stacks, binaries=binaries), info=info or TraceInfo("x", "xctrace-xml")
    )


def sentences(trace: Trace) -> list[str]:
    return [
        issue.message for issue in wording.issues(analyze(trace).diagnostics) if issue.code == "in-simulator"
    ]


@pytest.mark.parametrize("path", [DEVICES, RUNTIME, DEVICES.replace("/Users/me", "~")])
def test_a_process_of_a_simulator_is_named_though_the_mac_was_recorded(path: str) -> None:
    assert sentences(two_processes(path)) == [
        "App7 ran in a simulator, which runs models on the Mac's CPU and GPU: that does not show on which engine a"
        " device runs them."
    ]


def test_the_platform_of_a_simulator_is_named_without_any_path() -> None:
    trace = two_processes("", TraceInfo("x", "xctrace-xml", platform="iOS Simulator"))
    assert sentences(trace)[0].startswith("The target ran in a simulator, ")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/Applications/App.app/App",
        "/Library/Developer/PrivateFrameworks/CoreSimulator.framework/Versions/A/CoreSimulator",
    ],
)
def test_other_processes_are_in_no_simulator(path: str) -> None:
    assert sentences(two_processes(path, TraceInfo("x", "xctrace-xml", platform="macOS"))) == []


def test_a_selection_of_another_process_is_about_no_simulator() -> None:
    analysis = analyze(two_processes(DEVICES), process=88)
    assert "in-simulator" not in {diagnostic.code for diagnostic in analysis.diagnostics}
