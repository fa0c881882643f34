"""Two decoders of JSON read every entry of a log alike: msgspec, and ``json`` for what that refuses."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracekit.parsers.text.log_fields import LogFields, read_fields, read_unusual_fields
from tracekit.parsers.text.log_objects import parse_object

NAMES = [field or "" for field in LogFields.__struct_encode_fields__]
TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)  # with halves of pairs
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1])
    | st.floats()  # with NaN and Infinity
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([*NAMES, "source", "message_type", "image_name", "image_offset", "filename"]) | TEXTS
PAIRS = st.lists(st.tuples(KEYS, VALUES), max_size=12)


def write_object(pairs: list[tuple[str, object]], is_ascii: bool) -> bytes:
    """Return an object of JSON in which keys may come again."""
    members = [
        f"{json.dumps(key, ensure_ascii=is_ascii)}: {json.dumps(value, ensure_ascii=is_ascii)}"
        for key, value in pairs
    ]
    return f"{{{', '.join(members)}}}".encode(errors="surrogatepass")


LINES = st.builds(write_object, PAIRS, st.booleans())


@st.composite
def damaged_lines(draw: st.DrawFn) -> bytes:
    """Return a line with some bytes replaced by others."""
    line = draw(LINES)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(line)))
        piece = draw(
            st.binary(max_size=2) | st.sampled_from([b'"', b"\\", b"\\ud83d", b"{", b"]", b",", b"e1"])
        )
        line = line[:start] + piece + line[start + draw(st.integers(0, 2)) :]
    return line


def describe(fields: LogFields | None) -> str:
    """Return the values with their types: 1, 1.0 and True are equal, and NaN is not."""
    return repr(fields)


@given(LINES)
@example(b'{"eventMessage": "a", "eventMessage": "b", "\\u0063ategory": "c"}')
@example(b'\r {"eventMessage": "\xff", "processID": 18446744073709551616}\t')
@example(b'{"eventMessage": "\xed\xa0\x80", "signpostID": -0}')
@example(b'{"eventMessage": "", "deviceForm": "oslog", "machTimestamp": 1e400}')
def test_an_object_is_read_as_json_reads_it(line: bytes) -> None:
    assert describe(read_fields(line)) == describe(read_unusual_fields(line))


@given(damaged_lines())
def test_a_damaged_object_is_read_as_json_reads_it(line: bytes) -> None:
    assert describe(read_fields(line)) == describe(read_unusual_fields(line))


@given(LINES | damaged_lines())
def test_an_entry_has_texts_that_can_be_written_and_numbers_within_bounds(line: bytes) -> None:
    entry = parse_object(line)
    if entry is not None:
        texts = (entry.message, entry.process, entry.subsystem, entry.category, entry.message_type)
        assert "".join(texts).encode().decode() == "".join(texts)
        assert all(-1 <= number < 2**63 for number in (entry.pid, entry.tid, entry.ticks))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\ud83d"', "?"),
        (b'"\xff"', "\ufffd"),
        (b'"\xed\xa0\x80"', "\ufffd" * 3),
        (b'"a", "source": NaN', "a"),
        (b'"a", "source": "\xff"', "a"),
        (b'"a", "source": 1e999', "a"),
        (b'"a", "source": ' + b"[" * 100 + b"]" * 100, "a"),
    ],
    ids=range(8),
)
def test_a_message_with_what_one_decoder_refuses(message: bytes, text: str) -> None:
    entry = parse_object(b'{"eventMessage": %b}' % message)
    assert entry is not None
    assert entry.message == text


@pytest.mark.parametrize(
    "line",
    [
        b'{"eventMessage": ' + b"[" * 100_000,
        b'{"eventMessage": "", "source": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"eventMessage": "", "processID": ' + b"1" * 5_000 + b"}",
        b'{"eventMessage": "", "source": 1.2.3}',
        b'{"eventMessage": "", "source": "\x01"}',
        b'\xef\xbb\xbf{"eventMessage": ""}',
        b'{"message_type": [], "image_name": {}}',
        b"",
    ],
    ids=range(8),
)
def test_what_is_no_entry(line: bytes) -> None:
    assert parse_object(line) is None
