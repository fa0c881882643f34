"""Binary property lists and keyed archives, against Python's own writer of them; and damaged ones."""

from __future__ import annotations

import plistlib
import struct
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sample_generator.keyed_archive import NULL, Boxed, Date, Mutable, Object, archive, archive_top, int_keyed
from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.plist import BinaryPlist, PlistError, Uid


def plain(plist: BinaryPlist, number: int) -> Any:
    value = plist.read(number)
    if isinstance(value, tuple):
        return [plain(plist, element) for element in value]
    if isinstance(value, dict):
        return {key: plain(plist, element) for key, element in value.items()}
    return plistlib.UID(value.number) if isinstance(value, Uid) else value


def decoded(data: bytes) -> Any:
    plist = BinaryPlist(data)
    return plain(plist, plist.top)


def dumped(value: Any) -> bytes:
    return plistlib.dumps(value, fmt=plistlib.FMT_BINARY)


LITERALS = [
    0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -1, -(2**63),
    True, False, 0.0, -1.5, 1e300, "", "ascii", "größer", "🚀" * 20, "x" * 70_000, b"", b"\0\xff" * 40_000,
    [], list(range(14)), list(range(15)), list(range(70_000)), {}, {"a": {"b": [1, "two"]}},
    plistlib.UID(0), plistlib.UID(2**32 - 1),
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("value", LITERALS, ids=lambda value: repr(value)[:30])
def test_every_kind_of_object(value: Any) -> None:
    assert decoded(dumped(value)) == value
    assert isinstance(decoded(dumped(value)), type(value))


SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
)


@pytest.mark.integration
@given(
    st.recursive(
        SCALARS,
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
        ),
        max_leaves=20,
    )
)
def test_every_plist_that_python_writes_is_read(value: Any) -> None:
    assert decoded(dumped(value)) == value


def test_a_date_is_seconds_since_2001() -> None:
    assert decoded(dumped(datetime(2001, 1, 2))) == 86_400.0


@given(st.binary(max_size=200), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 255))
def test_any_bytes_between_magic_and_trailer_end_well(
    body: bytes, count: int, table: int, width: int
) -> None:
    for counted, offset in ((count, table), (count % 16, table % 64)):
        data = b"bplist00" + body + struct.pack(">6xBBQQQ", width % 10, width // 10, counted, 0, offset)
        try:
            KeyedArchive("x", data)
            raise AssertionError("this is not a keyed archive")
        except DamagedFileError as error:
            assert str(error).startswith("x ")


@given(st.data())
def test_a_flipped_bit_ends_well(data: st.DataObject) -> None:
    good = archive({"a": [1, "two", {"c": 3.5}], "b": Mutable(b"data")})
    bit = data.draw(st.integers(0, len(good) * 8 - 1))
    bad = bytearray(good)
    bad[bit // 8] ^= 1 << bit % 8
    try:
        opened = KeyedArchive("x", bytes(bad))
        opened.plain(opened.top())
    except DamagedFileError:
        pass


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is not a binary property list"),
        (b"bplist00", "is not a binary property list"),
        (b"<?xml version='1.0'?><plist><dict/></plist>" + bytes(40), "is not a binary property list"),
        (dumped([1]), "is not a keyed archive"),
        (dumped({"a": 1}), "refers to an object beyond its end"),
        (dumped({"$objects": {"a": 1}, "$top": {}}), "is not a keyed archive"),
        (dumped({"$objects": ["$null"], "$top": [1]}), "is not a keyed archive"),
    ],
)
def test_a_file_that_is_not_an_archive(data: bytes, problem: str) -> None:
    with pytest.raises(DamagedFileError, match=problem):
        KeyedArchive("x", data)


def bplist(objects: list[bytes], ref_bytes: int = 1) -> bytes:
    """Return a list of these objects, of which the first is the top."""
    data, places = b"bplist00", []
    for entry in objects:
        places.append(len(data))
        data += entry
    table = b"".join(struct.pack(">Q", place) for place in places)
    return data + table + struct.pack(">6xBBQQQ", 8, ref_bytes, len(objects), 0, len(data))


@pytest.mark.parametrize("count", [15, 10**6, 2**31, 2**62, 2**63 - 1])
@pytest.mark.parametrize("kind", [0x4F, 0x5F, 0x6F, 0xAF, 0xDF])
def test_counts_beyond_the_end(kind: int, count: int) -> None:
    data = bplist([bytes([kind, 0x13]) + struct.pack(">Q", count)])
    with pytest.raises(PlistError):
        decoded(data)


@pytest.mark.parametrize("marker", [0x02, 0x15, 0x24, 0x70, 0x90, 0xE0, 0xF0])
def test_objects_of_no_known_kind(marker: int) -> None:
    plist = BinaryPlist(bplist([bytes([marker]) + bytes(40)]))
    with suppress(PlistError):
        assert plist.read(plist.top) is None


def test_a_reference_is_no_key() -> None:
    with pytest.raises(PlistError, match="has a key that is no plain value"):
        decoded(bplist([b"\xd1\x01\x01", b"\x80\x01"]))


def test_references_beyond_the_end() -> None:
    with pytest.raises(PlistError, match="refers to an object beyond its end"):
        decoded(bplist([b"\xa1\x07"]))


# Keyed archives -------------------------------------------------------------------------------------------


def roundtrip(value: Any) -> Any:
    opened = KeyedArchive("x", archive(value))
    return opened.plain(opened.top())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1, "b": [1.5, "x", True]}, {"a": 1, "b": [1.5, "x", True]}),
        (
            Mutable({"a": Mutable(["b"]), "c": Mutable("d"), "e": Mutable(b"f")}),
            {"a": ["b"], "c": "d", "e": b"f"},
        ),
        ({"null": NULL, "nil": None}, {"null": None, "nil": None}),
        (Date(5.0), 5.0),
        ({3, 1, 2}, [1, 2, 3]),
        (int_keyed({7: "seven", 9: Object("X", {"$0": 1})}), {7: "seven", 9: {"$0": 1}}),
        (Object("XRThing", {"$0": Boxed(3), "_name": "n"}), {"$0": 3, "_name": "n"}),
        ([[[[]]]], [[[[]]]]),
    ],
)
def test_values_of_an_archive(value: Any, expected: Any) -> None:
    assert roundtrip(value) == expected


def test_following_by_name() -> None:
    opened = KeyedArchive("x", archive_top({"a": {"b": Object("C", {"$1": int_keyed({5: "found"})})}}))
    assert opened.get(opened.top("a"), "b", "$1", 5) == "found"
    assert opened.get(opened.top("a"), "b", "nothing", 5) is None
    assert opened.get(opened.top("nothing"), "b") is None
    assert opened.top("nothing") is None


def test_circular_and_doubling_values_are_refused() -> None:
    loop = {"$objects": ["$null", {"NS.objects": [plistlib.UID(1)]}], "$top": {"root": plistlib.UID(1)}}
    wide = {
        "$objects": [
            "$null",
            *({"NS.objects": [plistlib.UID(number + 2)] * 100} for number in range(4)),
            "x",
        ],
        "$top": {"root": plistlib.UID(1)},
    }
    for document in (loop, wide):
        opened = KeyedArchive("x", dumped(document))
        with pytest.raises(DamagedFileError, match=r"than any recording's|more than any recording"):
            opened.plain(opened.top())


def test_odd_archives_are_values_or_errors() -> None:
    uid = plistlib.UID
    for objects in (
        [uid(1), uid(2), uid(1)],
        ["$null", {"NS.keys": [uid(1)], "NS.objects": [uid(1)]}],
        ["$null", {"NS.keys": 5, "NS.objects": "x"}],
        ["$null", {"NS.string": [1, 2]}],
        ["$null", {"$class": uid(1)}],
        ["$null", {"$class": uid(99)}],
        ["$null", {"NS.objects": [uid(99)]}],
        ["$null", {"NS.objects": [uid(2**40)]}],
        ["$null", [1, {"a": uid(1)}]],
    ):
        opened = KeyedArchive("x", dumped({"$objects": objects, "$top": {"root": uid(1)}}))
        try:
            opened.plain(opened.top())
        except DamagedFileError as error:
            assert error.file == "x"
