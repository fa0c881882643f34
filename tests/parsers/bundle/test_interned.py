"""Interned strings and lists: several blocks, several runs, invalid references."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from bundle_support import CLOCK, UNIQUING, changed, new_run, read, source_of, with_column
from documents_support import column

from sample_generator.bundle_tables import Col
from sample_generator.bundle_values import Array, Process, Raw, Typed
from sample_generator.bundle_writer import BundleWriter, Files
from tracekit.errors import InputError

COUNTERS = "XRCoreProfilePMCEventsArrayTypeID"
LISTS = f"{UNIQUING}/arrayUniquer/integeruniquer.data"
INDEX = f"{UNIQUING}/arrayUniquer/integeruniquer.index"
TYPED = f"{UNIQUING}/typedArrayUniquer/integeruniquer.data"
ENTRY = struct.pack("<I3Q", 3, 1, 2, 3)


def read_error(files: Files) -> str:
    with pytest.raises(InputError) as caught:
        read(files)
    return str(caught.value)


def unpacked(files: Files, name: str) -> bytes:
    return zlib.decompress(files[name])


def test_lists_in_many_blocks() -> None:
    """The tail of each block is padding; lists of 1 to 9 values leave tails of every length."""
    rows = [tuple(range(start, start + 1 + start % 9)) for start in range(400)]
    bundle = BundleWriter(block_size=0x200)
    columns = (CLOCK, Col("value", "Value", COUNTERS))
    new_run(bundle).table("t", columns, [(time, Array(row)) for time, row in enumerate(rows)])
    files = bundle.files()
    assert column(read(files), "value") == rows


def test_composite_values_in_many_blocks() -> None:
    texts = [f"text {number}" for number in range(300)]
    bundle = BundleWriter(block_size=0x80)
    cells = [
        Typed((("XRPrototypeStringTypeID", text), ("XRCPUCoreTypeID", number)))
        for number, text in enumerate(texts)
    ]
    columns = (CLOCK, Col("value", "Value", "XROSLogMetadataTypeID"))
    new_run(bundle).table("t", columns, list(enumerate(cells)))
    assert column(read(bundle), "value") == [
        (("string", text), ("core", number)) for number, text in enumerate(texts)
    ]


def test_each_run_has_its_own_strings_and_lists() -> None:
    bundle = BundleWriter()
    columns = (CLOCK, Col("text", "Text", "XRPrototypeStringTypeID"), Col("list", "List", COUNTERS))
    first = bundle.run()
    first.table("t", columns, [(0, "only in run 1", Array((1, 1)))])
    second = bundle.run()
    second.table("t", columns, [(0, "only in run 2", Array((2, 2, 2))), (1, "again", Array((3,)))])
    source = source_of(bundle)
    assert [run.info.run for run in source.toc()] == [1, 2]
    tables = [read(source, "t", run) for run in (1, 2)]
    assert [table.run for table in tables] == [1, 2]
    assert column(tables[0], "text") == ["only in run 1"]
    assert column(tables[0], "list") == [(1, 1)]
    assert column(tables[1], "text") == ["only in run 2", "again"]
    assert column(tables[1], "list") == [(2, 2, 2), (3,)]


def test_runs_keep_their_numbers() -> None:
    bundle = BundleWriter()
    for number in (3, 12):
        bundle.run(number=number).table("t", (CLOCK,), [(number,)])
    source = source_of(bundle)
    assert [run.info.run for run in source.toc()] == [3, 12]
    assert column(read(source, "t", 12), "time") == [12]


@pytest.mark.parametrize(
    ("type_id", "value", "file", "problem"),
    [
        (COUNTERS, Raw(5000), LISTS, "has no list 5000"),
        ("XRPrototypeStringTypeID", Raw(5000), f"{UNIQUING}/strings", "has no string 5000"),
        ("XROSLogMetadataTypeID", Raw(5000), TYPED, "has no list 5000"),
        ("XRProcessTypeID", Raw(5000), LISTS, "has no list 5000"),
        ("XRThreadTypeID", Raw(5000), LISTS, "has no list 5000"),
        ("XRBacktraceTypeID", Raw(5000), LISTS, "has no list 5000"),
        ("XRUUIDTypeID", Raw(5000), LISTS, "has no list 5000"),
        ("XRReturnLocationTypeID", Raw(5000 << 32), LISTS, "has no list 5000"),
        ("XRThreadNameTypeID", Raw(5000 << 32), f"{UNIQUING}/strings", "has no string 5000"),
    ],
)
def test_a_reference_to_nowhere_is_an_error_that_names_the_file(
    type_id: str, value: Any, file: str, problem: str
) -> None:
    message = read_error(with_column(type_id, value).files())
    assert f"'t' cannot be read: {file} {problem}" in message


HUGE = 2**64 - 2
"""A reference in a composite value has 64 bits, of which no number of a list needs more than 32."""


@pytest.mark.parametrize(
    "type_id",
    [
        "XRPrototypeStringTypeID",
        "XRReturnLocationTypeID",
        "XROSLogMetadataTypeID",
        "XRProcessTypeID",
        "XRThreadTypeID",
        "XRUUIDTypeID",
    ],
)
def test_a_reference_of_64_bits_to_nowhere(type_id: str) -> None:
    message = read_error(with_column("XROSLogMetadataTypeID", Typed(((type_id, Raw(HUGE)),))).files())
    assert "'t' cannot be read: corespace/run1/core/uniquing/" in message


def test_a_composite_value_of_a_type_that_is_not_listed() -> None:
    files = with_column("XROSLogMetadataTypeID", Typed((("XRCPUCoreTypeID", 1),))).files()

    def with_type_900(data: bytes) -> bytes:
        return data[:36] + (900).to_bytes(8, "little") + data[44:]

    assert "refers to a type 900 that is not listed" in read_error(changed(files, TYPED, with_type_900))


def test_a_composite_value_without_a_type() -> None:
    files = with_column("XROSLogMetadataTypeID", Typed((("XRCPUCoreTypeID", 1),))).files()
    cut = changed(files, TYPED, lambda data: data[:32] + (1).to_bytes(4, "little") + data[36:])
    assert "has a composite value without a type" in read_error(cut)


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        (LISTS, lambda data: b"\0\0\0\0" + data[4:], "does not begin like a file of lists"),
        (LISTS, lambda data: data[:31], "does not begin like a file of lists"),
        (LISTS, lambda data: data[:32], "is cut off"),
        (LISTS, lambda data: data[: data.index(ENTRY) + 20], "has a list that continues beyond its end"),
        (INDEX, lambda data: b"\0\0\0\0" + data[4:], "does not begin like an index of lists"),
        (INDEX, lambda data: data[:39], "does not begin like an index of lists"),
        (INDEX, lambda data: data[:40], "has no list"),
        (INDEX, lambda data: data[:40] + bytes(8) + data[48:], "points to offsets where no list can begin"),
        (
            INDEX,
            lambda data: data[:40] + b"\x21\0\0\0" + data[44:],
            "points to offsets where no list can begin",
        ),
    ],
)
def test_damaged_lists(name: str, change: Any, problem: str) -> None:
    message = read_error(changed(with_column(COUNTERS, Array((1, 2, 3))).files(), name, change))
    assert f"{name.rpartition('/')[0]}/integeruniquer." in message
    assert problem in message


def test_a_count_that_is_too_large_for_any_file() -> None:
    files = with_column(COUNTERS, Array((1, 2))).files()
    place = unpacked(files, LISTS).index(struct.pack("<I2Q", 2, 1, 2))
    grown = changed(files, LISTS, lambda data: data[:place] + b"\xff\xff\xff\xff" + data[place + 4 :])
    assert "has a list that continues beyond its end" in read_error(grown)


def test_lists_that_overlap_are_refused() -> None:
    """A thousand references to the same long list would be a few bytes for a thousand times its length."""
    lists = [Array((number,)) for number in range(1000)]
    files = with_column(COUNTERS, *lists, Array(tuple(range(60_000)))).files()
    place = unpacked(files, LISTS).index(struct.pack("<I2Q", 60_000, 0, 1))

    def all_at_that_place(index: bytes) -> bytes:
        places = np.frombuffer(index, "<u4", offset=40).reshape(-1, 2).copy()
        places[-1001:] = (place, 0)
        return index[:40] + places.tobytes()

    assert "has lists that overlap" in read_error(changed(files, INDEX, all_at_that_place))


@pytest.mark.parametrize("unprintable", ["\x00", "\x07", "\x1b", "\x1f"])
def test_control_characters_in_strings(unprintable: str) -> None:
    """XML allows no control characters, yet Instruments writes them."""
    files = with_column("XRPrototypeStringTypeID", "a?b\ttab\nline").files()
    raw = changed(files, f"{UNIQUING}/strings", lambda xml: xml.replace(b"a?b", f"a{unprintable}b".encode()))
    assert column(read(raw), "value") == ["a\N{REPLACEMENT CHARACTER}b\ttab\nline"]


def test_strings_that_need_escaping() -> None:
    texts = ["<key>&amp;</key>", "]]>", "\N{BOM}x", "'\"", "e\N{COMBINING ACUTE ACCENT}", "𝕏" * 500]
    assert column(read(with_column("XRPrototypeStringTypeID", *texts)), "value") == texts


def test_a_process_whose_pid_is_larger_than_32_bits() -> None:
    table = read(with_column("XRProcessTypeID", Process((7 << 32) + 4711)))
    assert table.processes["pid"].tolist() == [4711]
