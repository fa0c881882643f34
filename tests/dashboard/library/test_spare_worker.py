"""The worker that waits with a recording in memory: who gets it, when it ends, and that it serves nothing stale."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest
from library_support import EXPORTS, ONE_READER, XML, is_alive, opened, ready, settled, upload, wait_for

from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.jobs import process as process_module
from tracekit_dashboard.jobs import worker_process
from tracekit_dashboard.jobs.process import WorkerProcess
from tracekit_dashboard.jobs.spare_worker import SpareWorker
from tracekit_dashboard.jobs.worker_process import Channel
from tracekit_dashboard.jobs.workers import read
from tracekit_dashboard.jobs.workers.read import ReadingTask
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.reading_results import VIEW
from tracekit_dashboard.library.variants import Variant

RUN = {"windows": "run"}


class Process:
    """The part of a worker's process that a spare one needs."""

    def __init__(self) -> None:
        self.runs, self.is_stopped = True, False

    def is_running(self) -> bool:
        return self.runs

    def is_stopping(self) -> bool:
        return self.is_stopped

    def end(self) -> None:
        self.runs = False


def made() -> Any:
    return cast(WorkerProcess, Process())


def test_a_worker_goes_once_to_a_job_of_its_recording() -> None:
    spare, worker = SpareWorker(60), made()
    spare.keep("a", worker)
    assert spare.take("b") is None
    assert spare.take("a") is worker
    assert spare.take("a") is None and worker.is_running()
    clock = spare._clock
    assert clock is not None
    wait_for(lambda: not clock.is_alive(), 10)


def test_there_is_one_at_most() -> None:
    spare, first, second = SpareWorker(60), made(), made()
    spare.keep("a", first)
    spare.prepare("a", lambda: pytest.fail("it has one"))
    spare.prepare("b", lambda: second)
    assert not first.is_running() and spare.take("a") is None
    spare.end("a")
    assert second.is_running()
    spare.end("b")
    assert not second.is_running()


def test_one_that_is_being_stopped_or_has_ended_goes_to_no_job() -> None:
    spare, stopped, killed = SpareWorker(60), made(), made()
    stopped.is_stopped = True
    spare.keep("a", stopped)
    assert not stopped.is_running() and spare.take("a") is None
    spare.keep("a", killed)
    killed.runs = False
    assert spare.take("a") is None


def test_one_without_work_ends_after_a_while_and_all_end_with_the_server() -> None:
    spare, worker = SpareWorker(0.01), made()
    spare.keep("a", worker)
    wait_for(lambda: not worker.is_running(), 10)
    assert spare.take("a") is None
    spare, worker, late = SpareWorker(60), made(), made()
    spare.keep("a", worker)
    spare.close()
    spare.keep("a", late)
    spare.prepare("a", lambda: pytest.fail("the server ends"))
    assert not worker.is_running() and not late.is_running()


def test_a_worker_that_took_much_memory_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    channel = Channel(io.StringIO())
    monkeypatch.setattr(channel, "send", lambda **message: sent.append(message))
    monkeypatch.setattr(Channel, "on_standard_output", lambda: channel)
    tasks = [asdict(ReadingTask("a", "x", "", "", {}, stay_bytes)) for stay_bytes in (1 << 60, 1, 1 << 60)]
    monkeypatch.setattr(worker_process, "iter_tasks", lambda: iter(tasks))
    done: list[int] = []
    monkeypatch.setattr(read._TaskReader, "do_task", lambda _self, task: done.append(task.stay_bytes) or 0)
    assert read.run_tasks("library") == 0
    assert (done, sent) == ([1 << 60, 1], [{"done": True}])


@pytest.mark.integration
def test_the_memory_of_the_server_is_not_the_workers() -> None:
    worker = (
        "from tracekit_dashboard.jobs.worker_process import measure_peak_bytes; print(measure_peak_bytes())"
    )
    server = f"""
import subprocess, sys
held = b"x" * (1 << 30)
subprocess.run([sys.executable, "-c", {worker!r}], check=True)
"""
    printed = subprocess.run([sys.executable, "-c", server], check=True, capture_output=True, text=True)
    assert 1 << 20 < int(printed.stdout) < 1 << 29


def test_only_a_recording_that_is_ready_is_opened_for_a_visitor(library: Library) -> None:
    waiting = upload(library, "x", XML)
    deleted = ready(library, upload(library, "y", XML))
    library.delete(deleted)
    for recording in (waiting.id, deleted):
        library.analyses.prepare(recording)
    assert library.spare._process is None
    with pytest.raises(NotFound):
        library.analyses.prepare("0" * 32)


# Real workers --------------------------------------------------------------------------------------------------


def pid_of(library: Library) -> int:
    """The process id of the worker that waits."""
    wait_for(lambda: library.spare._process is not None)
    assert library.spare._process is not None
    return library.spare._process.pid


def analyzed(library: Library, recording: str, options: dict[str, Any] = RUN) -> Variant:
    """The variant with these options, made anew."""
    variant = begun(library, recording, options)
    wait_for(lambda: library.analyses.find(recording, variant.id).state not in ("waiting", "reading"))
    return library.analyses.find(recording, variant.id)


def begun(library: Library, recording: str, options: dict[str, Any] = RUN) -> Variant:
    for variant in library.analyses.list_variants(recording):
        library.analyses.remove(recording, variant.id)
    variant = library.analyses.request(recording, options)
    assert variant is not None
    return variant


@pytest.mark.integration
def test_the_worker_that_waits_makes_the_same_results_as_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    shutil.copyfile(EXPORTS / "time-profile.xml", path)
    with opened(tmp_path / "library", ONE_READER) as library:
        recording = settled(library, library.add_file(path)).id
        first = pid_of(library)
        variant = analyzed(library, recording)
        view = (library.find_results(variant.analysis) / VIEW).read_bytes()
        assert pid_of(library) == first
        # A worker that a visitor's hand on the options started.
        library.spare.end(recording)
        assert not is_alive(first)
        library.analyses.prepare(recording)
        prepared = pid_of(library)
        variant = analyzed(library, recording)
        assert pid_of(library) == prepared != first
        assert (library.find_results(variant.analysis) / VIEW).read_bytes() == view
        # A file that has changed is read again, by the same worker.
        text = path.read_text("utf-8")
        start = text.rindex("<row>")
        path.write_text(text[:start] + text[text.rindex("</row>") + len("</row>") :], "utf-8")
        assert analyzed(library, recording).samples == variant.samples - 1
        assert pid_of(library) == prepared
        library.delete(recording)
        assert not is_alive(prepared)


@pytest.mark.integration
def test_a_worker_that_is_killed_or_cancelled_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_GRACE_SECONDS", 0.2)
    with opened(tmp_path / "library", ONE_READER) as library:
        recording = settled(library, library.add_file(EXPORTS)).id

        def stuck() -> tuple[int, Variant]:
            """A worker that got a task and does not go on."""
            pid = pid_of(library)
            os.kill(pid, signal.SIGSTOP)
            variant = begun(library, recording)
            wait_for(lambda: library.spare._process is None)
            return pid, variant

        def ended(variant: Variant) -> Variant:
            wait_for(lambda: library.analyses.find(recording, variant.id).state not in ("waiting", "reading"))
            return library.analyses.find(recording, variant.id)

        pid, variant = stuck()
        os.kill(pid, signal.SIGKILL)
        failed = ended(variant)
        assert (failed.state, failed.message.partition(",")[0]) == (
            "failed",
            f"Analyzing {EXPORTS.name} was killed (signal 9)",
        )
        assert analyzed(library, recording).state == "ready"
        pid, variant = stuck()
        library.analyses.cancel(recording, variant.id)
        assert ended(variant).state == "cancelled" and not is_alive(pid)
        assert library.find_recording(recording).state == "ready"
        assert analyzed(library, recording).state == "ready"
        last = pid_of(library)
    assert not is_alive(last)
