"""Workers read recordings, and end: well, badly, when told to, and with the server."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from library_support import (
    BUNDLE,
    BUNDLE_VERDICT,
    EXPORTS,
    EXPORTS_VERDICT,
    XML,
    environment,
    files_of,
    is_alive,
    opened,
    settled,
    tarred,
    tree,
    upload,
    upload_folder,
    wait_for,
    zipped,
)

from dashboard.errors import NotFound
from dashboard.library import jobs, process
from dashboard.library.catalog import Recording
from dashboard.library.library import Library
from dashboard.library.store import Store
from dashboard.library.worker import Task
from dashboard.settings import Limits

EXPORT = (EXPORTS / "time-profile.xml").read_bytes()
ONE = Limits(free_disk_bytes=0)
TWO = Limits(workers=2, free_disk_bytes=0)
RESULTS = ["analysis.json", "sections.json", "summary.json", "view.bin.gz"]


class Workers:
    """Tells workers what to do, and knows their process ids."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        folder.mkdir()

    def do(self, what: str) -> None:
        self._patch.setenv("PYTHONPATH", str(Path(__file__).parent / "other_worker"))
        self._patch.setenv("WORKER_DOES", what)
        self._patch.setenv("WORKER_NOTES", str(self._folder))

    def read(self) -> None:
        """From now on they do what they are for."""
        self._patch.delenv("WORKER_DOES")

    def all(self) -> list[list[int]]:
        """(Worker, its child) of those that hung."""
        return [[int(pid) for pid in path.read_text().split()] for path in self._folder.glob("*.pids")]

    def hanging(self, count: int = 1) -> list[int]:
        """The pids of that many workers and their children, once they hang."""
        wait_for(lambda: len(self.all()) == count)
        return [pid for pids in self.all() for pid in pids]


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workers:
    return Workers(tmp_path / "notes", monkeypatch)


def all_end(pids: list[int]) -> None:
    wait_for(lambda: not any(is_alive(pid) for pid in pids), 10)


def left_of(library: Library, recording: Recording) -> list[str]:
    """What lies in a recording's folder beside what was uploaded and the log."""
    found = tree(library._store.recording(recording.id))
    return [one for one in found if not one.startswith(("input/", "worker.log"))]


# What it is for -------------------------------------------------------------------------------------------

FILES = {
    "Safari.trace": zipped(BUNDLE),
    "holiday.jpg": tarred(BUNDLE, "w:gz"),
    "x.trace": gzip.compress(EXPORT),
    "x.csv": EXPORT,
    "cut.zip": zipped(BUNDLE)[:-500],
    "exports.zip": zipped(EXPORTS),
    "empty.xml": XML,
    "cut.gz": gzip.compress(EXPORT)[:-100],
}
FOLDERS = {
    "bundle": files_of(BUNDLE),
    "renamed": [(f"drop/{path.replace('.trace', '')}", content) for path, content in files_of(BUNDLE)],
    "zip": [
        ("drop/.DS_Store", b"x"),
        ("drop/__MACOSX/x", b"<x>"),
        ("drop/notes.txt", b"x"),
        ("drop/x.trace.zip", zipped(BUNDLE)),
    ],
    "exports": [
        ("d/1", (EXPORTS / "toc.xml").read_bytes()),
        ("d/2", gzip.compress(EXPORT)),
        ("d/truth.json", b"{}"),
    ],
    "two": [("d/a/x.xml", EXPORT), ("d/b/x.xml", EXPORT)],
    "none": [("d/x.txt", b"x"), ("d/y.json", b"{}")],
}


@dataclass
class Reading:
    """Everything above, uploaded at once, so that two workers read it side by side."""

    library: Library
    added: dict[str, Recording]

    def __getitem__(self, name: str) -> Recording:
        return settled(self.library, self.added[name], 60)


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reading]:
    with opened(tmp_path_factory.mktemp("reading"), TWO) as library:
        added = {"local bundle": library.add_file(BUNDLE), "local exports": library.add_file(EXPORTS)}
        added |= {name: upload(library, name, content) for name, content in FILES.items()}
        added |= {name: upload_folder(library, name, files) for name, files in FOLDERS.items()}
        yield Reading(library, added)


def test_a_local_bundle_is_read_where_it_lies(reading: Reading) -> None:
    recording = reading["local bundle"]
    assert (recording.state, recording.message, recording.progress) == ("ready", "", None)
    assert recording.verdict.startswith(BUNDLE_VERDICT)
    assert (recording.device, recording.system) == ("Synthetic Mac", "15.7.3 (24G419)")
    assert (recording.samples, recording.windows, recording.duration_ns) == (289, 12, 550_258_000)
    assert left_of(reading.library, recording) == [f"results/{name}" for name in RESULTS]


def test_what_the_pages_need_is_there(reading: Reading) -> None:
    recording, library = reading["local exports"], reading.library
    assert recording.verdict.startswith(EXPORTS_VERDICT)
    block = gzip.decompress(library.view_path(recording.id).read_bytes())
    header = json.loads(block[4 : 4 + int.from_bytes(block[:4], "little")])
    assert (header["format"], header["verdict"]) == ("tracekit-view/1", recording.verdict)
    analysis = json.loads(library.analysis_path(recording.id).read_bytes())
    assert (analysis["schema"], analysis["samples"]["count"]) == ("tracekit-analysis/1", 311)
    sections = json.loads(library.sections_path(recording.id).read_bytes())
    assert list(sections)[:2] == ["verdict", "windows"]
    assert "timeline" not in sections
    assert sections["verdict"].startswith('<section id="verdict"')


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("Safari.trace", BUNDLE_VERDICT),
        ("holiday.jpg", BUNDLE_VERDICT),
        ("x.trace", EXPORTS_VERDICT),
        ("x.csv", EXPORTS_VERDICT),
        ("bundle", BUNDLE_VERDICT),
        ("renamed", BUNDLE_VERDICT),
        ("zip", BUNDLE_VERDICT),
        ("exports", EXPORTS_VERDICT),
    ],
)
def test_an_upload_is_read_whatever_its_names_say(reading: Reading, name: str, verdict: str) -> None:
    recording = reading[name]
    assert (recording.state, recording.message) == ("ready", "")
    assert recording.verdict.startswith(verdict)
    assert json.loads(reading.library.analysis_path(recording.id).read_bytes())["input"]["name"] == name


def test_a_real_bundle_that_was_uploaded_is_read(reading: Reading, shared: Path) -> None:
    place = shared / "traces" / "bundles" / "shadi-gamal__uniprof"
    bundle = (place / "test-simple.trace.zip").read_bytes()
    recording = settled(reading.library, upload(reading.library, "real", bundle), 60)
    exported = (place / "test-simple-export.xml").read_bytes().count(b"<row>")
    assert (recording.state, recording.samples) == ("ready", exported)


# What cannot be read --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cut.zip", "cut.zip: cannot be unpacked: it is cut off or damaged"),
        ("exports.zip", "exports.zip: is an archive without a .trace bundle in it. Unpack it"),
        ("empty.xml", "empty.xml: holds no table"),
        ("cut.gz", "cut.gz: is a damaged or cut-off gzip file"),
        ("two", "two: holds more than one recording (d/a, d/b). Add one at a time."),
        ("none", "none: is a folder without a recording. Add a .trace"),
    ],
)
def test_what_cannot_be_read_fails_with_a_sentence(reading: Reading, name: str, sentence: str) -> None:
    recording = reading[name]
    assert (recording.state, recording.verdict) == ("failed", "")
    assert recording.message.startswith(sentence), recording.message
    assert str(reading.library._store.folder) not in recording.message
    assert left_of(reading.library, recording) == []
    with pytest.raises(NotFound, match="is not ready"):
        reading.library.view_path(recording.id)


def test_what_was_not_foreseen_leaves_a_log(workers: Workers, tmp_path: Path) -> None:
    workers.do("fail")
    with opened(tmp_path / "library", ONE) as library:
        recording = settled(library, upload(library, "x.xml", EXPORT))
        assert recording.state == "failed"
        assert recording.message.startswith("Reading x.xml failed in a way that was not foreseen (KeyError).")
        log = (library._store.recording(recording.id) / "worker.log").read_text()
        assert "no such thing" in log


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process takes")
def test_a_worker_that_takes_too_much_memory_is_refused_it(workers: Workers, tmp_path: Path) -> None:
    workers.do("grow")
    with opened(tmp_path / "library", replace(ONE, job_memory_bytes=1 << 30)) as library:
        recording = settled(library, upload(library, "x.xml", EXPORT))
        assert recording.message == "x.xml needs more memory than a worker may take."


def test_a_worker_that_takes_too_long_is_stopped(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", replace(ONE, job_seconds=0.9)) as library:
        recording = settled(library, upload(library, "x.xml", EXPORT))
        assert (recording.state, left_of(library, recording)) == ("failed", [])
        assert "took longer than" in recording.message


# Stopping -------------------------------------------------------------------------------------------------


def test_a_worker_killed_in_the_midst_fails_and_can_be_tried_again(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
        os.kill(pids[0], signal.SIGKILL)
        failed = settled(library, recording)
        assert failed.state == "failed"
        assert failed.message.startswith("Reading x.xml was ended from outside (signal 9)")
        all_end(pids)
        assert left_of(library, recording) == []
        workers.read()
        assert library.retry(recording.id).message == ""
        ready = settled(library, recording)
        assert (ready.state, ready.message) == ("ready", "")


def test_progress_is_seen_while_it_works(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        workers.hanging()
        wait_for(lambda: library.recording(recording.id).progress)
        now = library.recording(recording.id)
        assert (now.state, now.stage) == ("reading", "opening")
        assert now.progress == pytest.approx(0.25, abs=0.001)


@pytest.mark.parametrize("what", ["hang", "hang deaf"])
def test_cancel_ends_the_worker_and_what_it_started(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(process, "_GRACE_SECONDS", 0.5)
    workers.do(what)
    with opened(tmp_path / "library", ONE) as library:
        recording, second = upload(library, "x.xml", EXPORT), upload(library, "y.xml", EXPORT)
        pids = workers.hanging()
        library.cancel(second.id)
        begun = time.monotonic()
        library.cancel(recording.id)
        assert time.monotonic() - begun < 20  # it would end by itself after 60
        assert [library.recording(one.id).state for one in (recording, second)] == ["cancelled"] * 2
        assert not any(is_alive(pid) for pid in pids)
        assert left_of(library, recording) == []
        workers.read()
        library.retry(recording.id)
        assert settled(library, recording).state == "ready"
        library.cancel(recording.id)
        assert library.recording(recording.id).state == "ready"


def test_a_recording_cancelled_while_its_worker_starts_is_not_read(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.do("hang")
    go_on = threading.Event()

    class Slow(process.WorkerProcess):
        def __init__(self, store: Store, recording_id: str, task: Task) -> None:
            assert go_on.wait(10)
            super().__init__(store, recording_id, task)

    monkeypatch.setattr(jobs, "WorkerProcess", Slow)
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        wait_for(lambda: recording.id in library._jobs._running)
        job = library._jobs._running[recording.id]
        cancelling = threading.Thread(target=library.cancel, args=(recording.id,))
        cancelling.start()
        wait_for(lambda: job.stopped)
        go_on.set()
        cancelling.join(20)
        assert not cancelling.is_alive()
        assert library.recording(recording.id).state == "cancelled"


def test_a_recording_deleted_while_it_is_read_is_read_when_it_is_back(
    workers: Workers, tmp_path: Path
) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
        library.delete(recording.id)
        assert not any(is_alive(pid) for pid in pids)
        assert library.recordings() == []
        workers.read()
        library.restore(recording.id)
        assert settled(library, recording).state == "ready"


def test_a_recording_purged_while_it_is_read_leaves_nothing(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
        library.purge(recording.id)
        assert not any(is_alive(pid) for pid in pids)
        assert tree(tmp_path / "library") == []
        with pytest.raises(NotFound):
            library.recording(recording.id)


@pytest.mark.parametrize("count", [1, 2])
def test_only_so_many_work_at_once(workers: Workers, tmp_path: Path, count: int) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", replace(ONE, workers=count)) as library:
        for _ in range(3):
            upload(library, "x.xml", EXPORT)
        workers.hanging(count)
        states = sorted(one.state for one in library.recordings())
        assert states == ["reading"] * count + ["waiting"] * (3 - count)


# The server's end -----------------------------------------------------------------------------------------


def test_what_was_being_read_is_taken_up_after_a_restart(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
    assert not any(is_alive(pid) for pid in pids)
    with opened(tmp_path / "library") as library:
        assert library.recording(recording.id).state == "waiting"
        assert left_of(library, recording) == []
    workers.read()
    with opened(tmp_path / "library", ONE) as library:
        assert settled(library, recording).state == "ready"


SERVER = """
import sys, time
from pathlib import Path
from dashboard.library.library import Library
from dashboard.library.store import Store
from dashboard.library.worker import Task
library = Library(Path(sys.argv[1]))
library.add_file(Path(sys.argv[2]))
time.sleep(60)
"""


def test_no_worker_outlives_a_server_that_is_killed(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    export = tmp_path / "x.xml"
    export.write_bytes(EXPORT)
    command = [sys.executable, "-c", SERVER, str(tmp_path / "library"), str(export)]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([environment()["PYTHONPATH"], os.environ["PYTHONPATH"]]),
    }
    with subprocess.Popen(command, env=env) as server:
        try:
            pids = workers.hanging()
            assert all(is_alive(pid) for pid in pids)
        finally:
            server.kill()
    all_end(pids)
    workers.read()
    with opened(tmp_path / "library", ONE) as library:
        (recording,) = library.recordings()
        assert settled(library, recording).state == "ready"


def test_results_that_a_killed_server_did_not_hear_of_are_used(reading: Reading, tmp_path: Path) -> None:
    done = reading["local bundle"]
    with opened(tmp_path) as library:
        recording = library.add_file(BUNDLE)
        library._catalog.claim(())
        results = library._store.results(recording.id)
        results.parent.mkdir()
        results.mkdir()
        for name in RESULTS:
            (results / name).write_bytes((reading.library.view_path(done.id).parent / name).read_bytes())
    with opened(tmp_path) as library:
        assert library.recording(recording.id).state == "ready"
        assert library.recording(recording.id).verdict == done.verdict


def test_a_recording_that_takes_the_server_down_is_not_tried_for_ever(tmp_path: Path) -> None:
    for _ in range(3):
        with opened(tmp_path) as library:
            recording = library.add_file(BUNDLE)
            assert recording.state == "waiting"
            library._catalog.claim(())  # and the server ends, without a word
    with opened(tmp_path) as library:
        failed = library.recording(recording.id)
        assert failed.state == "failed"
        assert failed.message.startswith("The dashboard ended 3 times while it read recording.trace.")
        assert library.retry(recording.id).state == "waiting"


def test_results_that_are_damaged_are_made_again(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = library.add_file(BUNDLE)
        library._catalog.claim(())
        library._store.results(recording.id).mkdir(parents=True)
        (library._store.results(recording.id) / "summary.json").write_text("{")
    with opened(tmp_path, ONE) as library:
        assert settled(library, recording).state == "ready"


def test_results_that_someone_removed_are_made_again(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = library.add_file(BUNDLE)
        library._catalog.change(recording.id, state="ready")
        with pytest.raises(NotFound, match=r"is gone\. Read it again"):
            library.view_path(recording.id)
    with opened(tmp_path) as library:
        assert library.recording(recording.id).state == "waiting"


def test_many_threads_at_once_do_no_harm(workers: Workers, tmp_path: Path) -> None:
    workers.do("fail")
    with opened(tmp_path / "library", TWO) as library:
        recording = upload(library, "x.xml", EXPORT)
        wrong: list[Exception] = []

        def at_random(number: int) -> None:
            try:
                for step in range(6):
                    (library.cancel, library.retry, library.delete, library.restore)[(number + step) % 4](
                        recording.id
                    )
                    library.recordings("x")
            except Exception as error:  # noqa: BLE001 - of another thread
                wrong.append(error)

        threads = [threading.Thread(target=at_random, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        library.cancel(recording.id)
        library.restore(recording.id)
        library.retry(recording.id)
        assert settled(library, recording).state == "failed"
        assert left_of(library, recording) == []
