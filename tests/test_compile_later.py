"""A pattern that is compiled later matches like one that is compiled at once."""

from __future__ import annotations

import re

from tracekit.frozen import compile_later


def test_it_matches_with_its_flags():
    pattern = compile_later("ane(.)", re.IGNORECASE)
    assert pattern.sub("GPU", "ANE1 ane2") == "GPU GPU"
    assert [match[1] for match in pattern.finditer("ANE1 ane2")] == ["1", "2"]
    assert (pattern.pattern, pattern.groups) == ("ane(.)", 1)


def test_bytes_are_matched_as_well():
    match = compile_later(rb"\d+").search(b"a12")
    assert match is not None
    assert match[0] == b"12"


def test_it_is_compiled_once_when_it_is_used(monkeypatch):
    compiled = []
    compile_pattern = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given) or compile_pattern(*given))
    pattern = compile_later("a")
    assert compiled == []
    assert pattern.match("a")
    assert pattern.match("b") is None
    assert compiled == [("a", 0)]
