"""The tables that are exported, the calls that this takes, and tables at which xctrace fails."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from documents_support import document, node, schema
from exporter_script import open_source, row_counts, table_numbers, three_tables

from tracekit.errors import InputError, XctraceError

pytestmark = pytest.mark.integration

COLUMNS = (("time", "sample-time"),)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the false xctrace, with three tables in its recording."""
    return three_tables(tmp_path)


def test_all_tables_come_by_one_call_without_a_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a temporary file")

    for name in ("mkdtemp", "mkstemp", "TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory"):
        monkeypatch.setattr(tempfile, name, refuse)
    source = open_source(home)
    queries = (home / "log").read_text().splitlines()
    place = '/trace-toc/run[@number="1"]/data/table'
    assert queries == ["toc", f"{place}[1] | {place}[2] | {place}[3]"]
    assert row_counts(source) == [3, 3, 3]
    (table,) = source.tables("table-2")
    assert (table.schema, table.rows["time"].tolist()) == ("table-2", [7, 7, 7])
    assert source.issues() == ()


def test_only_what_the_recording_lists_is_requested(home: Path) -> None:
    source = open_source(home, tables=(2, 9))
    assert (table_numbers(home), row_counts(source)) == ([[2]], [None, 3, None])
    assert list(source.tables("table-9")) == []
    assert list(source.tables("table-1", run=2)) == []
    assert table_numbers(home) == [[2]]


def test_a_table_is_exported_once_and_when_it_is_requested(home: Path) -> None:
    source = open_source(home, tables=(2,))
    assert [len(table) for number in (1, 2, 1) for table in source.tables(f"table-{number}")] == [3, 3, 3]
    assert (table_numbers(home), row_counts(source)) == ([[2], [1]], [3, 3, None])


def test_two_documents_of_one_recording_keep_their_own_ids(home: Path) -> None:
    rows = '<row><sample-time id="1">9</sample-time></row><row><sample-time ref="1"/></row>'
    second = document(node(schema("table-2", COLUMNS) + rows, table=2)).partition("<trace-query-result>")[2]
    behaviour = f"if tables == [2]:\n    say({second!r})\n    sys.exit()"
    source = open_source(home, behaviour, tables=(1,))
    assert [table.rows["time"].tolist() for n in (1, 2) for table in source.tables(f"table-{n}")] == [
        [7, 7, 7],
        [9, 9],
    ]


@pytest.mark.parametrize(
    "crash",
    [
        "os.kill(os.getpid(), signal.SIGTRAP)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "sys.exit(1)",
        "sys.exit(0)",
        "say('</nonsense>'); sys.exit(0)",
    ],
)
def test_a_table_that_crashes_it_loses_no_other(home: Path, crash: str) -> None:
    """Table 1 was complete before; 2 and 3 are exported alone, and 2 crashes again."""
    behaviour = f"""
for table in tables:
    if table == 2:
        say("<node xpath='//trace-toc[1]/run[1]/data[1]/table[2]'>" + " " * 5000)
        {crash}
    node(table)
end()
"""
    source = open_source(home, behaviour)
    assert table_numbers(home) == [[1, 2, 3], [2], [3]]
    assert row_counts(source) == [3, None, 3]
    (issue,) = source.issues()
    assert (issue.severity, issue.code) == ("warning", "table-damaged")
    assert issue.message.startswith("'table-2' could not be exported: x")
    assert source.issues(run=2) == ()
    with pytest.raises((XctraceError, InputError)) as caught:
        source.tables("table-2")
    assert issue.message == f"'table-2' could not be exported: {str(caught.value).rstrip('.')}"
    assert table_numbers(home) == [[1, 2, 3], [2], [3]]


def test_tables_are_not_trusted_where_a_closed_document_ends_in_a_failure(home: Path) -> None:
    source = open_source(
        home, "if len(tables) > 1:\n    [node(t) for t in tables]; say('</trace-query-result>'); sys.exit(1)"
    )
    assert table_numbers(home) == [[1, 2, 3], [1], [2], [3]]
    assert (row_counts(source), source.issues()) == ([3, 3, 3], ())


def test_a_table_that_was_not_exported_is_exported_alone(home: Path) -> None:
    source = open_source(home, "if len(tables) > 1: tables.remove(2)")
    assert (table_numbers(home), row_counts(source), source.issues()) == ([[1, 2, 3], [2]], [3, 3, 3], ())


def test_a_table_that_is_never_exported_is_an_issue(home: Path) -> None:
    source = open_source(home, "if 2 in tables: tables.remove(2)")
    assert (table_numbers(home), row_counts(source)) == ([[1, 2, 3], [2]], [3, None, 3])
    (issue,) = source.issues(run=1)
    assert issue.message == (
        "'table-2' could not be exported: xctrace lists it in x.trace and exports nothing for it"
    )


def test_tables_that_were_not_requested_are_dropped(home: Path) -> None:
    source = open_source(home, "if len(tables) > 1: tables.append(3)", tables=(1, 2))
    assert row_counts(source) == [3, 3, None]
    assert [len(table) for table in source.tables("table-3")] == [3]
    assert table_numbers(home) == [[1, 2], [3]]


def test_runs_are_those_of_the_table_of_contents(home: Path) -> None:
    """Its second run is the only one left, and the export calls it the first."""
    contents = (home / "toc.xml").read_text().replace('number="1"', 'number="2"')
    (home / "toc.xml").write_text(contents)
    source = open_source(home)
    assert [run.info.run for run in source.toc()] == [2]
    assert row_counts(source) == [3, 3, 3]
    assert [len(table) for table in source.tables("table-2", run=2)] == [3]


def test_where_every_table_fails_the_first_failure_is_the_error(home: Path) -> None:
    with pytest.raises(XctraceError, match=r"x\.trace: table 1 is bad\. The command was"):
        open_source(home, "sys.exit('table %s is bad' % ' and '.join(map(str, tables)))")
    assert table_numbers(home) == [[1, 2, 3], [1], [2], [3]]


def test_of_two_tables_of_one_schema_the_good_one_is_kept(home: Path) -> None:
    contents = (home / "toc.xml").read_text().replace("table-2", "table-1")
    (home / "toc.xml").write_text(contents)
    source = open_source(home, "if 2 in tables: sys.exit('it is bad')", tables=(1,))
    assert [len(table) for table in source.tables("table-1")] == [3]
    assert table_numbers(home) == [[1, 2], [1], [2]]
    assert [issue.message[:48] for issue in source.issues()] == [
        "'table-1' could not be exported: xctrace could n"
    ]
