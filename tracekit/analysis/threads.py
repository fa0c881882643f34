"""What each thread of a trace without times did: its samples by engine and phase, and the deciding frames.

One pause of a debugger, a crash or a hang is one sample of each thread. ``sample`` and spindumps count
samples of every thread, waiting ones as well. Breakpoints count hits, which are calls of functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.classification.leading_frames import (
    DecidingFrame,
    FrameDescriber,
    group_by_deciding_frame,
)
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.sample_labels import SampleLabels
from tracekit.analysis.engines.codes import group_keys, is_among, is_engine, sum_by_code
from tracekit.analysis.whole_threads import WholeThreads
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, Columns, IntArray, make_categorical
from tracekit.model.content import Content
from tracekit.model.trace import MICROSTACKSHOTS, PAUSES, RUNNING_ONLY, Trace
from tracekit.model.vocabulary import ENGINES, ML_ENGINES, PHASE_CODE, PHASES, Engine, Phase

THREAD_WORK = Columns(
    {
        "thread_id": "int32",  # row of Trace.threads, -1 = none
        "engine": "category",
        "phase": "category",  # missing for engines whose work has no phase
        "samples": "int64",
        "frame": "int64",  # position in ThreadWork.frames, -1 = none
    }
)
_FAULT = re.compile(r"crashed|triggered", re.IGNORECASE)
"""The states that readers give the thread because of which a report was written."""


@frozen
class Work:
    """One engine and phase of a thread: its samples, and the frame that decided most of them, if any."""

    engine: Engine
    phase: Phase | None
    samples: int
    frame: DecidingFrame | None

    @property
    def is_ml(self) -> bool:
        """True for an ML runtime or engine at work; an idle service thread is none."""
        return self.engine in ML_ENGINES and self.phase is not Phase.IDLE


@frozen
class ThreadAnswer:
    """One thread: ``works`` are what it did, most samples first, ML work before all else.

    ``pid`` and ``tid`` are -1 where the text gives none, ``state`` "" where it has none.
    """

    process: str
    pid: int
    name: str
    tid: int
    state: str
    samples: int
    works: tuple[Work, ...]
    leaf: DecidingFrame | None = None
    """The innermost frame of the thread that crashed; no rule."""

    @property
    def is_faulting(self) -> bool:
        """True for the thread because of which the report was written."""
        return _FAULT.search(self.state) is not None

    @property
    def is_idle(self) -> bool:
        """True for a parked service thread that did nothing else."""
        return all(work.phase is Phase.IDLE for work in self.works)


@frozen
class ProcessAnswer:
    """One process: its threads and samples, those in ML code, and its parked threads.

    ``service_threads`` are the parked ones of the Neural Engine's service: those of an ML runtime's pool
    wait as well, and show nothing about the engine.
    """

    process: str
    pid: int
    threads: int
    samples: int
    ml_threads: int
    ml_samples: int
    idle_threads: int
    service_threads: int = 0


@frozen
class ThreadWork(Content):
    """The work of all threads, as columns: one row per thread × engine × phase that has samples.

    ``rows`` are sorted by thread. ``threads`` are those of the trace, ``states`` the state of each that has
    one, ``leaves`` the innermost frame of those that crashed. ``counts_waiting`` is False where only threads
    that ran were sampled; ``is_of_pauses`` is True where a sample is a pause of a debugger,
    ``is_of_intervals`` where even one sample of each thread is no pause.
    """

    rows: pd.DataFrame
    frames: tuple[DecidingFrame, ...]
    threads: pd.DataFrame
    states: dict[int, str]
    leaves: dict[int, DecidingFrame]
    counts_waiting: bool
    noun: Literal["sample", "hit"] = "sample"
    is_of_pauses: bool = False
    is_of_intervals: bool = False
    has_separate_threads: bool = True
    hits_not_kept: int = 0

    @cached_property
    def _whole(self) -> WholeThreads:
        return WholeThreads(self.threads)

    @cached_property
    def samples(self) -> IntArray:
        """The samples of each thread, of those without a thread at the end."""
        return self._count_per_thread(np.ones(len(self.rows), bool))

    @cached_property
    def ml_samples(self) -> IntArray:
        """The samples of each thread in an ML runtime or engine, idle ones left out."""
        is_ml = is_among(self.rows["engine"], *ML_ENGINES)
        return self._count_per_thread(is_ml & ~self._is_idle)

    @cached_property
    def unknown_samples(self) -> IntArray:
        """The samples of each thread whose stacks could not show an engine: without symbols, or no stack."""
        return self._count_per_thread(is_among(self.rows["engine"], Engine.UNKNOWN))

    @cached_property
    def idle_samples(self) -> IntArray:
        """The samples of each thread while parked, in an engine's service or in a runtime's pool."""
        return self._count_per_thread(self._is_idle)

    @cached_property
    def service_samples(self) -> IntArray:
        """The samples of each thread while it was parked in the Neural Engine's service."""
        is_ane = (self.rows["engine"] == Engine.ANE).to_numpy(bool)
        return self._count_per_thread(self._is_idle & is_ane)

    @property
    def count(self) -> int:
        """The number of threads with samples; a queue that several threads served counts as one."""
        return int(self._whole.mark_first_rows(self.samples > 0).sum())

    @property
    def is_single_pause(self) -> bool:
        """True where no thread has more than one sample: one moment, which shows no rate."""
        if self.noun != "sample" or self.is_of_intervals:
            return False
        return bool(self._whole.sum_per_thread(self.samples).max(initial=0) <= 1)

    @cached_property
    def processes(self) -> tuple[ProcessAnswer, ...]:
        """The processes with samples: those with most ML samples first, then those with most samples."""
        keys = [*zip(self.threads["pid"].tolist(), self.threads["process"].tolist(), strict=True), (-1, "")]
        number, distinct = pd.factorize(pd.MultiIndex.from_tuples(keys))
        count = len(distinct)
        columns = (
            sum_by_code(number, amounts, count).tolist()
            for amounts in (
                self._whole.mark_first_rows(self.samples > 0).astype(np.int64),
                self.samples,
                self._whole.mark_first_rows(self.ml_samples > 0).astype(np.int64),
                self.ml_samples,
                self._whole.mark_first_rows(self._is_idle_thread).astype(np.int64),
                self._whole.mark_first_rows(self._is_idle_thread & (self.service_samples > 0)).astype(
                    np.int64
                ),
            )
        )
        answers = [
            ProcessAnswer(str(name), int(pid), *numbers)
            for (pid, name), numbers in zip(distinct.tolist(), zip(*columns, strict=True), strict=True)
        ]
        present = [answer for answer in answers if answer.threads]
        return tuple(
            sorted(present, key=lambda answer: (-answer.ml_samples, -answer.idle_threads, -answer.samples))
        )

    def answers(self, max_count: int) -> tuple[ThreadAnswer, ...]:
        """Return the threads in ML code or parked in a service, at most so many, and those that crashed.

        Those with most ML samples come first; the one that crashed is among them.
        """
        faulting = self.faulting[:max_count]
        matters = (self.ml_samples > 0) | (self.idle_samples > 0)
        matters[faulting] = True
        threads = np.flatnonzero(matters)
        order = np.lexsort((threads, -self.idle_samples[threads], -self.ml_samples[threads]))
        selected = threads[order][:max_count].tolist()
        selected += [thread for thread in faulting if thread not in selected]
        return tuple(self._build_answer(thread) for thread in selected)

    @property
    def listed_count(self) -> int:
        """The number of threads that ``answers`` lists without a limit."""
        return int(self._whole.mark_first_rows((self.ml_samples > 0) | (self.idle_samples > 0)).sum())

    def left_out(self, answers: Sequence[ThreadAnswer]) -> int:
        """Return the number of threads in ML code or parked in a service that have no answer among these."""
        threads_of_answers = {
            (answer.pid, answer.process, answer.tid if answer.tid >= 0 else -2 - position)
            for position, answer in enumerate(answers)
            if any(work.is_ml or work.phase is Phase.IDLE for work in answer.works)
        }
        return max(self.listed_count - len(threads_of_answers), 0)

    @property
    def unlisted_count(self) -> int:
        """The number of threads with samples that ``answers`` never lists."""
        matters = (self.ml_samples > 0) | (self.idle_samples > 0)
        matters[self.faulting] = True
        is_other = (self.samples > 0) & (self._whole.sum_per_thread(matters.astype(np.int64)) == 0)
        return int(self._whole.mark_first_rows(is_other).sum())

    @cached_property
    def faulting(self) -> list[int]:
        """The threads that crashed."""
        return sorted(thread for thread, state in self.states.items() if _FAULT.search(state))

    def works(self, ml_only: bool = True) -> tuple[Work, ...]:
        """Return the work of all threads by engine and phase, with its leading frame; the ANE's is first."""
        rows = self.rows.assign(engine=self.rows["engine"].astype("str"), phase=self._phases)
        works = [
            self._sum_work(str(engine), str(phase), int(group["samples"].sum()), group)
            for (engine, phase), group in rows.groupby(["engine", "phase"], sort=False)
        ]
        selected = [work for work in works if work.is_ml or not ml_only]
        return tuple(sorted(selected, key=_rank_work))

    @property
    def _phases(self) -> pd.Series[str]:
        return self.rows["phase"].astype("str").where(self.rows["phase"].notna(), "")

    @cached_property
    def _is_idle(self) -> BoolArray:
        return (self.rows["phase"] == Phase.IDLE).to_numpy(bool)

    @property
    def _is_idle_thread(self) -> BoolArray:
        idle: BoolArray = (self.idle_samples > 0) & (self._whole.sum_per_thread(self.ml_samples) == 0)
        return idle

    def _count_per_thread(self, mask: BoolArray) -> IntArray:
        thread = self.rows["thread_id"].to_numpy(np.int64)
        thread = np.where(thread < 0, len(self.threads), thread)
        samples = np.where(mask, self.rows["samples"].to_numpy(np.int64), 0)
        return sum_by_code(thread, samples, len(self.threads) + 1)

    def _build_answer(self, thread: int) -> ThreadAnswer:
        is_thread = thread < len(self.threads)
        number = thread if is_thread else -1
        ids, engines, phases, samples, frames = self._columns
        start, stop = np.searchsorted(ids, [number, number + 1]).tolist()
        works = [
            Work(
                Engine(engines[row]),
                Phase(phases[row]) if phases[row] else None,
                samples[row],
                self.frames[frames[row]] if frames[row] >= 0 else None,
            )
            for row in range(start, stop)
        ]
        return ThreadAnswer(
            *(self._names[thread] if is_thread else ("", -1, "", -1)),
            self.states.get(number, ""),
            sum(work.samples for work in works),
            tuple(sorted(works, key=lambda work: (not work.is_ml, -work.samples))),
            self.leaves.get(number),
        )

    @cached_property
    def _columns(self) -> tuple[IntArray, list[str], list[str], list[int], list[int]]:
        """The columns of ``rows``, as lists: threads are looked at one by one."""
        return (
            self.rows["thread_id"].to_numpy(np.int64),
            self.rows["engine"].astype("str").tolist(),
            self._phases.tolist(),
            self.rows["samples"].tolist(),
            self.rows["frame"].tolist(),
        )

    @cached_property
    def _names(self) -> list[tuple[str, int, str, int]]:
        names = self.threads[["process", "pid", "name", "tid"]]
        return list(names.itertuples(index=False, name=None))

    def _sum_work(self, engine: str, phase: str, samples: int, rows: pd.DataFrame) -> Work:
        decided = rows[(rows["frame"] >= 0).to_numpy(bool)]
        frame = None
        if len(decided):
            frame = self.frames[int(decided["frame"].iloc[int(decided["samples"].to_numpy().argmax())])]
        return Work(Engine(engine), Phase(phase) if phase else None, samples, frame)


def _rank_work(work: Work) -> tuple[bool, bool, int]:
    return work.engine is Engine.RUNTIME, work.engine is not Engine.ANE, -work.samples


def collect_thread_work(trace: Trace, labels: SampleLabels, rule_set: RuleSet) -> ThreadWork:
    """Return what each thread did."""
    thread = trace.samples["thread_id"].to_numpy(np.int64)
    stack = trace.samples["stack_id"].to_numpy(np.int64)
    counted_samples = np.flatnonzero(trace.sample_counts > 0)
    thread, stack, counts = (
        thread[counted_samples],
        stack[counted_samples],
        trace.sample_counts[counted_samples],
    )
    engine, phase = (
        labels.engine[counted_samples].astype(np.int64),
        labels.phase[counted_samples].astype(np.int64),
    )
    keys, row = group_keys(((thread + 1) * len(ENGINES) + engine) * (len(PHASES) + 1) + phase + 1)
    frame, frames = _find_leading_frames(trace, labels, rule_set, stack, phase, row, counts, len(keys))
    thread_of, engine_of = np.divmod(keys // (len(PHASES) + 1), len(ENGINES))
    rows = pd.DataFrame(
        {
            "thread_id": (thread_of - 1).astype(np.int32),
            "engine": make_categorical(engine_of, ENGINES),
            "phase": make_categorical(keys % (len(PHASES) + 1) - 1, PHASES),
            "samples": sum_by_code(row, counts, len(keys)),
            "frame": frame,
        }
    )
    states = _read_states(trace)
    leaves = _find_leaf_frames(trace, [number for number, state in states.items() if _FAULT.search(state)])
    counts_waiting = trace.info.kind not in RUNNING_ONLY
    noun: Literal["sample", "hit"] = "hit" if trace.weight_unit == "hits" else "sample"
    checked = THREAD_WORK.check(rows, "threads")
    return ThreadWork(
        checked,
        frames,
        trace.threads,
        states,
        leaves,
        counts_waiting,
        noun,
        is_of_pauses=trace.info.kind in PAUSES,
        is_of_intervals=trace.info.kind in (MICROSTACKSHOTS, "spindump"),
        has_separate_threads=trace.info.kind != MICROSTACKSHOTS,
        hits_not_kept=sum(issue.count for issue in trace.issues if issue.code == "hits-not-kept"),
    )


def _find_leaf_frames(trace: Trace, threads: list[int]) -> dict[int, DecidingFrame]:
    """Return the innermost frame of each of these threads that has a stack."""
    rows = trace.samples[trace.samples["thread_id"].isin(threads).to_numpy(bool)]
    rows = rows[(rows["stack_id"] >= 0).to_numpy(bool)].drop_duplicates("thread_id")
    leaves = {}
    for thread, stack in zip(rows["thread_id"].tolist(), rows["stack_id"].tolist(), strict=True):
        frame = int(trace.stacks.stack(stack)[0])
        symbol, binary = str(trace.stacks.symbols[frame]), str(trace.stacks.binary_names[frame])
        leaves[thread] = DecidingFrame(symbol, binary, "")
    return leaves


def _read_states(trace: Trace) -> dict[int, str]:
    """Return the state of each thread that has one, of several the first."""
    states = trace.samples[["thread_id", "state"]].dropna()
    states = states[(states["thread_id"] >= 0).to_numpy(bool)].drop_duplicates("thread_id")
    return dict(zip(states["thread_id"].tolist(), states["state"].astype("str").tolist(), strict=True))


def _find_leading_frames(
    trace: Trace,
    labels: SampleLabels,
    rule_set: RuleSet,
    stack: IntArray,
    phase: IntArray,
    row: IntArray,
    counts: IntArray,
    size: int,
) -> tuple[IntArray, tuple[DecidingFrame, ...]]:
    """Return, for each row, the position of the deciding frame with most samples, and the frames."""
    classification = labels.classification
    representative, has_name = group_by_deciding_frame(trace.stacks, classification)
    group = np.append(representative, -1)[stack]
    # A thread that its name alone shows to be idle has no deciding frame.
    is_named_idle = (phase == PHASE_CODE[Phase.IDLE]) & (
        np.append(classification.phase.astype(np.int64), -1)[stack] != PHASE_CODE[Phase.IDLE]
    )
    decided = np.flatnonzero((group >= 0) & ~is_named_idle & _is_of_ml(labels, stack))
    pairs, position = group_keys(row[decided] * (len(trace.stacks) + 1) + group[decided])
    samples = sum_by_code(position, counts[decided], len(pairs))
    row_of, group_of = np.divmod(pairs, len(trace.stacks) + 1)
    # The first pair of each row leads: named before bare, most samples, then the first stack of the text.
    order = np.lexsort((group_of, -samples, ~has_name[group_of], row_of))
    leading = order[np.flatnonzero(np.diff(row_of[order], prepend=-1))]
    describer = FrameDescriber(trace.stacks, classification, rule_set)
    numbers: dict[DecidingFrame, int] = {}
    frame = np.full(size, -1, np.int64)
    codes, distinct = pd.factorize(group_of[leading])
    described = np.array(
        [numbers.setdefault(describer.describe(number), len(numbers)) for number in distinct.tolist()],
        np.int64,
    )
    frame[row_of[leading]] = described[codes]
    return frame, tuple(numbers)


def _is_of_ml(labels: SampleLabels, stack: IntArray) -> npt.NDArray[np.bool_]:
    engine = np.append(labels.classification.engine, np.int8(ENGINES.index(Engine.UNKNOWN)))[stack]
    return is_engine(engine, *ML_ENGINES, Engine.GRAPHICS)
