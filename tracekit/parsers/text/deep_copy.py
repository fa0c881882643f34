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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracekit.errors import InputError
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.model.vocabulary import CALLEES_MISSING, CALLERS_MISSING
from tracekit.parsers.text.lines import TextFile
from tracekit.parsers.text.recording import TextKind, TextRecording
from tracekit.parsers.text.stack_counts import MOST_COUNT, StackCounts

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
_LONGEST_EXACT_NS = 10**5


@dataclass(frozen=True)
class _Weight:
    amount: int
    error: int
    """The most by which rounding changed the amount."""
    kind: str
    """"ns", "cycles" or "samples"."""


@dataclass
class _Row:
    level: int
    name: str
    weight: _Weight
    own: _Weight | None
    callees: int = 0
    """The weights of the rows below."""
    error: int = 0
    path: tuple[int, ...] = ()
    thread: int = -1
    is_process: bool = False


def _weight(text: str) -> _Weight | None:
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


class _Copy:
    """One copy while it is read."""

    def __init__(self, header: Sequence[str] = ()) -> None:
        self.issues = IssueCounter()
        self.rows: list[_Row] = []
        # "Self (ms)" has the unit of its numbers in its name.
        unit = re.search(r"\((\w+)\)", header[1]) if len(header) > 1 else None
        self._own_unit = f" {unit[1]}" if unit else ""
        self._place = next((i for i, name in enumerate(header) if name.startswith("Symbol Name")), -1)
        self.is_begun = bool(header)

    def row(self, line: str) -> None:
        """Read a row; a line that is none is counted, unless it is blank."""
        cells = line.split("\t")
        weight = _weight(cells[0]) if len(cells) > 1 else None
        place = self._place if self._place < len(cells) else -1
        if weight is None or not cells[place].strip():
            if line.strip():
                self.issues.add(
                    "warning", "lines-unreadable", "lines of a call tree that cannot be read: {n}"
                )
            return
        own = _weight(cells[1]) if len(cells) > 2 else None
        if own is not None and self._own_unit and own.kind == "samples":
            own = _weight(cells[1].strip() + self._own_unit)
        name = cells[place].strip()
        level = len(cells[place]) - len(cells[place].lstrip(" "))
        self.rows.append(_Row(level, name, weight, own))

    def finish(self, file: str) -> TextRecording | None:
        """Return what was read; None without a row. Raises ``InputError`` for an inverted tree."""
        if not self.rows:
            return None
        counts = StackCounts()
        process = _PROCESS.match(self.rows[0].name)
        stacks = list(self._stacks(counts))
        least = min(row.level for row in self.rows)
        whole = sum(row.weight.amount + row.weight.error for row in self.rows if row.level == least)
        if sum(amount for _, _, amount in stacks) > whole + sum(row.error for row in self.rows) + whole // 20:
            raise InputError(
                file,
                "has more weight in its rows than in its roots, as an inverted call tree has.",
                "Turn off Call Tree > Invert Call Tree, and copy again.",
            )
        unit = self._unit([amount for _, _, amount in stacks])
        for thread, stack, amount in stacks:
            counts.add(thread, stack, min(max(round(amount / unit), 1), MOST_COUNT))
        info = TraceInfo(
            file,
            DEEP_COPY.name,
            process=process["name"] if process else "",
            pid=int(process["pid"]) if process else None,
        )
        return TextRecording(info, (counts.table(),), self.issues.issues())

    def _unit(self, amounts: Sequence[int]) -> int:
        """Return the weight that counts as one sample."""
        kind = self.rows[0].weight.kind
        if kind == "samples":
            return 1
        unit = _MEGACYCLE
        if kind == "ns":
            exact = [row.own or row.weight for row in self.rows]
            unit = math.gcd(*(own.amount for own in exact if own.error <= _LONGEST_EXACT_NS)) or 10**6
            unit = unit if unit >= _SHORTEST_INTERVAL_NS else _MICROSECOND
        if amounts:
            length = f"{unit / 1e6:g} ms" if kind == "ns" else f"{unit:,} cycles"
            text = f"the copy has weights instead of samples: {length} counts as one sample"
            self.issues.add("info", "weight-assumed", text)
        return unit

    def _stacks(self, counts: StackCounts) -> Iterator[tuple[int, tuple[int, ...], int]]:
        """Yield thread, stack and weight of what ends in each row, and of what its callees lack."""
        levels: list[_Row] = []
        pid, process = -1, ""
        for row in [*self.rows, None]:
            while levels and (row is None or levels[-1].level >= row.level):
                yield from self._own(levels.pop(), counts)
            if row is None:
                break
            caller = levels[-1] if levels else None
            if caller is not None:
                caller.callees += row.weight.amount
                caller.error += row.weight.error
            match = _PROCESS.match(row.name) if caller is None else None
            title, _, number = row.name.rpartition(" ")
            thread = _THREAD_NUMBER.match(number) if caller is None or caller.is_process else None
            if match is not None:
                pid, process, row.is_process = int(match["pid"]), match["name"], True
                row.thread = counts.thread(-1, "", pid, process)
            elif thread is not None and title:
                row.thread = counts.thread(int(thread["tid"], 16), title.rstrip(), pid, process)
            else:
                row.thread = caller.thread if caller else counts.thread(-1, "", pid, process)
                row.path = (counts.frame(row.name), *(caller.path if caller else ()))
                if caller is not None and row.level > caller.level + 1:
                    text = "places in a call tree where callers are missing: {n}"
                    self.issues.add("warning", "callers-missing", text)
                    row.path = (row.path[0], counts.frame(CALLERS_MISSING), *row.path[1:])
            levels.append(row)

    def _own(self, row: _Row, counts: StackCounts) -> Iterator[tuple[int, tuple[int, ...], int]]:
        left = row.weight.amount - row.callees
        own = max(left, 0) if row.own is None else row.own.amount
        if own:
            yield row.thread, row.path, own
        error = 2 * (row.weight.error + row.error + (row.own.error if row.own else 0))
        if left - own > error:
            self.issues.add("warning", "lines-cut", "rows of a call tree that lack callees: {n}")
            yield row.thread, (counts.frame(CALLEES_MISSING), *row.path), left - own
        elif own - left > error:
            text = "lines of a call tree with less weight than their callees: {n}"
            self.issues.add("warning", "counts-disagree", text)


def _recognises(head: str) -> bool:
    return _HEADER.search(head) is not None or _ROW.search(head) is not None


def _read(file: TextFile) -> Iterator[TextRecording]:
    """Yield the copies, each with a header. Raises ``InputError`` for a copy of another instrument."""
    copy, copies = _Copy(), 0
    for line in file.lines():
        if _HEADER.match(line) is None:
            # What stands before the first header or row is not of the copy.
            copy.is_begun |= _ROW.match(line) is not None
            if copy.is_begun:
                copy.row(line)
            continue
        if line.lstrip().startswith("Bytes Used"):
            problem = "is a Deep Copy of allocations, which has no samples of the CPU."
            raise InputError(file.name, problem, "Copy the call tree of Time Profiler.")
        if recording := copy.finish(file.name):
            copies += 1
            yield recording
        copy = _Copy(line.split("\t"))
    if recording := copy.finish(file.name):
        yield recording
    elif not copies:
        raise InputError(
            file.name, "is a Deep Copy without a row.", "Select the rows, then Edit > Deep Copy."
        )


DEEP_COPY = TextKind("deep-copy", _recognises, _read)
