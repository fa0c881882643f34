"""The text that Edit > Deep Copy of Instruments makes of a call tree.

    Weight<TAB>Self Weight<TAB>Symbol Names
    4.93 s  100.0%<TAB>0 s<TAB>   start
    2.45 s   0.0%<TAB>846.00 ms<TAB>     delta()

A row's level is the number of spaces before the name. Older versions have one more column, which is empty.
Where the tree is separated by process and thread, the first levels are ``App (42)`` and ``Main  0x1ee7``.

Weights are times (Time Profiler), cycles (CPU Profiler) or samples, and rounded: "4.93 s" may be 4.934 s.
So the samples of a row are its own weight in units of the sampling interval, which the weights reveal, and a
weight is compared with those of its callees only as far as its digits go.

Format: Instruments 7.3, 13.4 and 16.0 (real copies).
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.errors import InputError
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.model.vocabulary import CALLEES_MISSING, CALLERS_MISSING
from tracekit.parsers.text.stack_counts import MAX_COUNT, StackCounts
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_HEADER = re.compile(
    r"^ *(?:Weight|Running Time|# Samples|Samples|Sample Count|Bytes Used)\t[^\n]*\bSymbol Names?\b",
    re.MULTILINE,
)
_ROW = re.compile(
    r"^ *\d[\d.,]{0,20} ?(?:min|s|ms|[µμu]s|ns|[KMGT]?c|cycles)? {1,20}\d[\d.,]{0,9} ?%\t[^\t\n]{0,40}\t",
    re.MULTILINE,
)
_WEIGHT = re.compile(r" *(?P<number>\d[\d.,]{0,20}) ?(?P<unit>[a-zA-Zµμ]+)?(?: +[\d.,]+ ?%)? *$")
_UNITS = {"min": 60 * 10**9, "s": 10**9, "ms": 10**6, "µs": 1000, "μs": 1000, "us": 1000, "ns": 1}
_CYCLES = {"c": 1, "cycles": 1, "Kc": 10**3, "Mc": 10**6, "Gc": 10**9, "Tc": 10**12}
_PROCESS = re.compile(r"(?P<name>.+) \((?P<pid>\d{1,9})\)$")
_THREAD_NUMBER = re.compile(r"\(?0x(?P<tid>[0-9a-f]{1,15})\)?$")
_MEGACYCLE = 10**6
"""CPU Profiler takes a sample about every million cycles: most weights of a copy are multiples of 1.00 Mc."""
_SHORTEST_INTERVAL_NS = 10_000
_MICROSECOND = 1_000
_MAX_EXACT_ERROR_NS = 10**5
_MAX_AMOUNT = 2**62


@dataclass(frozen=True, slots=True)
class _Weight:
    amount: int
    error: int
    """The maximum rounding error of the amount."""
    kind: str
    """"ns", "cycles" or "samples"."""


@dataclass(slots=True)
class _CopyRow:
    """A row whose callees are being read; ``callers`` is the path above it, ``path`` ends with it."""

    level: int
    weight: _Weight
    own: _Weight | None
    thread: int
    frame: int = -1
    callers: int = -1
    path: int = -1
    callees: int = 0
    """The weights of the rows below."""
    error: int = 0
    is_process: bool = False


def _parse_weight(text: str) -> _Weight | None:
    """Return a weight; "-" is nothing. None for any other text."""
    if text.strip() == "-":
        return _Weight(0, 0, "")
    match = _WEIGHT.match(text)
    unit = match["unit"] or "" if match else "?"
    scale = _UNITS.get(unit) or _CYCLES.get(unit) or (1 if not unit else 0)
    if match is None or not scale:
        return None
    # A comma before the last one or two digits is a decimal one; others group thousands.
    number = re.sub(r",(?=\d{1,2}$)", ".", match["number"]) if "." not in match["number"] else match["number"]
    whole, _, fraction = number.replace(",", "").partition(".")
    if "." in fraction or len(whole) > 15:
        return None
    amount = int(whole + fraction) * scale // 10 ** len(fraction)
    kind = "ns" if unit in _UNITS else "cycles" if unit else "samples"
    return _Weight(amount, scale // 10 ** len(fraction) // 2 if unit else 0, kind)


class _DeepCopy:
    """One copy while it is read: the weight of each row, and the facts that determine their unit."""

    def __init__(self, file: TextFile, header: Sequence[str] = ()) -> None:
        self.issues = IssueCounter()
        # "Self (ms)" has the unit of its numbers in its name.
        unit = re.search(r"\((\w+)\)", header[1]) if len(header) > 1 else None
        self._own_unit = f" {unit[1]}" if unit else ""
        self._place = next((i for i, name in enumerate(header) if name.startswith("Symbol Name")), -1)
        self.is_begun = bool(header)
        self._file = file
        self._counts = StackCounts(file.name, file.limits)
        self._amounts = array("q")
        """The weight of each counted stack."""
        self._open: list[_CopyRow] = []
        self._first_row: tuple[str, str] | None = None
        """Name and kind of weight of the first row."""
        self._pid, self._process = -1, ""
        self._root_level = self._root_weight = self._error = self._divisor = 0

    def read_row(self, line: str) -> None:
        """Read a row; other lines are counted, unless they are blank."""
        cells = line.split("\t")
        weight = _parse_weight(cells[0]) if len(cells) > 1 else None
        place = self._place if self._place < len(cells) else -1
        if weight is None or not cells[place].strip():
            if line.strip():
                self.issues.add(
                    "warning", "lines-unreadable", "lines of a call tree that cannot be read: {n}"
                )
            return
        own = _parse_weight(cells[1]) if len(cells) > 2 else None
        if own is not None and self._own_unit and own.kind == "samples":
            own = _parse_weight(cells[1].strip() + self._own_unit)
        name = cells[place].strip()
        level = len(cells[place]) - len(cells[place].lstrip(" "))
        self._measure_copy(level, name, weight, own)
        self._close_rows(level)
        self._open.append(self._place_row(level, name, weight, own))

    def finish(self) -> TextRecording | None:
        """Return the recording; None without a row. Raises ``InputError`` for an inverted tree."""
        if self._first_row is None:
            return None
        self._close_rows(-1)
        max_weight = self._root_weight + self._error + self._root_weight // 20
        if sum(self._amounts) > max_weight:
            raise InputError(
                self._file.name,
                "has more weight in its rows than in its roots, as an inverted call tree has.",
                "Turn off Call Tree > Invert Call Tree, and copy again.",
            )
        samples = np.rint(np.array(self._amounts) / self._find_unit())
        self._counts.weigh(np.clip(samples, 1, MAX_COUNT).astype(np.int64))
        process = _PROCESS.match(self._first_row[0])
        info = TraceInfo(
            self._file.name,
            DEEP_COPY.name,
            process=process["name"] if process else "",
            pid=int(process["pid"]) if process else None,
        )
        return TextRecording(info, (self._counts,), self.issues.issues())

    def _measure_copy(self, level: int, name: str, weight: _Weight, own: _Weight | None) -> None:
        """Update the facts about the whole copy by a row."""
        if self._first_row is None or level < self._root_level:
            self._root_level, self._root_weight = level, 0
        if level == self._root_level:
            self._root_weight += weight.amount + weight.error
        self._first_row = self._first_row or (name, weight.kind)
        exact = own or weight
        if exact.error <= _MAX_EXACT_ERROR_NS:
            self._divisor = math.gcd(self._divisor, exact.amount)

    def _find_unit(self) -> int:
        """Return the weight that counts as one sample."""
        _, kind = self._first_row or ("", "")
        if kind == "samples":
            return 1
        unit = _MEGACYCLE
        if kind == "ns":
            unit = self._divisor or 10**6
            unit = unit if unit >= _SHORTEST_INTERVAL_NS else _MICROSECOND
        if self._amounts:
            length = f"{unit / 1e6:g} ms" if kind == "ns" else f"{unit:,} cycles"
            text = f"the copy has weights instead of samples: {length} counts as one sample"
            self.issues.add("info", "weight-assumed", text)
        return unit

    def _place_row(self, level: int, name: str, weight: _Weight, own: _Weight | None) -> _CopyRow:
        """Return a row with its thread and its place below the open ones."""
        caller = self._open[-1] if self._open else None
        if caller is not None:
            caller.callees += weight.amount
            caller.error += weight.error
            self._error += weight.error
        match = _PROCESS.match(name) if caller is None else None
        title, _, number = name.rpartition(" ")
        thread = _THREAD_NUMBER.match(number) if caller is None or caller.is_process else None
        if match is not None:
            self._pid, self._process = int(match["pid"]), match["name"]
            return _CopyRow(level, weight, own, self._add_thread(-1, ""), is_process=True)
        if thread is not None and title:
            return _CopyRow(level, weight, own, self._add_thread(int(thread["tid"], 16), title.rstrip()))
        frame = self._counts.add_frame(name)
        if caller is None:
            return _CopyRow(level, weight, own, self._add_thread(-1, ""), frame)
        callers = self._get_path(caller)
        if level > caller.level + 1:
            text = "places in a call tree where callers are missing: {n}"
            self.issues.add("warning", "callers-missing", text)
            callers = self._counts.add_caller(self._counts.add_frame(CALLERS_MISSING), callers)
        return _CopyRow(level, weight, own, caller.thread, frame, callers)

    def _add_thread(self, tid: int, name: str) -> int:
        return self._counts.add_thread(tid, name, self._pid, self._process)

    def _get_path(self, row: _CopyRow) -> int:
        """Return the path that ends with a row; -1 for that of a process or a thread."""
        if row.path < 0 <= row.frame:
            row.path = self._counts.add_caller(row.frame, row.callers)
        return row.path

    def _close_rows(self, level: int) -> None:
        """Close the rows of a level and below: count their own weights and those of missing callees."""
        while self._open and self._open[-1].level >= level:
            row = self._open.pop()
            unclaimed_weight = row.weight.amount - row.callees
            own = max(unclaimed_weight, 0) if row.own is None else row.own.amount
            if own:
                self._add_samples(row.thread, row.frame, row.callers, own)
            error = 2 * (row.weight.error + row.error + (row.own.error if row.own else 0))
            if unclaimed_weight - own > error:
                self.issues.add("warning", "lines-cut", "rows of a call tree that lack callees: {n}")
                self._add_samples(
                    row.thread,
                    self._counts.add_frame(CALLEES_MISSING),
                    self._get_path(row),
                    unclaimed_weight - own,
                )
            elif own - unclaimed_weight > error:
                text = "lines of a call tree with less weight than their callees: {n}"
                self.issues.add("warning", "counts-disagree", text)

    def _add_samples(self, thread: int, leaf: int, callers: int, amount: int) -> None:
        self._counts.add(thread, leaf, callers)
        self._amounts.append(min(amount, _MAX_AMOUNT))


def _is_deep_copy(head: str) -> bool:
    return _HEADER.search(head) is not None or _ROW.search(head) is not None


def _read_copies(file: TextFile) -> Iterator[TextRecording]:
    """Yield the copies, each with a header. Raises ``InputError`` for a copy of another instrument."""
    copy, copies = _DeepCopy(file), 0
    for line in file.iter_lines():
        if _HEADER.match(line) is None:
            # Lines before the first header or row do not belong to the copy.
            copy.is_begun |= _ROW.match(line) is not None
            if copy.is_begun:
                copy.read_row(line)
            continue
        if line.lstrip().startswith("Bytes Used"):
            problem = "is a Deep Copy of allocations, which has no samples of the CPU."
            raise InputError(file.name, problem, "Copy the call tree of Time Profiler.")
        if recording := copy.finish():
            copies += 1
            yield recording
        copy = _DeepCopy(file, line.split("\t"))
    if recording := copy.finish():
        yield recording
    elif not copies:
        raise InputError(
            file.name, "is a Deep Copy without a row.", "Select the rows, then Edit > Deep Copy."
        )


DEEP_COPY = TextKind("deep-copy", "a call tree copied from Instruments", _is_deep_copy, _read_copies)
