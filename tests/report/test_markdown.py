"""Markdown for a ticket: small, and others' words neither format, mention, link nor draw anything on GitHub."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest
from markdown_support import formats, shown, tables
from sample_recordings import sample_analysis
from view_support import (
    ANE,
    BNNS,
    MS,
    RECORDINGS,
    UI,
    analyze,
    ane,
    prediction,
    replace,
    trace_of,
    with_evidence,
)

from tracekit import Analysis
from tracekit.model.trace import Issue
from tracekit.report.analysis.markdown import to_markdown
from tracekit.report.markdown_text import plain
from tracekit.report.viewmodel.view import Extras

pytestmark = pytest.mark.integration

HOSTILE = [
    "a | b",
    "\\| b",
    "`code`",
    "**bold** _it_ ~~no~~",
    "[x](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "<img src=x onerror=alert(1)>",
    "</details>",
    "<!-- hidden",
    "--> shown",
    "@user and @org/team",
    "fixes #123, o/r#4, GH-5",
    "https://evil.example www.evil.example me@evil.example",
    "line\nbreak\n\n# heading",
    "\r\n    code",
    "&lt;b&gt; &#64;user",
    "\u202etxt.exe",
    "\x1b[31m\0",
    "| --- | --- |",
    "a | b \\| c",
    "x" * 10_000,
    "\ud800",
]


@pytest.mark.parametrize("text", [word for word in HOSTILE if word.isprintable()], ids=lambda text: text[:30])
def test_text_is_read_as_it_was_and_formats_nothing(text: str) -> None:
    escaped = plain(text)
    assert shown(escaped) == text
    assert formats(escaped) == []


@pytest.mark.parametrize(
    "text", [word for word in HOSTILE if not word.isprintable()], ids=lambda text: ascii(text)[:30]
)
def test_characters_that_cannot_be_seen_are_spelt_out(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert formats(shown) == []


@pytest.mark.parametrize("text", ["-[Key setValue:key:]", "-[Axis move:x:y:]", "a:+1: b", ":rocket:"])
def test_selectors_become_no_emoji(text: str) -> None:
    """GitHub draws ``:key:`` and ``:x:`` as pictures wherever they stand outside code."""
    escaped = plain(text)
    assert shown(escaped) == text
    assert formats(escaped) == []


@pytest.mark.parametrize("text", ["$x$", "$$y$$", "$s4main$s4App$"])
def test_mangled_names_become_no_formula(text: str) -> None:
    """GitHub sets what stands between two ``$`` as mathematics."""
    escaped = plain(text)
    assert shown(escaped) == text
    assert formats(escaped) == []


def test_what_would_format_is_found_by_the_test_itself() -> None:
    for text in ("*a*", "@user", "#1", "GH-1", "https://a", "www.a", ":key:", "$x$", "<b>"):
        assert formats(text), text
    assert formats("a - b. (c) 10:30 a: b $5 e.g. x&y") == []


def literal(word: str = "Net", **changes: object) -> Analysis:
    trace = trace_of(
        [(0, "ui", UI, 4 * MS), (10, "main", ("App | SYMBOL", *ANE)), (30, "main", BNNS, 3 * MS)]
    )
    trace = with_evidence(
        trace, [ane(10, 14), prediction(10, 20, model=word), prediction(30, 40, model="Other")]
    )
    frames = trace.stacks.frames
    frames = frames.assign(symbol=frames["symbol"].astype("str").replace("SYMBOL", word))
    trace = replace(trace, stacks=replace(trace.stacks, frames=frames))
    info = replace(trace.info, name=word, device=word, process=word, template=word)
    return analyze(
        replace(
            trace,
            info=info,
            issues=(Issue("warning", "clocks-disagree", word), Issue("info", "types-unconfirmed", "quiet")),
        )
    )


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recordings_tables_are_whole(name: str) -> None:
    text = to_markdown(sample_analysis(name))
    parsed = tables(text)
    assert parsed
    for header, rule, *rows in parsed:
        assert all(re.fullmatch("-+:?", cell) for cell in rule)
        assert {len(row) for row in (header, rule, *rows)} == {len(header)}
        assert rows
    assert f"**{plain(sample_analysis(name).headline)}**" in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert len(text) < 12_000


@pytest.mark.integration
@pytest.mark.parametrize(
    "word", [word for word in HOSTILE if "\ud800" not in word], ids=lambda text: ascii(text)[:30]
)
def test_names_change_nothing_of_the_documents_shape(word: str) -> None:
    def shape(text: str) -> list[str]:
        kinds = {"    ": "code", "|": "table", "- ": "item", "**": "strong", "###": "heading", "<": "tag"}
        return [
            next((kind for start, kind in kinds.items() if line.startswith(start)), "text" if line else "")
            for line in text.splitlines()
        ]

    text = to_markdown(literal(word), Extras(word, word, "", (word,)))
    assert shape(text) == shape(
        to_markdown(literal("Harmless"), Extras("Harmless", "Harmless", "", ("Harmless",)))
    )
    lines = [line for line in text.splitlines() if line and not line.startswith("    ")]
    for line in lines:
        line_text = re.sub(r"^### |^\*\*|\*\*$|</?details>|</?summary>|`[\w-]+`|^- ", "", line)
        line_text = re.sub(
            r"^(error|warning|note): \*\*(.*?)(\*\*( \([\w-]+\))?|$)", r"\2", line_text
        )  # a finding's title
        line_text = re.sub(r"^( +- .*?[^\\])(`+).+\2$", r"\1", line_text)  # and its command
        assert formats(re.sub(r"(?<!\\)\|", "", line_text) if line.startswith("| ") else line_text) == [], (
            line
        )
        assert re.fullmatch("[^\0-\x1f\x7f\u202e]*", line)
    assert len(text) < 20_000
    assert {len(row) for table in tables(text) for row in table[:1]} == {5, 6, 7, 9}
    for table in tables(text):
        assert len({len(row) for row in table}) == 1


def test_the_engines_and_the_latencies() -> None:
    _, engines, latencies, _ = tables(to_markdown(literal()))
    assert engines == [
        ["engine", "busy (measured)", "samples", "host time", "phases", "meaning"],
        ["---", "--:", "--:", "--:", "---", "---"],
        ["ANE", "4.00 ms", "1", "1.00 ms", "dispatch 1", "Neural Engine"],
        ["CPU", "not measured", "1", "3.00 ms", "execute 1", "an ML engine on the CPU"],
        ["OTHER", "–", "1", "4.00 ms", "", "no ML frame on the stack"],
    ]
    assert [row[0] for row in latencies[2:]] == ["all calls", "Net", "Other"]
    assert latencies[2][1:4] == ["2", "10.0 ms", "10.0 ms"]


def test_the_deciding_frame_stands_in_the_folded_stack() -> None:
    text = to_markdown(literal())
    (folded,) = re.findall(
        r"<details><summary>Heaviest stacks</summary>\n\n(.*?)\n\n</details>", text, re.DOTALL
    )
    assert "    H11ANEProgramProcessRequestDirect  ANEServices  ← decides" in folded.splitlines()
    for block in re.split(r"\n\n(?=\S)", folded):
        head, _, frames = block.partition("\n\n")
        assert head.endswith(":")
        assert all(line.startswith("    ") for line in frames.splitlines())


@pytest.mark.parametrize("above", [0, 5, 11, 12, 30, 55])
def test_the_deciding_frame_shows_however_deep_it_lies(above: int) -> None:
    deep = tuple(f"App | step{level}" for level in range(above))
    text = to_markdown(analyze(trace_of([(0, "main", (*deep, *ANE))])))
    assert text.count("← decides") == 1
    frames = [line for line in text.splitlines() if line.startswith("    ") and "…" not in line]
    assert len(frames) == min(12, above + len(ANE))
    hidden = sum(int(number) for number in re.findall(r"… (\d+) more", text))
    assert hidden == above + len(ANE) - len(frames)


def test_limits_have_their_severity_and_code() -> None:
    text = to_markdown(literal())
    assert "- warning: Net (clocks-disagree)\n" in text
    assert "- quiet (types-unconfirmed)\n" in text


def test_the_writers_words() -> None:
    text = to_markdown(
        literal(), Extras("Slow *4.2*", "See <b>", "https://example.com/1", ("xctrace record",))
    )
    assert shown(text.splitlines()[0]) == "### Slow *4.2*"
    assert [shown(line) for line in text.splitlines()[11:14:2]] == ["See <b>", "<https://example.com/1>"]
    assert "\n\n##### Commands\n\n    xctrace record\n\n" in text


@pytest.mark.integration
@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "https://a b", "https://a>b", "https://a\nb", "ftp://x", "https://"]
)
def test_a_link_that_is_none_of_the_webs_is_left_out(link: str) -> None:
    assert to_markdown(literal(), Extras(link=link)) == to_markdown(literal())


LACKING: dict[str, Callable[[], Analysis]] = {
    "anything": lambda: analyze(trace_of([])),
    "windows": lambda: analyze(trace_of([(0, "main", UI)]), windows=[]),
    "stacks": lambda: analyze(trace_of([(0, "main", None)])),
}


@pytest.mark.parametrize("what", LACKING)
def test_a_recording_that_lacks_something_has_a_text(what: str) -> None:
    text = to_markdown(LACKING[what]())
    assert text.startswith("### literal\n\n**")
    assert "\n\n\n" not in text
    assert ("Heaviest stacks" in text) == (what == "windows")


def test_cycles_are_no_time() -> None:
    engines = tables(to_markdown(analyze(trace_of([(0, "main", ANE, 3_000_000)], unit="cycles"))))[0]
    assert engines[0][3] == "cycles"
    assert engines[2][:4] == ["ANE", "not measured", "1", "3,000,000"]


@pytest.mark.integration
def test_the_same_analysis_gives_the_same_text() -> None:
    assert to_markdown(literal()) == to_markdown(literal())


def test_a_long_symbol_is_cut() -> None:
    trace = trace_of([(0, "main", ANE)])
    names = trace.stacks.frames["symbol"].astype("str")
    symbols = names.where(names != "main", "y" * 100_000)
    frames = trace.stacks.frames.assign(symbol=pd.Series(symbols, dtype="str"))
    assert len(to_markdown(analyze(replace(trace, stacks=replace(trace.stacks, frames=frames))))) < 5_000
