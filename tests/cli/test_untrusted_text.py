"""Text of a recording, a path or an argument neither drives a terminal nor runs in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import shlex
import subprocess
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from documents_support import THREAD, one_table, read_table, write
from export_support import window, with_names, with_tracks, written
from hypothesis import given
from hypothesis import strategies as st
from trace_support import ANE, UI, trace_of

from tracekit import Analysis, analyze, compare
from tracekit.checks.check import check
from tracekit.cli import main, output, standard_error
from tracekit.errors import UsageError
from tracekit.export import firefox, flat_tables, folded, speedscope
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import Issue, RunInfo, TraceInfo
from tracekit.report.checks import github, junit
from tracekit.report.checks import json as check_json
from tracekit.report.checks import markdown as check_markdown
from tracekit.report.checks import text as check_text
from tracekit.report.comparison import github as comparison_github
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.tables import formats, listing
from tracekit.text import escape_json, escape_spreadsheet_cell, format_shell_command, printable
from tracekit_dashboard.command import PrintableFormatter

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
CSI, OSC, C1 = "\x1b[2J\x1b[31m", "\x1b]0;title\x07", "\x9b31m\x85\x90"
BIDI = "\u202e\u202a\u2066\u2067\u2069\u200e\u061c"
BREAKS = "\r\n\v\f\x08\x7f\x00\u2028\u2029\ufeff\U000e0001\uffff"
HOSTILE = ("=cmd()" + CSI + OSC, "＝1+1" + C1 + BIDI, "-[X y]" + BREAKS, "a;@SUM(1)\t=1")
NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?")

hostile_text = st.text(
    st.one_of(
        st.characters(categories=("Cc", "Cf", "Cs", "Co", "Zl", "Zp")),
        st.sampled_from("=+-@＝＋－＠﹢﹣−;, \t'\"0123456789.e"),
        st.characters(),
    ),
    max_size=12,
)


def is_safe(text: str, breaks: str = "\n") -> bool:
    """Return True if no character but the allowed ``breaks`` drives a terminal or reorders its line."""
    hidden = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return not any(unicodedata.category(character) in hidden for character in text if character not in breaks)


def begins_like_formula(cell: str) -> bool:
    sign = unicodedata.normalize("NFKC", cell.lstrip()[:1])[:1]
    return sign in {"=", "+", "-", "@", "−", "\t", "\r"} and not NUMBER.fullmatch(cell)


def analysis(name: str) -> Analysis:
    trace = with_tracks(with_names(trace_of([(0.0, "main", ANE), (1.0, "main", UI)]), name), name)
    return analyze(trace, windows=[window(0, 1, name)])


# The functions that every output uses -----------------------------------------------------------------------


@pytest.mark.integration
@given(hostile_text)
def test_printable_text_drives_no_terminal(text: str) -> None:
    assert is_safe(printable(text), breaks="")


@given(hostile_text)
def test_no_cell_is_a_formula_wherever_a_spreadsheet_divides_the_line(text: str) -> None:
    cell = escape_spreadsheet_cell(text)
    assert is_safe(cell, breaks="")
    if NUMBER.fullmatch(text):
        assert cell == text
    assert not any(begins_like_formula(part) for part in re.split("[;\t]", cell))


@given(
    st.recursive(
        hostile_text, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_text, inner)
    )
)
def test_json_is_safe_and_exact(value: object) -> None:
    document = escape_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert is_safe(document)
    assert json.loads(document) == value


@pytest.mark.parametrize(
    "text", ["-5", "+0.25", "-1.5e-9", "1,234", "plain", "a-b", "x = 1", "", "µs é 日本"]
)
def test_numbers_and_plain_text_stay(text: str) -> None:
    assert escape_spreadsheet_cell(text) == text


@pytest.mark.integration
def test_a_command_to_paste_is_safe_and_runs_with_the_same_words() -> None:
    words = ["printf", "%s|", "a b", "it's\x1b[2J\\", "\u202eé"]
    command = format_shell_command(words)
    assert is_safe(command)
    result = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert result.stdout.decode() == "".join(f"{word}|" for word in words[2:])
    assert format_shell_command(["a b", "c"]) == shlex.join(["a b", "c"])


# Every output of the library --------------------------------------------------------------------------------

OUTPUTS: dict[str, Callable[[Analysis], str]] = {
    "text": Analysis.to_text,
    "verbose text": lambda result: result.to_text(verbose=True),
    "json": Analysis.to_json,
    "markdown": Analysis.to_markdown,
    "html": Analysis.to_html,
    "notebook": Analysis._repr_html_,
    "svg": lambda result: to_svg(timeline_picture(result)),
    "repr": repr,
    "folded": lambda result: written(folded.write_folded, result).decode(),
    "speedscope": lambda result: written(speedscope.write_speedscope, result).decode(),
    "firefox": lambda result: written(firefox.write_firefox, result).decode(),
    "comparison text": lambda result: compare(result, result).to_text(),
    "comparison json": lambda result: compare(result, result).to_json(),
    "comparison markdown": lambda result: compare(result, result).to_markdown(),
    "check text": lambda result: check_text.to_text(check(result, "p90 <= 8ms"), result.trace.info.name),
    "check json": lambda result: check_json.to_json(check(result, "p90 <= 8ms"), result.trace.info.name),
    "check junit": lambda result: junit.to_junit(check(result, "p90 <= 8ms"), result.trace.info.name),
    "check markdown": lambda result: check_markdown.to_markdown(
        check(result, "p90 <= 8ms"), result.trace.info.name
    ),
    "comparison github": lambda result: comparison_github.to_github(compare(result, result)),
    "check github": lambda result: github.to_github(check(result, "p90 <= 8ms"), result.trace.info.name),
}


@pytest.mark.parametrize("name", HOSTILE, ids=["csi-osc", "c1-bidi", "breaks", "tab"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_drives_no_terminal(output: str, name: str) -> None:
    assert is_safe(OUTPUTS[output](analysis(name)))


@pytest.mark.parametrize("name", HOSTILE, ids=["csi-osc", "c1-bidi", "breaks", "tab"])
@pytest.mark.parametrize("table", flat_tables.TABLES)
def test_an_exported_csv_has_no_formula(table: str, name: str) -> None:
    text = written(flat_tables.write_csv, analysis(name), table=table).decode()
    assert is_safe(text)
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not any(map(begins_like_formula, cells))


# Any table --------------------------------------------------------------------------------------------------


def table_of(folder: Path, name: str) -> Table:
    """A table whose every text is ``name``: of a column, a composite cell, a thread, a process, a frame."""
    columns = [("n", "int64"), ("thread", "thread"), ("process", "process"), ("word", "string")]
    columns += [("stack", "backtrace"), ("label", "formatted-label")]
    row = (
        f'<int64 id="1">-5</int64>{THREAD}<process ref="4"/><string id="6">x</string><backtrace id="7"><frame id="8"'
        ' name="f" addr="0x1"/></backtrace><formatted-label id="9" fmt="x"><narrative-text id="10">x</narrative-text>'
        "</formatted-label>"
    )
    table = read_table(folder, one_table("odd", columns, row), "odd")
    rows = table.rows.assign(word=[name])
    rows["label"] = [(("narrative-text", name),)]
    stacks = replace(table.stacks, frames=table.stacks.frames.assign(symbol=[name]))
    threads = table.threads.assign(name=name, process=name)
    processes = table.processes.assign(name=name)
    described = tuple(replace(column, title=name) for column in table.columns)
    return replace(
        table,
        rows=rows,
        stacks=stacks,
        threads=threads,
        processes=processes,
        columns=described,
        schema=name,
    )


@pytest.mark.parametrize("name", HOSTILE, ids=["csi-osc", "c1-bidi", "breaks", "tab"])
def test_a_table_is_safe_in_every_form_and_exact_in_json(tmp_path: Path, name: str) -> None:
    table = table_of(tmp_path, name)
    text, csv_text = formats.to_text(table, table.columns), "".join(formats.csv_pieces(table, table.columns))
    document = "".join(formats.json_pieces(table, table.columns))
    assert is_safe(text)
    assert is_safe(csv_text)
    assert is_safe(document)
    (row,) = json.loads(document)["rows"]
    assert (row["word"], row["thread"]["name"], row["stack"][0]["symbol"]) == (name, name, name)
    cells = list(csv.reader(io.StringIO(csv_text, newline="")))[1]
    assert cells[0] == "-5"
    assert not any(map(begins_like_formula, cells))
    raw = next(
        csv.DictReader(io.StringIO("".join(formats.csv_pieces(table, table.columns, raw=True)), newline=""))
    )
    assert (raw["word"], raw["stack"], raw["label"]) == (name, name, name)


@pytest.mark.parametrize("name", HOSTILE, ids=["csi-osc", "c1-bidi", "breaks", "tab"])
def test_the_list_of_tables_drives_no_terminal(name: str) -> None:
    info = TraceInfo(name, "xctrace-xml", template=name, os=name, process=name)
    runs = [RunInfo(info, (TableInfo(name, attributes={name: name}, location=name),))]
    issues = [Issue("warning", "table-damaged", name)]
    assert is_safe(listing.list_text(name, runs, issues))
    assert is_safe(listing.list_json(name, runs, issues))


# Messages ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", f"{CSI}.trace"],
        ["analyze", f"{BIDI}\n::error::x.trace"],
        [f"an{OSC}alyze"],
        [f"--{OSC}"],
        ["analyze", f"--{OSC}"],
        ["analyze", "x", "--windows", C1],
        ["analyze", "x", "--run", f"{CSI}\n"],
        ["doctor", f"{CSI}\n::error::"],
        ["tables", "x", f"--schema={CSI}", "--format", f"{OSC}"],
        ["report", "x", "-o", f"{CSI}.html"],
        ["check", "x", "--require", f"p90 <= {CSI}"],
        ["record", "--app", f"{CSI}", "--xctrace", f"{OSC}"],
    ],
)
def test_arguments_in_messages_drive_no_terminal(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code in {2, 3, 4}
    assert is_safe(result.output)
    assert "\n::" not in result.output


def test_file_names_in_messages_drive_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"{CSI}\n::error::{BIDI}"
    write(tmp_path, one_table("odd", [("n", "int64")], '<int64 id="1">1</int64>'), f"{name}.xml")
    for arguments in (["tables", f"{name}.xml"], ["pack", f"{name}.xml"], ["analyze", f"{name}.xml"]):
        result = CliRunner().invoke(main, [*arguments, "-o", f"{name}{arguments[0]}", "--force"])
        assert is_safe(result.output), arguments
        assert "\n::" not in result.output


def test_a_log_record_of_the_dashboard_drives_no_terminal() -> None:
    record = logging.LogRecord("x", logging.ERROR, "f", 1, f"GET {CSI}\nforged", (), None)
    try:
        raise ValueError(OSC)
    except ValueError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    text = PrintableFormatter("%(levelname)s %(message)s").format(record)
    assert is_safe(text)
    assert "\nforged" not in text


def test_a_traceback_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    standard_error.write_traceback(ValueError, ValueError(f"{OSC}{BIDI}"), None)
    shown = capsys.readouterr().err
    assert is_safe(shown)
    assert "title" in shown


@pytest.mark.parametrize("command", [["tables", "--schema", "odd"], ["export", "--to"]])
def test_raw_text_is_for_files_and_csv(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, one_table("odd", [("n", "int64")], '<int64 id="1">1</int64>'))
    option = ["parquet"] if command[0] == "export" else ["--format", "json"]
    result = CliRunner().invoke(main, [*command, *option, "--raw", path])
    assert (result.exit_code, "--raw is for CSV" in result.stderr) == (2, True)
    monkeypatch.setattr(output.sys, "stdout", Terminal())
    with pytest.raises(UsageError, match="control characters"):
        output.check_raw("csv", "-")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


PROGRAMS = {
    "tracekit/record/engine_presence_sampler.py",
    "tracekit/markers/lldb_program.py",
    "tracekit/record/process_usage_sampler.py",
    "tracekit/proof/trials/coreai_calls.py",
}
"""Programs of their own: one runs in lldb, whose console it writes to, the others write lines of JSON."""


def test_only_two_modules_write_to_standard_streams() -> None:
    """Any other could forget to escape. Standard output is written by ``cli/output.py``, a watch by its view."""
    writes = re.compile(r"(?m)^(?!\s*[#\"]).*\b(click\.s?echo|print|std(err|out)\.write)\(")
    paths = [*(ROOT / "tracekit").rglob("*.py"), *(ROOT / "dashboard").rglob("*.py")]
    writers = {str(path.relative_to(ROOT)) for path in paths if writes.search(path.read_text())}
    assert writers - PROGRAMS == {"tracekit/cli/standard_error.py", "tracekit/cli/watch_views.py"}
