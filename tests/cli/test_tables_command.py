"""``tracekit tables``: what an export holds, and any table of it in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from documents_support import SHARED, THREAD, document, node, one_table, schema, write

from tracekit.cli import main
from tracekit.model.columns import PROCESSES, THREADS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.report.tables import formats

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
TOC = """<trace-toc><run number="1"><info><target><device name="Mac" os-version="26.5"/></target><summary>
<template-name>Blank</template-name></summary></info><data><table schema="odd" pmc-events="&quot;A&quot;"/>
<table schema="ane-hw-intervals"/></data></run></trace-toc>"""
COLUMNS = [
    ("time", "sample-time"),
    ("thread", "thread"),
    ("process", "process"),
    ("id", "uint64"),
    ("label", "formatted-label"),
    ("list", "pmc-events"),
    ("word", "string"),
    ("stack", "backtrace"),
]
ROW = (
    f'<sample-time id="1">5</sample-time>{THREAD}<process ref="4"/><uint64 id="6">18446744073709551615</uint64>'
    '<formatted-label id="7" fmt="x"><narrative-text id="8">MPSGraph:</narrative-text><uint64-hex-lowercase id="9">255'
    '</uint64-hex-lowercase></formatted-label><pmc-events id="10">1 2</pmc-events><string id="11">a, "b" é</string>'
    '<backtrace id="12"><frame id="13" name="f" addr="0x11"><binary id="14" name="App"/></frame><frame id="15" name="g"'
    ' addr="0x12"/></backtrace>'
)
NULLS = '<sample-time id="16">6</sample-time>' + "<sentinel/>" * 7


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["tables", *arguments])


@pytest.fixture
def odd(tmp_path: Path) -> str:
    return write(tmp_path, one_table("odd", COLUMNS, ROW, NULLS))


def test_the_list(tmp_path: Path) -> None:
    write(tmp_path, one_table("odd", COLUMNS, ROW, NULLS), "a.xml")
    write(tmp_path, TOC, "toc.xml")
    text = run(str(tmp_path)).stdout
    assert "(Blank, 26.5)" in text
    rows = [line.split() for line in text.splitlines()[1:]]
    assert rows == [
        ["#", "schema", "rows", "file", "attributes"],
        ["1", "odd", "2", "a.xml", 'pmc-events="A"'],
        ["2", "ane-hw-intervals", "not", "here"],
    ]


def test_the_list_as_json(tmp_path: Path) -> None:
    write(tmp_path, one_table("odd", COLUMNS, ROW, NULLS), "a.xml")
    write(tmp_path, TOC, "toc.xml")
    listed: dict[str, Any] = json.loads(run(str(tmp_path), "--format", "json").stdout)
    (run_listed,) = listed["runs"]
    assert run_listed["os"] == "26.5"
    assert [(t["schema"], t["row_count"]) for t in run_listed["tables"]] == [
        ("odd", 2),
        ("ane-hw-intervals", None),
    ]


def test_an_export_that_matched_nothing_is_listed_as_such(tmp_path: Path) -> None:
    result = run(write(tmp_path, document()))
    assert result.exit_code == 0
    assert "holds no table" in result.stdout
    assert "matched no table" in result.stdout


def test_csv(odd: str) -> None:
    result = run(odd, "--schema", "odd", "--format", "csv")
    assert list(csv.reader(io.StringIO(result.stdout))) == [
        [name for name, _ in COLUMNS],
        [
            "5",
            "Main Thread (0x1f) (App, pid: 7)",
            "App (7)",
            "18446744073709551615",
            "MPSGraph:0xff",
            "1 2",
            'a, "b" é',
            "f ← g",
        ],
        ["6", "", "", "", "", "", "", ""],
    ]


@pytest.mark.parametrize("file_format", ["csv", "json", "parquet"])
def test_blocks_of_rows_give_the_same_table(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    def written(name: str) -> Path:
        path = tmp_path / f"{name}.{file_format}"
        assert run(odd, "--schema", "odd", "-o", str(path)).exit_code == 0
        return path

    whole = written("whole")
    monkeypatch.setattr(formats, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(formats, "_ROW_GROUP_FRAMES", 3)  # the deepest stack has two frames
    in_blocks = written("blocks")
    if file_format == "parquet":
        assert pq.read_table(in_blocks).equals(pq.read_table(whole))
        assert (pq.read_metadata(whole).num_row_groups, pq.read_metadata(in_blocks).num_row_groups) == (1, 2)
    else:
        assert in_blocks.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("file_format", ["csv", "json", "parquet"])
def test_a_table_without_rows(odd: str, tmp_path: Path, file_format: str) -> None:
    path = tmp_path / f"empty.{file_format}"
    assert run(odd, "--schema", "odd", "--limit", "0", "-o", str(path)).exit_code == 0
    if file_format == "parquet":
        table = pq.read_table(path)
        assert (table.num_rows, table.column_names) == (0, [name for name, _ in COLUMNS])
    elif file_format == "json":
        assert json.loads(path.read_text())["rows"] == []
    else:
        assert path.read_text().splitlines() == [",".join(name for name, _ in COLUMNS)]


def test_memory_of_a_csv_is_that_of_a_block() -> None:
    cells = ["x" * 9, "y" * 9] * 50_000
    column = Column("word", "word", "string", "text")
    rows = pd.DataFrame({"word": pd.Categorical(cells)})
    table = Table("odd", (column,), rows, THREADS.empty(), PROCESSES.empty(), StackTable.empty())
    assert max(map(len, formats.csv_pieces(table, table.columns))) < 50_000
    assert max(map(len, formats.json_pieces(table, table.columns))) < 150_000


def test_text(odd: str) -> None:
    lines = run(odd, "--schema", "odd", "--columns", "word,time").stdout.splitlines()
    assert lines == ["word      time", 'a, "b" é     5', "             6"]


def test_json(odd: str) -> None:
    table = json.loads(run(odd, "--schema", "odd", "--format", "json").stdout)
    full, null = table["rows"]
    assert full == {
        "time": 5,
        "thread": {"tid": 31, "name": "Main Thread", "pid": 7, "process": "App"},
        "process": {"pid": 7, "name": "App"},
        "id": 2**64 - 1,
        "label": [
            {"type": "narrative-text", "value": "MPSGraph:"},
            {"type": "uint64-hex-lowercase", "value": 255},
        ],
        "list": [1, 2],
        "word": 'a, "b" é',
        "stack": [
            {
                "symbol": "f",
                "binary": "App",
                "address": 17,
                "source_file": "",
                "source_line": None,
                "inlined": False,
            },
            {
                "symbol": "g",
                "binary": "",
                "address": 18,
                "source_file": "",
                "source_line": None,
                "inlined": False,
            },
        ],
    }
    assert null == {name: 6 if name == "time" else None for name, _ in COLUMNS}
    assert table["columns"][3] == {"mnemonic": "id", "title": "Id", "type": "uint64", "kind": "int"}


def test_parquet(odd: str, tmp_path: Path) -> None:
    output = tmp_path / "odd.parquet"
    result = run(odd, "--schema", "odd", "-o", str(output))
    assert result.exit_code == 0, result.output
    full, null = pq.read_table(output).to_pylist()
    assert full["thread"] == {"tid": 31, "name": "Main Thread", "pid": 7, "process": "App"}
    assert (full["id"], full["list"], full["label"]) == (2**64 - 1, [1, 2], "MPSGraph:0xff")
    assert [(frame["symbol"], frame["address"]) for frame in full["stack"]] == [("f", 17), ("g", 18)]
    assert null == {name: 6 if name == "time" else None for name, _ in COLUMNS}


def test_limit_and_columns(odd: str) -> None:
    result = run(odd, "--schema", "odd", "--columns", "id, time", "--limit", "1", "--format", "csv")
    assert result.stdout == "id,time\n18446744073709551615,5\n"
    assert run(odd, "--schema", "odd", "--limit", "0", "--format", "csv").stdout.count("\n") == 1


def test_tables_of_one_schema_come_as_one(tmp_path: Path) -> None:
    columns = [("thread", "thread"), ("stack", "backtrace")]
    stack = '<backtrace id="{}"><frame id="{}" name="{}" addr="0x1"/></backtrace>'
    first = document(node(schema("t", columns) + f"<row>{stack_row(stack, 6, 'f')}</row>", table=1))
    second = document(node(schema("t", columns) + f"<row>{stack_row(stack, 6, 'g')}</row>", table=2))
    write(tmp_path, first, "a.xml")
    write(tmp_path, second, "b.xml")
    assert run(str(tmp_path), "--schema", "t", "--format", "csv").stdout.splitlines()[1:] == [
        '"Main Thread (0x1f) (App, pid: 7)",f',
        '"Main Thread (0x1f) (App, pid: 7)",g',
    ]


def stack_row(stack: str, index: int, name: str) -> str:
    return THREAD + stack.format(index, index + 1, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--schema", "nothing"], "has no table 'nothing' in run 1; it holds odd."),
        (
            ["--schema", "odd", "--columns", "nothing"],
            "'odd' has no column 'nothing'; its columns are time, thread,",
        ),
        (["--columns", "time"], "--columns, --limit and --private need --schema"),
        (["--limit", "3"], "--columns, --limit and --private need --schema"),
        (["--private"], "--columns, --limit and --private need --schema"),
        (["--schema", "odd", "--run", "2"], "has no run 2; its runs are 1."),
        (["--format", "csv"], "The list of tables can be text or JSON, not csv"),
        (["--schema", "odd", "--format", "xlsx"], "Invalid value for '--format'"),
        (["--schema", "odd", "--limit", "-1"], "Invalid value for '--limit'"),
    ],
)
def test_wrong_usage(odd: str, arguments: list[str], message: str) -> None:
    result = run(odd, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_table_that_was_recorded_but_not_exported(tmp_path: Path) -> None:
    write(tmp_path, TOC, "toc.xml")
    result = run(str(tmp_path), "--schema", "ane-hw-intervals")
    assert result.exit_code == 3
    assert "lists a table 'ane-hw-intervals' but does not hold its rows" in result.stderr
    assert '@schema="ane-hw-intervals"' in result.stderr


@pytest.mark.integration
def test_every_schema_of_the_samples_prints_in_every_format(tmp_path: Path) -> None:
    schemas: set[str] = set()
    for folder in sorted(path.parent for path in SAMPLES.glob("*/truth.json")):
        listed = json.loads(run(str(folder), "--format", "json").stdout)
        for table in listed["runs"][0]["tables"]:
            if table["row_count"] is None or table["schema"] in schemas:
                continue
            schemas.add(table["schema"])
            name = table["schema"]
            rows = json.loads(run(str(folder), "--schema", name, "--format", "json").stdout)["rows"]
            lines = list(
                csv.reader(io.StringIO(run(str(folder), "--schema", name, "--format", "csv").stdout))
            )
            output = tmp_path / f"{folder.name}-{name}.parquet"
            assert run(str(folder), "--schema", name, "-o", str(output), "--force").exit_code == 0
            assert run(str(folder), "--schema", name).exit_code == 0
            assert len(rows) == len(lines) - 1 == pq.read_table(output).num_rows


@pytest.mark.integration
def test_every_real_table_prints_in_every_format(shared: Path, tmp_path: Path) -> None:
    for path in sorted(
        (SHARED / "traces" / "xml" / "sforteln__xctrace-query-mcp-server").glob("schema-table__*.xml")
    ):
        name = path.stem.removeprefix("schema-table__")
        for number, extension in enumerate(("csv", "json", "parquet", "txt")):
            output = tmp_path / f"{path.stem}-{number}.{extension}"
            result = run(str(path), "--schema", name, "-o", str(output))
            run_3 = run(str(path), "--schema", name, "--run", "3", "-o", str(output))
            assert 0 in (result.exit_code, run_3.exit_code), (path.name, result.output, run_3.output)
            assert output.stat().st_size > 0


def test_a_location_is_spelt_as_uuid_and_offset(tmp_path: Path) -> None:
    location = (
        '<return-location id="1"><uuid id="2"><eight-byte-array id="3">10803069052262168368</eight-byte-array>'
        '<eight-byte-array id="4">11301139713636369760</eight-byte-array></uuid>'
        '<mach-o-vm-offset id="5">2104932</mach-o-vm-offset></return-location>'
    )
    path = write(
        tmp_path,
        one_table("odd", [("where", "return-location"), ("id", "uuid")], location + '<uuid ref="2"/>'),
    )
    assert list(csv.reader(io.StringIO(run(path, "--schema", "odd", "--format", "csv").stdout))) == [
        ["where", "id"],
        ["95EC3610-E01A-3730-9CD5-B6B18C5B0560 + 0x201e64", "95EC3610-E01A-3730-9CD5-B6B18C5B0560"],
    ]
