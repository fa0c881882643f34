"""``fleet run``: recordings → tasks → a pool → parts of a dataset, in the order in which results come.

A recording is the same if its content is, whatever its name: it is analyzed once, and not again by the same
tracekit with the same options and labels. Copies of other contents are found when they are analyzed, and
remembered (``copies``). What is in the dataset stays there whatever happens to the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeAlias

from tracekit import __version__
from tracekit.errors import InputError, TracekitError
from tracekit.fleet.content_hashes import ContentCache, compute_fingerprint, digest_content
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.dataset_rows import join_tables
from tracekit.fleet.labels import require_agreement
from tracekit.fleet.recording_copies import Labels
from tracekit.fleet.schema import ANALYZED, FAILURES, KILLED
from tracekit.fleet.task import FleetTask, TaskOutcome
from tracekit.frozen import frozen
from tracekit.text import printable

_OUTCOMES_PER_BATCH = 64
_ROWS_PER_BATCH = 200_000
_SECONDS_PER_BATCH = 20.0
"""Results are appended when there are so many of them, or after this time: what a killed run loses."""
_READERS = 2
Progress = Callable[[str, int, int], None]
"""Gets the stage ("Checking", "Analyzing"), and how many recordings of how many are done."""


class Pool(Protocol):
    """Something that runs tasks: processes of this machine, or a cluster."""

    def run(self, tasks: Sequence[FleetTask]) -> Iterator[TaskOutcome]:
        """Yield the outcome of each task in any order."""
        ...


@dataclass
class RunSummary:
    """What a run did: numbers, and the recordings to name. ``duplicates`` are (recording, the same as)."""

    analyzed: int = 0
    present: int = 0
    duplicates: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    killed: list[tuple[str, str]] = field(default_factory=list)
    failed_before: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """True where no recording could be analyzed, now or before."""
        return not self.analyzed and not self.present


def run_fleet(
    dataset: Dataset,
    tasks: Sequence[FleetTask],
    pool: Pool,
    progress: Progress,
    *,
    retry_failed: bool = False,
    summary: RunSummary | None = None,
) -> RunSummary:
    """Analyze the recordings that the dataset does not have, append their rows, and return what was done.

    ``summary`` is filled while it goes on: it is what an interrupted run has to state. Raises ``UsageError``
    where labels of copies contradict each other, and where the dataset cannot be written.
    """
    summary = RunSummary() if summary is None else summary
    cache = ContentCache(dataset.path)
    known = _with_contents(tasks, cache, progress)
    selected_tasks = _select_tasks(dataset, known, summary, cache, retry_failed=retry_failed)
    writer = _OutcomeWriter(dataset, summary, cache)
    first_of = {task.content: task for task in known if task.content}
    try:
        with closing(pool.run(selected_tasks)) as outcomes:  # type: ignore[type-var] # it is a generator
            for done, outcome in enumerate(outcomes, 1):
                _account_outcome(outcome, first_of, summary, writer, cache)
                progress("Analyzing", done, len(selected_tasks))
    except BaseException:
        with suppress(TracekitError):  # the first error is the one to state
            writer.write()
        raise
    else:
        writer.write()
    finally:
        cache.save()
    return summary


def _account_outcome(
    outcome: TaskOutcome,
    first_of: dict[str, FleetTask],
    summary: RunSummary,
    writer: _OutcomeWriter,
    cache: ContentCache,
) -> None:
    """Add an outcome to the dataset and the summary."""
    address = outcome.task.recording.address
    if not outcome.task.content and outcome.content:  # an object, of which only the worker saw the content
        cache.put(address, compute_fingerprint(outcome.task.recording), outcome.content)
        first_task = first_of.setdefault(outcome.content, outcome.task)
        if first_task is not outcome.task:
            _note_copy(_describe_task(outcome.task), _describe_task(first_task), summary)
            return
    if outcome.state != ANALYZED:
        (summary.killed if outcome.state == KILLED else summary.failed).append((address, outcome.reason))
    writer.add(outcome)


_RecordingName: TypeAlias = tuple[str, Labels]
"""The address and the labels of a recording."""


def _describe_task(task: FleetTask) -> _RecordingName:
    return task.recording.address, tuple(sorted(task.labels.items()))


def _note_copy(copy: _RecordingName, counted_name: _RecordingName, summary: RunSummary) -> None:
    (address, labels), (same_as, kept_labels) = copy, counted_name
    summary.duplicates.append((address, same_as))
    if sorted(labels) != sorted(kept_labels):
        summary.notes.append(
            f"{printable(address)} is a copy of {printable(same_as)} with other labels: it counts once, with"
            " the labels of the latter."
        )


# Which recordings to analyze --------------------------------------------------------------------------------


def _with_contents(tasks: Sequence[FleetTask], cache: ContentCache, progress: Progress) -> list[FleetTask]:
    """Return the tasks with the content of their recordings: of files, and of objects that are known."""

    def found(task: FleetTask) -> FleetTask:
        mark = compute_fingerprint(task.recording)
        content = cache.get(task.recording.address, mark)
        if not content and not task.recording.is_remote:
            with suppress(InputError):  # the task states it
                content = digest_content(Path(task.recording.address), task.recording.members)
                cache.put(task.recording.address, mark, content)
        return replace(task, content=content)

    result: list[FleetTask] = []
    executor = ThreadPoolExecutor(_READERS)  # hashing needs no Python meanwhile
    try:
        for task in executor.map(found, tasks):
            result.append(task)
            progress("Checking", len(result), len(tasks))
    finally:
        executor.shutdown(cancel_futures=True)
    cache.save()
    return result


def _select_tasks(
    dataset: Dataset,
    tasks: Sequence[FleetTask],
    summary: RunSummary,
    cache: ContentCache,
    *,
    retry_failed: bool,
) -> list[FleetTask]:
    """Return the tasks to run: each recording once, and none that the dataset has."""
    present = _read_present(dataset)
    task_by_content = {task.content: task for task in reversed(tasks) if task.content}
    first_of: dict[str, FleetTask] = {}
    selected_tasks: list[FleetTask] = []
    contradictions: list[str] = []
    elsewhere: set[str] = set()
    for task in tasks:
        first_task = first_of.setdefault(task.content, task) if task.content else task
        if first_task is not task:
            summary.duplicates.append((task.recording.address, first_task.recording.address))
            contradictions += _iter_contradictions(first_task, task)
            continue
        row = present.get(cache.find_counted_copy(task.content))
        if row and (row.content in task_by_content or row.version == (__version__, task.choice.to_text())):
            if row.content in task_by_content:
                _note_copy(_describe_task(task), _describe_task(task_by_content[row.content]), summary)
            else:
                _note_copy(_describe_task(task), (row.path, row.labels), summary)
                elsewhere.add(row.content)
            continue
        row = present.get(task.content)
        if row is None or not row.is_of(task) or (retry_failed and row.state in FAILURES):
            selected_tasks.append(task)
        elif row.state in FAILURES:
            summary.failed_before.append((task.recording.address, row.reason))
        else:
            summary.present += 1
    require_agreement(contradictions)
    summary.present += len(elsewhere)
    return selected_tasks


def _iter_contradictions(first_task: FleetTask, task: FleetTask) -> Iterator[str]:
    """Yield the labels of a copy that differ from those of the recording."""
    for name in sorted(first_task.labels.keys() | task.labels.keys()):
        values = first_task.labels.get(name), task.labels.get(name)
        if values[0] != values[1]:
            texts = [f"'{value}'" if value is not None else "not given" for value in values]
            yield (
                f"{printable(first_task.recording.address)} and its copy {printable(task.recording.address)}:"
                f" {name} is {texts[0]} and {texts[1]}"
            )


@frozen
class _KnownRecording:
    """A recording of the dataset: what it was analyzed with, and what became of it."""

    content: str
    path: str
    version: tuple[str, str]
    labels: Labels
    state: str
    reason: str

    def is_of(self, task: FleetTask) -> bool:
        """Return whether the task would be analyzed in the same way."""
        return (self.version, self.labels) == ((__version__, task.choice.to_text()), _describe_task(task)[1])


def _read_present(dataset: Dataset) -> dict[str, _KnownRecording]:
    """Return the recordings of the dataset by content."""
    columns = ["content", "path", "tracekit", "options", "labels", "state", "reason"]
    table = dataset.open_table("recordings").to_table(columns=columns)
    present: dict[str, _KnownRecording] = {}
    for content, path, version, options, labels, state, reason in zip(
        *(table.column(name).to_pylist() for name in columns), strict=True
    ):
        # Of several runs, one that was analyzed stands for the recording. A file that could not be read has
        # no content, and stands for no other.
        if content and (content not in present or state == ANALYZED):
            present[content] = _KnownRecording(
                content, path, (version, options), tuple(sorted(labels)), state, reason
            )
    return present


class _OutcomeWriter:
    """Appends outcomes to a dataset, some at a time, and counts in the summary what the dataset then has."""

    def __init__(self, dataset: Dataset, summary: RunSummary, cache: ContentCache) -> None:
        self._dataset = dataset
        self._summary = summary
        self._cache = cache
        self._analyzed: set[str] = set()
        self._waiting: list[TaskOutcome] = []
        self._rows = 0
        self._written = time.monotonic()

    def add(self, outcome: TaskOutcome) -> None:
        """Take an outcome; those that wait are written when they are many or have waited long."""
        self._waiting.append(outcome)
        self._rows += sum(table.num_rows for table in outcome.tables.values())
        is_due = time.monotonic() - self._written > _SECONDS_PER_BATCH
        if len(self._waiting) >= _OUTCOMES_PER_BATCH or self._rows >= _ROWS_PER_BATCH or is_due:
            self.write()

    def write(self) -> None:
        """Append all that waits in one step."""
        if self._waiting:
            copies = self._dataset.append(join_tables([outcome.tables for outcome in self._waiting]))
            self._analyzed |= {outcome.content for outcome in self._waiting if outcome.state == ANALYZED}
            for copy in copies:
                _note_copy(
                    (copy.file.path, copy.file.labels),
                    (copy.counted.path, copy.counted.labels),
                    self._summary,
                )
                self._cache.put_copy(copy.file.content, copy.counted.content)
                self._analyzed.discard(copy.file.content)
            self._summary.analyzed = len(self._analyzed)
        self._waiting, self._rows = [], 0  # not before: what an interrupt keeps from the dataset waits on
        self._written = time.monotonic()
