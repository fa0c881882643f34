"""A run analyzes what the dataset lacks, counts a recording once, and loses nothing when it is interrupted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tracekit.errors import UsageError
from tracekit.fleet import fleet_run as run_module
from tracekit.fleet import task as task_module
from tracekit.fleet.dataset import Dataset, create_dataset
from tracekit.fleet.fleet_run import RunSummary, run_fleet
from tracekit.fleet.recording_inputs import RecordingInput, find_recordings
from tracekit.fleet.task import AnalysisChoice, FleetTask, TaskOutcome, run_task

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


class SamePool:
    """Runs the tasks in this process, and remembers them."""

    def __init__(self, stop_after: int = 1000) -> None:
        self.names: list[str] = []
        self._stop_after = stop_after

    def run(self, tasks: Sequence[FleetTask]) -> Iterator[TaskOutcome]:
        for task in tasks:
            if len(self.names) >= self._stop_after:
                raise KeyboardInterrupt
            self.names.append(task.recording.name)
            yield run_task(task)


def progress(stage: str, done: int, total: int) -> None:
    assert stage in ("Checking", "Analyzing")
    assert 0 < done <= total


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    for name in ("text-addresses-ios16", "kperf-samples-macos26", "counters-bnns-macos15"):
        shutil.copytree(SAMPLES / name, tmp_path / "lab" / name)
    (tmp_path / "lab" / "half.xml").write_text("<?xml version='1.0'?><trace-query-result><node><row>")
    return tmp_path / "lab"


def tasks_of(lab: Path, labels: dict[str, str] | None = None, **choice: Any) -> list[FleetTask]:
    return [
        FleetTask(matches, "", labels or {}, AnalysisChoice(**choice))
        for matches in find_recordings([str(lab)])
    ]


def run(dataset: Dataset, tasks: list[FleetTask], **options: Any) -> tuple[RunSummary, list[str]]:
    pool = SamePool()
    return run_fleet(dataset, tasks, pool, progress, **options), sorted(pool.names)


def states(dataset: Dataset) -> list[tuple[str, str]]:
    table = dataset.open_table("recordings").to_table(columns=["name", "state"])
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


ALL = ["counters-bnns-macos15", "kperf-samples-macos26", "lab", "text-addresses-ios16"]


@pytest.mark.integration
def test_a_second_run_analyzes_what_is_new(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = create_dataset(tmp_path / "results")
    summary, names = run(dataset, tasks_of(lab))
    assert names == ALL
    assert (summary.analyzed, [address for address, _ in summary.failed]) == (3, [str(lab)])
    assert "half.xml" in summary.failed[0][1]
    assert states(dataset) == [(name, "failed" if name == "lab" else "analyzed") for name in ALL]

    reads: list[Path] = []
    monkeypatch.setattr(run_module, "digest_content", lambda path, *_: reads.append(path) or "")
    summary, names = run(dataset, tasks_of(lab))
    assert (names, reads, summary.present, len(summary.failed_before)) == ([], [], 3, 1)
    assert run(dataset, tasks_of(lab), retry_failed=True)[1] == ["lab"]


@pytest.mark.integration
def test_other_options_labels_and_versions_are_analyzed_again_and_replace_rows(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = create_dataset(tmp_path / "results")
    run(dataset, tasks_of(lab))
    assert len(run(dataset, tasks_of(lab, {"build": "7"}))[1]) == 4
    assert len(run(dataset, tasks_of(lab, {"build": "7"}, compute_units="all"))[1]) == 4
    monkeypatch.setattr(run_module, "__version__", "99")
    assert len(run(dataset, tasks_of(lab, {"build": "7"}, compute_units="all"))[1]) == 4
    recordings = dataset.open_table("recordings").to_table()
    assert recordings.column("build").to_pylist() == ["7"] * 4
    assert recordings.column("options").to_pylist() == ['{"compute_units": "all"}'] * 4


@pytest.mark.integration
def test_a_recording_under_two_names_counts_once_and_is_named(lab: Path, tmp_path: Path) -> None:
    shutil.copytree(lab / "kperf-samples-macos26", lab / "copy of kperf")
    dataset = create_dataset(tmp_path / "results")
    summary, names = run(dataset, tasks_of(lab))
    assert names == sorted([*(set(ALL) - {"kperf-samples-macos26"}), "copy of kperf"])
    assert summary.duplicates == [(str(lab / "kperf-samples-macos26"), str(lab / "copy of kperf"))]
    assert len(states(dataset)) == 4

    tasks = [replace(task, labels={"build": task.recording.name}) for task in tasks_of(lab)]
    with pytest.raises(UsageError, match="contradict each other in 1 place") as caught:
        run(dataset, tasks)
    assert "build is 'copy of kperf' and 'kperf-samples-macos26'" in caught.value.lines[0]


@pytest.mark.integration
def test_an_interrupted_run_keeps_its_results_and_goes_on(lab: Path, tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path / "results")
    summary = RunSummary()
    with pytest.raises(KeyboardInterrupt):
        run_fleet(dataset, tasks_of(lab), SamePool(stop_after=2), progress, summary=summary)
    assert len(states(dataset)) == 2
    remaining = run(dataset, tasks_of(lab))[1]
    assert sorted([*remaining, *(name for name, _ in states(dataset))]).count("lab") >= 1
    assert len(remaining) == 2
    assert len(states(dataset)) == 4


@pytest.mark.integration
def test_a_half_uploaded_recording_is_replaced_when_it_is_whole(tmp_path: Path) -> None:
    whole = (SAMPLES / "text-addresses-ios16" / "time-profile.xml").read_bytes()
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "run.xml").write_bytes(whole[: len(whole) // 2])
    dataset = create_dataset(tmp_path / "results")
    assert run(dataset, tasks_of(tmp_path / "lab"))[0].failed
    (tmp_path / "lab" / "run.xml").write_bytes(whole)
    assert run(dataset, tasks_of(tmp_path / "lab"))[0].analyzed == 1
    assert states(dataset) == [("lab", "analyzed")]


@pytest.mark.integration
def test_a_recording_that_changes_while_it_is_read_has_no_result(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = iter(["before", "after"])
    monkeypatch.setattr(task_module, "compute_fingerprint", lambda _: next(marks))
    (matches,) = find_recordings([str(lab / "kperf-samples-macos26")])
    outcome = run_task(FleetTask(matches))
    assert outcome.state == "failed"
    assert "changed while it was read: it may be half uploaded" in outcome.reason


@pytest.mark.integration
def test_a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = create_dataset(tmp_path / "results")
    run(dataset, tasks_of(lab / "kperf-samples-macos26"))

    summary = RunSummary()

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tracekit.fleet.dataset_parts.pq.write_table", full)
        with pytest.raises(
            UsageError, match=r"No space left on device\. What the dataset held before is unchanged"
        ):
            run(dataset, tasks_of(lab), summary=summary)
    assert summary.analyzed == 0  # what is not in the dataset is not called analyzed
    assert states(dataset) == [("kperf-samples-macos26", "analyzed")]
    assert len(run(dataset, tasks_of(lab))[1]) == 3


@pytest.mark.integration
def test_objects_of_a_store_are_analyzed_once(lab: Path, tmp_path: Path) -> None:
    files = fsspec.filesystem("memory")
    files.store.clear()
    for name in ("toc.xml", "time-profile.xml"):
        for folder in ("a", "b"):
            files.pipe(f"/lab/{folder}/{name}", (SAMPLES / "text-addresses-ios16" / name).read_bytes())
    dataset = create_dataset(tmp_path / "results")
    tasks = [FleetTask(matches) for matches in find_recordings(["memory://lab"])]
    summary, names = run(dataset, tasks)
    assert (names, summary.analyzed) == (["a", "b"], 1)
    assert summary.duplicates == [("memory://lab/b", "memory://lab/a")]
    assert states(dataset) == [("a", "analyzed")]
    assert run(dataset, tasks)[1] == []


@pytest.mark.integration
def test_the_reason_of_a_cut_object_names_its_address_and_not_the_copy_that_was_read() -> None:
    fsspec.filesystem("memory").pipe("/cut/x.trace.zip", b"PK\x03\x04")
    (matches,) = find_recordings(["memory://cut"])
    assert run_task(FleetTask(matches)).reason.startswith("memory://cut/x.trace.zip: cannot be unpacked")


@pytest.mark.integration
def test_any_error_of_a_recording_is_its_own(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("x\x1b[2J")

    (matches,) = find_recordings([str(lab / "kperf-samples-macos26")])
    with monkeypatch.context() as patch:
        patch.setattr(task_module, "open_source", fail)
        assert run_task(FleetTask(matches)).reason == (
            r"tracekit failed: ZeroDivisionError: x\x1b[2J. Please report this."
        )
    shutil.rmtree(lab / "kperf-samples-macos26")
    outcome = run_task(FleetTask(matches))
    assert (outcome.state, outcome.content) == ("failed", "")
    assert "No such file" in outcome.reason or "does not exist" in outcome.reason


def test_recordings_that_could_not_be_read_do_not_stand_for_others(tmp_path: Path) -> None:
    dataset = create_dataset(tmp_path / "results")
    unreadable = [FleetTask(RecordingInput(str(tmp_path / name))) for name in ("a.trace", "b.trace")]
    assert len(run(dataset, unreadable[:1])[0].failed) == 1
    summary, names = run(dataset, unreadable)
    assert names == ["a.trace", "b.trace"]
    assert not summary.failed_before
    assert states(dataset) == [("a.trace", "failed"), ("b.trace", "failed")]
