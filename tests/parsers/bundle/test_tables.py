"""Every encoding in which a bundle stores values: literal rows in, the same rows out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from bundle_support import (
    APP,
    CLOCK,
    MAIN,
    WORKER,
    codes,
    entities_of,
    issues_of,
    new_run,
    read,
    source_of,
    with_column,
)
from documents_support import column

from sample_generator.bundle_tables import CATEGORY1, CATEGORY2, DURATION, TIME, Col
from sample_generator.bundle_values import Array, Raw, ReturnLocation, ThreadName, Typed
from sample_generator.bundle_writer import BundleWriter

STRING = "XRPrototypeStringTypeID"
NUMBER = "XRPrototypeValueTypeID"
CORE = "XRCPUCoreTypeID"
IDENTITY = UUID("00112233-4455-6677-8899-aabbccddeeff")
HALVES = (("eight-byte-array", 0x0011223344556677), ("eight-byte-array", 0x8899AABBCCDDEEFF))
MESSAGE = Typed(((STRING, "took "), (NUMBER, 2**64 - 2), (STRING, None)))
NESTED = Typed(((STRING, "outer"), ("XROSLogMetadataTypeID", MESSAGE), ("XROSLogMetadataTypeID", None)))

FORMS: dict[str, tuple[str, str, list[Any], list[Any]]] = {
    "text": (STRING, "text", ["Running", None, "", "größer 🚀"], ["Running", None, "", "größer 🚀"]),
    "small numbers": (CORE, "int", [0, 7, 2**32 - 2], [0, 7, 2**32 - 2]),
    "large numbers": (NUMBER, "int", [0, 2**63, 2**64 - 2], [0, 2**63, 2**64 - 2]),
    "no value in 32 bits": (CORE, "int", [Raw(0xFFFFFFFF), 1], [None, 1]),
    "no value in 64 bits": ("XRDurationTypeID", "int", [Raw(2**64 - 1), 0xFFFFFFFF], [None, 0xFFFFFFFF]),
    "all bits of a number": (NUMBER, "int", [Raw(2**64 - 1), 0xFFFFFFFF], [2**64 - 1, 0xFFFFFFFF]),
    "all bits of an address": ("XRVirtualMemoryAddressTypeID", "int", [Raw(2**64 - 1)], [2**64 - 1]),
    "truth": ("XRBooleanTypeID", "int", [True, False, None], [1, 0, None]),
    "fixed point": ("XRPercentageTypeID", "float", [12.5, 0.0, -3.25, None], [12.5, 0.0, -3.25, None]),
    "uuid": ("XRUUIDTypeID", "parts", [IDENTITY, None], [HALVES, None]),
    "return location": (
        "XRReturnLocationTypeID",
        "parts",
        [ReturnLocation(IDENTITY, 0xFFFFFFF0), None],
        [(("uuid", HALVES), ("mach-o-vm-offset", 0xFFFFFFF0)), None],
    ),
    "thread name": ("XRThreadNameTypeID", "text", [ThreadName("decoder", WORKER), None], ["decoder", None]),
    "log message": (
        "XROSLogMetadataTypeID",
        "parts",
        [MESSAGE, None],
        [(("string", "took "), ("uint64", 2**64 - 2), ("string", None)), None],
    ),
    "nested log message": (
        "XROSLogMetadataTypeID",
        "parts",
        [NESTED],
        [
            (
                ("string", "outer"),
                ("os-log-metadata", (("string", "took "), ("uint64", 2**64 - 2), ("string", None))),
                ("os-log-metadata", None),
            )
        ],
    ),
    "everything in a log message": (
        "XROSLogMetadataTypeID",
        "parts",
        [
            Typed(
                (
                    ("XRProcessTypeID", APP),
                    ("XRThreadTypeID", WORKER),
                    ("XRPercentageTypeID", 0.5),
                    ("XRUUIDTypeID", IDENTITY),
                    ("XRReturnLocationTypeID", ReturnLocation(IDENTITY, 16)),
                )
            )
        ],
        [
            (
                ("process", "SampleApp (4711)"),
                ("thread", "worker 0x5a01 (SampleApp, pid: 4711)"),
                ("percent", "0.5"),
                ("uuid", HALVES),
                ("return-location", (("uuid", HALVES), ("mach-o-vm-offset", 16))),
            )
        ],
    ),
    "narrative": (
        "XRNarrativeEntryTypeID",
        "parts",
        [Typed(((STRING, "Thread "), ("XRThreadTypeID", MAIN)))],
        [(("string", "Thread "), ("thread", "Main Thread 0x5a00 (SampleApp, pid: 4711)"))],
    ),
    "empty list": ("XRNarrativeEntryTypeID", "parts", [Typed(())], [()]),
    "any number": ("XRAnyTypeID", "int", [Typed(((NUMBER, 2**63),)), None], [2**63, None]),
    "any text": ("XRAnyTypeID", "text", [Typed(((STRING, "a"),)), None], ["a", None]),
    "any of both": ("XRAnyTypeID", "text", [Typed(((STRING, "a"),)), Typed(((CORE, 3),))], ["a", "3"]),
    "counters": (
        "XRCoreProfilePMCEventsArrayTypeID",
        "ints",
        [Array((1, 2**64 - 1)), None, Array((3, 4)), Array((1, 2**64 - 1))],
        [(1, 2**64 - 1), None, (3, 4), (1, 2**64 - 1)],
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize(("type_id", "kind", "values", "expected"), FORMS.values(), ids=FORMS)
def test_values(type_id: str, kind: str, values: list[Any], expected: list[Any]) -> None:
    source = source_of(with_column(type_id, *values))
    table = read(source)
    assert table.columns[1].kind == kind
    assert column(table, "value") == expected
    assert column(table, "time") == list(range(len(values)))
    assert source.issues() == ()


def test_numbers_stay_exact_and_signed_where_they_fit() -> None:
    assert str(read(with_column("XRDurationTypeID", 2**63 - 1, None)).rows["value"].dtype) == "Int64"
    assert str(read(with_column("XRDurationTypeID", 2**63, None)).rows["value"].dtype) == "UInt64"


def test_any_takes_the_type_that_it_holds() -> None:
    table = read(
        with_column("XRAnyTypeID", Typed((("XRDurationTypeID", 5),)), Typed((("XRDurationTypeID", 6),)))
    )
    assert [(c.mnemonic, c.title, c.engineering_type, c.kind) for c in table.columns] == [
        ("time", "Timestamp", "event-time", "int"),
        ("value", "Value", "duration", "int"),
    ]


def test_processes_and_threads() -> None:
    processes = read(with_column("XRProcessTypeID", APP, None, APP))
    assert entities_of(processes) == [(4711, "SampleApp"), None, (4711, "SampleApp")]
    threads = read(with_column("XRThreadTypeID", WORKER, None, MAIN))
    assert entities_of(threads) == [
        (0x5A01, "worker", 4711, "SampleApp"),
        None,
        (0x5A00, "Main Thread", 4711, "SampleApp"),
    ]


def test_an_unknown_type_is_its_raw_number_and_an_issue() -> None:
    source = source_of(with_column("XRQuantumStateTypeID", 7, None, 9))
    assert column(read(source), "value") == [7, None, 9]
    assert codes(source.issues()) == ["types-unknown"]
    assert issues_of(source, "types-unknown") == [
        "values of type QuantumState have an unknown layout and are shown as the raw numbers that are stored"
    ]


def test_a_column_without_values_reports_no_type() -> None:
    source = source_of(with_column("XRQuantumStateTypeID", None, None))
    assert column(read(source), "value") == [None, None]
    assert source.issues() == ()


def test_a_label_is_read_and_called_unconfirmed() -> None:
    source = source_of(with_column("XRFormattedLabelTypeID", Typed(((STRING, "Inference"),))))
    table = read(source)
    assert column(table, "value") == [(("string", "Inference"),)]
    assert table.columns[1].engineering_type == "formatted-label"
    assert codes(source.issues()) == ["types-unconfirmed"]


def test_the_bundle_itself_names_its_types() -> None:
    bundle = with_column("XRNewKindTypeID", "text of an unknown type")
    bundle.tags["XRNewKindTypeID"] = "string"
    source = source_of(bundle)
    table = read(source)
    assert (table.columns[1].engineering_type, column(table, "value")) == (
        "string",
        ["text of an unknown type"],
    )
    assert codes(source.issues()) == ["types-unconfirmed"]


@pytest.mark.parametrize("numbers", [(0, 3, 13), (5,), (2**31, 2)])
def test_text_that_no_export_confirmed_is_no_text_by_chance(numbers: tuple[int, ...]) -> None:
    """The first 14 strings are the same in every recording: small numbers name one, whatever they mean."""
    source = source_of(with_column("XRHangTypeTypeID", *map(Raw, numbers), None, bits=32))
    table = read(source)
    assert (table.columns[1].engineering_type, table.columns[1].kind) == ("hang-type", "int")
    assert column(table, "value") == [*numbers, None]
    assert codes(source.issues()) == ["types-unknown"]


def test_unconfirmed_text_is_read_and_reported() -> None:
    source = source_of(with_column("XRCoreMLModelNameTypeID", "MyModel", None, "Other"))
    table = read(source)
    assert (table.columns[1].engineering_type, column(table, "value")) == (
        "coreml-model-name",
        ["MyModel", None, "Other"],
    )
    assert issues_of(source, "types-unconfirmed")[0].startswith(
        "values of type CoreMLModelName have a layout that no"
    )


@pytest.mark.parametrize("numbers", [(77_000,), (0, 2**31)])
def test_a_label_that_is_laid_out_otherwise_is_its_raw_number(numbers: tuple[int, ...]) -> None:
    source = source_of(with_column("XRFormattedLabelTypeID", *map(Raw, numbers)))
    assert column(read(source), "value") == list(numbers)
    assert codes(source.issues()) == ["types-unknown"]


# Rows -----------------------------------------------------------------------------------------------------


def test_a_row_without_duration() -> None:
    bundle = BundleWriter()
    columns = (CLOCK, Col("first", "First", "XRProcessIDTypeID", CATEGORY1), Col("value", "Value", NUMBER))
    table = new_run(bundle).table("t", columns, [(5, 7, 1), (2**63 - 1, None, 2)], undeclared=0xDEADBEEF)
    assert table.topology == "XRT64_CC32_R_TypeID"
    rows = read(bundle)
    assert [column(rows, name) for name in ("time", "first", "value")] == [[5, 2**63 - 1], [7, None], [1, 2]]


def test_a_row_with_duration_and_both_categories() -> None:
    bundle = BundleWriter()
    columns = (
        Col("value", "Value", NUMBER),
        Col("second", "Second", STRING, CATEGORY2),
        Col("duration", "Duration", "XRDurationTypeID", DURATION),
        Col("first", "First", "XRThreadTypeID", CATEGORY1),
        Col("start", "Start", "XRStartTimeTypeID", TIME),
    )
    table = new_run(bundle).table("t", columns, [(9, "b", 2**40, WORKER, 3), (8, None, None, None, 4)])
    assert table.topology == "XRTD64_CC32_R_TypeID"
    rows = read(bundle)
    assert [c.mnemonic for c in rows.columns] == ["value", "second", "duration", "first", "start"]
    assert [column(rows, name) for name in ("value", "second", "duration", "start")] == [
        [9, 8],
        ["b", None],
        [2**40, None],
        [3, 4],
    ]
    assert entities_of(rows, "first") == [(0x5A01, "worker", 4711, "SampleApp"), None]


@pytest.mark.parametrize("garbage", [0, 1, 0xDEADBEEF, 2**64 - 1])
def test_a_category_that_no_column_declares_is_ignored(garbage: int) -> None:
    bundle = BundleWriter()
    new_run(bundle).table("t", (CLOCK, Col("value", "Value", CORE)), [(1, 2), (3, 4)], undeclared=garbage)
    source = source_of(bundle)
    table = read(source)
    assert list(table.rows) == ["time", "value"]
    assert [column(table, name) for name in table.rows] == [[1, 3], [2, 4]]
    assert source.issues() == ()


def test_rows_come_by_time_and_equal_times_as_they_were_written() -> None:
    bundle = BundleWriter()
    rows = [(30, "c"), (10, "a"), (20, "b1"), (20, "b2"), (0, "first")]
    new_run(bundle).table("t", (CLOCK, Col("value", "Value", STRING)), rows)
    table = read(bundle)
    assert column(table, "time") == [0, 10, 20, 20, 30]
    assert column(table, "value") == ["first", "a", "b1", "b2", "c"]


def test_rows_of_zeros_are_rows() -> None:
    table = read(with_column(CORE, 0, 0, 0))
    assert (len(table), column(table, "value")) == (3, [0, 0, 0])


def test_an_empty_table_has_its_columns() -> None:
    source = source_of(with_column("XRBacktraceTypeID"))
    table = read(source)
    assert (len(table), [c.kind for c in table.columns]) == (0, ["int", "stack"])
    assert source.toc()[0].tables[-1].row_count == 0


# Tables ---------------------------------------------------------------------------------------------------


def test_attributes_are_written_as_in_an_export() -> None:
    bundle = BundleWriter()
    attributes = {
        "codes": ["0x1,0x25", "0x2,0x3"],
        "target": "SINGLE",
        "target-pid": 4711,
        "callstack": "user",
        "pmc-events": ["CORE_ACTIVE_CYCLE", "INST_ALL"],
        "sample-rate-micro-seconds": 1000,
        "record-waiting-threads": False,
        "needs-kernel-callstack": True,
        "subsystem": "com.apple.coreml",
        "nothing": None,
    }
    new_run(bundle).table("kdebug", (CLOCK,), [], attributes=attributes)
    (info,) = (table for table in source_of(bundle).toc()[0].tables if table.schema == "kdebug")
    assert info.attributes == {
        "codes": '"0x1,0x25" "0x2,0x3"',
        "target": "SINGLE",
        "target-pid": "4711",
        "callstack": "user",
        "pmc-events": '"CORE_ACTIVE_CYCLE" "INST_ALL"',
        "sample-rate-micro-seconds": "1000",
        "record-waiting-threads": "0",
        "needs-kernel-callstack": "1",
        "subsystem": '"com.apple.coreml"',
    }


def test_one_schema_twice_is_two_tables() -> None:
    bundle = BundleWriter()
    run = new_run(bundle)
    columns = (CLOCK, Col("value", "Value", CORE))
    run.table("kdebug", columns, [(1, 1)], attributes={"codes": "0x1"})
    run.table("other", columns, [])
    run.table("kdebug", columns, [(2, 2), (3, 3)], attributes={"codes": "0x2"})
    source = source_of(bundle)
    listed = [(t.index, t.schema, t.row_count) for t in source.toc()[0].tables]
    assert listed[2:] == [(3, "kdebug", 1), (4, "other", 0), (5, "kdebug", 2)]
    first, second = source.tables("kdebug")
    assert (first.attributes, column(first, "value")) == ({"codes": '"0x1"'}, [1])
    assert (second.attributes, column(second, "value")) == ({"codes": '"0x2"'}, [2, 3])


def test_a_table_that_is_not_there() -> None:
    source = source_of(with_column(CORE, 1))
    assert list(source.tables("time-profile")) == []
    assert list(source.tables("t", run=2)) == []


def test_two_columns_of_one_name_are_both_there() -> None:
    bundle = BundleWriter()
    columns = (Col("x", "Time", "XRStartTimeTypeID", TIME), Col("x", "Value", CORE))
    new_run(bundle).table("t", columns, [(1, 2)])
    table = read(bundle)
    assert [column(table, c.mnemonic) for c in table.columns] == [[1], [2]]
