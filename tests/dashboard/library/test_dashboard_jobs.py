"""Workers are stopped, and taken up again after whatever happens to the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from library_support import (
    BUNDLE,
    environment,
    is_alive,
    opened,
    removed,
    settled,
    tree,
    upload,
    wait_for,
)
from worker_support import EXPORT, ONE, RESULTS, TWO, Reading, Workers, all_end, left_of

from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.jobs import process
from tracekit_dashboard.jobs import reading as reading_module

pytestmark = pytest.mark.integration

# Stopping -------------------------------------------------------------------------------------------------


def test_a_worker_killed_in_the_midst_fails_and_can_be_tried_again(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
        os.kill(pids[0], signal.SIGKILL)
        failed = settled(library, recording)
        assert failed.state == "failed"
        assert failed.message.startswith("Reading x.xml was killed (signal 9)")
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
        wait_for(lambda: library.find_recording(recording.id).progress)
        now = library.find_recording(recording.id)
        assert (now.state, now.stage.partition(" (")[0]) == ("reading", "opening")
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
        assert [library.find_recording(cancelled.id).state for cancelled in (recording, second)] == [
            "cancelled"
        ] * 2
        assert not any(is_alive(pid) for pid in pids)
        assert left_of(library, recording) == []
        workers.read()
        library.retry(recording.id)
        assert settled(library, recording).state == "ready"
        library.cancel(recording.id)
        assert library.find_recording(recording.id).state == "ready"


def test_a_recording_cancelled_while_its_worker_starts_is_not_read(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.do("hang")
    go_on = threading.Event()

    class Slow(process.WorkerProcess):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            assert go_on.wait(10)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(reading_module, "WorkerProcess", Slow)
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        wait_for(lambda: library.queue.find(library._jobs.kind, (recording.id, "")))
        job = library.queue.find(library._jobs.kind, (recording.id, ""))
        cancelling = threading.Thread(target=library.cancel, args=(recording.id,))
        cancelling.start()
        assert job is not None
        wait_for(job.cancelled.is_set)
        go_on.set()
        cancelling.join(20)
        assert not cancelling.is_alive()
        assert library.find_recording(recording.id).state == "cancelled"


def test_a_recording_deleted_while_it_is_read_is_read_when_it_is_back(
    workers: Workers, tmp_path: Path
) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
        library.delete(recording.id)
        assert not any(is_alive(pid) for pid in pids)
        assert library.list_recordings() == []
        workers.read()
        library.restore(recording.id)
        assert settled(library, recording).state == "ready"


def test_a_recording_purged_while_it_is_read_leaves_nothing(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
        removed(library, recording.id)
        assert not any(is_alive(pid) for pid in pids)
        assert tree(tmp_path / "library") == []
        with pytest.raises(NotFound):
            library.find_recording(recording.id)


@pytest.mark.parametrize("count", [1, 2])
def test_only_so_many_work_at_once(workers: Workers, tmp_path: Path, count: int) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", replace(ONE, workers=count)) as library:
        for _ in range(3):
            upload(library, "x.xml", EXPORT)
        workers.hanging(count)
        states = sorted(recording.state for recording in library.list_recordings())
        assert states == ["reading"] * count + ["waiting"] * (3 - count)


# The server's end -----------------------------------------------------------------------------------------


def test_what_was_being_read_is_taken_up_after_a_restart(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", ONE) as library:
        recording = upload(library, "x.xml", EXPORT)
        pids = workers.hanging()
    assert not any(is_alive(pid) for pid in pids)
    with opened(tmp_path / "library") as library:
        assert library.find_recording(recording.id).state == "waiting"
        assert left_of(library, recording) == []
    workers.read()
    with opened(tmp_path / "library", ONE) as library:
        assert settled(library, recording).state == "ready"


SERVER = """
import sys, time
from pathlib import Path
from tracekit_dashboard.library.library import Library
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
        (recording,) = library.list_recordings()
        assert settled(library, recording).state == "ready"


def test_results_unseen_by_a_killed_server_are_used(reading: Reading, tmp_path: Path) -> None:
    done = reading["local bundle"]
    with opened(tmp_path / "library") as library:
        recording = library.add_file(BUNDLE)
        library._catalog.claim(())
        results = library._store.results(recording.id)
        results.mkdir()
        for name in RESULTS:
            (results / name).write_bytes((reading.library.find_view(done.id).parent / name).read_bytes())
    with opened(tmp_path / "library") as library:
        assert library.find_recording(recording.id).state == "ready"
        assert library.find_recording(recording.id).verdict == done.verdict


def test_a_recording_that_takes_the_server_down_is_not_tried_for_ever(tmp_path: Path) -> None:
    for _ in range(3):
        with opened(tmp_path / "library") as library:
            recording = library.add_file(BUNDLE)
            assert recording.state == "waiting"
            library._catalog.claim(())  # and the server ends, without a word
    with opened(tmp_path / "library") as library:
        failed = library.find_recording(recording.id)
        assert failed.state == "failed"
        assert failed.message.startswith("The dashboard ended 3 times while it read recording.trace.")
        assert library.retry(recording.id).state == "waiting"


def test_results_that_are_damaged_are_made_again(tmp_path: Path) -> None:
    with opened(tmp_path / "library") as library:
        recording = library.add_file(BUNDLE)
        library._catalog.claim(())
        library._store.results(recording.id).mkdir(parents=True)
        (library._store.results(recording.id) / "summary.json").write_text("{")
    with opened(tmp_path / "library", ONE) as library:
        assert settled(library, recording).state == "ready"


def test_results_of_another_version_are_made_again(reading: Reading, tmp_path: Path) -> None:
    facts = json.loads(
        reading.library.find_view(reading["local bundle"].id).with_name("summary.json").read_text()
    )
    for results, state in ((facts["results"], "ready"), (facts["results"] - 1, "waiting"), (None, "waiting")):
        with opened(tmp_path / str(results)) as library:
            recording = library.add_file(BUNDLE)
            library._store.results(recording.id).mkdir(parents=True)
            summary = json.dumps(facts | {"results": results})
            (library._store.results(recording.id) / "summary.json").write_text(summary)
            library._catalog.change(recording.id, state="ready")
        with opened(tmp_path / str(results)) as library:
            assert library.find_recording(recording.id).state == state


def test_results_that_someone_removed_are_made_again(tmp_path: Path) -> None:
    with opened(tmp_path / "library") as library:
        recording = library.add_file(BUNDLE)
        library._catalog.change(recording.id, state="ready")
        with pytest.raises(NotFound, match=r"is gone\. Read it again"):
            library.find_view(recording.id)
    with opened(tmp_path / "library") as library:
        assert library.find_recording(recording.id).state == "waiting"


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
                    library.list_recordings("x")
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
