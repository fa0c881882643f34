"""Bundles of Instruments 7 to 10: rows of the old layouts are read, older bundles are refused."""

from __future__ import annotations

from typing import Any

import pytest
from bundle_support import (
    CLOCK,
    MAIN,
    STORES,
    WORKER,
    app_stack,
    entities_of,
    new_run,
    read,
    source_of,
    symbols_of,
)
from documents_support import column

from sample_generator.bundle_tables import CATEGORY1, CATEGORY2, DURATION, TIME, Col
from sample_generator.bundle_writer import BundleWriter, Files, raw
from tracekit.errors import InputError

LONGEST = 2**50 - 1
START = Col("start", "Start", "XRStartTimeTypeID", TIME)
LASTS = Col("duration", "Duration", "XRDurationTypeID", DURATION)
FIRST = Col("first", "First", "XRProcessIDTypeID", CATEGORY1)
SECOND = Col("second", "Second", "XRThreadTypeID", CATEGORY2)
VALUE = Col("value", "Value", "XRPrototypeValueTypeID")


def table_of(
    topology: str, columns: tuple[Col, ...], *rows: tuple[Any, ...], undeclared: int = 0
) -> BundleWriter:
    bundle = BundleWriter()
    new_run(bundle).table("t", columns, list(rows), topology=topology, undeclared=undeclared)
    return bundle


@pytest.mark.parametrize("undeclared", [0, 2**22 - 1])
def test_50_bits_of_time_and_22_of_category(undeclared: int) -> None:
    rows = [(0, 0, 5), (1, 2**22 - 2, 6), (2**49 + 7, 0x2AAAAA, 2**64 - 2), (LONGEST, None, 2**64 - 1)]
    table = read(table_of("XRT50_C22_TypeID", (START, FIRST, VALUE), *rows, undeclared=undeclared))
    assert column(table, "start") == [0, 1, 2**49 + 7, LONGEST]
    assert column(table, "first") == [0, 2**22 - 2, 0x2AAAAA, None]
    assert column(table, "value") == [5, 6, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("topology", ["XRTD50_CC22_R_TypeID"])
def test_50_bits_of_time_and_of_duration_and_two_categories(topology: str) -> None:
    rows = [(0, LONGEST, 0, MAIN, 1), (LONGEST, 0, 2**22 - 2, WORKER, 2), (5, 2**49, 0x155555, None, 3)]
    table = read(table_of(topology, (START, LASTS, FIRST, SECOND, VALUE), *rows))
    assert column(table, "start") == [0, 5, LONGEST]
    assert column(table, "duration") == [LONGEST, 2**49, 0]
    assert column(table, "first") == [0, 0x155555, 2**22 - 2]
    assert [None if entity is None else entity[0] for entity in entities_of(table, "second")] == [
        0x5A00,
        None,
        0x5A01,
    ]
    assert column(table, "value") == [1, 3, 2]


@pytest.mark.parametrize("garbage", [0, 0x3FFFFF, 0x155555])
def test_a_category_of_22_bits_that_no_column_declares(garbage: int) -> None:
    table = read(table_of("XRTD50_CC22_R_TypeID", (START, LASTS, VALUE), (1, LONGEST, 3), undeclared=garbage))
    assert [column(table, name) for name in table.rows] == [[1], [LONGEST], [3]]


def test_stacks_of_the_old_layout() -> None:
    columns = (CLOCK, Col("value", "Stack", "XRBacktraceTypeID"))
    table = read(table_of("XRT50_C22_TypeID", columns, (1, app_stack([0x1000], [0x2000]))))
    assert symbols_of(table) == [["0x1000", "0x1fff"]]


def test_a_run_that_is_not_compressed() -> None:
    bundle = BundleWriter(compress=raw)
    new_run(bundle).table("t", (START, VALUE), [(1, 2)], topology="XRT50_C22_TypeID")
    assert column(read(bundle), "value") == [2]


def old(files: Files) -> str:
    with pytest.raises(InputError) as caught:
        source_of(files)
    return str(caught.value)


def test_rows_without_a_descriptor_are_too_old() -> None:
    files = table_of("XRT50_C22_TypeID", (START, VALUE), (1, 2)).files()
    without = {name: content for name, content in files.items() if not name.endswith("bulkstore_descriptor")}
    assert old(without) == (
        "recording.trace: was recorded by Instruments 8 or older, whose bundles tracekit does not read."
        " Record again with a later Xcode."
    )
    assert source_of({**without, f"{STORES}/indexed-store-0/bulkstore_descriptor": b""}).toc()


def test_the_samples_of_instruments_7_are_too_old() -> None:
    files = {
        "form.template": b"bplist00",
        "instrument_data/1/run_data/1-sampler.data": b"",
        "Trace1.run/x": b"",
    }
    assert "was recorded by Instruments 8 or older" in old(files)


def test_an_archive_of_a_run_without_any_store_is_too_old() -> None:
    files = {
        "form.template": b"bplist00",
        "instrument_data/0A/run_data/1.run.zip": b"PK",
        "Trace1.run/x": b"",
    }
    assert "was recorded by Instruments 8 or older" in old(files)
    assert "Instruments 8" not in old({**files, "corespace/run1/core/x": b""})
