"""Evidence: absent, empty or rows for every table that can show an engine, and its use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from evidence_support import OTHER_APP, Interval, ane, gpu, prediction, with_evidence
from trace_support import UI, trace_of

from tracekit import analyze
from tracekit.analysis.availability import Evidence
from tracekit.model.tables import TableInfo
from tracekit.model.trace import Issue, Trace
from tracekit.report import wording
from tracekit.report.analysis.json import to_dict

pytestmark = pytest.mark.integration  # analyses recordings

KNOWN = [
    "time-profile",
    "cpu-profile",
    "counters-profile",
    "time-sample",
    "kdebug-counters-with-time-sample",
    "coreml-os-signpost",
    "ane-hw-intervals",
    "ane-hw-intervals-internal",
    "mps-hw-intervals",
    "metal-gpu-intervals",
    "metal-gpu-state-intervals",
    "metal-application-intervals",
    "metal-application-encoders-list",
    "metal-application-command-buffer-submissions",
    "os-signpost-interval",
    "OSSignpostIntervals",
    "region-of-interest",
    "os-signpost",
    "PointsOfInterestEvents",
    "thread-state",
    "MetricAggregationForThread",
    "device-thermal-state-intervals",
    "ModelInferenceTable",
    "RequestTable",
    "ModelLoadingTable",
    "ODIEProfile",
]
QUIET = trace_of([(0, "a", UI), (50, "a", UI)])


def table(schema: str, rows: int | None, attributes: Mapping[str, str] | None = None) -> TableInfo:
    return TableInfo(schema, row_count=rows, attributes=attributes or {})


def evidence_of(schema: str, trace: Trace) -> Evidence:
    (row,) = [candidate for candidate in analyze(trace).evidence if schema in candidate.source.split(", ")]
    return row


def with_tables(*tables: TableInfo, has_toc: bool = True) -> Trace:
    return replace(QUIET, tables=tables, has_toc=has_toc)


@pytest.mark.parametrize("schema", KNOWN)
def test_three_states(schema: str) -> None:
    states = [
        evidence_of(schema, with_tables(*tables))
        for tables in ([table(schema, 5)], [table(schema, 0)], [table(schema, None)])
    ]
    assert [(row.state, row.rows) for row in states] == [("rows", 5), ("empty", 0), ("absent", 0)]
    assert wording.remark(states[1]) == "recorded, no rows (this does not prove that the engine was idle)"
    assert wording.remark(states[2]) == "recorded, but not exported into this input"


def test_absent_with_and_without_a_table_of_contents() -> None:
    assert {(row.state, wording.remark(row)) for row in analyze(with_tables()).evidence} == {
        ("absent", "not recorded")
    }
    unknown = "not in this input (unknown whether it was recorded: the export has no table of contents)"
    assert {wording.remark(row) for row in analyze(with_tables(has_toc=False)).evidence} == {unknown}


def test_a_table_of_a_bundle_that_cannot_be_read() -> None:
    trace = with_tables(table("ane-hw-intervals", None))
    trace = replace(trace, info=replace(trace.info, kind="trace-bundle"))
    assert (
        wording.remark(evidence_of("ane-hw-intervals", trace))
        == "recorded, but unreadable (see the limits of this recording)"
    )


def test_tables_of_two_names_are_one_witness() -> None:
    trace = with_tables(table("ane-hw-intervals-internal", 3), table("ane-hw-intervals", 0))
    row = evidence_of("ane-hw-intervals-internal", trace)
    assert (row.source, row.state, row.rows) == ("ane-hw-intervals-internal", "rows", 3)
    trace = with_tables(table("ane-hw-intervals-internal", 3), table("ane-hw-intervals", 4))
    row = evidence_of("ane-hw-intervals", trace)
    assert (row.source, row.rows) == ("ane-hw-intervals, ane-hw-intervals-internal", 7)


def test_a_table_twice_in_one_run() -> None:
    trace = with_tables(table("thread-state", 3), table("thread-state", None), table("thread-state", 4))
    assert (evidence_of("thread-state", trace).rows, evidence_of("thread-state", trace).state) == (7, "rows")


@pytest.mark.parametrize(
    ("schema", "attributes", "scope"),
    [
        ("ane-hw-intervals", {}, "system"),
        ("coreml-os-signpost", {"target-pid": "SINGLE"}, "process"),
        ("time-profile", {"target-pid": "ALL"}, "system"),
        ("mps-hw-intervals", {"target": "ALL"}, "system"),
    ],
)
def test_scope(schema: str, attributes: dict[str, str], scope: str) -> None:
    assert evidence_of(schema, with_tables(table(schema, 1, attributes))).scope == scope


@pytest.mark.parametrize(
    ("rows", "remark"),
    [
        ([ane(1, 2)], "measures the Neural Engine's busy time; its rows cannot be assigned to a process"),
        (
            [ane(1, 2), prediction(0, 9)],
            "measures the Neural Engine's busy time; every row is this app's",
        ),
        (
            [ane(1, 2), prediction(0, 9, "Other")],
            "measures the Neural Engine's busy time; its rows cannot be assigned to a process",
        ),
        (
            [ane(1, 2), ane(3, 4, "Photos_main__Op0_AneInference"), prediction(0, 9)],
            "measures the Neural Engine's busy time; 1 row fits no model or request of this app and is excluded",
        ),
    ],
)
def test_what_became_of_the_anes_rows(rows: list[Interval], remark: str) -> None:
    assert wording.remark(evidence_of("ane-hw-intervals", with_evidence(QUIET, rows))) == remark


def test_what_became_of_the_gpus_rows() -> None:
    rows = [gpu(1, 2), gpu(1, 2, pid=OTHER_APP), gpu(1, 2, pid=OTHER_APP), gpu(3, 4, pid=-1)]
    assert wording.remark(evidence_of("metal-gpu-intervals", with_evidence(QUIET, rows))) == (
        "measures the GPU's busy time; 2 rows of other processes excluded"
    )


def test_which_samples_the_analysis_rests_on() -> None:
    trace = with_tables(table("time-profile", 2), table("time-sample", 9))
    assert wording.remark(evidence_of("time-profile", trace)) == "the samples of this analysis"
    assert wording.remark(evidence_of("time-sample", trace)) == "not used; choose it with --samples"


def test_a_table_that_could_not_be_read() -> None:
    issue = Issue("error", "table-unreadable", "the table 'thread-state' cannot be read")
    trace = replace(with_tables(table("thread-state", 2)), issues=(issue,))
    assert (
        wording.remark(evidence_of("thread-state", trace))
        == "could not be read (see the limits of this recording)"
    )


def test_the_json_has_every_witness_in_a_fixed_order() -> None:
    documents = to_dict(analyze(with_evidence(QUIET, [ane(1, 2)])))["evidence"]
    assert [row["source"] for row in documents] == [row.source for row in analyze(QUIET).evidence]
    (document,) = [row for row in documents if row["state"] == "rows"]
    assert document == {
        "source": "ane-hw-intervals",
        "state": "rows",
        "rows": 1,
        "scope": "system",
        "shows": "when the Neural Engine ran, for all processes without naming one",
        "remark": "measures the Neural Engine's busy time; its rows cannot be assigned to a process",
        "note": "when the Neural Engine ran, for all processes without naming one;"
        " measures the Neural Engine's busy time; its rows cannot be assigned to a process",
    }
