"""SQL reads the tables of a dataset, and nothing else."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from fleet_rows import write_dataset

from tracekit.cli import main
from tracekit.errors import TracekitError, UsageError
from tracekit.fleet.dataset import Dataset, open_dataset
from tracekit.fleet.dataset_query import QueryLimits, run_query
from tracekit.installation import format_install_command

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query") / "results"
    rows = [
        {"recording": "a", "build": "1", "calls": 7, "labels": [("branch", "main")]},
        {"recording": "b", "build": "2", "calls": 8, "labels": [("branch", "=cmd|' /C calc'!A0")]},
        {"recording": "c", "build": "2", "calls": None, "name": "evil\x1b[2J\u202e.trace"},
    ]
    write_dataset(folder, recordings=rows)
    return folder


@pytest.fixture(scope="module")
def dataset(results: Path) -> Dataset:
    return open_dataset(results)


def command(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["fleet", "query", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_select_returns_the_rows_of_the_tables(dataset: Dataset) -> None:
    sql = "SELECT build, count(*) AS n, sum(calls)::BIGINT AS calls FROM recordings GROUP BY build ORDER BY build"
    assert run_query(dataset, sql).to_pylist() == [
        {"build": "1", "n": 1, "calls": 7},
        {"build": "2", "n": 2, "calls": 8},
    ]


def test_labels_are_read_by_their_names(dataset: Dataset) -> None:
    sql = "SELECT recording FROM recordings WHERE labels['branch'] = 'main'"
    assert run_query(dataset, sql).to_pylist() == [{"recording": "a"}]


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("DESCRIBE recordings", "recording"),
        ("SHOW TABLES", "calls"),
        ("SUMMARIZE recordings", "recording"),
        ("FROM recordings SELECT recording ORDER BY recording", "a"),
        ("WITH x AS (VALUES ('v')) SELECT * FROM x", "v"),
    ],
)
def test_other_statements_that_read_are_run(dataset: Dataset, sql: str, first: str) -> None:
    assert run_query(dataset, sql).column(0)[0].as_py() == first


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN ANALYZE SELECT 1",
        "PIVOT recordings ON build USING sum(calls)",
        "SELECT * FROM query('COPY (SELECT 1) TO ''{folder}/out.csv''')",
        "WITH x AS (INSERT INTO recordings SELECT * FROM recordings RETURNING 1) SELECT * FROM x",
        "SELECT getenv('HOME')",
        "SELECT * FROM sniff_csv('{file}')",
        "PREPARE x AS SELECT 1",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_parquet('https://127.0.0.1:9/x.parquet')",
        "COPY recordings TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.db'",
        "EXPORT DATABASE '{folder}/out'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '90GB'",
        "SET enable_external_access = true",
        "PRAGMA enable_profiling",
        "CREATE TABLE x AS SELECT 1",
        "DELETE FROM recordings",
        "SELECT 1; COPY recordings TO '{folder}/out.csv'",
        "SELECT count(*) FROM dataset",
        "CALL pragma_version()",
        "",
    ],
)
def test_sql_that_reaches_beyond_the_tables_is_refused(dataset: Dataset, tmp_path: Path, sql: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret\n1\n")
    with pytest.raises(UsageError) as refusal:
        run_query(dataset, sql.format(file=secret, folder=tmp_path))
    assert str(refusal.value).endswith((".", "!", ")", "configuration", "statement", "an table"))
    assert sorted(tmp_path.iterdir()) == [secret]


def test_a_mistake_is_shown_at_its_place(dataset: Dataset) -> None:
    with pytest.raises(UsageError, match=r"cannot be run: .*selekt") as refusal:
        run_query(dataset, "selekt 1")
    assert refusal.value.lines[0] == "LINE 1: selekt 1"


def test_a_query_that_takes_too_long_is_ended(dataset: Dataset) -> None:
    sql = "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(1000) b"
    with pytest.raises(UsageError, match=r"ended after 0\.2 s"):
        run_query(dataset, sql, QueryLimits(seconds=0.2))


def test_a_result_that_is_too_large_is_refused(dataset: Dataset) -> None:
    with pytest.raises(UsageError, match="more than 10 rows"):
        run_query(dataset, "SELECT * FROM range(11)", QueryLimits(rows=10))
    assert run_query(dataset, "SELECT * FROM range(10)", QueryLimits(rows=10)).num_rows == 10


def test_a_query_that_needs_too_much_memory_is_refused(dataset: Dataset) -> None:
    sql = "SELECT count(*) FROM (SELECT range, count(*) FROM range(50000000) GROUP BY range)"
    with pytest.raises(UsageError, match="needs more than the 64 MiB"):
        run_query(dataset, sql, QueryLimits(memory_bytes=64 << 20))


def test_without_duckdb_the_message_has_the_command(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(TracekitError, match=re.escape(format_install_command("fleet"))):
        run_query(dataset, "SELECT 1")


def test_text_is_a_table_and_hides_control_characters(results: Path) -> None:
    printed = command("SELECT recording, name, calls FROM recordings ORDER BY recording", str(results))
    assert printed.splitlines() == [
        "recording  name                     calls",
        "a                                       7",
        "b                                       8",
        r"c          evil\x1b[2J\u202e.trace",
    ]


def test_a_wide_row_is_printed_as_lines(results: Path) -> None:
    columns = ", ".join(f"{number} AS a_column_with_a_long_name_{number}" for number in range(5))
    printed = command(f"SELECT {columns}", str(results))
    assert printed.splitlines()[0] == "a_column_with_a_long_name_0  0"
    assert max(map(len, printed.splitlines())) <= 80


def test_csv_is_safe_for_spreadsheets(results: Path) -> None:
    sql = "SELECT labels['branch'] AS branch, calls FROM recordings ORDER BY recording"
    assert command(sql, str(results), "--format", "csv").splitlines() == [
        "branch,calls",
        "main,7",
        "'=cmd|' /C calc'!A0,8",
        ",",
    ]


def test_json_and_parquet_hold_the_values(results: Path, tmp_path: Path) -> None:
    sql = "SELECT recording, calls, labels FROM recordings ORDER BY recording LIMIT 1"
    document = json.loads(command(sql, str(results), "--format", "json"))
    assert document["rows"] == [{"recording": "a", "calls": 7, "labels": {"branch": "main"}}]
    target = tmp_path / "x.parquet"
    command(sql, str(results), "-o", str(target))
    assert pq.read_table(target).to_pylist() == [
        {"recording": "a", "calls": 7, "labels": [("branch", "main")]}
    ]


def test_changed_bytes_of_a_part_are_damage(tmp_path: Path) -> None:
    write_dataset(tmp_path / "results", recordings=[{"recording": f"{n:064x}"} for n in range(2000)])
    dataset = open_dataset(tmp_path / "results")
    (file,) = dataset.find_files("recordings")
    content = bytearray(file.read_bytes())
    content[300:310] = bytes(byte ^ 0x5A for byte in content[300:310])
    file.write_bytes(content)
    with pytest.raises(TracekitError, match="damaged part, whose checksum differs"):
        run_query(dataset, "SELECT max(recording) FROM recordings")
