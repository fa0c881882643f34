"""Problems that Instruments itself reported while recording."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from bundle_support import CLOCK, codes, issues_of, source_of

from sample_generator.bundle_writer import BundleWriter, Files, Issue

STORE = "Trace1.run/RunIssues.storedata"
LOST = "Lost events were detected. Data rate might be too high."


def files_of(*issues: Issue) -> Files:
    bundle = BundleWriter()
    run = bundle.run()
    run.table("t", (CLOCK,), [(0,)])
    run.issues.extend(issues)
    return bundle.files()


def store_of(tmp_path: Path, *statements: str) -> bytes:
    path = tmp_path / "store"
    database = sqlite3.connect(path)
    database.executescript(";".join(statements))
    database.close()
    return path.read_bytes()


def test_warnings_are_shown_in_order_of_time() -> None:
    late = Issue("Second", 2_500_000_000, count=3)
    source = source_of(files_of(late, Issue(LOST, 1_234_567_890), Issue("No time")))
    assert [(issue.severity, issue.code, issue.message, issue.count) for issue in source.issues()] == [
        ("warning", "recording-issue", "Instruments reported while recording: No time", 1),
        ("warning", "recording-issue", f"Instruments reported while recording: {LOST} (at 1.235 s)", 1),
        (
            "warning",
            "recording-issue",
            "Instruments reported while recording: Second (3 times) (at 2.500 s)",
            3,
        ),
    ]


def test_the_harmless_one_is_not_shown() -> None:
    source = source_of(files_of(Issue("Data stream: Time Mapping", type=2), Issue(LOST, type=2)))
    assert issues_of(source, "recording-issue") == [f"Instruments reported while recording: {LOST}"]


def test_issues_are_of_their_run() -> None:
    bundle = BundleWriter()
    for text in ("one", "two"):
        run = bundle.run()
        run.table("t", (CLOCK,), [(0,)])
        run.issues.append(Issue(text))
    source = source_of(bundle)
    assert issues_of(source, "recording-issue", 2) == ["Instruments reported while recording: two"]
    assert len(issues_of(source, "recording-issue")) == 2


def test_no_store_and_an_empty_store_give_no_issue() -> None:
    files = files_of()
    assert source_of(files).issues() == ()
    del files[STORE]
    assert source_of(files).issues() == ()


def test_a_store_that_was_written_through_a_journal() -> None:
    """Core Data leaves a write-ahead log: its header cannot be opened in memory as it is."""
    files = files_of(Issue(LOST))
    files[STORE] = files[STORE][:18] + b"\x02\x02" + files[STORE][20:]
    assert codes(source_of(files).issues()) == ["recording-issue"]
    assert codes(source_of(files | {f"{STORE}-wal": b""}).issues()) == ["recording-issue"]
    open_ = source_of(files | {f"{STORE}-wal": b"\x37\x7f\x06\x82" + bytes(100)})
    assert codes(open_.issues()) == ["recording-issue", "recording-issues-open"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda store: b"",
        lambda store: store[:100],
        lambda store: store[:1500],
        lambda store: b"no database" * 300,
        lambda store: store.replace(b"ZISSUE", b"XISSUE"),
        lambda store: store[:1024] + b"\xff" * (len(store) - 1024),
        lambda store: b"\x78\x9c" + store,
    ],
)
def test_a_damaged_store_is_an_issue(damage: object) -> None:
    files = files_of(Issue(LOST))
    source = source_of(files | {STORE: damage(files[STORE])})
    assert codes(source.issues()) == ["recording-issues-damaged"]
    assert source.issues()[0].message.startswith(f"{STORE} ")
    assert source.issues()[0].message.endswith(
        "; problems that Instruments reported while recording are unknown"
    )


COLUMNS = "ZMESSAGE, ZCOUNT, ZRELATIVETIMESTAMP"


def test_values_of_odd_types(tmp_path: Path) -> None:
    rows = (
        "(NULL, NULL, NULL)",
        "(7, 'many', 'late')",
        "(x'ff00', -5, 0.5)",
        f"('{'long ' * 1000}', 9223372036854775807, 1)",
    )
    store = store_of(
        tmp_path, f"CREATE TABLE ZISSUE ({COLUMNS})", *(f"INSERT INTO ZISSUE VALUES {r}" for r in rows)
    )
    source = source_of(files_of() | {STORE: store})
    messages = issues_of(source, "recording-issue")
    assert len(messages) == 4
    assert [issue.count for issue in source.issues()] == [1, 1, 1, 1]
    assert max(map(len, messages)) < 1100


@pytest.mark.parametrize(
    "view",
    [
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS {COLUMNS.replace(', ', ', i AS ')} FROM n",
        "SELECT hex(zeroblob(900000000)) AS ZMESSAGE, 1 AS ZCOUNT, 1 AS ZRELATIVETIMESTAMP",
        "SELECT load_extension('x') AS ZMESSAGE, 1 AS ZCOUNT, 1 AS ZRELATIVETIMESTAMP",
        f"SELECT {COLUMNS} FROM ZISSUE",
    ],
)
def test_a_view_in_place_of_the_table_ends(tmp_path: Path, view: str) -> None:
    source = source_of(files_of() | {STORE: store_of(tmp_path, f"CREATE VIEW ZISSUE AS {view}")})
    assert codes(source.issues()) == ["recording-issues-damaged"]


def test_a_million_issues_are_no_million_lines(tmp_path: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000)"
    store = store_of(
        tmp_path, f"CREATE TABLE ZISSUE AS {numbers} SELECT i AS {COLUMNS.replace(', ', ', i AS ')} FROM n"
    )
    *listed, last = source_of(files_of() | {STORE: store}).issues()
    assert (len(listed), last.code) == (200, "recording-issues-cut")
