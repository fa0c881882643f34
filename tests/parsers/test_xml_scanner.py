"""The compiled scanner reads what the reference reader reads, and leaves the rest to it."""

from __future__ import annotations

import os
import random
import runpy
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from documents_support import document, node, schema
from fuzz import exports
from hypothesis import given
from hypothesis import strategies as st
from random_exports import RandomExport
from xml_readers import READERS, described, outcome, pieces

from tracekit.errors import UsageError
from tracekit.parsers import compiled
from tracekit.parsers.xml import scanner
from tracekit.parsers.xml.builder import StoreBuilder
from tracekit.parsers.xml.documents import Documents
from tracekit.parsers.xml.reader import DocumentReader

pytestmark = pytest.mark.skipif(not scanner.is_compiled(), reason="installed without the compiled scanner")

LARGE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "large_export.py"))
SEEDS = exports.SEEDS
PLAIN = next(seed for seed in SEEDS if b"0x102af5d04" in seed)


@pytest.fixture
def no_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference reader must not be asked."""

    def refuse(*_: object) -> None:
        raise AssertionError("the scanner handed over")

    monkeypatch.setattr(DocumentReader, "feed", refuse)


@given(st.integers(0, 2**32), st.lists(st.integers(1, 3000), min_size=1, max_size=4))
def test_generated_documents_give_the_same_tables(seed: int, sizes: list[int]) -> None:
    dice = random.Random(seed)
    data = "".join(RandomExport(dice).document() for _ in range(dice.choice((1, 1, 2)))).encode()
    reference, own = (outcome(data, reader, sizes, tables=True) for reader in READERS)
    assert own == reference


@pytest.mark.parametrize("seed", range(20))
def test_what_xctrace_writes_is_not_handed_over(seed: int) -> None:
    data = RandomExport(random.Random(seed)).document().replace("\n 5 \n", "5").encode()
    with mock.patch.object(scanner.ScanningReader, "hand_over", side_effect=AssertionError):
        assert isinstance(outcome(data, "compiled"), list)


@pytest.mark.parametrize("seed", SEEDS, ids=range(len(SEEDS)))
def test_blocks_of_every_size(seed: bytes) -> None:
    whole = outcome(seed, "lxml")
    for size in range(1, len(seed) + 1):
        assert outcome(seed, "compiled", (size,)) == whole, size


def test_large_blocks() -> None:
    out = BytesIO()
    LARGE["write_export"](out, 300_000)
    data = out.getvalue()
    whole = outcome(data, "lxml")
    for size in (near for power in range(12, 23) for near in (2**power - 1, 2**power, 2**power + 1)):
        assert outcome(data, "compiled", (size,)) == whole, size


OUTSIDE = {
    "a comment": (b"<row>", b"<!-- c --><row>"),
    "a comment in a row": (b"<row>", b"<row><!-- </row> -->"),
    "a processing instruction": (b"<row>", b"<?x </row> ?><row>"),
    "CDATA": (b">497399291<", b"><![CDATA[497399291]]><"),
    "a character reference": (b'name="dyld"', b'name="d&#121;ld"'),
    "ids that jump": (b'id="17"', b'id="18"'),
    "ids that are words": (b'id="17"', b'id="x"'),
    "no id": (b' id="17"', b""),
    "another order of attributes": (b'id="17" fmt="00:00.499.399"', b'fmt="00:00.499.399" id="17"'),
    "single quotes": (b'id="17"', b"id='17'"),
    "blanks around the equals sign": (b'id="17"', b'id = "17"'),
    "an unknown attribute": (b'<thread-state id="8"', b'<thread-state id="8" new="1"'),
    "an attribute of a row": (b"<row>", b'<row x="1">'),
    "carriage returns": (b"</row>\n", b"</row>\r\n"),
    "text between cells": (b"</thread>", b"</thread>words"),
    "an unknown element in a frame": (b"<source line", b'<new id="13"/><source line'),
    "a decimal address": (b'addr="0x18d373904"', b'addr="6664165636"'),
    "a prefix": (b"<weight id", b"<weight xml:space='preserve' id"),
    "an element beside the tables": (b"<node ", b"<other/><node "),
    "an element beside the rows": (b"<row>", b"<other/><row>"),
    "a self-closing table": (b"<node ", b"<node xpath=''/><node "),
    "another encoding": (b'<?xml version="1.0"?>', b'<?xml version="1.0" encoding="ISO-8859-1"?>'),
    "another version": (b'<?xml version="1.0"?>', b'<?xml version="1.1"?>'),
    "a blank in an end tag": (b"</row>\n", b"</row >\n"),
    "a number on its own line": (b">497399291<", b">\n497399291\n<"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_is_outside_the_subset_is_handed_over_and_read_all_the_same(case: str) -> None:
    data = PLAIN.replace(*OUTSIDE[case])
    assert data != PLAIN
    with mock.patch.object(
        scanner.ScanningReader, "hand_over", autospec=True, side_effect=scanner.ScanningReader.hand_over
    ) as handed:
        for sizes in ((1 << 18,), (1,), (700, 3)):
            assert outcome(data, "compiled", sizes, tables=True) == outcome(data, "lxml", sizes, tables=True)
    assert handed.called


@pytest.mark.parametrize("depth", range(240, 260))
def test_a_schema_may_be_as_deep_as_the_document_may(depth: int) -> None:
    data = PLAIN.replace(b"</schema>", b"<a>" * depth + b"</a>" * depth + b"</schema>", 1)
    assert outcome(data, "compiled") == outcome(data, "lxml")


@pytest.mark.usefixtures("no_help")
def test_a_plain_export_needs_no_other_reader() -> None:
    assert isinstance(outcome(PLAIN, "compiled"), list)


def test_after_a_table_of_contents_in_the_same_file_the_scanner_reads_on() -> None:
    contents = next(seed for seed in SEEDS if b"<trace-toc>" in seed)
    with mock.patch.object(StoreBuilder, "add", side_effect=AssertionError):  # lxml reads no row
        read = outcome(contents + PLAIN + contents + PLAIN, "compiled")
    assert [type(one[0]) for one in read] == [str, list, str, list]
    assert outcome((contents + PLAIN) * 20, "compiled") == outcome((contents + PLAIN) * 20, "lxml")


def test_what_follows_much_white_space_is_named() -> None:
    reference, own = (outcome(PLAIN + b"\n" * 5000 + b"<oops", reader) for reader in READERS)
    assert own[1] == reference[1]
    assert "root <oops>" in own[1]


@pytest.mark.parametrize("size", [1, 2, 64, 1 << 18])
def test_white_space_before_a_document_counts_as_lines(size: int) -> None:
    data = b"\n\n\n<trace-query-result>\n</trace-query-r>"
    reference, own = (outcome(data, reader, (size,)) for reader in READERS)
    assert own == reference
    assert "in line 5" in own[1]


def test_an_instruction_that_speaks_of_rows_is_passed_over() -> None:
    data = PLAIN.replace(b"</row>\n<row>", b"</row><?see <row> ?><row>", 1)
    assert data != PLAIN
    reference, own = (outcome(data, reader) for reader in READERS)
    assert own == reference
    assert isinstance(own, list)


def test_lines_are_counted_across_the_hand_over() -> None:
    rows = "".join(f'<row><uint64 id="{at}">{at}</uint64></row>\n' for at in range(1, 70_000))
    bad = '<row><uint64 ref="99999"/></row>'
    data = document(node(schema("s", [("n", "uint64")]) + rows + bad)).encode()
    reference, own = (outcome(data, reader) for reader in READERS)
    assert own[1] == reference[1]
    assert "row 70000 of 's'" in own[1]


@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_a_few_thousand_mutations(first: int) -> None:
    for number in range(first, first + 500):
        data, sizes = exports.case(number)
        found, _ = exports.differ(data, sizes)
        assert not found, (number, found)


def test_rows_arrive_while_the_input_is_still_being_written() -> None:
    reading = scanner.ScanningReader("x")
    read = 0
    for piece in pieces(PLAIN, (100,)):
        reading.feed(piece)
        counts = reading.counts()
        assert not counts or counts[-1].rows >= read
        read = counts[-1].rows if counts else 0
    reading.close()
    assert read == 4
    assert reading.ended


def test_other_threads_run_while_bytes_are_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "_SLICE_BYTES", 1 << 30)  # all in one call
    monkeypatch.setattr(scanner, "MAX_ELEMENT_BYTES", 1 << 30)
    rows = "".join(f'<row><uint64 id="{at}">{at}</uint64></row>\n' for at in range(1, 400_000))
    data = document(node(schema("s", [("n", "uint64")]) + rows)).encode()
    # A busy machine may let the other thread wait; one that holds the interpreter's lock makes it wait always.
    assert any(longest_wait_of_another_thread(data) < 0.5 for _ in range(10))


def longest_wait_of_another_thread(data: bytes) -> float:
    """How long a thread stood still while these bytes were scanned, as a part of that time."""
    reading = scanner.ScanningReader("x")
    seen: list[float] = []
    done = threading.Event()

    def look_at_the_clock() -> None:
        while not done.is_set():
            seen.append(time.perf_counter())

    other = threading.Thread(target=look_at_the_clock)
    other.start()
    while not seen:
        time.sleep(0.001)
    begin = time.perf_counter()
    reading.feed(data)
    end = time.perf_counter()
    done.set()
    other.join()
    assert reading.counts()[0].rows == 399_999
    moments = [begin, *(moment for moment in seen if begin < moment < end), end]
    return float(np.diff(moments).max()) / (end - begin)


def test_two_documents_are_scanned_at_once() -> None:
    out = BytesIO()
    LARGE["write_export"](out, 1_000_000)
    data = out.getvalue()

    def read(data: bytes) -> object:
        (document,) = Documents("x").read(pieces(data, (1 << 18,)))
        return described(document, tables=True)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(read, [data] * 2)) == [read(data)] * 2


def test_the_reader_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(scanner.READER_VARIABLE, raising=False)
    assert scanner.reader_in_use() == "compiled"
    monkeypatch.setenv(scanner.READER_VARIABLE, "lxml")
    assert scanner.reader_in_use() == "lxml"
    monkeypatch.setenv(scanner.READER_VARIABLE, "expat")
    with pytest.raises(UsageError, match="is 'expat'; it can be lxml or compiled"):
        Documents("x").read(iter([PLAIN]))


def test_without_the_scanner_lxml_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(scanner.READER_VARIABLE, raising=False)
    monkeypatch.setattr(scanner, "_scan", None)
    assert scanner.reader_in_use() == "lxml"
    monkeypatch.setenv(scanner.READER_VARIABLE, "compiled")
    with pytest.raises(UsageError, match="installed without its compiled scanner"):
        scanner.reader_in_use()
    assert os.environ[scanner.READER_VARIABLE] == "compiled"


@given(st.lists(st.lists(st.integers(0, 2), max_size=3), max_size=20))
def test_columns_are_the_same_compiled_and_not(runs: list[list[int]]) -> None:
    values = np.array([value for run in runs for value in run], np.int32)
    offsets = np.cumsum([0, *map(len, runs)]).astype(np.int64)
    picks = np.array([len(run) for run in runs], np.int32)
    columns = [picks, picks.astype(np.uint64) * 3, picks > 1]
    cells = np.stack([picks, picks * 0 + 2], axis=1)
    row_of = np.array([1, -1, 0], np.int32)

    def made() -> list[list[object]]:
        return [
            compiled.distinct_runs(values, offsets).tolist(),
            compiled.distinct_rows(columns).tolist(),
            [distinct.tolist() for distinct in compiled.distinct_by_column(cells, 4)],
            [
                taken.tolist()
                for taken in compiled.take_runs(values, offsets[:-1], np.diff(offsets), row_of, 3)
            ],
        ]

    with mock.patch.object(compiled, "_columns", None):
        plain = made()
    assert made() == plain
    assert plain[0] == [runs.index(run) for run in runs]
    assert plain[2] == [sorted({len(run) for run in runs} - {0}), [2] if runs else []]
    rows = [(1, -1, 0)[value] for run in runs for value in run]
    assert plain[3] == [rows, [at in rows for at in range(3)]]
