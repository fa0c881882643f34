"""Numbers in the metadata of signposts, against an expression of the language."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracekit.analysis.generation.metadata import UNKNOWN, read_numbers, read_words

MESSAGES = st.lists(st.text("tkns=0123459 ,;{}()\n\té", max_size=24) | st.none(), max_size=8)


def expected_number(message: str | None, key: str) -> int:
    pattern = rf"(?:\A|[\t\n\f\r ,;{{(]){re.escape(key)}=([0-9]{{1,9}})(?:\Z|[\t\n\f\r ,;}})])"
    found = re.search(pattern, message or "")
    return int(found[1]) if found else UNKNOWN


@given(MESSAGES, st.sampled_from(["tokens", "k", "s"]))
@example(["tokens=12", "subtokens=1, tokens=2", "tokens=1234567890", "tokens=", "é tokens=7}"], "tokens")
@example(["k=1k=2", "k=5 k=6", "kk=1;k=999999999", "k=x,k=3", None, ""], "k")
def test_numbers_are_those_of_an_expression(messages: list[str | None], key: str) -> None:
    values = read_numbers(pa.array(messages, pa.large_string()), key)
    assert values.tolist() == [expected_number(message, key) for message in messages]


def test_a_part_of_an_array_has_its_own_numbers() -> None:
    messages = pa.array(["k=1", "k=22, x", "no", "(k=4)"], pa.large_string())
    assert read_numbers(messages[1:], "k").tolist() == [22, UNKNOWN, 4]


def test_an_array_in_pieces_is_read_as_one() -> None:
    messages = pa.chunked_array([["k=1", "no"], ["k=22"]], pa.large_string())
    assert read_numbers(messages, "k").tolist() == [1, UNKNOWN, 22]


@pytest.mark.parametrize(
    ("message", "word"),
    [("model=Chat, k=1", "Chat"), ("submodel=A;model=B", "B"), ("model=", ""), (None, "")],
)
def test_words_end_with_a_separator(message: str | None, word: str) -> None:
    assert read_words(pa.array([message], pa.large_string()), "model").tolist() == [word]
