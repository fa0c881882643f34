"""Processes and threads by the numbers in a table's rows, with their names.

    row → list [pid, session]         process          row → list [tid, number of its process]      thread

The tables ``process-info`` and ``thread-info`` hold the names; their last row is used, because a thread may
be renamed and a process may execute another program. As in the exports of the same recordings, a main thread
is named "Main Thread" in any case, and a thread without a name has the name of its process. Recordings before
Xcode 16 have no ``thread-info``; there the document's own list of threads names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.columns import PROCESSES, THREADS, IntArray
from tracekit.parsers.bundle.interned import NO_VALUE_32, InternedLists
from tracekit.parsers.combine import find_distinct_records

_PID_BITS = 0xFFFF_FFFF


class Entities:
    """Resolves process and thread numbers of one run.

    ``thread_names`` and ``process_names`` are called once, when the first name is needed.
    """

    def __init__(
        self,
        lists: Callable[[], InternedLists],
        process_names: Callable[[], dict[int, str]],
        thread_names: Callable[[], dict[int, str]],
    ) -> None:
        self._lists = lists
        self._process_names = cache(process_names)
        self._thread_names = cache(thread_names)
        self._processes: dict[int, tuple[int, str]] = {}
        self._threads: dict[int, tuple[int, str, int, str]] = {}

    def process(self, ref: int) -> tuple[int, str]:
        """Return (pid, name); (-1, "") for no process."""
        if ref not in self._processes:
            self._processes[ref] = self._read_process(ref)
        return self._processes[ref]

    def thread(self, ref: int) -> tuple[int, str, int, str]:
        """Return (tid, name, pid, process)."""
        if ref not in self._threads:
            self._threads[ref] = self._read_thread(ref)
        return self._threads[ref]

    def processes(self, refs: Iterable[int]) -> tuple[pd.DataFrame, IntArray, npt.NDArray[np.int32]]:
        """Return the distinct processes, the sorted refs, and the row of each."""
        sorted_refs = np.unique(np.fromiter(refs, np.int64))
        frame, rows = find_distinct_records([self.process(ref) for ref in sorted_refs.tolist()], PROCESSES)
        return frame, sorted_refs, rows

    def threads(self, refs: Iterable[int]) -> tuple[pd.DataFrame, IntArray, npt.NDArray[np.int32]]:
        """Return the distinct threads, the sorted refs, and the row of each."""
        sorted_refs = np.unique(np.fromiter(refs, np.int64))
        frame, rows = find_distinct_records([self.thread(ref) for ref in sorted_refs.tolist()], THREADS)
        return frame, sorted_refs, rows

    def _read_process(self, ref: int) -> tuple[int, str]:
        values = self._lists().single(ref) if ref != NO_VALUE_32 else ()
        if not values:
            return -1, ""
        pid = values[0] & _PID_BITS
        return pid, self._process_names().get(pid, "")

    def _read_thread(self, ref: int) -> tuple[int, str, int, str]:
        values = self._lists().single(ref)
        if not values:
            return -1, "", -1, ""
        # Stored as 64 bits, and int64 in the model: a larger value is read as an unknown tid.
        tid = values[0] if values[0] < 2**63 else -1
        pid, process = self.process(values[1] & _PID_BITS) if len(values) > 1 else (-1, "")
        return tid, self._thread_names().get(tid, "") or process, pid, process
