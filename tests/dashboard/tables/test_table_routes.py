"""Requests for tables, and the responses to invalid ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_library import READY, FakeLibrary
from flask import Flask
from table_support import MS, rows_of, tables_of

from tracekit_dashboard import error_responses
from tracekit_dashboard.jobs.queue import JobStatus
from tracekit_dashboard.jobs.table_jobs import TableFailed, TablePlace
from tracekit_dashboard.routes import tables as table_routes
from tracekit_dashboard.tables.storing import store_table

API = f"/api/recordings/{READY}/tables"
COLUMNS = {"start": "start-time", "duration": "duration", "name": "string"}
Ask = Callable[..., Any]


class KeptTables:
    """Tables as ``TableJobs`` keeps them: the first is stored, the second is being read, the third has failed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.again: list[bool] = []

    def find_or_read(
        self, _recording: str, place: TablePlace, should_retry: bool = False
    ) -> Path | JobStatus:
        self.again.append(should_retry)
        if place.number == 0:
            (self.folder.parent / "contents.json").write_text('{"run": 1, "runs": []}')
            return self.folder.parent / "contents.json"
        if place.number == 2:
            return JobStatus("running", "opening", 0.25)
        if place.number == 3:
            raise TableFailed("'x' cannot be read: store-3 is cut off.")
        return self.folder


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    rows = [(20 * MS, 2 * MS, "b"), (10 * MS, 1 * MS, "a"), (30 * MS, 3 * MS, "c")]
    (table,) = tables_of(rows_of("work", COLUMNS, *rows))("work")
    store_table(tmp_path / "1-1", table, 1 << 20)
    library = FakeLibrary(tmp_path)
    library.tables = KeptTables(tmp_path / "1-1")  # type: ignore[attr-defined]
    server = Flask("tables")
    error_responses.register(server)
    table_routes.register(server, library)  # type: ignore[arg-type]
    client = server.test_client()

    def get(path: str, **query: Any) -> Any:
        named = {name.rstrip("_"): value for name, value in query.items()}
        address = path if path.startswith("/rec") else f"{API}/{path}".removesuffix("/")
        return client.get(address, query_string=named or None)

    get.kept = library.tables  # type: ignore[attr-defined]
    return get


def test_a_page_is_sorted_filtered_and_scoped(ask: Ask) -> None:
    page = ask("1-1/page", sort="-1", where="2:!b", from_=0, to=25 * MS, columns="2.1", count=1).get_json()
    assert page == {
        "total": 3,
        "matching": 2,
        "selected": 1,
        "first": 0,
        "rows": [1],
        "cells": [["a", 1 * MS]],
    }
    assert ask("1-1/page", sort="0", row=2).get_json()["place"] == 2
    assert ask("1-1/rows/1").get_json()["start_ns"] == 10 * MS
    assert ask("1-1/lane", from_=0, to=25 * MS).get_json()["row"] == [1, 0]
    assert ask("1-1/members/2").get_json()["count"] == 3
    steps = [ask("1-1/step", from_=time, direction=way) for time, way in ((0, 1), (25 * MS, -1))]
    assert [step.get_json()["row"] for step in steps] == [1, 0]
    assert ask("1-1/step", from_=0, direction=1, row=1).get_json() == {
        "row": 0,
        "start": 20 * MS,
        "end": 22 * MS,
    }
    assert ask("1-1/step", from_=0, direction=-1, row=1).get_json() == {"row": None}
    assert ask("1-1/step", from_=0, direction=2).status_code == 400


def test_a_table_that_is_being_read_is_asked_for_again(ask: Ask) -> None:
    answer = ask("1-2")
    assert (answer.status_code, answer.get_json()) == (202, {"stage": "opening", "progress": 0.25})


def test_a_table_that_cannot_be_read_has_its_sentence_and_can_be_tried_again(ask: Ask) -> None:
    answer = ask("1-3")
    assert (answer.status_code, answer.get_json()["error"]) == (
        400,
        "'x' cannot be read: store-3 is cut off.",
    )
    ask("1-3", again=1)
    assert ask.kept.again[-2:] == [False, True]  # type: ignore[attr-defined]
    assert ask("1-1").status_code == 200


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("1-1/page", {"sort": "9"}, 400),
        ("1-1/page", {"sort": "x"}, 400),
        ("1-1/page", {"where": "0:long"}, 400),
        ("1-1/page", {"where": "7:>1"}, 400),
        ("1-1/page", {"where": ">1"}, 400),
        ("1-1/page", {"from_": "0"}, 400),
        ("1-1/page", {"from_": "1e9", "to": "2"}, 400),
        ("1-1/page", {"count": "501"}, 400),
        ("1-1/page", {"first": "-1"}, 400),
        ("1-1/page", {"columns": "0.9"}, 400),
        ("1-1/page", {"columns": "0" * 9_000}, 400),
        ("1-1/page", {"filter": "x"}, 400),
        ("1-1/page", {"text": "x" * 1_001}, 400),
        ("1-1/page", {"row": "3"}, 404),
        ("1-1/rows/3", {}, 404),
        ("1-1/rows/x", {}, 404),
        ("1-1/members/0", {}, 400),
        ("1-1/lane", {"from_": "5", "to": "5"}, 400),
        ("1-1/lane", {"from_": "0", "to": "5", "pixels": "5000"}, 400),
        ("1-1/lane", {"from_": "0", "to": "5", "value": "2"}, 400),
        ("1-1/lane", {"from_": "0", "to": "5", "group": "0"}, 400),
        ("0-1", {}, 404),
        ("1-1x", {}, 404),
        ("..%2f1-1", {}, 404),
        (f"/recordings/{READY}/table/1-1.exe", {}, 404),
        (f"/recordings/{READY}/table/1-2.csv", {}, 404),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(
    ask: Ask, path: str, query: dict[str, str], status: int
) -> None:
    answer = ask(path, **query)
    assert answer.status_code == status
    if not path.startswith("/rec") and "%2f" not in path:
        assert answer.get_json()["error"].endswith(".")


def test_a_table_of_another_run_is_listed_and_not_drawn_in_this_timeline(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "inventory.json").write_text('{"run": 2}')
    assert ask("").get_json() == {"run": 2, "runs": []}
    assert ask("1-1/page").status_code == 200
    answer = ask("1-1/lane", from_=0, to=5)
    assert (answer.status_code, answer.get_json()["error"]) == (
        400,
        "This table is of run 1, the timeline of run 2.",
    )


def test_files_of_what_is_shown(ask: Ask) -> None:
    answer = ask(f"/recordings/{READY}/table/1-1.csv", sort="2", columns="2.0", where="1:> 1 ms")
    assert answer.data.decode() == '"name","start"\n"b",20000000\n"c",30000000\n'
    assert answer.headers["Content-Disposition"] == 'attachment; filename="Camera.trace.work.csv"'
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    parquet = ask(f"/recordings/{READY}/table/1-1.parquet")
    assert parquet.data[:4] == b"PAR1"
    parquet.close()


def test_a_table_whose_files_are_gone_is_no_crash(ask: Ask) -> None:
    assert ask("1-1").status_code == 200
    shutil.rmtree(ask.kept.folder)  # type: ignore[attr-defined]
    assert ask("1-1").status_code == 404
