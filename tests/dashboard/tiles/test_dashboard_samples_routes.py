"""Requests of the trace page, and the responses to invalid ones."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fake_library import BUSY, READY, FakeLibrary
from fake_library import recording as listed_recording
from flask import Flask
from library_support import EXPORTS, files_of, settled, upload_folder
from library_support import opened as library_of
from samples_support import FAR, MS, many, opened, planes, sums_of

from dashboard import error_responses
from dashboard.app import create_app
from dashboard.library.library import Library
from dashboard.routes import samples as samples_routes
from dashboard.settings import Limits, Settings
from dashboard.tiles.sample_selection import SampleSelection
from dashboard.tiles.sums import sums_block
from dashboard.tiles.tiles import lanes_tile

HOST = {"Host": "127.0.0.1:8127"}
API = f"/api/recordings/{READY}"
ANE, NOTHING, MAIN = (
    json.dumps([[key, [value], False]])
    for key, value in (("engine", "ane"), ("engine", "nope"), ("", "main"))
)
GONE = "Read it again."
Ask = Callable[..., Any]


@pytest.fixture
def library(tmp_path: Path) -> FakeLibrary:
    return FakeLibrary(tmp_path, listed_recording(), listed_recording(BUSY, state="reading"))


@pytest.fixture
def ask(library: FakeLibrary, tmp_path: Path) -> Ask:
    """A client of a server with 600 samples; the columns are in ``ask.samples``."""
    samples = opened(tmp_path, many())
    server = Flask("samples")
    error_responses.register(server)
    samples_routes.register(server, library)  # type: ignore[arg-type]
    client = server.test_client()

    def get(path: str, headers: dict[str, str] | None = None, **query: Any) -> Any:
        address = path if path.startswith("/") else f"{API}/{path}"
        named = {name.rstrip("_"): value for name, value in query.items()}
        return client.get(address, query_string=named or None, headers={**HOST, **(headers or {})})

    get.samples = samples  # type: ignore[attr-defined]
    return get


@pytest.mark.integration
def test_a_tile(ask: Ask) -> None:
    answer = ask("tile", level=2, index=3, block=0)
    assert (answer.status_code, answer.mimetype) == (200, "application/octet-stream")
    assert answer.data == lanes_tile(ask.samples, 2, 3, 0, None)
    filtered = ask("tile", level=2, index=3, block=0, filter=ANE).data
    assert len(filtered) == len(answer.data) != 0
    assert filtered != answer.data
    assert ask("tile", level=2, index=3, block=0, filter="[]").data == answer.data


def test_intervals_have_a_block_of_their_own(ask: Ask) -> None:
    answer = ask("tile", level=0, index=0, block="spans")
    assert (answer.status_code, answer.data) == (200, b"")


def test_sums(ask: Ask) -> None:
    answer = ask("sums", from_="100e6", to="200000000.5", lanes="0.2")
    assert answer.mimetype == "application/octet-stream"
    assert answer.data == sums_block(ask.samples, SampleSelection(100 * MS, 200 * MS + 1, frozenset({0, 2})))
    assert ask("sums").data == sums_block(ask.samples, SampleSelection(-FAR, FAR))
    assert sums_of(ask("sums", from_="-1e300", to="1e300").data)[1]["selected"] == 600
    assert sums_of(ask("sums", filter=NOTHING).data)[1]["selected"] == 0


def test_a_sample_counts_where_its_time_lies_also_between_two_nanoseconds(ask: Ask) -> None:
    time = int(ask.samples.time[:][0])  # type: ignore[attr-defined]
    selected = sums_of(ask("sums", from_=time, to=time + 0.5).data)[1]["selected"]
    assert selected == int((ask.samples.time[:] == time).sum()) > 0  # type: ignore[attr-defined]
    assert sums_of(ask("sums", from_=time + 0.5, to=time + 0.9).data)[1]["selected"] == 0
    assert sums_of(ask("sums", from_=time, to=time).data)[1]["selected"] == 0


def test_samples_page_by_page(ask: Ask) -> None:
    first = ask("samples", count=250).get_json()
    second = ask("samples", count=250, after=first["next"]).get_json()
    third = ask("samples", count=250, after=second["next"]).get_json()
    assert [len(page["rows"]) for page in (first, second, third)] == [250, 250, 100]
    assert third["next"] is None
    assert len(ask("samples").get_json()["rows"]) == 100


def test_a_stack(ask: Ask) -> None:
    row = next(sample for sample in ask("samples").get_json()["rows"] if sample["stack"] >= 0)
    answer = ask(f"stacks/{row['stack']}")
    assert answer.get_json()["frames"][0] == [row["leaf"], row["binary"]]


@pytest.mark.parametrize(
    "path", ["tile?level=1&index=1&block=0", "sums?lanes=1", "tile?level=0&index=0&block=spans"]
)
def test_what_the_browser_has_is_not_sent_again(path: str, ask: Ask) -> None:
    answer = ask(f"{API}/{path}")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    again = ask(f"{API}/{path}", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    filtered = ask(f"{API}/{path}&filter={quote(MAIN)}", headers={"If-None-Match": answer.headers["ETag"]})
    assert filtered.status_code == 200


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("tile", "level is a whole number"),
        ("tile?level=0&index=0", "block is a whole number"),
        ("tile?level=-1&index=0&block=0", "level is a whole number"),
        ("tile?level=0.5&index=0&block=0", "level is a whole number"),
        ("tile?level=NaN&index=0&block=0", "level is a whole number"),
        ("tile?level=0x1&index=0&block=0", "level is a whole number"),
        ("tile?level=१&index=0&block=0", "level is a whole number"),
        (f"tile?level={'9' * 5_000}&index=0&block=0", "level is a whole number"),
        (f"tile?level={'9' * 18}&index=0&block=0", "level is below 19"),
        ("tile?level=19&index=0&block=0", "level is below 19"),
        ("tile?level=1&index=2&block=0", "index is below 2"),
        (f"tile?level=1&index={'9' * 18}&block=0", "index is below 2"),
        ("tile?level=0&index=0&block=1", "no such lanes"),
        (f"tile?level=0&index=0&block={'9' * 18}", "no such lanes"),
        ("tile?level=0&index=0&block=span", "block is a whole number"),
        ("sums?transforms=focus", "The transform focus takes the key of a function."),
        ("tile?level=0&index=0&block=0&filter=main", "A filter is a list of terms as JSON"),
        ("sums?from=NaN", "from is a number"),
        ("sums?to=inf", "to is a number"),
        ("sums?to=-Infinity", "to is a number"),
        ("sums?to=1e999", "to is a number"),
        ("sums?from=abc", "from is a number"),
        ("sums?from=1,5", "from is a number"),
        ("sums?lanes=4", "no such lanes"),
        ("sums?lanes=0.1.99", "no such lanes"),
        ("sums?lanes=-1", "lanes are numbers"),
        ("sums?lanes=0..1", "lanes are numbers"),
        ("sums?lanes=0,1", "lanes are numbers"),
        (f"sums?lanes={'0.' * 30_000}0", "lanes are numbers"),
        (f"sums?lanes={'9' * 50}", "lanes are numbers"),
        ("samples?count=0", "count is from 1 to 1000"),
        ("samples?count=1001", "count is from 1 to 1000"),
        ("samples?count=-5", "count is a whole number"),
        ("samples?after=x", "after is not"),
        ("samples?lanes=7", "no such lanes"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(path: str, says: str, ask: Ask) -> None:
    answer = ask(f"{API}/{path}")
    assert answer.status_code == 400
    assert says in answer.get_json()["error"]


@pytest.mark.parametrize("number", ["-1", "x", "7", "1e3", "9" * 18, "9" * 5_000, "%00"])
def test_a_stack_that_is_not_there(number: str, ask: Ask) -> None:
    answer = ask(f"stacks/{number}")
    assert answer.status_code == 404
    assert "no such stack" in answer.get_json()["error"]


@pytest.mark.parametrize("what", ["tile?level=0&index=0&block=0", "sums", "samples", "stacks/0"])
def test_recordings_without_contents_are_reported(what: str, ask: Ask, library: FakeLibrary) -> None:
    for recording, says in [
        ("0" * 32, "no such recording"),
        (BUSY, "not been read"),
        ("x", "no such recording"),
    ]:
        answer = ask(f"/api/recordings/{recording}/{what}")
        assert answer.status_code == 404
        assert says in answer.get_json()["error"]


@pytest.mark.parametrize("what", ["tile?level=0&index=0&block=0", "sums", "samples", "stacks/0"])
@pytest.mark.parametrize(
    "harm", ["gone", "other format", "no header", "damaged header", "cut off", "not arrays", "a file is gone"]
)
def test_damaged_results_lead_to_the_advice_to_read_again(
    what: str, harm: str, ask: Ask, library: FakeLibrary
) -> None:
    folder = library.folder / "samples"
    header = folder / "samples.json.gz"
    if harm == "gone":
        shutil.rmtree(folder)
    elif harm == "other format":
        content = gzip.decompress(header.read_bytes())
        header.write_bytes(gzip.compress(content.replace(b"tracekit-samples/5", b"tracekit-samples/9")))
    elif harm == "no header":
        header.write_bytes(gzip.compress(b"[]"))
    elif harm == "damaged header":
        header.write_bytes(header.read_bytes()[:-9])
    elif harm == "cut off":
        (folder / "time_offset.npy").write_bytes((folder / "time_offset.npy").read_bytes()[:200])
    elif harm == "not arrays":
        (folder / "weight.npy").write_bytes(b"PK\x03\x04")
    else:
        (folder / "call.npy").unlink()
    answer = ask(f"{API}/{what}")
    assert answer.status_code == 404
    assert answer.get_json()["error"].startswith("Camera.trace was read by another version")
    assert answer.get_json()["error"].endswith(GONE)


@pytest.mark.integration
def test_results_of_another_reading_take_the_place_of_those_before(ask: Ask, library: FakeLibrary) -> None:
    before = ask("sums")
    assert sums_of(before.data)[1]["total"] == 600
    shutil.rmtree(library.folder / "samples")
    opened(library.folder, many(200))
    after = ask("sums", headers={"If-None-Match": before.headers["ETag"]})
    assert sums_of(after.data)[1]["total"] == 200
    tile = ask("tile", level=0, index=0, block=0)
    assert tile.data != lanes_tile(ask.samples, 0, 0, 0, None)


def test_nothing_is_served_of_a_recording_once_it_is_gone(ask: Ask, library: FakeLibrary) -> None:
    assert ask("sums").status_code == 200
    library.purge(READY)
    assert ask("sums").status_code == 404


def read(library: Library) -> str:
    recording = settled(library, upload_folder(library, EXPORTS.name, files_of(EXPORTS)), 60)
    assert (recording.state, recording.message) == ("ready", "")
    return recording.id


@pytest.mark.integration
def test_results_of_a_worker_are_served_until_deleted(tmp_path: Path) -> None:
    with library_of(tmp_path / "library", Limits(workers=1, free_disk_bytes=0)) as library:
        client = create_app(Settings(tmp_path, port=8127), library).server.test_client()
        recording = read(library)

        def ask(what: str) -> Any:
            return client.get(f"/api/recordings/{recording}/{what}", headers=HOST)

        before = library.recording(recording)
        assert sums_of(ask("sums").data)[1]["total"] == before.samples > 0
        assert any(any(plane) for plane in planes(ask("tile?level=0&index=0&block=0").data))
        rows = ask("samples").get_json()["rows"]
        assert ask(f"stacks/{rows[0]['stack']}").status_code == 200
        library.delete(recording)
        for what in ("sums", "samples", "stacks/0", "tile?level=0&index=0&block=0"):
            assert ask(what).status_code == 404
            assert "was deleted" in ask(what).get_json()["error"]
        library.restore(recording)
        assert ask("sums").status_code == 200
        library.retry(recording)
        assert ask("sums").status_code in (200, 404)  # it may have been read by now
        settled(library, library.recording(recording), 60)
        assert ask("sums").status_code == 200
        shutil.rmtree(library.view_path(recording).with_name("samples"))
        assert GONE in ask("sums").get_json()["error"]
