"""The text fits its width, and its colours change nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracekit import analyze, open_trace
from tracekit.cli import main, terminal
from tracekit.report.analysis.text import TextLayout, to_text
from tracekit.report.document.blocks import Column, Marks, Table
from tracekit.report.document.text_printer import Page, print_table

SAMPLE_TRACES = Path(__file__).resolve().parents[2] / "sample_traces"
FALLBACK = SAMPLE_TRACES / "fallback-midway-ios27"
ESCAPES = re.compile(r"\x1b\[[0-9]+m")


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["fallback-midway-ios27", "ane-intervals-macos26", "coreai-and-coreml-ios27"]
)
def test_no_line_is_wider_than_the_terminal(name: str) -> None:
    analysis = analyze(open_trace(SAMPLE_TRACES / name))
    for width in (80, 120):
        lines = to_text(analysis, TextLayout(width)).splitlines()
        # A command to paste stays on one line.
        assert max(len(line) for line in lines if not line.startswith("        tracekit ")) <= width
    wide = to_text(analysis, TextLayout(200))
    assert "ANE busy" in wide  # a column per engine
    assert "ANE busy" not in to_text(analysis, TextLayout(80))
    assert "thread" in to_text(analysis, TextLayout(80, is_verbose=True))


def test_the_default_is_short_and_names_what_verbose_adds() -> None:
    analysis = analyze(open_trace(SAMPLE_TRACES / "concurrent-models-ios27"))
    short, verbose = to_text(analysis), to_text(analysis, TextLayout(is_verbose=True))
    assert "… and 1 more: see the JSON output" in short
    assert "-v adds what each finding rests on, more calls (as --max-windows does)" in short
    for heading in ("Neural Engine submissions", "; not recorded; "):
        assert heading in verbose
        assert heading not in short
    assert "… and" not in verbose
    assert "… and 13 more" in to_text(analysis, TextLayout(max_windows=1))


def test_equal_calls_are_one_line_and_those_that_differ_have_their_own() -> None:
    text = to_text(analyze(open_trace(SAMPLE_TRACES / "waiting-app-ios27")))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    first = lines.index("model call length budget [1] verdict why difference") + 1
    assert lines[first : first + 8] == [
        "Segmenter 1*-3 16.9-17.9 ms rccAAAAr ANE a",
        "Segmenter 4 24.9 ms rcr###AAAAr ANE a +6.17 ms #",
        "Segmenter 5 23.9 ms rcr###AAAAr ANE a +6.15 ms #",
        "Segmenter 6-8 16.9-17.9 ms rccAAAAr ANE a",
        "Segmenter 9 23.9 ms rcr###AAAAr ANE a +6.10 ms #",
        "Segmenter 10 17.9 ms rccAAAAr ANE a",
        "Tagger 1*-6 29.9-30.9 ms rccAAA.......r ANE a",
        "Classifier 1*-5 24.9-25.9 ms rccAAAAAAAr ANE a",
    ]


def test_columns_are_cut_then_left_out() -> None:
    columns = (
        Column("n", ["1"], "number"),
        Column("name", ["x" * 40], is_clipped=True),
        Column("extra", ["y" * 20], rank=1),
    )
    lines = [print_table(Table(columns), Page(width)).splitlines()[1] for width in (65, 45, 30)]
    assert lines == [f"1  {'x' * 40}  {'y' * 20}", f"1  {'x' * 19}…  {'y' * 20}", f"1  {'x' * 26}…"]


def test_the_widest_column_is_cut_first_and_keeps_its_mark() -> None:
    columns = (
        Column("name", ["x" * 30], is_clipped=True),
        Column("label", ["y" * 40], marks=Marks({0: [1]}), is_clipped=True),
    )
    line = print_table(Table(columns), Page(58)).splitlines()[1]
    assert line == f"{'x' * 27}…  {'y' * 23}… [1]"


def test_a_narrow_table_stands_for_one_that_does_not_fit() -> None:
    narrow = Table.from_rows(("a",), [("1",)])
    whole = Table((Column("a", ["1"]), Column("b", ["2" * 20])), narrow=narrow)
    assert print_table(whole, Page(40)).splitlines() == ["a  b", f"1  {'2' * 20}"]
    assert print_table(whole, Page(20)).splitlines() == ["a", "1"]
    assert print_table(whole, Page(20, has_whole_tables=True)).splitlines()[0] == "a  b"


def test_colours_are_added_to_the_same_text() -> None:
    text = "The model left the Neural Engine.\n\nANE  15 ms\nwarning: CPU is not ANECCompile\n"
    painted = terminal.color_text(text)
    assert ESCAPES.sub("", painted) == text
    assert painted.startswith("\x1b[1m")
    assert "\x1b[32mANE\x1b[39m  15 ms" in painted
    assert "\x1b[33mwarning\x1b[39m: \x1b[94mCPU\x1b[39m is not ANECCompile" in painted


class Terminal:
    """A standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert "\x1b" not in CliRunner().invoke(main, ["analyze", str(FALLBACK)]).stdout
    monkeypatch.setattr(terminal.sys, "stdout", Terminal())
    assert terminal._has_color()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal._has_color()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not terminal._has_color()


def test_the_width_is_that_of_columns_or_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal.measure_text_width("out.txt") == 80
    monkeypatch.setenv("COLUMNS", "133")
    assert terminal.measure_text_width("-") == 133
    monkeypatch.setenv("COLUMNS", "9999999")
    assert terminal.measure_text_width("-") == 400
    monkeypatch.setenv("COLUMNS", "wide")
    assert terminal.measure_text_width("out.txt") == 80


def test_calls_of_a_model_that_is_loaded_twice_name_their_copy() -> None:
    def columns(sample: str) -> set[str]:
        lines = analyze(open_trace(SAMPLE_TRACES / sample)).to_text().splitlines()
        header = next(number for number, line in enumerate(lines) if line.strip().startswith("model "))
        return {word for line in lines[header : header + 3] for word in line.split()}

    assert columns("two-copies-ios27") >= {"copy", "Captioner-1", "Captioner-2"}
    assert "copy" not in columns("fallback-midway-ios27")
