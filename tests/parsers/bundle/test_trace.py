"""From a bundle to the model: the input of an analysis."""

from __future__ import annotations

import pytest
from bundle_support import APP, MAIN, WORKER, new_run, small_bundle, source_of

from sample_generator.bundle_document import RunInfo
from sample_generator.bundle_schemas import TIME_PROFILE
from sample_generator.bundle_tables import TIME, Col
from sample_generator.bundle_values import Array, stack
from sample_generator.bundle_writer import BundleWriter
from tracekit.load import trace_of

COUNTERS_PROFILE = (
    *TIME_PROFILE,
    Col("pmc-events", "Counters", "XRCoreProfilePMCEventsArrayTypeID"),
)


def counted(*counters: tuple[int, int] | None) -> BundleWriter:
    """Return a bundle with one sample a millisecond, each with the values of two counters."""
    bundle = BundleWriter()
    rows = [
        (
            time * 1_000_000,
            MAIN,
            APP,
            time,
            "Running",
            1_000_000,
            stack(APP, [0x1001]),
            values and Array(values),
        )
        for time, values in enumerate(counters)
    ]
    attributes = {"pmc-events": ["L1D_CACHE_MISS_LD", "INST_ALL"], "trigger": "time"}
    new_run(bundle).table("counters-profile", COUNTERS_PROFILE, rows, attributes=attributes)
    return bundle


def test_counters_have_their_events_names() -> None:
    trace = trace_of(source_of(counted((40, 4770), (2**40, 0))))
    assert trace.samples_source == "counters-profile"
    assert trace.counters.to_dict("list") == {"L1D_CACHE_MISS_LD": [40, 2**40], "INST_ALL": [4770, 0]}
    assert trace.weights.tolist() == [1_000_000, 1_000_000]


def test_a_sample_without_counters_counts_0_and_is_reported() -> None:
    trace = trace_of(source_of(counted((40, 4770), None)))
    assert trace.counters.to_dict("list") == {"L1D_CACHE_MISS_LD": [40, 0], "INST_ALL": [4770, 0]}
    assert [issue.count for issue in trace.issues if issue.code == "null-counters"] == [1]


def test_the_kinds_of_cores() -> None:
    bundle = BundleWriter()
    run = new_run(bundle, RunInfo(process=APP.name, pid=APP.pid, cores=(1, 2, 2, 7)))
    run.table("time-profile", TIME_PROFILE, [(5, WORKER, APP, 1, "Running", 1_000_000, None)])
    assert trace_of(source_of(bundle)).core_types == {0: "E", 1: "P", 2: "P"}


def test_the_sample_names_its_recording() -> None:
    trace = trace_of(source_of(small_bundle()))
    assert (trace.info.kind, trace.info.process, trace.info.pid) == ("trace-bundle", "SampleApp", 4711)
    assert (len(trace.samples), trace.has_toc, trace.weight_unit) == (20, True, "ns")


def test_samples_of_one_table_that_is_no_time_profile_are_the_raw_ones() -> None:
    bundle = BundleWriter()
    columns = (
        Col("time", "Sample Time", "XRSampleTimestampTypeID", TIME),
        *[column for column in TIME_PROFILE if column.mnemonic in ("thread", "core", "thread-state")],
        Col("cp-user-callstack", "User", "XRCoreProfileCallstackTypeID"),
    )
    new_run(bundle).table("time-sample", columns, [(7, MAIN, 0, "Running", None)])
    trace = trace_of(source_of(bundle))
    assert (trace.samples_source, trace.weights.tolist()) == ("time-sample", [1_000_000])


@pytest.mark.integration
def test_rows_that_deflate_340_to_1_are_rows() -> None:
    """A thread that never moves repeats the same row for minutes, which is not a bomb."""
    bundle = BundleWriter()
    row = (5, MAIN, APP, 1, "Running", 1_000_000, None)
    new_run(bundle).table("time-profile", TIME_PROFILE, [row] * 600_000)
    trace = trace_of(source_of(bundle))
    assert (len(trace.samples), int(trace.weights.sum())) == (600_000, 600_000_000_000)
