"""A pool of processes loses no result, whatever a recording does to its worker, and leaves no process behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pool_work import act

from tracekit.errors import TracekitError
from tracekit.fleet.local import LocalLimits, LocalPool
from tracekit.fleet.recording_inputs import RecordingInput
from tracekit.fleet.task import FleetTask, TaskOutcome

pytestmark = pytest.mark.integration


def run(folder: Path, names: list[str], limits: LocalLimits) -> list[TaskOutcome]:
    tasks = [FleetTask(RecordingInput(str(folder / name)), content=name) for name in names]
    return list(LocalPool(limits, act).run(tasks))


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_recording_that_ends_its_worker_is_tried_again_alone_and_set_aside(tmp_path: Path) -> None:
    outcomes = run(tmp_path, ["a", "crash", "b", "crash once", "c"], LocalLimits(2))
    states = {outcome.task.recording.name: (outcome.state, outcome.reason) for outcome in outcomes}
    assert {name: state for name, (state, _) in states.items()} == {
        "a": "analyzed", "b": "analyzed", "c": "analyzed", "crash": "killed", "crash once": "analyzed"
    }  # fmt: skip
    assert states["crash"][1] == "It ended its worker twice (signal SIGKILL), perhaps because memory ran out."
    assert len(outcomes) == 5
    assert not [pid for state, pid in states.values() if state == "analyzed" and is_running(int(pid))]


def test_a_worker_that_cannot_be_started_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_process: object) -> None:
        raise EOFError("unexpected EOF")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", ended)
    with pytest.raises(
        TracekitError, match=r"cannot be started: unexpected EOF\. Run the same command again"
    ):
        run(tmp_path, ["a"], LocalLimits(1))


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs Linux")
def test_time_and_memory_of_a_worker_are_bounded(tmp_path: Path) -> None:
    limits = LocalLimits(1, memory_bytes=1 << 30, timeout_seconds=2)
    began = time.monotonic()
    outcomes = {
        outcome.task.recording.name: outcome for outcome in run(tmp_path, ["memory", "sleep", "a"], limits)
    }
    assert time.monotonic() - began < 60
    assert (outcomes["memory"].state, outcomes["memory"].reason) == ("failed", "memory")
    assert (outcomes["sleep"].state, outcomes["sleep"].reason) == ("killed", "It took longer than 2 s.")
    assert outcomes["a"].state == "analyzed"
    assert not is_running(int((tmp_path / "sleep").read_text()))


def test_an_interrupted_run_leaves_no_process(tmp_path: Path) -> None:
    outcomes = LocalPool(LocalLimits(2), act).run(
        [FleetTask(RecordingInput(str(tmp_path / name)), content=name) for name in ("a", "sleep")]
    )
    first = next(outcomes)
    assert first.state == "analyzed"
    while not (tmp_path / "sleep").exists() or not (tmp_path / "sleep").read_text():
        time.sleep(0.01)
    outcomes.close()  # type: ignore[attr-defined]
    assert not is_running(int(first.reason))
    assert not is_running(int((tmp_path / "sleep").read_text()))
    assert os.getpid() != int(first.reason)
