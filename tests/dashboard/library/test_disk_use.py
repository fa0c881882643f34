"""The room that a library takes: sizes of uploads and results, results that are dropped and made again."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from library_support import (
    BUNDLE,
    EXPORTS,
    SUMMARY,
    XML,
    files_of_upload,
    opened,
    removed,
    settled,
    tree,
    upload,
)
from worker_support import ONE, left_of

from tracekit_dashboard.callbacks import compare, trace
from tracekit_dashboard.callbacks import library as page_of_library
from tracekit_dashboard.errors import Conflict, NotFound
from tracekit_dashboard.jobs import reading
from tracekit_dashboard.jobs.process import ProcessResult
from tracekit_dashboard.library.catalog import DiskUse, Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.store import Store
from tracekit_dashboard.pages.library import describe_disk_use
from tracekit_dashboard.pages.library_row import build_row

RESULTS_BYTES = len(SUMMARY) + 1_000


def read(library: Library, recording: Recording) -> Recording:
    """Return the recording as if a worker had just left its results, of ``RESULTS_BYTES``."""
    results = library._store.results(recording.id)
    (results / "samples").mkdir(parents=True)
    (results / "summary.json").write_text(SUMMARY)
    (results / "view.bin.gz").write_bytes(bytes(300))
    (results / "samples" / "call.npy").write_bytes(bytes(700))
    library._catalog.change(recording.id, state="reading")
    assert library._jobs._adopt_results((recording.id, ""))
    return library.find_recording(recording.id)


def texts(node: Any) -> str:
    """Return the text of components."""
    if isinstance(node, list):
        return "".join(map(texts, node))
    return texts(node.children) if hasattr(node, "children") else str(node or "")


# Sizes ----------------------------------------------------------------------------------------------------


def test_sizes_of_uploads_and_results(library: Library) -> None:
    local = read(library, library.add_file(EXPORTS))
    uploaded = read(library, upload(library, "x", XML))
    assert (local.results_bytes, uploaded.results_bytes) == (RESULTS_BYTES, RESULTS_BYTES)
    assert library.measure_disk_use() == DiskUse(len(XML), 0, 2 * RESULTS_BYTES)
    assert "64 bytes, uploaded; analysis 1.2 kB" in texts(build_row(uploaded, False, False))
    # Deleted ones take their room until they are removed.
    library.delete(uploaded.id)
    assert library.measure_disk_use() == DiskUse(len(XML), 0, 2 * RESULTS_BYTES)
    removed(library, uploaded.id)
    assert library.measure_disk_use() == DiskUse(0, 0, RESULTS_BYTES)


def test_a_recording_made_here_counts_and_one_beside_does_not(library: Library, tmp_path: Path) -> None:
    for place in (library.recorded / "one", tmp_path / "recorded" / "one"):
        place.mkdir(parents=True)
        (place / "x.xml").write_bytes(XML)
        library.add_file(place / "x.xml")
    assert library.measure_disk_use() == DiskUse(0, len(XML), 0)


def test_a_download_adds_to_the_results(library: Library) -> None:
    recording = read(library, library.add_file(EXPORTS))
    downloads = library._store.results(recording.id) / "downloads"
    downloads.mkdir()
    (downloads / "report.html").write_bytes(bytes(5_000))
    library.note_results(recording.id)
    assert library.find_recording(recording.id).results_bytes == RESULTS_BYTES + 5_000


def test_the_page_names_what_takes_room() -> None:
    line = texts(describe_disk_use(DiskUse(3_000_000, 0, 2_000_000)))
    assert line == "On the disk: uploads 3.0 MB, analyses 2.0 MB.Drop all analyses"
    assert texts(describe_disk_use(DiskUse(3_000_000, 0, 0))) == "On the disk: uploads 3.0 MB."
    assert describe_disk_use(DiskUse(0, 0, 0)) == []


def test_a_catalog_of_an_earlier_version_gets_the_sizes(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = read(library, library.add_file(EXPORTS))
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite3")) as catalog:
        catalog.execute("ALTER TABLE recordings DROP COLUMN results_bytes")
    with opened(tmp_path) as library:
        assert library.find_recording(recording.id) == recording
        assert library.measure_disk_use() == DiskUse(0, 0, RESULTS_BYTES)


# Dropping -------------------------------------------------------------------------------------------------


def test_what_is_dropped_leaves_the_recording_and_its_facts(library: Library) -> None:
    recording = read(library, upload(library, "x", XML))
    library.edit(recording.id, tags=["kept"])
    assert library.drop_results(recording.id) == RESULTS_BYTES
    dropped = library.find_recording(recording.id)
    assert (dropped.state, dropped.verdict, dropped.tags) == ("ready", recording.verdict, ("kept",))
    assert (dropped.results_bytes, dropped.is_dropped) == (0, True)
    assert tree(library._store.folder) == files_of_upload(recording.id)
    assert library.measure_disk_use() == DiskUse(len(XML), 0, 0)
    assert "; analysis dropped" in texts(build_row(dropped, False, False))
    with pytest.raises(NotFound, match=r"x was dropped\. Its page makes it again"):
        library.find_view(recording.id)


def test_the_page_s_buttons_drop_one_analysis_or_all(library: Library) -> None:
    one, two = read(library, upload(library, "x", XML)), read(library, library.add_file(EXPORTS))
    again = "An analysis that was dropped is made again when its recording is opened."
    notice = page_of_library._perform(library, "drop", one.id)
    assert texts(notice) == f"1.2 kB on the disk were freed. {again}"
    assert (library.find_recording(one.id).is_dropped, library.find_recording(two.id).is_dropped) == (
        True,
        False,
    )
    page_of_library._perform(library, "drop-all", "")
    assert library.find_recording(two.id).is_dropped
    assert "Drop analysis" not in texts(build_row(library.find_recording(two.id), False, False))


def test_results_are_not_made_again_before_the_old_ones_are_gone(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else a slow removal would take the new results with it.
    recording = read(library, upload(library, "x", XML))
    states = []
    discard = library._store.discard

    def slow_discard(path: Path) -> None:
        opening = threading.Thread(target=library.open_recording, args=(recording.id,))
        opening.start()
        opening.join(0.1)
        states.append(library._catalog.find(recording.id).state)
        discard(path)
        openings.append(opening)

    openings: list[threading.Thread] = []
    monkeypatch.setattr(library._store, "discard", slow_discard)
    library.drop_results(recording.id)
    openings[0].join()
    assert (states, library._catalog.find(recording.id).state) == (["ready"], "waiting")


def test_results_that_could_not_be_made_again_stay(library: Library, tmp_path: Path) -> None:
    (tmp_path / "gone.xml").write_bytes(XML)
    (tmp_path / "changed.xml").write_bytes(XML)
    gone, changed = (
        read(library, library.add_file(tmp_path / f"{name}.xml")) for name in ("gone", "changed")
    )
    safe = read(library, library.add_file(EXPORTS))
    (tmp_path / "gone.xml").unlink()
    (tmp_path / "changed.xml").write_bytes(XML * 2)
    for recording, why in ((gone, "is no longer in its place"), (changed, "has changed since")):
        with pytest.raises(Conflict, match=f"The analysis of {recording.name} stays: the file {why}"):
            library.drop_results(recording.id)
    assert library.drop_all_results() == (RESULTS_BYTES, 2)
    assert library.drop_all_results() == (0, 2)
    assert library.find_view(gone.id).is_file()
    assert library.find_view(changed.id).is_file()
    assert library.find_recording(safe.id).is_dropped


def test_the_analysis_of_an_upload_that_is_gone_stays(library: Library) -> None:
    recording = read(library, upload(library, "x", XML))
    library._store.discard(library._store.input(recording.id))
    with pytest.raises(Conflict, match="The analysis of x stays: the upload is gone"):
        library.drop_results(recording.id)
    assert library.find_view(recording.id).is_file()


def test_a_recording_that_is_not_ready_has_nothing_to_drop(library: Library) -> None:
    recording = upload(library, "x", XML)
    with pytest.raises(Conflict, match="x has no analysis to drop: it is not ready"):
        library.drop_results(recording.id)
    assert library.find_recording(recording.id) == recording


def test_what_was_dropped_stays_dropped_until_it_is_opened(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = read(library, library.add_file(EXPORTS))
        # The server ends between the two steps of dropping.
        library._catalog.change(recording.id, results_bytes=0)
    with opened(tmp_path) as library:
        assert library.find_recording(recording.id).is_dropped
        assert left_of(library, recording) == []
        library.delete(recording.id)
        assert library.open_recording(recording.id).is_dropped
        library.restore(recording.id)
        assert library.open_recording(recording.id).state == "waiting"
        assert library.open_recording(recording.id).results_bytes is None


# Making again ---------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_a_page_makes_again_what_was_dropped(tmp_path: Path) -> None:
    with opened(tmp_path, ONE) as library:
        first = settled(library, library.add_file(BUNDLE), 60)
        before = tree(library._store.results(first.id))
        library.drop_results(first.id)
        assert left_of(library, first) == []
        page = texts(trace.build_page(library, first.id))
        assert "Waiting for its turn" in page or "Reading the recording" in page
        again = settled(library, first, 60)
        assert again == first
        assert tree(library._store.results(first.id)) == before


def test_a_comparison_makes_both_sides_again(library: Library) -> None:
    sides = [read(library, upload(library, name, XML)).id for name in ("x", "y")]
    library.drop_all_results()
    compare.build_page(library, *sides)
    assert [library.find_recording(side).state for side in sides] == ["waiting", "waiting"]


def test_a_file_that_changed_after_dropping_is_read_as_it_is(library: Library, tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_bytes(XML)
    recording = read(library, library.add_file(tmp_path / "x.xml"))
    library.drop_results(recording.id)
    (tmp_path / "x.xml").write_bytes(XML * 2)
    library.open_recording(recording.id)
    assert read(library, recording).message == ""
    assert library.find_recording(recording.id).size_bytes == 2 * len(XML)


class FullDisk:
    """A worker that finds no room for the rest of its results."""

    def __init__(self, _module: str, arguments: list[str], *, task: dict[str, Any], **_: Any) -> None:
        (folder,) = arguments
        work = Store(Path(folder)).recording_folder(task["analysis"]) / task["work"] / "results"
        work.mkdir(parents=True)
        (work / "view.bin.gz").write_bytes(b"half")

    def run(self, _on_message: object) -> ProcessResult:
        return ProcessResult(1, "x could not be read to its end: No space left on device.")

    def is_running(self) -> bool:
        return False


def test_a_full_disk_while_making_again_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as library:
        recording = read(library, upload(library, "x", XML))
        library.drop_results(recording.id)
    monkeypatch.setattr(reading, "WorkerProcess", FullDisk)
    with opened(tmp_path, ONE) as library:
        library.open_recording(recording.id)
        failed = settled(library, recording)
        assert (failed.state, failed.results_bytes) == ("failed", None)
        assert failed.message == "x could not be read to its end: No space left on device."
        assert tree(tmp_path) == files_of_upload(recording.id)
        assert library.measure_disk_use() == DiskUse(len(XML), 0, 0)
