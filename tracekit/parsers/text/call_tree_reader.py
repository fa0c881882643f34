"""Call trees of a text, root first with inclusive counts → stacks with counts of their own.

A line's count includes its callees'; the remainder is its own:

    10 main          → main 2
      8 a            → main a 3
        5 b          → main a b 5

A line is a callee of the nearest line above that is indented less. So damage stays local: a line that
is indented by an odd number of columns, or by too many, has a caller, and no sample is counted twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tracekit.model.trace import IssueCounter
from tracekit.model.vocabulary import CALLEES_MISSING, CALLERS_MISSING, INCOMPLETE
from tracekit.parsers.text.stack_counts import MAX_COUNT, StackCounts

_MAX_INTERRUPTED = 1000
"""A bound: each line below a cut searches these."""
_MAX_LOOKUPS = 2_000_000
"""Chosen limit: the number of searches for callers above cuts; after them, lines below a cut have no
caller."""
_EXCESS = "lines of a call tree with more samples than their caller has left: {n} (the excess is left out)"
_NO_PATH = -1
_NOT_MADE = -2


@dataclass(slots=True)
class _TreeLine:
    """An open line or the thread's head: ``unclaimed`` are the samples not claimed by its callees so far.

    ``callers`` is the path above it; ``path``, which ends with it, is created with the first callee.
    """

    indent: int
    unclaimed: int
    state: str = ""
    frame: int = -1
    callers: int = _NO_PATH
    path: int = _NOT_MADE


class CallTreeReader:
    """Counts the lines of one process. ``flush`` names the frames, because images follow the stacks.

    Frames are numbers of texts until then. Each thread keeps the count of its head: samples that no line
    claims have no stack, and a line that claims more than its caller has left gets only that
    (``counts-disagree``). A thread without a count has the sum of its lines.
    """

    def __init__(self, counts: StackCounts, issues: IssueCounter, step: int = 2) -> None:
        self._counts = counts
        self._issues = issues
        self._step = step
        self._numbers: dict[str, int] = {}
        self._since = counts.end
        self._thread = -1
        self._is_counted = False
        self._was_cut = False
        self._open: list[_TreeLine] = []
        """The thread's head, and each open line."""
        self._interrupted: deque[_TreeLine] = deque()
        """Lines after which lines were cut out."""
        self._looks = 0

    @property
    def is_open(self) -> bool:
        """True between ``begin`` and ``end``."""
        return bool(self._open)

    def begin(self, thread: int, indent: int, count: int | None) -> None:
        """Begin a thread with ``count`` samples; the thread before it ends. Roots have ``indent + step``."""
        self.end()
        self._thread, self._is_counted, self._was_cut = thread, count is not None, False
        self._open.append(_TreeLine(indent, MAX_COUNT if count is None else count, path=_NO_PATH))

    def add_line(self, indent: int, count: int, frame: str, state: str = "") -> None:
        """Add a frame with its count and the state of the samples that end in it."""
        if indent <= self._open[-1].indent:
            self._close_lines(indent)
        caller = self._open[-1]
        callers = self._get_path(caller)
        if indent - caller.indent >= 2 * self._step:
            callers = self._counts.add_caller(self._number_frame(CALLERS_MISSING), callers)
            if not self._was_cut or len(self._open) > 1:
                text = "places in a call tree where callers are missing: {n}"
                self._issues.add("warning", "callers-missing", text)
        granted = self._take_samples(count, indent)
        if granted < count:
            self._issues.add("warning", "counts-disagree", _EXCESS)
        self._open.append(_TreeLine(indent, granted, state, self._number_frame(frame), callers))

    def cut(self) -> None:
        """Record missing lines: the next ones have unknown callers, the open ones unknown callees."""
        self._interrupted += self._open[1:]
        while len(self._interrupted) > _MAX_INTERRUPTED:
            self._keep_interrupted(self._interrupted.popleft())
        del self._open[1:]
        self._was_cut = True

    def end(self) -> None:
        """End the thread."""
        if not self._open:
            return
        self._close_lines(self._open[0].indent + 1)
        unclaimed_count = self._open.pop().unclaimed
        if unclaimed_count and self._is_counted:
            self._counts.add(self._thread, count=unclaimed_count)
        while self._interrupted:
            self._keep_interrupted(self._interrupted.popleft())

    def flush(self, frame_of: Callable[[str, bool], int]) -> None:
        """End the process: give each frame the row of its text.

        ``frame_of`` gets a frame's text, and True for a leaf.
        """
        self.end()
        texts = list(self._numbers)

        def find_row(number: int, is_leaf: bool) -> int:
            text = texts[number]
            return self._counts.add_frame(text) if text in INCOMPLETE else frame_of(text, is_leaf)

        self._counts.replace_frames(self._since, find_row)
        self._numbers.clear()
        self._since = self._counts.end

    def _take_samples(self, count: int, indent: int) -> int:
        """Take samples that the caller has left, up to ``count``; return their number."""
        granted = 0
        is_root = len(self._open) == 1
        if is_root and not self._is_counted:
            granted = self._take_interrupted(count, indent)
        caller = self._open[-1]
        part = min(count - granted, caller.unclaimed)
        caller.unclaimed -= part
        granted += part
        if is_root and granted < count:
            granted += self._take_interrupted(count - granted, indent)
        return granted

    def _take_interrupted(self, count: int, indent: int) -> int:
        """Take samples from lines that may have called this one, the nearest first."""
        granted = 0
        for line in reversed(self._interrupted):
            self._looks += 1
            if granted == count or self._looks > _MAX_LOOKUPS:
                break
            if line.indent < indent:
                part = min(count - granted, line.unclaimed)
                line.unclaimed -= part
                granted += part
        return granted

    def _keep_interrupted(self, line: _TreeLine) -> None:
        """Count the samples left to an interrupted line: its callees are unknown."""
        if line.unclaimed:
            self._counts.add(
                self._thread, self._number_frame(CALLEES_MISSING), self._get_path(line), line.unclaimed
            )

    def _get_path(self, line: _TreeLine) -> int:
        if line.path == _NOT_MADE:
            line.path = self._counts.add_caller(line.frame, line.callers)
        return line.path

    def _number_frame(self, frame: str) -> int:
        number = self._numbers.get(frame)
        if number is None:
            number = self._numbers[frame] = len(self._numbers)
            self._counts.require_few_frames(number + 1)
        return number

    def _close_lines(self, indent: int) -> None:
        """Close the lines that are indented by as much or more; the thread stays open."""
        lines = self._open
        while len(lines) > 1 and lines[-1].indent >= indent:
            line = lines.pop()
            if line.unclaimed:
                self._counts.add(self._thread, line.frame, line.callers, line.unclaimed, line.state)
        if lines[0].indent >= indent:
            # An excerpt may begin in the middle of a stack: its next root is indented less.
            lines[0].indent = indent - self._step
