"""Bundles with many tables: the work of opening one grows with different descriptions, not with tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bundle_support import APP, CLOCK, MAIN, STORES, changed, issues_of, new_run, profile_row, source_of
from documents_support import python_calls

from sample_generator.bundle_document import RunInfo
from sample_generator.bundle_schemas import TIME_PROFILE
from sample_generator.bundle_tables import Col
from sample_generator.bundle_writer import BundleWriter, Files, write_folder
from tracekit.load import open_trace, trace_of
from tracekit.model.tables import NOT_COUNTED
from tracekit.parsers.bundle import stored_rows, table_list
from tracekit.parsers.bundle.keyed_archive import KeyedArchive

pytestmark = pytest.mark.integration

LIST = "corespace/run1/core/table-manager/tables.plist"
NAME = Col("name", "Name", "XRPrototypeStringTypeID")


def bundle_of(tables: int) -> Files:
    """Return a bundle with so many tables of two schemas, of no row or of one."""
    bundle = BundleWriter()
    run = new_run(bundle)
    for number in range(tables):
        columns = (CLOCK, NAME) if number % 2 else (CLOCK,)
        values = [(number, "x")[: len(columns)]] if number % 3 == 0 else []
        run.table(f"schema-{number % 2}", columns, values, attributes={"codes": [f"0x{number:x}"]})
    return bundle.files()


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of times that each kind of file was decoded."""
    counts: Counter[str] = Counter()

    def counted(function: Any, kind: str) -> Any:
        def call(*arguments: Any) -> Any:
            counts[kind] += 1
            return function(*arguments)

        call.__name__ = function.__name__
        return call

    monkeypatch.setattr(stored_rows, "_decode_schema", counted(stored_rows._decode_schema, "schema"))
    monkeypatch.setattr(
        stored_rows, "_decode_descriptor", counted(stored_rows._decode_descriptor, "descriptor")
    )
    for module, kind in ((stored_rows, "archive"), (table_list, "list")):
        monkeypatch.setattr(module, "KeyedArchive", counted(KeyedArchive, kind))
    return counts


def test_a_description_is_decoded_once_for_all_tables_with_the_same_bytes(decoded: Counter[str]) -> None:
    files = bundle_of(60)
    tables = source_of(files).toc()[0].tables
    assert [table.schema for table in tables[2:5]] == ["schema-0", "schema-1", "schema-0"]
    assert [table.row_count for table in tables[2:8]] == [1, 0, 0, 1, 0, 0]
    assert [table.attributes for table in tables[2:4]] == [{"codes": '"0x0"'}, {"codes": '"0x1"'}]
    # Two schemas, each with no row and with one; process-info and thread-info. The list has the attributes.
    assert decoded == {"schema": 4, "descriptor": 6, "archive": 6, "list": 1}


def test_opening_more_tables_costs_little_for_each() -> None:
    few, many = bundle_of(10), bundle_of(60)
    calls_per_table = (python_calls(lambda: source_of(many)) - python_calls(lambda: source_of(few))) / 50
    assert calls_per_table < 400


def test_a_damaged_table_among_equal_ones_is_reported_and_the_others_are_read() -> None:
    files = bundle_of(12)
    damaged = f"{STORES}/indexed-store-5/bulkstore_descriptor"
    source = source_of({**files, damaged: b"garbage", f"{STORES}/indexed-store-8/schema.xml": b"<schema"})
    messages = issues_of(source, "table-damaged")
    assert [message.split(" ")[0] for message in messages] == [
        damaged,
        f"{STORES}/indexed-store-8/schema.xml",
    ]
    row_counts = [table.row_count for table in source.toc()[0].tables]
    assert [number for number, count in enumerate(row_counts) if count is None] == [5, 8]
    assert len(list(source.tables("schema-1"))) == 5


def test_only_the_tables_that_are_asked_for_are_opened(decoded: Counter[str]) -> None:
    source = source_of(bundle_of(60), "schema-1")
    tables = source.toc()[0].tables
    # schema-1 with no row and with one, and process-info, whose names the table of contents lists.
    assert (decoded["schema"], decoded["descriptor"]) == (2, 3)
    assert [table.schema for table in tables[2:5]] == ["schema-0", "schema-1", "schema-0"]
    assert [table.row_count for table in tables[2:6]] == [NOT_COUNTED, 0, NOT_COUNTED, 1]
    assert tables[2].attributes == {"codes": '"0x0"'}
    assert sum(len(table) for table in source.tables("schema-0")) == 10
    assert decoded["descriptor"] == 5


def test_an_analysis_opens_the_tables_that_it_reads(tmp_path: Path, decoded: Counter[str]) -> None:
    bundle = BundleWriter()
    run = new_run(bundle)
    for number in range(30):
        run.table(f"schema-{number}", (CLOCK,), [], attributes={})
    run.table("time-profile", TIME_PROFILE, [profile_row(1, 0x1000)])
    trace = open_trace(write_folder(bundle.files(), tmp_path / "x.trace"))
    assert decoded["descriptor"] == 3  # time-profile, process-info and thread-info
    assert (len(trace.samples), trace.tables[2].row_count) == (1, NOT_COUNTED)


def test_a_damaged_table_is_reported_when_its_rows_are_read() -> None:
    damaged = f"{STORES}/indexed-store-5/bulkstore_descriptor"
    source = source_of({**bundle_of(12), damaged: b"garbage"}, "schema-0")
    assert issues_of(source, "table-damaged") == []
    assert sum(len(table) for table in source.tables("schema-0")) == 2
    assert issues_of(source, "table-damaged") == []
    assert len(list(source.tables("schema-1"))) == 5
    (message,) = issues_of(source, "table-damaged")
    assert message == f"{damaged} is not a binary property list; the table 'schema-1' cannot be read"


def test_a_store_of_another_table_than_the_list_has_is_damaged() -> None:
    schema = f"{STORES}/indexed-store-2/schema.xml"
    source = source_of(changed(bundle_of(4), schema, lambda data: data.replace(b"schema-0", b"time-profile")))
    assert issues_of(source, "table-damaged") == [
        f"{schema} is of a table 'time-profile', but the list of tables has another; the table 'schema-0'"
        " cannot be read"
    ]
    assert [table.row_count for table in source.toc()[0].tables[2:5]] == [None, 0, 0]


def test_a_run_with_rows_is_chosen_although_tables_of_another_are_not_counted() -> None:
    bundle = BundleWriter()
    new_run(bundle).table("t", (CLOCK,), [])
    other = bundle.run(RunInfo(process=APP.name, pid=APP.pid), [APP], [MAIN])
    other.table("time-profile", TIME_PROFILE, [profile_row(1, 0x1000)])
    assert trace_of(source_of(bundle, "time-profile")).info.run == 2


def test_a_table_that_is_missing_from_the_list_describes_itself(decoded: Counter[str]) -> None:
    bundle = BundleWriter()
    run = new_run(bundle)
    run.table("listed", (CLOCK,), [])
    files = bundle.files()
    run.table("unlisted", (CLOCK,), [], attributes={"target": "ALL"})
    table = source_of({**bundle.files(), LIST: files[LIST]}).toc()[0].tables[-1]
    assert (table.schema, table.attributes) == ("unlisted", {"target": "ALL"})
    assert decoded["list"] == 2


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ("_MAX_ATTRIBUTE_VALUES", "is nested deeper or larger than any recording's"),
        ("_MAX_ENTRIES", "lists more tables than any recording has"),
    ],
)
def test_a_list_with_more_than_any_recording_has_is_refused(
    monkeypatch: pytest.MonkeyPatch, limit: str, problem: str
) -> None:
    """Each of its entries could refer to the same thousands of attributes."""
    monkeypatch.setattr(table_list, limit, 50)
    source = source_of(bundle_of(40))
    (message,) = issues_of(source, "contents-damaged")
    assert message == f"{LIST} {problem}; tables may be missing without notice"
    assert source.toc()[0].tables[2].attributes == {"codes": '"0x0"'}
