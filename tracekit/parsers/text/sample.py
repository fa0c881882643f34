"""The call graph that ``sample`` and Activity Monitor write.

A line is a count, a function, its binary and addresses, each level two columns further right than its caller.
The columns may hold the guides ``+ ! : |``:

    825 Thread_15758523   DispatchQueue_1: com.apple.main-thread  (serial)
    + 825 start  (in libdyld.dylib) + 1  [0x7fff737cf3d5]
    +   825 main  (in rg) + 41  [0x10384b549]

Format: macOS 10.14 to 26 (real files); ``sample`` counts waiting threads as well as running ones. What
follows the graph ("Total number in stack", "Sort by top of stack") repeats its counts and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracekit.errors import InputError
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.parsers.text import headings
from tracekit.parsers.text.call_tree_reader import CallTreeReader
from tracekit.parsers.text.frame_lines import make_row_finder, parse_sample_frame
from tracekit.parsers.text.listed_images import BinaryImages
from tracekit.parsers.text.stack_counts import StackCounts
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_TITLE = re.compile(r"^ *Analysis of sampling (?P<process>.+) \(pid (?P<pid>\d{1,9})\) every ", re.MULTILINE)
_LINE = re.compile(r"([ +!:|\t]*)(\d{1,12}) (\S.*)")
_THREAD = re.compile(r"Thread_?(?P<tid>\d{1,18}\b|[0-9a-f]{1,15}\b)")
_QUEUE_FOLLOWS = "   DispatchQueue_"
_KIND_OF_QUEUE = re.compile(r"  \(\w+\)$")
_CUT = re.compile(r"\W*(?:\[?(?:…|\.\.\.).*)$")
_ENDS = ("Total number in stack", "Sort by top of stack", "Binary Images:")


class _SampleReport:
    """One report while it is read."""

    def __init__(self, file: TextFile, process: str = "", pid: int = -1) -> None:
        self.issues = IssueCounter()
        self.threads = 0
        self._process, self._pid = process, pid
        self._counts = StackCounts(file.name, file.limits)
        self._tree = CallTreeReader(self._counts, self.issues)
        self._images = BinaryImages()
        self._headings: dict[str, str] = {}
        self._is_in_graph = self._is_titled = self._is_after_blank = False
        self._base = -1

    def read_line(self, line: str) -> None:
        """Read one line."""
        match = _LINE.match(line)
        if match is not None and self._read_graph_line(len(match[1]), int(match[2]), match[3]):
            self._is_after_blank = False
        elif not line.strip():
            self._is_after_blank = True
        elif not self._is_in_graph:
            self._read_other_line(line)
        elif line.strip().startswith(_ENDS) or self._is_after_blank:
            self._is_in_graph = self._is_titled = False
            self._read_other_line(line)
        elif _CUT.match(line):
            self._tree.cut()
            self._is_after_blank = True
            text = "places where lines of the text were cut out: {n} (what was called there is unknown)"
            self.issues.add("warning", "lines-cut", text)
        else:
            self.issues.add("warning", "lines-unreadable", "lines of a call tree that cannot be read: {n}")

    def finish(self, name: str) -> TextRecording | None:
        """Return the recording; None without a thread."""
        if self._is_in_graph and self._headings and not self._is_after_blank:
            self.issues.add("warning", "document-incomplete", "the text ends within the call graph")
        parse = make_row_finder(self._counts, parse_sample_frame, self._images, {})
        self._tree.flush(parse)
        if not self.threads:
            return None
        text = "waiting threads are counted as well as running ones: counts are elapsed time, not CPU time"
        self.issues.add("info", "waiting-threads", text)
        platform, os = headings.read_system(self._headings)
        info = TraceInfo(
            name,
            SAMPLE.name,
            os=os,
            platform=platform,
            start=headings.read_moment(self._headings, "Date/Time"),
            process=self._process,
            pid=self._pid if self._pid >= 0 else None,
        )
        return TextRecording(info, (self._counts,), self.issues.issues())

    def _read_graph_line(self, indent: int, count: int, text: str) -> bool:
        """Read a line of the graph; return False for any other line."""
        is_frame = " (in " in text or " [0x" in text
        is_first = self._base < 0 or indent <= self._base
        if not is_frame and (text.startswith("Thread_") or (self._is_titled and is_first)):
            self._begin_thread(indent, count, text)
        elif not self._is_in_graph and not is_frame:
            return False
        else:
            if not self._tree.is_open:
                self.threads += 1
                self._tree.begin(self._counts.add_thread(-1, "", self._pid, self._process), indent - 2, None)
            self._tree.add_line(indent, count, text)
        self._is_in_graph = True
        return True

    def _begin_thread(self, indent: int, count: int, text: str) -> None:
        match = _THREAD.match(text)
        tid, name = -1, text
        if match is not None:
            tid = int(match["tid"], 10 if match["tid"].isdecimal() else 16)
            title, _, queue = text.partition(_QUEUE_FOLLOWS)
            number, _, label = queue.partition(": ")
            queue_name = (
                _KIND_OF_QUEUE.sub("", label) if label else f"DispatchQueue_{number}" if number else ""
            )
            name = title.partition(": ")[2] or queue_name
        self._base = indent
        self.threads += 1
        self._tree.begin(self._counts.add_thread(tid, name, self._pid, self._process), indent, count)

    def _read_other_line(self, line: str) -> None:
        if line.strip().startswith("Call graph:"):
            self._is_titled = True
        elif self._images.add(line):
            pass
        elif not self.threads and (pair := headings.parse_heading(line.strip())):
            self._headings.setdefault(*pair)
            if pair[0] == "Code Type":
                self._images.arch = headings.parse_arch(pair[1])
            if pair[0] == "Process" and self._pid < 0:
                self._process, self._pid = headings.parse_process(pair[1])

    def is_new_report(self, line: str) -> bool:
        """Return True where the next report begins."""
        if self._is_in_graph and not self._is_after_blank:
            return False
        return bool(self.threads) and line.strip().startswith(("Analysis of sampling ", "Process: "))


def _is_sample(head: str) -> bool:
    if _TITLE.search(head):
        return True
    lines = (_LINE.match(line) for line in head.split("\n"))
    return head[:1] not in "<{" and any(_is_graph(match[3]) for match in lines if match)


def _is_graph(text: str) -> bool:
    return text.startswith("Thread_") or (" (in " in text and " [0x" in text)


def _read_reports(file: TextFile) -> Iterator[TextRecording]:
    """Yield the reports. Raises ``InputError`` where none has a call graph."""
    report, reports = _SampleReport(file), 0
    for line in file.iter_lines():
        if report.is_new_report(line):
            if recording := report.finish(file.name):
                reports += 1
                yield recording
            report = _SampleReport(file)
        title = _TITLE.match(line)
        if title and not report.threads:
            report = _SampleReport(file, title["process"], int(title["pid"]))
        else:
            report.read_line(line)
    if recording := report.finish(file.name):
        yield recording
    elif not reports:
        raise InputError(file.name, "is a report of 'sample' without a call graph.", "Take the sample again.")


SAMPLE = TextKind("sample", "a report of sample", _is_sample, _read_reports)
