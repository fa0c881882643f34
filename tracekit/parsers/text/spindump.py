"""Reports of spindump: hangs, stalls, CPU resource reports, tailspins; heavy, timeline and microstackshots.

    Process:          mediaanalysisd [498]
    …
      Thread 0xeac    DispatchQueue "com.apple.main-thread"(1)    101 samples (1-101)    priority 31 (base 31)
      101  start + 2432 (dyld + 25360) [0x7ff806675310]
        101  mach_msg2_trap + 10 (libsystem_kernel.dylib + 5794) [0x7ff8069676a2]
         *100  ipc_mqueue_receive_continue + 0 (kernel + 983568) [0xffffff80003cc210]
         *1    thread_set_workq_pri + 0 (kernel + 1513408) [0xffffff800044d7c0] (running)

A star marks a frame of the kernel; it takes the last column of the indentation. After the address follows
the state of the samples that end there, and, in the timeline format, the numbers of the samples (``1-49``,
``16``). These are neither times nor counts: a sampling step may take longer than its interval.

Microstackshots have one tree for all threads of a process, "Powerstats for". ``<Kernel mode, …>`` below a
frame describes its samples and is not a frame. The "Heaviest stack" of a report repeats a part of a tree.

Format: macOS 10.9 to 13 and iOS 16 to 26 (real files), macOS 26 (described by others).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracekit.errors import InputError
from tracekit.model.trace import MICROSTACKSHOTS, IssueCounter, TraceInfo
from tracekit.parsers.text import headings
from tracekit.parsers.text.call_tree_reader import CallTreeReader
from tracekit.parsers.text.frame_lines import FrameText, make_row_finder, parse_spindump_frame
from tracekit.parsers.text.listed_images import BinaryImages
from tracekit.parsers.text.stack_counts import StackCounts
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_MARKS = re.compile(
    r"^(?:Data Source: +(?:Microstackshots|Stackshots|KPerf)|Powerstats for: |Heaviest stack for )"
    r"|^ *Thread (?:0x[0-9a-f]+|<multiple>) .{0,2000}\d samples?\b"
    r"|^ *\*?\d{1,12} +\S.{0,2000}? \([^()\n]{1,300} \+ \d+\) \[0x[0-9a-f]",
    re.MULTILINE,
)
_FRAME = re.compile(r"( *\*?)(\d{1,12}) +(\S.*)")
_THREAD = re.compile(
    r" *Thread (?P<tids>0x[0-9a-f]{1,16}(?:,0x[0-9a-f]{1,16})*|<multiple>)(?=\s|$)"
    r"(?: +DispatchQueue (?:\"(?P<queue>.*?)\"\(\d+\)|(?P<number>\d+)))?"
    r"(?: +Thread name \"(?P<name>.*?)\"(?= {2}|$))?"
)
_SAMPLES = re.compile(r" (?P<count>\d{1,12}) samples?\b")
_COUNT = re.compile(r"(\d{1,12})\b")
_STATE = re.compile(r"\((?:suspended, )?(running|runnable|blocked|suspended)\b")
_STATES = {"running": "Running", "runnable": "Runnable", "blocked": "Blocked", "suspended": "Blocked"}
_MULTIPLE = "<multiple>"
_CUT = re.compile(r"\W*(?:\[?(?:…|\.\.\.).*)$")
_PROCESSES = ("Process:", "Powerstats for:")


class _SpindumpReport:
    """One report while it is read."""

    def __init__(self, file: TextFile, headings_before: dict[str, str]) -> None:
        self.issues = IssueCounter()
        self.threads = 0
        self.headings = headings_before
        self._counts = StackCounts(file.name, file.limits)
        self._tree = CallTreeReader(self._counts, self.issues)
        self._images = BinaryImages()
        self._parsed: dict[str, FrameText] = {}
        self._process, self._pid = "", -1
        self._pids: dict[str, int] = {}
        self._is_shared = False
        """True in the tree of microstackshots, which all threads of the process share."""
        self._shared: dict[tuple[str, int, str], list[str]] = {}
        """The threads of each queue that was served by several, by process, pid and name."""
        self._samples: int | None = None
        self._is_repetition = False

    def read_frame(self, marks: str, count: str, text: str) -> bool:
        """Read a line of a tree; return False for any other line."""
        end = text.find("]", text.find(" [0")) + 1
        if not end:
            return self._tree.is_open and self._skip_annotation(text)
        if not self._tree.is_open:
            # Frames without a head belong to microstackshots, or to an excerpt of frames only.
            is_excerpt = not (self.headings or self._process or self.threads)
            if self._is_repetition or not (self._is_shared or is_excerpt):
                return False
            self._begin_headless(len(marks))
        state = ""
        if len(text) > end and (match := _STATE.match(text, end + 1)):
            state = _STATES[match[1]]
        self._tree.add_line(len(marks), int(count), text[:end], state)
        return True

    def read_other_line(self, line: str) -> None:
        """Read a line that is not of a tree."""
        stripped = line.strip()
        thread = _THREAD.match(line)
        if thread is not None:
            self._begin_thread(line, thread)
        elif not stripped:
            self._is_repetition = False
        elif stripped.startswith(_PROCESSES):
            key, _, value = stripped.partition(":")
            self._begin_process(value.strip(), is_shared=key == "Powerstats for")
        elif self._images.add(line) or stripped == "Binary Images:":
            self._tree.end()
        elif pair := headings.parse_heading(stripped):
            self._tree.end()
            self._add_heading(*pair)
        elif stripped.startswith("Heaviest stack"):
            self._tree.end()
            self._is_repetition = True
        elif self._tree.is_open and not stripped.startswith("<"):
            self._report_unread(line)

    def finish(self, name: str) -> TextRecording | None:
        """Return the recording; None without a thread."""
        if self._tree.is_open and self.headings:
            self.issues.add("warning", "document-incomplete", "the text ends within the stacks of a thread")
        self._end_process()
        if not self.threads:
            return None
        text = "waiting threads are counted as well as running ones: counts are elapsed time, not CPU time"
        if not self._is_shared:
            self.issues.add("info", "waiting-threads", text)
        platform, os = headings.read_system(self.headings)
        process = self.headings.get("Command", "")
        pid = self.headings.get("PID", str(self._pids.get(process, "")))
        info = TraceInfo(
            name,
            MICROSTACKSHOTS if self._is_shared else SPINDUMP.name,
            model=self.headings.get("Hardware model", ""),
            platform=platform,
            os=os,
            start=headings.read_moment(self.headings, "Date/Time"),
            end=headings.read_moment(self.headings, "End time"),
            duration_ns=headings.read_duration(self.headings),
            process=process,
            pid=int(pid) if re.fullmatch(r"\d{1,9}", pid) else None,
        )
        return TextRecording(info, (self._counts,), self.issues.issues())

    def _begin_process(self, text: str, *, is_shared: bool) -> None:
        self._end_process()
        self._process, self._pid = headings.parse_process(text)
        if self._pid >= 0:
            self._pids.setdefault(self._process, self._pid)
        self._is_shared, self._samples, self._is_repetition = is_shared, None, False

    def _end_process(self) -> None:
        self._tree.flush(make_row_finder(self._counts, parse_spindump_frame, self._images, self._parsed))
        self._images = BinaryImages()

    def _add_heading(self, key: str, value: str) -> None:
        if not self._process:
            self.headings.setdefault(key, value)
        elif key == "Architecture":
            self._images.arch = headings.parse_arch(value)
        elif key in ("Num samples", "Microstackshots") and (match := _COUNT.match(value)):
            self._samples = int(match[1])

    def _begin_thread(self, line: str, match: re.Match[str]) -> None:
        samples = _SAMPLES.search(line, match.end())
        number = match["number"]
        name = match["name"] or match["queue"] or (f"DispatchQueue {number}" if number else "")
        # Threads that shared one queue have one tree. Two such trees of one name differ by their threads,
        # which macOS 10.10 to 10.14 did not list.
        tids = match["tids"].split(",")
        is_several = len(tids) > 1 or tids == [_MULTIPLE]
        tid = -1 if is_several else int(tids[0], 16)
        name = name or ("several threads" if tids == [_MULTIPLE] else "")
        tid = tid if tid < 1 << 63 else -1
        if tid < 0 and self._shared.setdefault((self._process, self._pid, name), tids) != tids:
            name = f"{name} ({', '.join(tids)})"
        thread = self._counts.add_thread(tid, name, self._pid, self._process)
        self._tree.begin(
            thread, len(line) - len(line.lstrip()) - 2, int(samples["count"]) if samples else None
        )
        self.threads += 1

    def _begin_headless(self, indent: int) -> None:
        """Begin the tree of a process as a whole, or of a thread in an excerpt that lacks its head."""
        name = "all threads" if self._is_shared else ""
        thread = self._counts.add_thread(-1, name, self._pid, self._process)
        self._tree.begin(thread, indent - 2, self._samples if self._is_shared else None)
        self.threads += 1

    def _skip_annotation(self, text: str) -> bool:
        if not text.startswith("<"):
            self._report_unread(text)
        return True

    def _report_unread(self, text: str) -> None:
        if _CUT.match(text):
            self._tree.cut()
            text = "places where lines of the text were cut out: {n} (what was called there is unknown)"
            self.issues.add("warning", "lines-cut", text)
        else:
            self.issues.add("warning", "lines-unreadable", "lines of a call tree that cannot be read: {n}")


def _is_spindump(head: str) -> bool:
    return head[:1] != "<" and _MARKS.search(head) is not None


def _read_reports(file: TextFile) -> Iterator[TextRecording]:
    """Yield the reports. Raises ``InputError`` where none has a stack."""
    report, reports = _SpindumpReport(file, {}), 0
    # The head of a further report is certain only when its first process follows: output of other tools at
    # the end of a report (heap, kextstat) has dates and processes, too.
    later: dict[str, str] | None = None
    for line in file.iter_lines():
        frame = _FRAME.match(line)
        if frame is not None and report.read_frame(frame[1], frame[2], frame[3]):
            continue
        heading = line.strip() if ":" in line else ""
        if report.threads and heading.startswith("Date/Time:"):
            later = {}
        if later is not None:
            if heading.startswith("Analysis Tool:"):
                later = None
            elif pair := headings.parse_heading(heading):
                if pair[0] + ":" in _PROCESSES:
                    if recording := report.finish(file.name):
                        reports += 1
                        yield recording
                    report, later = _SpindumpReport(file, later), None
                else:
                    later.setdefault(*pair)
        report.read_other_line(line)
    if recording := report.finish(file.name):
        yield recording
    elif not reports:
        problem = "is a report of spindump without a single stack."
        raise InputError(file.name, problem, "Take another one: sudo spindump APP 10 -o FILE.")


SPINDUMP = TextKind("spindump", "a report of spindump", _is_spindump, _read_reports)
