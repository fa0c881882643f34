"""The accelerator reads whole documents as lxml does, and leaves unsupported ones to it."""

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
from tracekit.parsers.xml import accelerator
from tracekit.parsers.xml.documents import Documents
from tracekit.parsers.xml.reader import DocumentReader
from tracekit.parsers.xml.store_builder import StoreBuilder

pytestmark = pytest.mark.skipif(
    not accelerator.is_compiled(), reason="installed without the compiled scanner"
)

LARGE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "large_export.py"))
SEEDS = exports.SEEDS
PLAIN = next(seed for seed in SEEDS if b"0x102af5d04" in seed)


@pytest.fixture
def no_lxml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where lxml reads a document."""

    def refuse(*_: object) -> None:
        raise AssertionError("lxml reads a document")

    monkeypatch.setattr(DocumentReader, "feed", refuse)


@pytest.mark.integration
@given(st.integers(0, 2**32), st.lists(st.integers(1, 3000), min_size=1, max_size=4))
def test_generated_documents_give_the_same_tables(seed: int, sizes: list[int]) -> None:
    dice = random.Random(seed)
    data = "".join(RandomExport(dice).document() for _ in range(dice.choice((1, 1, 2)))).encode()
    expected, accelerated = (outcome(data, reader, sizes, tables=True) for reader in READERS)
    assert accelerated == expected


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.usefixtures("no_lxml")
def test_documents_of_xctrace_are_supported(seed: int) -> None:
    data = RandomExport(random.Random(seed)).document().replace("\n 5 \n", "5").encode()
    assert isinstance(outcome(data, "compiled"), list)


@pytest.mark.integration
@pytest.mark.parametrize("seed", SEEDS, ids=range(len(SEEDS)))
def test_blocks_of_every_size(seed: bytes) -> None:
    whole = outcome(seed, "lxml")
    for size in (*range(1, 40), *range(40, len(seed) + 1, 5)):
        assert outcome(seed, "compiled", (size,)) == whole, size


def test_large_blocks() -> None:
    out = BytesIO()
    LARGE["write_export"](out, 300_000)
    data = out.getvalue()
    whole = outcome(data, "lxml")
    for size in (near for power in range(12, 23) for near in (2**power - 1, 2**power, 2**power + 1)):
        assert outcome(data, "compiled", (size,)) == whole, size


UNSUPPORTED = {
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


@pytest.mark.slow
@pytest.mark.parametrize("case", UNSUPPORTED)
def test_unsupported_documents_are_read_by_lxml(case: str) -> None:
    data = PLAIN.replace(*UNSUPPORTED[case])
    assert data != PLAIN
    expected = outcome(data, "lxml", tables=True)
    with mock.patch.object(
        DocumentReader, "close", autospec=True, side_effect=DocumentReader.close
    ) as closed:
        for sizes in ((1 << 18,), (1,), (700, 3)):
            closed.reset_mock()
            assert outcome(data, "compiled", sizes, tables=True) == expected
            assert closed.called


@pytest.mark.parametrize("depth", range(240, 260))
def test_a_schema_may_be_as_deep_as_the_document_may(depth: int) -> None:
    data = PLAIN.replace(b"</schema>", b"<a>" * depth + b"</a>" * depth + b"</schema>", 1)
    assert outcome(data, "compiled") == outcome(data, "lxml")


@pytest.mark.usefixtures("no_lxml")
def test_a_plain_export_needs_no_other_reader() -> None:
    assert isinstance(outcome(PLAIN, "compiled"), list)


def test_documents_after_a_table_of_contents_are_accelerated() -> None:
    contents = next(seed for seed in SEEDS if b"<trace-toc>" in seed)
    with mock.patch.object(StoreBuilder, "add", side_effect=AssertionError):  # lxml reads no row
        documents = outcome(contents + PLAIN + contents + PLAIN, "compiled")
    assert [type(document[0]) for document in documents] == [str, list, str, list]
    assert outcome((contents + PLAIN) * 20, "compiled") == outcome((contents + PLAIN) * 20, "lxml")


def test_the_root_behind_much_white_space_is_named() -> None:
    expected, accelerated = (outcome(PLAIN + b"\n" * 5000 + b"<oops", reader) for reader in READERS)
    assert accelerated[1] == expected[1]
    assert "root <oops>" in accelerated[1]


@pytest.mark.parametrize("size", [1, 2, 64, 1 << 18])
def test_white_space_before_a_document_counts_as_lines(size: int) -> None:
    data = b"\n\n\n<trace-query-result>\n</trace-query-r>"
    expected, accelerated = (outcome(data, reader, (size,)) for reader in READERS)
    assert accelerated == expected
    assert "in line 5" in accelerated[1]


def test_a_processing_instruction_with_a_row_in_it_is_skipped() -> None:
    data = PLAIN.replace(b"</row>\n<row>", b"</row><?see <row> ?><row>", 1)
    assert data != PLAIN
    expected, accelerated = (outcome(data, reader) for reader in READERS)
    assert accelerated == expected
    assert isinstance(accelerated, list)


@pytest.mark.integration
@pytest.mark.parametrize("row", [1, 2])
@pytest.mark.parametrize("size_bytes", [130_000, 2_000_000])
def test_a_row_may_be_as_long_as_the_deepest_stack(row: int, size_bytes: int) -> None:
    """The first row of a recording spells out all names of its stack."""
    short = '<row><tagged-backtrace id="1"><backtrace id="2"/></tagged-backtrace></row>' * (row - 1)
    stack = 2 * row - 1
    frames = "".join(
        f'<frame id="{number}" name="{number}::{"x" * 90}" addr="0x{number:x}"/>'
        for number in range(stack + 2, stack + size_bytes // 100)
    )
    long = (
        f'<tagged-backtrace id="{stack}"><backtrace id="{stack + 1}">{frames}</backtrace></tagged-backtrace>'
    )
    columns = schema("s", [("stack", "tagged-backtrace")])
    data = document(node(f"{columns}{short}<row>{long}</row>")).encode()
    assert len(data) > size_bytes
    reading = accelerator.AcceleratedReader()
    for piece in pieces(data, (1 << 17,)):
        reading.feed(piece)
    reading.close()
    assert reading.ended
    assert [described(reading.build_document(), tables=True)] == outcome(data, "lxml", tables=True)


@pytest.mark.integration
def test_an_error_after_many_rows_names_its_row() -> None:
    rows = "".join(f'<row><uint64 id="{number}">{number}</uint64></row>\n' for number in range(1, 70_000))
    bad = '<row><uint64 ref="99999"/></row>'
    data = document(node(schema("s", [("n", "uint64")]) + rows + bad)).encode()
    expected, accelerated = (outcome(data, reader) for reader in READERS)
    assert accelerated[1] == expected[1]
    assert "row 70000 of 's'" in accelerated[1]


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_a_few_thousand_mutations(first: int) -> None:
    for number in range(first, first + 500):
        data, sizes = exports.case(number)
        difference, _ = exports.differ(data, sizes)
        assert not difference, (number, difference)


def test_rows_are_read_while_the_input_is_still_being_written() -> None:
    reading = accelerator.AcceleratedReader()
    counts = []
    for piece in pieces(PLAIN, (100,)):
        reading.feed(piece)
        counts.append(reading.rows)
    reading.close()
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2, 3, 4}
    assert reading.ended


@pytest.mark.integration
def test_other_threads_run_while_bytes_are_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "_SLICE_BYTES", 1 << 30)  # all in one call
    rows = "".join(f'<row><uint64 id="{number}">{number}</uint64></row>\n' for number in range(1, 400_000))
    data = document(node(schema("s", [("n", "uint64")]) + rows)).encode()
    # On a busy machine the other thread may wait; a scanner that holds the interpreter's lock makes it wait always.
    assert any(longest_wait_of_another_thread(data) < 0.5 for _ in range(10))


def longest_wait_of_another_thread(data: bytes) -> float:
    """The longest pause of a second thread while these bytes are scanned, as a part of the scan's time."""
    reading = accelerator.AcceleratedReader()
    times: list[float] = []
    done = threading.Event()

    def record_times() -> None:
        while not done.is_set():
            times.append(time.perf_counter())

    thread = threading.Thread(target=record_times)
    thread.start()
    while not times:
        time.sleep(0.001)
    begin = time.perf_counter()
    reading.feed(data)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert reading.rows == 399_999
    moments = [begin, *(moment for moment in times if begin < moment < end), end]
    return float(np.diff(moments).max()) / (end - begin)


@pytest.mark.integration
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
    monkeypatch.delenv(accelerator.READER_VARIABLE, raising=False)
    assert accelerator.choose_reader() == "compiled"
    monkeypatch.setenv(accelerator.READER_VARIABLE, "lxml")
    assert accelerator.choose_reader() == "lxml"
    monkeypatch.setenv(accelerator.READER_VARIABLE, "expat")
    with pytest.raises(UsageError, match="is 'expat'; it can be lxml or compiled"):
        Documents("x").read(iter([PLAIN]))


def test_without_the_scanner_lxml_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(accelerator.READER_VARIABLE, raising=False)
    monkeypatch.setattr(accelerator, "_scanner", None)
    assert accelerator.choose_reader() == "lxml"
    monkeypatch.setenv(accelerator.READER_VARIABLE, "compiled")
    with pytest.raises(UsageError, match="installed without its compiled scanner"):
        accelerator.choose_reader()
    assert os.environ[accelerator.READER_VARIABLE] == "compiled"


@given(st.lists(st.lists(st.integers(0, 2), max_size=3), max_size=20))
def test_columns_are_the_same_compiled_and_not(runs: list[list[int]]) -> None:
    values = np.array([value for run in runs for value in run], np.int32)
    offsets = np.cumsum([0, *map(len, runs)]).astype(np.int64)
    picks = np.array([len(run) for run in runs], np.int32)
    columns = [picks, picks.astype(np.uint64) * 3, picks > 1]
    cells = np.stack([picks, picks * 0 + 2], axis=1)
    row_of = np.array([1, -1, 0], np.int32)

    def results() -> list[list[object]]:
        return [
            compiled.find_distinct_runs(values, offsets).tolist(),
            compiled.find_distinct_rows(columns).tolist(),
            [distinct.tolist() for distinct in compiled.list_distinct(cells, 4)],
            [
                column.tolist()
                for column in compiled.take_runs(values, offsets[:-1], np.diff(offsets), row_of, 3)
            ],
        ]

    with mock.patch.object(compiled, "_columns", None):
        plain = results()
    assert results() == plain
    assert plain[0] == [runs.index(run) for run in runs]
    assert plain[2] == [sorted({len(run) for run in runs} - {0}), [2] if runs else []]
    rows = [(1, -1, 0)[value] for run in runs for value in run]
    assert plain[3] == [rows, [row in rows for row in range(3)]]
