"""Shares of samples of texts without times: by engine and phase, of all threads and of each in ML code.

A share has no interval: samples of a thread that waits are one long wait, not independent calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from tracekit.analysis.result import Analysis
from tracekit.analysis.threads import ThreadAnswer

_MOST_THREADS = 20
_MOST_ANSWERS = 2_000
_Key = tuple[str, str, str]


@dataclass(frozen=True)
class SampleShare:
    """The samples of one engine and phase on both sides, of ``base_total`` and ``new_total``.

    ``thread`` is the process and name of a thread, "" for all threads; ``phase`` is "" for work without one.
    """

    thread: str
    engine: str
    phase: str
    base: int
    new: int
    base_total: int
    new_total: int

    @property
    def base_share(self) -> float | None:
        """The part of BASE's samples, None where there are none."""
        return self.base / self.base_total if self.base_total else None

    @property
    def new_share(self) -> float | None:
        """The part of NEW's samples, None where there are none."""
        return self.new / self.new_total if self.new_total else None

    @property
    def difference(self) -> float | None:
        """NEW minus BASE; None where a side has no samples."""
        base, new = self.base_share, self.new_share
        return None if base is None or new is None else new - base


def sample_shares(base: Sequence[Analysis], new: Sequence[Analysis]) -> tuple[SampleShare, ...]:
    """Return the shares of all threads, then those of threads in ML code on either side."""
    sides = [_count_side(base), _count_side(new)]
    totals = [_sum_counts(counts) for counts in sides]
    keys = dict.fromkeys(chain.from_iterable(counts for counts in sides))
    sample_counts = Counter(
        {thread: sum(total[thread] for total in totals) for thread in {key[0] for key in keys}}
    )
    threads = {"", *(thread for thread, _ in sample_counts.most_common(_MOST_THREADS + 1) if thread)}
    rows = [
        SampleShare(*key, sides[0][key], sides[1][key], totals[0][key[0]], totals[1][key[0]])
        for key in keys
        if key[0] in threads
    ]
    return tuple(sorted(rows, key=lambda row: (row.thread != "", -sample_counts[row.thread], row.thread)))


def _count_side(runs: Iterable[Analysis]) -> Counter[_Key]:
    counts: Counter[_Key] = Counter()
    for analysis in runs:
        work = analysis.thread_work
        if work is None:
            continue
        for entry in work.works(ml_only=False):
            counts["", str(entry.engine), str(entry.phase or "")] += entry.samples
        for answer in work.answers(_MOST_ANSWERS):
            if any(entry.is_ml for entry in answer.works):
                for entry in answer.works:
                    counts[_get_thread_name(answer), str(entry.engine), str(entry.phase or "")] += (
                        entry.samples
                    )
    return counts


def _get_thread_name(answer: ThreadAnswer) -> str:
    """Return the name by which a thread is the same in both: numbers of threads differ from run to run."""
    thread = answer.name or "a thread without a name"
    return f"{answer.process}: {thread}" if answer.process else thread


def _sum_counts(counts: Counter[_Key]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for (thread, _, _), samples in counts.items():
        totals[thread] += samples
    return totals
