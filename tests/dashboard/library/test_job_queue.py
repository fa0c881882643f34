"""The queue of jobs: limits, priorities, one job per key, claims, and an end at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest
from library_support import wait_for

from tracekit_dashboard.errors import NoSpace
from tracekit_dashboard.jobs import queue as module
from tracekit_dashboard.jobs.process import ProcessResult, WorkerProcess
from tracekit_dashboard.jobs.queue import Job, JobCancelled, JobKind, JobQueue, Key, QueueFull

SLOW = JobKind("slow", "Slow work", at_once=2, priority=5)
FAST = JobKind("fast", "Fast work", at_once=2, priority=1)


class Gate:
    """Work that begins, and ends when the gate opens or its job is cancelled."""

    def __init__(self) -> None:
        self.begun: list[Key] = []
        self.open = threading.Event()

    def work(self, job: Job) -> None:
        self.begun.append(job.key)
        wait_for(lambda: self.open.is_set() or job.cancelled.is_set(), 10)


class Process:
    """A process that ends when it is stopped."""

    def __init__(self, messages: Collection[dict[str, Any]] = ()) -> None:
        self._messages, self.stopped = messages, threading.Event()

    def run(self, on_message: Callable[[dict[str, Any]], None]) -> ProcessResult:
        for message in self._messages:
            on_message(message)
        self.stopped.wait(10)
        return ProcessResult(143)

    def stop(self) -> None:
        self.stopped.set()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def queue(gate: Gate) -> Iterator[JobQueue]:
    made = JobQueue(at_once=3)
    yield made
    gate.open.set()
    made.close()


def key(number: int) -> Key:
    return (f"{number:032x}", "")


def test_a_kind_and_all_kinds_together_have_a_limit(queue: JobQueue, gate: Gate) -> None:
    for kind in (SLOW, FAST):
        for number in range(4):
            queue.submit(kind, key(number), gate.work)
    wait_for(lambda: len(gate.begun) == 3)
    states = {
        kind.name: [job.status.state for job in queue.list_unfinished(kind)].count("running")
        for kind in (SLOW, FAST)
    }
    assert states["fast"] <= 2 and states["slow"] <= 2 and sum(states.values()) == 3
    gate.open.set()
    wait_for(lambda: len(gate.begun) == 8)


def test_the_urgent_kind_is_first_and_each_kind_in_its_order(queue: JobQueue, gate: Gate) -> None:
    only = [replace(kind, at_once=1) for kind in (SLOW, FAST)]
    blocked = JobQueue(at_once=1)
    first = blocked.submit(only[0], key(0), gate.work)
    wait_for(lambda: gate.begun == [key(0)])
    jobs = [blocked.submit(kind, key(number), gate.work) for number, kind in enumerate(only * 2, 1)]
    gate.open.set()
    for job in [first, *jobs]:
        job.done.result(10)
    assert gate.begun == [key(number) for number in (0, 2, 4, 1, 3)]
    blocked.close()


def test_live_work_begins_beside_any_other(queue: JobQueue, gate: Gate) -> None:
    for kind in (SLOW, FAST):
        for number in range(2):
            queue.submit(kind, key(number), gate.work)
    queue.submit(JobKind("now", "It", at_once=1, priority=9, is_live=True), key(9), gate.work)
    wait_for(lambda: key(9) in gate.begun and len(gate.begun) == 4)


def test_two_tabs_that_start_the_same_job_share_it(queue: JobQueue, gate: Gate) -> None:
    with ThreadPoolExecutor(8) as pool:
        jobs = set(pool.map(lambda _: queue.submit(SLOW, key(1), gate.work), range(50)))
    assert len(jobs) == 1
    assert queue.submit(FAST, key(1), gate.work) not in jobs  # another kind is other work
    assert queue.submit(SLOW, (key(1)[0], "a"), gate.work) not in jobs  # and so is another variant


def test_a_cancelled_job_is_not_joined_and_its_successor_waits_for_its_end(queue: JobQueue) -> None:
    running, release = threading.Event(), threading.Event()
    order: list[str] = []

    def stubborn(_job: Job) -> None:
        running.set()
        release.wait(10)
        order.append("first ended")

    first = queue.submit(SLOW, key(1), stubborn)
    assert running.wait(10)
    first.cancel()
    second = queue.submit(SLOW, key(1), lambda _job: order.append("second"))
    assert second is not first and second.status.state == "waiting"
    release.set()
    second.done.result(10)
    assert order == ["first ended", "second"]


def test_a_thousand_jobs_wait_and_one_more_is_refused(queue: JobQueue, gate: Gate) -> None:
    jobs = [queue.submit(SLOW, key(number), gate.work) for number in range(1_000)]
    with pytest.raises(QueueFull, match="Try again in a moment"):
        queue.submit(SLOW, key(1_000), gate.work)
    queue.submit(FAST, key(1), gate.work)  # another kind has room
    wait_for(lambda: len(gate.begun) >= 2)
    assert threading.active_count() < 30
    queue.cancel(lambda job: job.kind is SLOW)
    assert {job.status.state for job in jobs} == {"cancelled"}
    assert queue.list_unfinished(SLOW) == []


def test_the_work_of_a_recording_ends_whatever_its_kind(queue: JobQueue, gate: Gate) -> None:
    ended = [queue.submit(kind, key(1), gate.work) for kind in (SLOW, FAST)]
    other = queue.submit(SLOW, key(2), gate.work)
    queue.end(key(1)[0])
    assert all(job.done.done() for job in ended)
    assert not other.cancelled.is_set()
    queue.end(key(2)[0], FAST)
    assert not other.cancelled.is_set()


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (NoSpace("The disk is full."), "The disk is full."),
        (OSError(28, "No space left on device"), "Slow work failed: No space left on device."),
        (KeyError("/secret"), "Slow work failed because of an error in tracekit."),
    ],
)
def test_what_fails_is_a_sentence_and_the_next_job_runs(
    queue: JobQueue, problem: Exception, message: str
) -> None:
    def fail(_job: Job) -> None:
        raise problem

    failed = queue.submit(replace(SLOW, at_once=1), key(1), fail)
    after = queue.submit(replace(SLOW, at_once=1), key(2), lambda _job: None)
    after.done.result(10)
    assert failed.done.exception() is problem
    assert failed.status.state == "failed" and failed.status.message.startswith(message)
    assert after.status.state == "done"


def test_the_progress_of_a_process_is_the_status_until_it_is_cancelled(queue: JobQueue) -> None:
    process = Process(
        [{"stage": "opening", "progress": 0.5}, {"stage": "next", "progress": "x"}, {"other": 1}]
    )
    seen: list[tuple[str, float | None]] = []

    def work(job: Job) -> None:
        job.run(cast(WorkerProcess, process), lambda status: seen.append((status.stage, status.progress)))

    job = queue.submit(SLOW, key(1), work)
    wait_for(lambda: job.status.stage == "next")
    assert seen == [("opening", 0.5), ("next", None)]
    queue.end(key(1)[0])
    assert process.stopped.is_set()
    assert job.status.state == "cancelled"


def test_a_job_that_was_cancelled_before_its_process_started_stops_it_at_once(queue: JobQueue) -> None:
    process, go_on, begun = Process(), threading.Event(), threading.Event()

    def work(job: Job) -> None:
        begun.set()
        go_on.wait(10)
        job.run(cast(WorkerProcess, process))

    job = queue.submit(SLOW, key(1), work)
    assert begun.wait(10)
    job.cancel()
    go_on.set()
    assert process.stopped.wait(10)
    job.done.result(10)


def test_a_job_that_waits_is_cancelled_without_having_begun(queue: JobQueue, gate: Gate) -> None:
    jobs = [queue.submit(replace(SLOW, at_once=1), key(number), gate.work) for number in range(2)]
    wait_for(lambda: gate.begun == [key(0)])
    queue.end(key(1)[0])
    with pytest.raises(JobCancelled):
        jobs[1].done.result(0)
    assert gate.begun == [key(0)]


# Claims: work that stands in the catalog -------------------------------------------------------------------


def test_jobs_are_claimed_when_there_is_room_and_again_after_each_end(queue: JobQueue) -> None:
    waiting, done = [key(number) for number in range(5)], []

    def claim(running: Collection[Key]) -> Key | None:
        assert len(running) < SLOW.at_once
        return waiting.pop(0) if waiting else None

    queue.claim_from(SLOW, claim, lambda job: done.append(job.key))
    wait_for(lambda: len(done) == 5)
    waiting.append(key(7))
    queue.claim_again(SLOW)
    wait_for(lambda: key(7) in done)


def test_a_claim_that_fails_is_made_again_and_stops_no_other_work(
    queue: JobQueue, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.02)
    results: list[Any] = [NoSpace("Full."), KeyError("x"), key(1)]

    def claim(_running: Collection[Key]) -> Key | None:
        result = results.pop(0) if results else None
        if isinstance(result, Exception):
            raise result
        return cast("Key | None", result)

    queue.claim_from(SLOW, claim, gate.work)
    wait_for(lambda: gate.begun == [key(1)])
    assert "no job could be begun: Full." in caplog.text


def test_without_a_thread_to_be_had_a_job_waits(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.02)
    queue.submit(SLOW, key(0), lambda _job: None).done.result(10)  # the dispatcher has its thread
    start, refusals = threading.Thread.start, [1, 2]

    def refuse(thread: threading.Thread) -> None:
        if thread.name == SLOW.name and refusals:
            refusals.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    queue.submit(SLOW, key(1), lambda _job: None).done.result(10)
    assert refusals == []
    assert "no job could be begun: can't start new thread" in caplog.text


def test_a_cancel_during_a_claim_finds_the_job(queue: JobQueue) -> None:
    claiming, go_on, state = threading.Event(), threading.Event(), ["waiting"]
    cancelled: list[bool] = []

    def claim(_running: Collection[Key]) -> Key | None:
        if state[0] != "waiting":
            return None
        state[0] = "reading"
        claiming.set()
        go_on.wait(10)
        return key(1)

    def work(job: Job) -> None:
        cancelled.append(job.cancelled.wait(10))

    queue.claim_from(SLOW, claim, work)
    assert claiming.wait(10)
    ending = threading.Thread(target=queue.end, args=(key(1)[0],))
    ending.start()
    go_on.set()
    ending.join(10)
    assert cancelled == [True]


# The end of the server -------------------------------------------------------------------------------------


def test_at_the_end_all_work_is_over_and_none_begins(gate: Gate) -> None:
    queue = JobQueue()
    jobs = [queue.submit(replace(SLOW, at_once=1), key(number), gate.work) for number in range(3)]
    queue.close()
    assert all(job.done.done() for job in jobs)
    late = queue.submit(SLOW, key(9), gate.work)
    with pytest.raises(JobCancelled):
        late.done.result(0)
    queue.close()  # does nothing the second time


def test_a_job_of_a_live_kind_is_not_waited_for(gate: Gate) -> None:
    queue = JobQueue()
    saving = threading.Event()

    def record(_job: Job) -> None:
        saving.wait(10)

    job = queue.submit(replace(SLOW, is_live=True), key(1), record)
    wait_for(lambda: job.status.state == "running")
    queue.close()
    assert job.cancelled.is_set() and not job.done.done()
    saving.set()
    wait_for(job.done.done)
