"""Many frames at once have the rules that each has alone, and that a plain search of every pattern finds."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.classification.frame_names import normalize_frame
from tracekit.analysis.classification.rule_set import Rule, RuleSet, load_rules
from tracekit.model.vocabulary import Engine

BUILT_IN = load_rules()
EXAMPLES = [rule.example for rule in BUILT_IN.rules if rule.example is not None]
BINARIES = ["", "App", *sorted({example.binary for example in EXAMPLES})]
PARTS = ["", "é", "\ud800", "\n", "::", "_ANEClient", "MTL", *(example.symbol[:9] for example in EXAMPLES)]
SYMBOLS = [example.symbol for example in EXAMPLES]

symbols = st.sampled_from(SYMBOLS) | st.lists(st.sampled_from([*PARTS, *SYMBOLS]), max_size=3).map("".join)
frames = st.lists(st.tuples(st.sampled_from(BINARIES), symbols), max_size=12)


def search_rule(rule_set: RuleSet, binary: str, symbol: str) -> int:
    binary, symbol = normalize_frame(binary, symbol)
    for index, rule in enumerate(rule_set.rules):
        if rule.strength != "thread" and rule.fits_binary(binary) and re.search(rule.symbol, symbol):
            return index
    return -1


@given(frames)
def test_frames_have_the_first_rule_that_a_search_of_all_patterns_finds(frames):
    matches = BUILT_IN.match_all([binary for binary, _ in frames], [symbol for _, symbol in frames])
    assert [match.rule for match in matches] == [search_rule(BUILT_IN, *frame) for frame in frames]
    assert matches == [BUILT_IN.match(*frame) for frame in frames]


def test_literals_of_every_length_and_alphabet_are_found():
    rules = [
        Rule(id=symbol, engine=Engine.CPU, symbol=symbol) for symbol in ("ab", "abcd", "éé", "bcdx", "日本")
    ]
    rule_set = RuleSet(tuple(rules))
    symbols = ["ab", "xabcd", "bcdx", "bcd", "x", "é", "ééé", "日本語", "abc", "d"]
    matches = rule_set.match_all(["App"] * len(symbols), symbols)
    assert [match.rule for match in matches] == [0, 0, 3, -1, -1, -1, 2, 4, 0, -1]


def test_frames_of_several_blocks_keep_their_order():
    symbols = ["x", "mine"] * 5_000
    matches = RuleSet((Rule(id="mine", symbol="mine"),)).match_all(["App"] * len(symbols), symbols)
    assert [match.rule for match in matches] == [-1, 0] * 5_000


def test_no_frames_have_no_rules():
    assert BUILT_IN.match_all([], []) == []
