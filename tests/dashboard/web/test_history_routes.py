"""The data of the history page: of a dataset, of a dataset that grows, and of none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fleet_rows import arrow_rows, write_dataset

from tracekit.fleet.dataset import Dataset
from tracekit.fleet.library_rows import write_rows

pytestmark = pytest.mark.integration

HOST = {"Host": "127.0.0.1:8127"}
PLACE = {"device": "Phone", "app": "App", "system": "iOS 27"}


def rows(recording: str, build: str, length_ms: float) -> dict[str, Any]:
    of_recording = {**PLACE, "recording": recording, "build": build}
    model = {**of_recording, "model": "Net", "calls": 3, "p50_ns": length_ms * 1e6, "source": "coreml"}
    call = {**of_recording, "model": "Net", "source": "coreml", "call": 2, "first": False}
    call |= {"length_ns": int(length_ms * 1e6), "ane_busy_ns": int(length_ms * 5e5)}
    return {"recordings": [of_recording], "models": [model], "calls": [call]}


def dataset_of(folder: Path) -> Dataset:
    both = [rows("a", "1", 10), rows("b", "2", 12)]
    return write_dataset(folder / "results", **{name: both[0][name] + both[1][name] for name in both[0]})


def test_the_view_follows_the_dataset(client: Callable[..., Any], tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path)
    made = client(fleet=dataset.path)
    view = made.get("/api/history", headers=HOST).get_json()
    assert (view["apps"], view["builds"], view["summary"]) == (["App"], ["1", "2"], "2 recordings.")
    assert view["rows"][0]["main"]["ms"] == [10, 12]
    grown = rows("c", "3", 14)
    grown["recordings"] = [{**grown["recordings"][0], "content": "c", "run": 1, "state": "analyzed"}]
    dataset.append({name: arrow_rows(name, of_table) for name, of_table in grown.items()})
    assert made.get("/api/history", headers=HOST).get_json()["builds"] == ["1", "2", "3"]


def test_a_library_is_a_dataset_that_follows_its_recordings(
    client: Callable[..., Any], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / "recordings").mkdir(parents=True)
    (other / "tracekit-library.json").write_text('{"tracekit": "library", "version": 1}')
    made = client(fleet=other)
    assert made.get("/api/history", headers=HOST).get_json()["builds"] == []
    results = other / "recordings" / ("a" * 32) / "results"
    results.mkdir(parents=True)
    (results.parent / "about.json").write_text('{"name": "a.trace", "tags": ["build=7"], "added_us": 1}')
    tables = rows("a", "", 10)
    tables["recordings"][0] |= {"run": 1, "state": "analyzed", "content": "a"}
    write_rows(results, {name: arrow_rows(name, of_table) for name, of_table in tables.items()})
    assert made.get("/api/history", headers=HOST).get_json()["builds"] == ["7"]


def test_parts_and_recordings_of_two_builds(client: Callable[..., Any], tmp_path: Path) -> None:
    made = client(fleet=dataset_of(tmp_path).path)
    query = "app=App&device=Phone&model=Net&before=1&after=2"
    parts = made.get(f"/api/history/parts?{query}", headers=HOST).get_json()["parts"]
    assert [(part["part"], part["change_ms"]) for part in parts] == [("length", 2), ("Neural Engine", 1)]
    recordings = made.get(f"/api/history/recordings?{query}", headers=HOST).get_json()["recordings"]
    assert [(row["recording"], row["build"], row["link"]) for row in recordings] == [
        ("a", "1", ""),
        ("b", "2", ""),
    ]
    other = query.replace("model=Net", "model=Other")
    assert made.get(f"/api/history/recordings?{other}", headers=HOST).get_json() == {"recordings": []}
    hostile = "app=App&device=' OR 1=1 --&model=x&before=1&after=2"
    assert made.get(f"/api/history/recordings?{hostile}", headers=HOST).get_json() == {"recordings": []}
    assert made.get(f"/api/history/parts?{hostile}", headers=HOST).get_json() == {"parts": []}


def test_names_have_a_bound(client: Callable[..., Any], tmp_path: Path) -> None:
    response = client(fleet=dataset_of(tmp_path).path).get("/api/history?app=" + "x" * 5000, headers=HOST)
    assert response.status_code == 400
