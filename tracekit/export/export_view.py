"""An analysis prepared for exporters: names safe for other tools, and equal samples grouped.

Symbols, threads and models are untrusted text. Control, bidirectional and line-breaking characters and lone
surrogates are escaped, and a name ends after ``MAX_NAME`` characters: in formats that repeat names, a name of
a megabyte would fill the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracekit.analysis.engines.codes import sum_by_code
from tracekit.analysis.engines.membership import UNASSIGNED
from tracekit.analysis.result import Analysis
from tracekit.errors import InputError, UsageError
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.combinations import find_combinations
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import ENGINES, PHASES
from tracekit.report import wording
from tracekit.text import clip, format_thread, printable

MAX_NAME = 4096
NO_STACK = "[no stack]"
ROOTS = ("process", "thread", "window", "engine", "phase")
"""Properties of a sample that can be frames below a stack's outermost frame."""


def clean(text: str) -> str:
    """Return a name that every consumer accepts: printable, bounded, never empty."""
    return clip(printable(text[: MAX_NAME + 1]), MAX_NAME) or "(no name)"


@frozen
class SampleGroups:
    """Samples that share thread, stack, engine, phase and window: parallel arrays, sorted by these.

    ``weight`` is in ``Trace.weight_unit``; -1 is an absent thread, stack, phase or window.
    """

    thread: IntArray
    stack: IntArray
    engine: IntArray
    phase: IntArray
    window: IntArray
    samples: IntArray
    weight: IntArray

    def __len__(self) -> int:
        return len(self.weight)


class Frame(NamedTuple):
    """A row of ``model.FRAMES``."""

    symbol: str
    binary_id: int
    address: int
    source_file: str
    source_line: int
    inlined: bool


class ExportView:
    """One analysis, prepared for writing. Raises ``InputError`` when the sum of weights exceeds int64."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.trace: Trace = analysis.trace
        if self.trace.weights.astype(np.float64).sum() >= 2.0**63:
            raise InputError(
                self.trace.info.name,
                "the samples' weights add up to 2^63 or more, which no format can store.",
            )

    @cached_property
    def window(self) -> npt.NDArray[np.int32]:
        """Each sample's window; of overlapping ones, the last to begin (of equal starts, the shortest)."""
        return find_sample_windows(self.analysis).astype(np.int32)

    def sample_columns(self) -> dict[str, npt.NDArray[np.integer[Any]]]:
        """Return the columns of ``SampleGroups`` for each sample, in types as narrow as the recording's."""
        labels, samples = self.analysis.labels, self.trace.samples
        return {
            "thread": samples["thread_id"].to_numpy(),
            "stack": samples["stack_id"].to_numpy(),
            "engine": labels.engine,
            "phase": labels.phase,
            "window": self.window,
        }

    @cached_property
    def times(self) -> IntArray:
        """The time of each sample."""
        return self.trace.samples["time_ns"].to_numpy(np.int64)

    @cached_property
    def by_thread(self) -> IntArray:
        """The samples' positions in order of thread and time; samples without a thread are first."""
        threads = self.trace.samples["thread_id"].to_numpy()
        if not (self.times[1:] >= self.times[:-1]).all():
            return np.lexsort((self.times, threads))
        # In order of time they are already; numbers of 16 bits are sorted without comparing them.
        return np.argsort(
            (threads + 1).astype(np.min_scalar_type(int(threads.max(initial=-1)) + 1)), kind="stable"
        )

    def find_thread_samples(self, thread: int) -> IntArray:
        """Return the samples of a thread in order of time; -1 is for those without a thread."""
        begin, end = self._thread_edges[thread + 1 : thread + 3]
        return self.by_thread[begin:end]

    @cached_property
    def _thread_edges(self) -> list[int]:
        threads = self.trace.samples["thread_id"].to_numpy()
        counts = np.bincount(threads + 1, minlength=len(self.trace.threads) + 1)
        edges: list[int] = np.append(0, np.cumsum(counts)).tolist()
        return edges

    @cached_property
    def groups(self) -> SampleGroups:
        """The samples; samples equal in all properties are one group."""
        return self.group_samples(ROOTS)

    def combine_equal_samples(self, names: Sequence[str]) -> tuple[IntArray, npt.NDArray[np.int32]]:
        """Return one sample for each distinct combination of these columns, and each sample's combination.

        Combinations are sorted by the columns.
        """
        columns = self.sample_columns()
        return find_combinations([columns[name] for name in names], len(self.times))

    def group_samples(self, roots: Sequence[str]) -> SampleGroups:
        """Return samples grouped by stack and ``roots``; the other columns are -1."""
        needed = {"stack", *("thread" if name == "process" else name for name in roots)}
        columns = self.sample_columns()
        samples, group = self.combine_equal_samples([name for name in columns if name in needed])
        keys = {
            name: values[samples].astype(np.int64) if name in needed else np.full(len(samples), -1, np.int64)
            for name, values in columns.items()
        }
        # Summed in int64 and not in floats: exports must add up to the recording's weight exactly.
        weight = sum_by_code(group.astype(np.int64), self.trace.weights, len(samples))
        number = sum_by_code(group.astype(np.int64), self.trace.sample_counts, len(samples))
        return SampleGroups(**keys, samples=number, weight=weight)

    @cached_property
    def rows(self) -> list[Frame]:
        """The rows of the frames."""
        columns = self.trace.stacks.frames[list(Frame._fields)]
        return [Frame(*row) for row in columns.itertuples(index=False, name=None)]

    @cached_property
    def symbols(self) -> list[str]:
        """The name of each row of the frames."""
        return [clean(symbol) for symbol in self.trace.stacks.symbols]

    @cached_property
    def frames(self) -> list[str]:
        """The name of each row of the frames behind its binary, ``CoreML`-[MLModel predict…]``."""
        binaries = {name: f"{clean(name)}`" if name else "" for name in set(self.trace.stacks.binary_names)}
        return [
            f"{binaries[binary]}{symbol}"
            for binary, symbol in zip(self.trace.stacks.binary_names, self.symbols, strict=True)
        ]

    @cached_property
    def threads(self) -> list[str]:
        """``Main Thread (0x1f3)`` for each thread; the last entry (index -1) stands for an unknown thread."""
        rows = self.trace.threads
        return [
            format_thread(clean(name), tid) for name, tid in zip(rows["name"], rows["tid"], strict=True)
        ] + ["no thread"]

    @cached_property
    def processes(self) -> list[str]:
        """``SampleApp (412)`` for each thread; the last entry stands for an unknown thread."""
        rows = self.trace.threads
        return [
            f"{clean(name)} ({pid})" if pid >= 0 else clean(name)
            for name, pid in zip(rows["process"], rows["pid"], strict=True)
        ] + ["no process"]

    @cached_property
    def windows(self) -> list[str]:
        """``call 3 of SpeechEncoder`` for each window; the last entry is for samples outside."""
        calls = self.calls
        titles = (calls.title_with(row, clean(calls.name(row))) for row in range(len(calls.numbers)))
        return [*titles, f"no {calls.noun}"]

    @cached_property
    def calls(self) -> wording.CallNames:
        """The names of the calls."""
        return wording.call_names(self.analysis)

    def list_stack_frames(self, stack_id: int) -> list[int]:
        """Return a stack's rows of the frames, outermost first; empty for -1."""
        return self.trace.stacks.stack(stack_id)[::-1].tolist() if stack_id >= 0 else []

    def list_root_names(self, roots: Sequence[str], group: tuple[int, ...]) -> list[str]:
        """Return the frames to put below a stack of that (thread, engine, phase, window), outermost first."""
        thread, engine, phase, window = group
        names = {
            "process": self.processes[thread],
            "thread": self.threads[thread],
            "window": f"[{self.windows[window]}]",
            "engine": f"[{ENGINES[engine]}]",
            "phase": f"[{PHASES[phase]}]" if phase >= 0 else "",
        }
        return [names[root] for root in roots if names[root]]


def require_times(trace: Trace, consumer: str) -> None:
    """Raise ``UsageError`` for a text without times, which a format that draws over time cannot hold."""
    if not trace.has_timeline:
        raise UsageError(
            f"{trace.info.name} has no times, and {consumer} draws over time."
            " Choose folded, speedscope, pprof, csv or parquet."
        )


def parse_roots(text: str) -> tuple[str, ...]:
    """Return the names of ``engine,window,…``; empty for "none". Raises ``UsageError`` for an unknown one."""
    names = tuple(name.strip() for name in text.split(",")) if text.strip() != "none" else ()
    for name in names:
        if name not in ROOTS:
            raise UsageError(f"--root '{name}' is not one of {', '.join(ROOTS)} (or none, for no root).")
    if len(set(names)) < len(names):
        raise UsageError(f"--root {text} has a name twice.")
    return names


def find_sample_windows(analysis: Analysis) -> IntArray:
    """Return each sample's window, -1 outside; of several, the one that began last, then the shortest."""
    windows = analysis.window_rows
    # Windows are ranked by start, the shorter one last.
    order = np.lexsort((-windows["end_ns"].to_numpy(np.int64), windows["start_ns"].to_numpy(np.int64)))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    highest = analysis.members.find_highest(rank, len(analysis.trace.samples))
    window_of: IntArray = np.append(order, UNASSIGNED)[highest]
    return window_of
