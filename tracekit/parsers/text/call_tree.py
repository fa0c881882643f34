"""Call trees of a text, root first with inclusive counts → stacks with counts of their own.

A line's count includes its callees'; its own is what they leave:

    10 main          → main 2
      8 a            → main a 3
        5 b          → main a b 5

A line is a callee of the nearest line above that is indented less. So damage stays where it is: a line that
is indented by an odd number of columns, or by too many, has a caller, and nothing is counted twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tracekit.model.trace import IssueCounter
from tracekit.model.vocabulary import CALLEES_MISSING, CALLERS_MISSING, INCOMPLETE
from tracekit.parsers.text.stack_counts import MOST_COUNT, StackCounts

_MOST_INTERRUPTED = 1000
"""A bound: each line below a cut looks at these."""
_EXCESS = "lines of a call tree with more samples than their caller has left: {n} (the excess is left out)"


@dataclass
class _Interrupted:
    """A line behind which lines were cut out, with the samples that it still has."""

    indent: int
    left: int
    stack: tuple[int, ...]


class CallTree:
    """Collects the threads of one process. ``flush`` hands them on, because images follow the stacks.

    Frames are texts until then. Each thread keeps the count of its head: what its lines leave has no stack,
    and a line that claims more than its caller has left gets the rest (``counts-disagree``). A thread
    without a count has what its lines add up to.
    """

    def __init__(self, counts: StackCounts, issues: IssueCounter, step: int = 2) -> None:
        self._counts = counts
        self._issues = issues
        self._step = step
        self._numbers: dict[str, int] = {}
        self._rows: list[tuple[int, str, tuple[int, ...], int]] = []
        self._thread = -1
        self._is_counted = False
        self._was_cut = False
        # One entry for the thread and one for each open line; ``_path`` has one frame per line, and one more
        # where callers are missing.
        self._indents: list[int] = []
        self._left: list[int] = []
        self._states: list[str] = []
        self._lengths: list[int] = []
        self._path: list[int] = []
        self._interrupted: deque[_Interrupted] = deque()

    @property
    def is_open(self) -> bool:
        """True between ``begin`` and ``end``."""
        return bool(self._indents)

    def begin(self, thread: int, indent: int, count: int | None) -> None:
        """Begin a thread with so many samples; the thread before it ends. Roots have ``indent + step``."""
        self.end()
        self._thread, self._is_counted, self._was_cut = thread, count is not None, False
        self._push(indent, MOST_COUNT if count is None else count, "")

    def line(self, indent: int, count: int, frame: str, state: str = "") -> None:
        """Add a frame with its count and the state of the samples that end in it."""
        if indent <= self._indents[-1]:
            self._close(indent)
        if indent - self._indents[-1] >= 2 * self._step:
            self._path.append(self._number(CALLERS_MISSING))
            if not self._was_cut or len(self._indents) > 1:
                text = "places in a call tree where callers are missing: {n}"
                self._issues.add("warning", "callers-missing", text)
        granted = self._take(count, indent)
        if granted < count:
            self._issues.add("warning", "counts-disagree", _EXCESS)
        self._path.append(self._number(frame))
        self._push(indent, granted, state)

    def cut(self) -> None:
        """Note missing lines: the next ones have unknown callers, the open ones unknown callees."""
        missing = self._number(CALLEES_MISSING)
        for indent, left, length in zip(self._indents[1:], self._left[1:], self._lengths[1:], strict=True):
            stack = (missing, *self._path[length - 1 :: -1])
            self._interrupted.append(_Interrupted(indent, left, stack))
        while len(self._interrupted) > _MOST_INTERRUPTED:
            self._keep(self._interrupted.popleft())
        del self._indents[1:], self._left[1:], self._states[1:], self._lengths[1:], self._path[:]
        self._was_cut = True

    def end(self) -> None:
        """End the thread."""
        if not self._indents:
            return
        self._close(self._indents[0] + 1)
        left = self._left.pop()
        if left and self._is_counted:
            self._rows.append((self._thread, "", (), left))
        while self._interrupted:
            self._keep(self._interrupted.popleft())
        for entries in (self._indents, self._states, self._lengths, self._path):
            entries.clear()

    def flush(self, frame_of: Callable[[str, bool], int]) -> None:
        """End the process: give its samples to the counts, with the row of each frame's text.

        ``frame_of`` gets a frame's text, and True for a leaf.
        """
        self.end()
        texts = list(self._numbers)

        def row(number: int, is_leaf: bool) -> int:
            text = texts[number]
            return self._counts.frame(text) if text in INCOMPLETE else frame_of(text, is_leaf)

        ends = {stack[0] for _, _, stack, _ in self._rows if stack}
        leaves = {number: row(number, True) for number in sorted(ends)}
        inner = {number for _, _, stack, _ in self._rows for number in stack[1:]}
        callers = {number: row(number, False) for number in sorted(inner)}
        for thread, state, stack, count in self._rows:
            rows = [leaves[stack[0]], *(callers[number] for number in stack[1:])] if stack else []
            self._counts.add(thread, rows, count, state)
        self._numbers.clear()
        self._rows.clear()

    def _take(self, count: int, indent: int) -> int:
        """Take samples from what the caller has left, as many as there are; return their number."""
        granted = 0
        if len(self._left) == 1 and not self._is_counted:
            granted = self._take_interrupted(count, indent)
        part = min(count - granted, self._left[-1])
        self._left[-1] -= part
        granted += part
        if len(self._left) == 1 and granted < count:
            granted += self._take_interrupted(count - granted, indent)
        return granted

    def _take_interrupted(self, count: int, indent: int) -> int:
        """Take samples from lines that may have called this one, the nearest first."""
        granted = 0
        for line in reversed(self._interrupted):
            if line.indent < indent:
                part = min(count - granted, line.left)
                line.left -= part
                granted += part
        return granted

    def _keep(self, line: _Interrupted) -> None:
        if line.left:
            self._rows.append((self._thread, "", line.stack, line.left))

    def _number(self, frame: str) -> int:
        return self._numbers.setdefault(frame, len(self._numbers))

    def _push(self, indent: int, count: int, state: str) -> None:
        self._indents.append(indent)
        self._left.append(count)
        self._states.append(state)
        self._lengths.append(len(self._path))

    def _close(self, indent: int) -> None:
        """Close the lines that are indented by as much or more; the thread stays open."""
        indents, lengths, path = self._indents, self._lengths, self._path
        while len(indents) > 1 and indents[-1] >= indent:
            indents.pop()
            lengths.pop()
            left, state = self._left.pop(), self._states.pop()
            if left:
                self._rows.append((self._thread, state, tuple(path[::-1]), left))
            del path[lengths[-1] :]
        if indents[0] >= indent:
            # An excerpt may begin in the middle of a stack: its next root is indented less.
            indents[0] = indent - self._step
