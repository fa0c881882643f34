"""Two scanners on one file, each on a half: what they read is what one reader reads."""

from __future__ import annotations

import os
import random
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import pytest
from documents_support import document, node, schema
from random_exports import RandomExport
from xml_readers import described

from tracekit.errors import InputError
from tracekit.parsers.xml import halves, scanner, stream
from tracekit.parsers.xml.documents import read_documents
from tracekit.parsers.xml.halves import Halves
from tracekit.parsers.xml.store import QueryResult

pytestmark = pytest.mark.skipif(not scanner.is_compiled(), reason="installed without the compiled scanner")

Place: TypeAlias = tuple[int, int]  # a byte, and the next id there
Read: TypeAlias = Callable[..., tuple[Any, bool]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads bytes from a file: with two scanners from ``place`` on, or as they choose, or (None) with one.

    Returns the documents, or the error, and whether the halves were joined.
    """
    path = tmp_path / "x.xml"
    choose, join = Halves.of, halves._Later.is_joined
    monkeypatch.setattr(halves, "LEAST_BYTES", 0)
    monkeypatch.setattr(halves, "CHUNK_BYTES", 97)
    monkeypatch.setattr(stream._CountingReader.next, "__defaults__", (131,))

    def read_file(data: bytes, place: Place | str | None = "chosen") -> tuple[Any, bool]:
        path.write_bytes(data)
        joined = []

        def noted(*of: Any) -> bool:
            joined.append(join(*of))
            return joined[-1]

        def of(name: str) -> Halves | None:
            if place == "chosen":
                return choose(name)
            return Halves(name, *place) if place else None

        with mock.patch.object(Halves, "of", of), mock.patch.object(halves._Later, "is_joined", noted):
            try:
                return [described(one, tables=True) for one in read_documents(str(path))], any(joined)
            except InputError as error:
                return str(error), any(joined)

    return read_file


def places(data: bytes) -> list[Place]:
    """Return where each row begins, and the next id there."""
    begun = [match.start() for match in re.finditer(rb"<row>", data)]
    return [(at, data.count(b' id="', 0, at) + 1) for at in begun]


def table(rows: int) -> str:
    """A table in which every third row refers to a value of the row before."""
    made, slot = [], 1
    for at in range(rows):
        name = f'<string id="{slot + 1}">name {at % 5}</string>'
        if at % 3 == 2:
            name = f'<string ref="{slot - 1}"/>'
        made.append(f'<row><uint64 id="{slot}">{at}</uint64>{name}</row>\n')
        slot += 1 if at % 3 == 2 else 2
    return node(schema("s", [("n", "uint64"), ("name", "string")]) + "".join(made))


DATA = document(table(300)).encode()


def test_the_halves_of_a_table_are_joined(read: Read) -> None:
    found, joined = read(DATA)
    assert joined
    assert found == read(DATA, None)[0]


@pytest.mark.parametrize("seed", range(30))
def test_at_every_row_of_generated_documents(read: Read, seed: int) -> None:
    data = RandomExport(random.Random(seed)).document().replace("\n 5 \n", "5").encode()
    whole, _ = read(data, None)
    for place in places(data):
        assert read(data, place)[0] == whole, place


def test_they_are_joined_at_nearly_every_row(read: Read) -> None:
    told = [read(DATA, place)[1] for place in places(DATA)[::7]]
    assert not told[0]  # before a row of the table was read
    assert told.count(False) < 3


GUESSED_WRONGLY = {
    "the next id": lambda at, slot: (at, slot + 1),
    "an earlier id": lambda at, slot: (at, slot - 1),
    "the place": lambda at, slot: (at + 3, slot),
    "a place in an end tag": lambda at, slot: (at - 3, slot),
}


@pytest.mark.parametrize("wrong", GUESSED_WRONGLY)
def test_a_wrong_guess_costs_nothing_but_time(read: Read, wrong: str) -> None:
    place = GUESSED_WRONGLY[wrong](*places(DATA)[150])
    assert read(DATA, place) == (read(DATA, None)[0], False)


DAMAGED = {
    "a ref to another kind of element": (b'<string ref="332"/>', b'<uint64 ref="332"/>'),
    "an id twice": (b'<uint64 id="341">', b'<uint64 id="340">'),
    "a value that is missing": (b"</row>", b"<sentinel/></row>"),
    "an open element at the end": (b"</trace-query-result>", b""),
    "something after the end": (b"</trace-query-result>", b"</trace-query-result><x/>"),
    "bytes that are no UTF-8": (b"name 4", b"name \xff"),
}


@pytest.mark.parametrize("side", ["in the first half", "in the later half"])
@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_is_told_in_the_same_words(read: Read, damage: str, side: str) -> None:
    old, new = DAMAGED[damage]
    first, last = DATA.find(old), DATA.rfind(old)
    at = first if side == "in the first half" else last
    data = DATA[:at] + new + DATA[at + len(old) :]
    assert data != DATA
    for place in places(data)[20::50]:
        assert read(data, place) == (read(data, None)[0], False)


def test_a_reference_of_the_later_half_to_another_kind_of_element_of_the_first(read: Read) -> None:
    (at, slot), later = places(DATA)[150], DATA.rfind(b'<string ref="')
    data = DATA[:later] + re.sub(rb'ref="\d+"', b'ref="1"', DATA[later:], count=1)  # a <uint64>
    found, joined = read(data, (at, slot))
    assert not joined
    assert "refers to a <uint64>" in found
    assert found == read(data, None)[0]


def test_two_documents_in_one_file_are_both_read(read: Read) -> None:
    for data in (DATA + DATA, DATA + b"\n\n" + DATA[:2000], DATA[:2000] + DATA):
        found, joined = read(data)
        assert found == read(data, None)[0]
        assert not joined


def test_a_later_half_that_begins_in_another_table_is_not_joined(read: Read) -> None:
    """What it takes for the open table is not; and a third one without a schema would take the first one's."""
    cells = [f'<row><uint64 id="{at}">1</uint64></row>\n' for at in range(1, 20)]
    tables = [
        node(schema("s", [("n", "uint64")]) + "".join(cells[:8])),
        node(schema("other", [("n", "uint64")]) + "".join(cells[8:16]), table=2),
        node("".join(cells[16:]), table=3),
    ]
    data = document(*tables).encode()
    whole, _ = read(data, None)
    assert "other" in str(whole[0][0][2])
    for place in places(data)[9:16]:
        found, _ = read(data, place)
        assert found == whole


@pytest.mark.parametrize("odd", [b"\x0b", b"\x0c", b"x", b"\xc2\xa0", b"\xef\xbb\xbf"])
def test_what_stands_at_the_seam_is_read_by_the_first(read: Read, odd: bytes) -> None:
    at, slot = places(DATA)[150]
    data = DATA[:at] + odd + DATA[at:]
    assert read(data, (at + len(odd), slot)) == (read(data, None)[0], False)


def test_a_thread_that_cannot_be_started_is_not_needed(read: Read) -> None:
    with mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
        assert read(DATA) == (read(DATA, None)[0], False)


@pytest.mark.parametrize("where", ["going_on_at", "feed"])
def test_memory_that_is_too_little_for_two_may_be_enough_for_one(read: Read, where: str) -> None:
    done = getattr(scanner.ScanningReader, where)

    def refuse(self: scanner.ScanningReader, *of: Any) -> Any:
        if where == "going_on_at" or threading.current_thread() is not threading.main_thread():
            raise MemoryError
        return done(self, *of)

    with mock.patch.object(scanner.ScanningReader, where, refuse):
        assert read(DATA) == (read(DATA, None)[0], False)


def test_a_file_that_takes_the_place_of_the_one_that_is_read_is_not_joined(tmp_path: Path) -> None:
    path, other = tmp_path / "x.xml", tmp_path / "other.xml"
    data = document(table(30_000)).encode()
    path.write_bytes(data)
    other.write_bytes(data.replace(b"name", b"mane"))
    begin = Halves._begin

    def replaced(self: Halves, first: Any) -> Any:
        os.replace(other, path)
        return begin(self, first)

    with mock.patch.object(halves, "LEAST_BYTES", 0), mock.patch.object(Halves, "_begin", replaced):
        (read,) = read_documents(str(path))
    assert isinstance(read, QueryResult)
    assert len(read.nodes[0].cells) == 30_000
    assert not any("mane" in text for text in read.store.strings)


def test_after_a_wrong_guess_the_progress_counts_one_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes(document(table(60_000)).replace("</node>", "<!-- --></node>").encode())
    told: list[int] = []
    with mock.patch.object(halves, "LEAST_BYTES", 0):
        read_documents(str(path), lambda done, _: told.append(done))
    size = path.stat().st_size
    assert told[-1] == size
    assert told.count(size) < 3


def test_the_progress_counts_both_halves_and_ends_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes(document(table(30_000)).encode())
    told: list[tuple[int, int | None]] = []
    with mock.patch.object(halves, "LEAST_BYTES", 0):
        read_documents(str(path), lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert told == sorted(told)
    assert {total for _, total in told} == {size}


def test_what_is_no_large_plain_file_is_read_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.xml"
    path.write_bytes(DATA)
    assert Halves.of(str(path)) is None
    monkeypatch.setattr(halves, "LEAST_BYTES", 0)
    assert Halves.of(str(path)) is not None
    assert Halves.of("-") is None
    assert Halves.of(str(tmp_path)) is None
    assert Halves.of(str(tmp_path / "missing.xml")) is None
    path.write_bytes(DATA.replace(b' id="', b' id="9'))  # more ids than there are bytes for
    assert Halves.of(str(path)) is None
