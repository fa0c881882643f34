"""Backtraces of lldb and Xcode: ``bt``, ``bt all``, ``thread backtrace all``, ``thread list``.

    * thread #1, queue = 'com.apple.main-thread', stop reason = signal SIGSTOP
      * frame #0: 0x00000001cf9e17bc libsystem_kernel.dylib`__ulock_wait + 8
        frame #1: 0x0000000100003f24 App`main(argc=1) at main.m:14:9 [opt]
    * thread #2: tid = 0x2dc0bd, 0x00007fff94e07d32 libsystem_c.dylib`strlen + 18, name = 'worker'
    Thread 3 Queue : com.apple.root.default-qos (concurrent)
    #0	0x0000000184e8e3e8 in mach_msg2_trap ()

A text may hold several pauses of one process: a thread counts once in each, however often it was printed.
lldb numbers the threads of a process for as long as it lives, so that a number is the same thread in each of
them. Format: lldb's default settings thread-format and frame-format, from Xcode 7 to 26 (real texts).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tracekit.errors import InputError
from tracekit.model.trace import TraceInfo
from tracekit.parsers.limits import require_at_most
from tracekit.parsers.text.frame_text import parse_lldb_symbol, without_lldb_place
from tracekit.parsers.text.pause import (
    MAX_LINE_CHARACTERS,
    Pause,
    PausedFrame,
    PausedImage,
    PausedThread,
    format_thread_name,
    normalize_uuid,
)
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_HEAD = re.compile(
    r"^[ \t]{0,8}(?:\* )?[ \t]{0,8}(?:thread #\d+[:, ]|frame #\d+: )"
    r"|^#\d{1,4}[ \t]+0x[0-9a-f]{6,16} in |^\(lldb\) ",
    re.MULTILINE,
)
_THREAD = re.compile(r"^\s{0,16}(?:\* )?\s{0,16}thread #(\d{1,9})(?:[:,](.*)|\s*)$")
_XCODE_THREAD = re.compile(r"^Thread (\d{1,9})(?:[: ](.*))?$")
_XCODE_QUEUE = re.compile(r"(?:^| )Queue ?: ")
_XCODE_KIND = re.compile(r" \((?:serial|concurrent|\d{1,9})\)$")
_FRAME = re.compile(r"^\s{0,16}(?:\* )?\s{0,16}frame #(\d{1,9}): ?(?:0x([0-9a-fA-F]{1,16})(?:\s|$))?(.*)$")
_XCODE_FRAME = re.compile(r"^#(\d{1,9})\s+0x([0-9a-fA-F]{1,16}) in (.*)$")
_TID = re.compile(r"\btid = (?:0x([0-9a-fA-F]{1,15})|(\d{1,18}))")
_NAME = re.compile(r"\bname = '([^']*)'")
_QUEUE = re.compile(r"\bqueue = '([^']*)'")
_STOP = re.compile(r"\bstop reason = (.*)$")
_LEAF = re.compile(
    r"(?:^|, )\s*0x([0-9a-fA-F]{1,16}) ([^`,]+`.*?)(?:, (?:name|queue|stop reason|activity) = .*)?$"
)
_IMAGE = re.compile(r"^\[\s*\d{1,9}\] ([0-9A-Fa-f-]{36}) 0x([0-9a-fA-F]{1,16}) (\S.*)$")
_RESUMES = re.compile(
    r"^Process \d{1,9} resuming\b|^\(lldb\) (?:c|continue|r|run|n|next|s|step|si|ni|finish"
    r"|process (?:continue|launch)|thread (?:step|continue).*)\b"
)
_PROCESS = re.compile(r"^Process (\d{1,9}) (?:stopped|launched|resuming)\b(?:: '([^']*)' \((\w+)\))?")


@dataclass
class _ThreadFacts:
    """Facts about a thread from the lines of all its backtraces."""

    tid: int = -1
    name: str = ""
    queue: str = ""


@dataclass
class _Session:
    """The pauses of one process, each thread once in each."""

    pause: Pause = field(default_factory=Pause)
    pid: int = -1
    process: str = ""
    stop_reason: str = ""
    arch: str = ""
    _thread: PausedThread | None = None
    _leaf: PausedFrame | None = None
    _last: int = -1
    _excerpts: int = 0
    _facts_of_thread: dict[str, _ThreadFacts] = field(default_factory=dict)
    _printed: dict[str, PausedThread] = field(default_factory=dict)
    """The threads that one command printed."""
    _paused: dict[str, PausedThread] = field(default_factory=dict)
    _is_resumed: bool = False

    def add(self, line: str) -> None:
        """Read a line; one of no known form (a prompt, a source line, a register) is ignored."""
        line = line[:MAX_LINE_CHARACTERS]
        if match := _FRAME.match(line):
            self._add_frame(int(match[1]), int(match[2] or "0", 16), *parse_lldb_symbol(match[3]))
        elif match := _XCODE_FRAME.match(line):
            symbol, file, place = without_lldb_place(match[3].strip())
            symbol = symbol.removesuffix(" ()")
            self._add_frame(int(match[1]), int(match[2], 16), "", symbol, file, place, False)
        elif match := _THREAD.match(line):
            self._begin_thread(match[1], match[2] or "")
        elif line.startswith("Thread ") and (match := _XCODE_THREAD.match(line)):
            described = _XCODE_KIND.sub("", (match[2] or "").rstrip(": "))
            name, queue = [*_XCODE_QUEUE.split(described, maxsplit=1), ""][:2]
            self._describe(match[1], name=name.strip(), queue=queue.strip())
        elif match := _IMAGE.match(line):
            path = match[3].rstrip()
            name = path.rpartition("/")[2]
            self.pause.images.append(
                PausedImage(name, path, normalize_uuid(match[1]), self.arch, int(match[2], 16))
            )
        elif _RESUMES.match(line):
            self._end_thread()
            self._close_command()
            self._is_resumed = True
        if match := _PROCESS.match(line):
            self.pid = int(match[1])
            self.process = (match[2] or self.process).rpartition("/")[2]
            self.arch = match[3] or self.arch

    @property
    def threads(self) -> int:
        """The number of threads so far, in all pauses."""
        return len(self.pause.threads) + len(self._paused) + len(self._printed)

    def _begin_thread(self, number: str, facts: str) -> None:
        tid, name, queue, stop = (pattern.search(facts) for pattern in (_TID, _NAME, _QUEUE, _STOP))
        value = -1 if tid is None else int(tid[1], 16) if tid[1] else int(tid[2])
        self._describe(number, value, name[1] if name else "", queue[1] if queue else "")
        self.stop_reason = self.stop_reason or (stop[1].strip() if stop else "")
        # The old form repeats frame 0 in the thread's line; ``thread list`` has no other.
        leaf = _LEAF.search(facts)
        self._leaf = _build_frame(int(leaf[1], 16), *parse_lldb_symbol(leaf[2])) if leaf else None

    def _describe(self, number: str, tid: int = -1, name: str = "", queue: str = "") -> None:
        """Begin a thread with its heading line."""
        self._end_thread()
        thread_facts = self._facts_of_thread.setdefault(number, _ThreadFacts())
        thread_facts.tid = tid if tid >= 0 else thread_facts.tid
        thread_facts.name, thread_facts.queue = name or thread_facts.name, queue or thread_facts.queue
        self._thread, self._last = PausedThread(name=number), -1

    def _end_thread(self) -> None:
        """Finish the thread before the next one begins, with at least the frame of its line."""
        thread, leaf = self._thread, self._leaf
        self._thread = self._leaf = None
        if thread is None:
            return
        if not thread.frames and leaf is not None:
            thread.frames.append(leaf)
        if thread.name in self._printed:
            self._close_command()
        self._printed[thread.name] = thread

    def _close_command(self) -> None:
        """Add the output of one command to the pause, or to a new one if the program ran in between.

        It ran if a command resumed it, or if a thread has another stack; repeated output counts once.
        """
        shared = self._printed.keys() & self._paused.keys()
        if self._is_resumed or not all(
            _may_be_same_moment(self._printed[key], self._paused[key]) for key in shared
        ):
            self._keep_pause()
        for key, thread in self._printed.items():
            paused_thread = self._paused.get(key)
            if paused_thread is None or len(thread.frames) > len(paused_thread.frames):
                self._paused[key] = thread
        self._printed, self._is_resumed = {}, False

    def _keep_pause(self) -> None:
        self.pause.threads += self._paused.values()
        self._paused = {}

    def _add_frame(
        self, number: int, address: int, binary: str, symbol: str, file: str, line: int, is_inlined: bool
    ) -> None:
        missing = number - self._last - 1
        if self._thread is None or (self._thread.frames and missing < 0):
            # An excerpt without the thread's line: the thread is unknown.
            self._end_thread()
            self._excerpts += 1
            self._thread = PausedThread(name=f"Backtrace {self._excerpts}")
            missing = number
        frame = _build_frame(address, binary, symbol, file, line, is_inlined)
        self.pause.holes += self._thread.add(frame, missing)
        self._last = number

    def build_recording(self, file: TextFile) -> TextRecording | None:
        """Return the recording; None without a thread."""
        self._end_thread()
        self._close_command()
        self._keep_pause()
        if not self.pause.threads:
            return None
        for thread in self.pause.threads:
            thread.pid, thread.process = self.pid, self.process
            if (thread_facts := self._facts_of_thread.get(thread.name)) is not None:
                thread.tid = thread_facts.tid
                thread.name = format_thread_name(thread.name, thread_facts.name, thread_facts.queue)
        info = TraceInfo(
            file.name,
            LLDB_TEXT.name,
            end_reason=self.stop_reason,
            process=self.process,
            pid=None if self.pid < 0 else self.pid,
        )
        return TextRecording(info, (self.pause.build_counts(file),), self.pause.list_issues())


def _may_be_same_moment(thread: PausedThread, earlier_thread: PausedThread) -> bool:
    """Return True if the shorter backtrace is the beginning of the longer: both may be of one moment."""
    pairs = zip(thread.frames, earlier_thread.frames, strict=False)
    return all((new.address, new.symbol) == (old.address, old.symbol) for new, old in pairs)


def _build_frame(
    address: int, binary: str, symbol: str, file: str, line: int, is_inlined: bool
) -> PausedFrame:
    return PausedFrame(symbol, binary, address, file, line, is_inlined)


def _is_lldb_text(head: str) -> bool:
    return _HEAD.search(head) is not None


def _read_sessions(file: TextFile) -> Iterator[TextRecording]:
    """Yield a recording for each process. Raises ``InputError`` for a text without a backtrace."""
    session, recordings = _Session(), 0
    for line in file.iter_lines():
        match = _PROCESS.match(line)
        if match and session.pid not in (-1, int(match[1])):
            finished, session = session.build_recording(file), _Session()
            if finished is not None:
                recordings += 1
                yield finished
        session.add(line)
        require_at_most(file.name, session.threads, file.limits.threads, "threads")
    finished = session.build_recording(file)
    if finished is not None:
        yield finished
    elif not recordings:
        raise InputError(
            file.name,
            "is a text of lldb without a backtrace.",
            "Pause the program and save what 'thread backtrace all' prints. A list of symbols is read by"
            " tracekit symbols.",
        )


LLDB_TEXT = TextKind("lldb", "a backtrace of lldb", _is_lldb_text, _read_sessions)
