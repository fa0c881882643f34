"""Crash and hang reports as text: Apple's (iOS, macOS), and the short forms of vendors.

    Thread 0 name:  Dispatch queue: com.apple.main-thread
    Thread 0 Crashed:
    0   libsystem_kernel.dylib        	0x000000023dddf1d0 __pthread_kill + 8
    1   App                           	0x0000000104130e78 0x1040d4000 + 380536

Stacks are read by their frames: a repeated frame number begins a stack. English headings name it; without
a heading, or with one in another language, it is read as well.
Format: Apple, "Examining the fields in a crash report"; reports of iOS 10 and 26 (real files).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tracekit.errors import InputError
from tracekit.model.trace import Issue, TraceInfo
from tracekit.parsers.limits import require_at_most
from tracekit.parsers.text.frame_text import parse_crash_symbol
from tracekit.parsers.text.pause import (
    MAX_ADDRESS,
    MAX_LINE_CHARACTERS,
    Pause,
    PausedFrame,
    PausedImage,
    PausedThread,
    format_thread_name,
    normalize_time,
    normalize_uuid,
)
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

EXCEPTION_STACK = "Last Exception Backtrace"
CULPRIT_STATES = ("Crashed", "Triggered")
_EARLIER_STACKS = (EXCEPTION_STACK, "Application Specific Backtrace")
"""Stacks on which exceptions were thrown; the thread itself is listed with its final stack."""
_NO_IMAGE = "???"
"""The entry of macOS for memory without an image: it spans all addresses."""
_WORD = re.compile(r"[^\W\d_]{2}")
_FRAME = re.compile(r"^\s{0,8}(\d{1,4})\s+(\S.*)$")
_ADDRESS = re.compile(r"(?:^|\s)0x([0-9a-fA-F]{1,16})(?=\s|$)")
_HEAD_FRAME = re.compile(r"^[ \t]{0,8}\d{1,4}[ \t]+\S[^\n]{0,200}?\s0x[0-9a-fA-F]{6,16} ", re.MULTILINE)
_HEAD_TITLE = re.compile(
    r"^(?:Incident Identifier|Exception Type|Triggered by Thread|Crashed Thread): ", re.MULTILINE
)
_FIELD = re.compile(r"^([A-Za-z][A-Za-z/ ]{2,30}):[ \t]+(\S.*)$")
_PID = re.compile(r"\[(\d{1,9})\]$")
_NAME = re.compile(r"^Thread (\d{1,9}) name:[ \t]*(.*)$")
_THREAD = re.compile(r"^Thread (\d{1,9})(?: ([A-Z]\w{0,20}))?:(?::[ \t]*(.*)|[ \t]*(.*))$")
_QUEUE = re.compile(r"(?:^|\s)Dispatch queue:[ \t]*(.*)$")
_THROWS = re.compile(r"^_*(?:exceptionPreprocess|objc_exception_throw|cxa_throw)|\[NSException |_NSRaise")
_STATE = re.compile(r"^Thread \d{1,9} crashed with ")
_IMAGE = re.compile(r"^\s*0x([0-9a-fA-F]{1,16})\s*-\s*0x([0-9a-fA-F]{1,16})\s+(\S.*)$")
_IMAGE_UUID = re.compile(r"<([0-9A-Fa-f-]{32,36})>")
_ARCHES = frozenset(["arm64", "arm64e", "arm64_32", "armv7", "armv7s", "armv7k", "x86_64", "x86_64h", "i386"])
_CODE_TYPES = {"ARM-64": "arm64", "ARM": "armv7", "X86-64": "x86_64", "X86": "i386"}
_REPORT_STARTS = ("Incident Identifier", "Process")
_VENDOR_IMAGE = ("Binary Image", "dSYM UUID", "Base Address", "CPU Type")


@dataclass
class CrashText:
    """One report while its lines are read."""

    pause: Pause = field(default_factory=Pause)
    fields: dict[str, str] = field(default_factory=dict)
    _thread: PausedThread | None = None
    _names: dict[str, str] = field(default_factory=dict)
    _next: int = 0
    _in_images: bool = False
    _heading: str = ""
    """The line before, if it has a word: it may name a stack in another language, or a vendor's."""

    def add(self, line: str) -> None:
        """Read a line; one of no known form is ignored."""
        line, heading = line[:MAX_LINE_CHARACTERS], self._heading
        self._heading = line.strip().rstrip(":") if _WORD.search(line) else ""
        if self._in_images and (match := _IMAGE.match(line)):
            image = _parse_image(match, _CODE_TYPES.get(self._code_type, ""))
            if image.name != _NO_IMAGE:
                self.pause.images.append(image)
        elif self._add_frame(line, heading):
            return
        elif line.startswith("Thread "):
            self._add_heading(line)
        elif line.startswith(_EARLIER_STACKS):
            self._begin_thread(PausedThread(name=line.strip().rstrip(":"), is_sample=False))
        elif line.startswith("Binary Images"):
            self._in_images, self._thread = True, None
        elif line.strip() and (match := _FIELD.match(line)):
            self.fields.setdefault(match[1], match[2].strip())

    @property
    def _code_type(self) -> str:
        return self.fields.get("Code Type", "").partition(" ")[0]

    def _begin_thread(self, thread: PausedThread) -> None:
        self.pause.threads.append(thread)
        self._thread, self._next, self._in_images = thread, 0, False

    def _add_heading(self, line: str) -> None:
        if match := _NAME.match(line):
            self._names[match[1]] = match[2].strip()
        elif _STATE.match(line):
            self._thread = None
        elif match := _THREAD.match(line):
            number, state, after_colons, after_colon = match.groups()
            described = after_colons or after_colon or self._names.pop(number, "")
            queue = _QUEUE.search(described)
            name = (described[: queue.start()] if queue else described).strip()
            label = format_thread_name(number, name, queue[1].strip() if queue else "")
            self._begin_thread(PausedThread(name=label, state=state or ""))

    def _add_frame(self, line: str, heading: str) -> bool:
        """Add a line that is a frame; return False for any other. ``heading`` is the line before it."""
        match = _FRAME.match(line)
        address = _ADDRESS.search(match[2]) if match else None
        if match is None or address is None:
            return False
        number = int(match[1])
        thread = self._thread
        if thread is None or (thread.frames and number < self._next):
            # A repeated number: another stack, without a heading of a known form.
            name = f"Stack {len(self.pause.threads) + 1}{f': {heading}' if heading else ''}"
            thread = PausedThread(name=name, state="Crashed" if heading.startswith("Crashed") else "")
            self._begin_thread(thread)
        symbol, file, place, is_inlined = parse_crash_symbol(match[2][address.end() :])
        binary = match[2][: address.start()].strip()
        frame = PausedFrame(symbol, binary, int(address[1], 16), file, place, is_inlined)
        self.pause.holes += thread.add(frame, number - self._next)
        self._next = number + 1
        return True

    def is_new_report(self, line: str) -> bool:
        """Return True for a line that begins another report."""
        match = _FIELD.match(line) if self.pause.threads else None
        return match is not None and match[1] in _REPORT_STARTS

    def build_recording(self, file: TextFile, kind: str) -> TextRecording:
        """Return the recording. Raises ``InputError`` for a report without any stack."""
        if not self.pause.threads:
            raise InputError(
                file.name,
                "is a report without a thread: no line of it is a frame of a stack.",
                "Get the whole report, with its threads.",
            )
        self.pause.images += _iter_vendor_images(self.fields)
        process = self.fields.get("Process", "")
        number = _PID.search(process)
        process_name = (process[: number.start()] if number else process).strip()
        pid = int(number[1]) if number else -1
        for thread in self.pause.threads:
            thread.pid, thread.process = pid, process_name
        info = TraceInfo(
            file.name,
            kind,
            model=self.fields.get("Hardware Model", self.fields.get("Model", "").partition(", BootROM")[0]),
            os=self.fields.get("OS Version", ""),
            start=normalize_time(self.fields.get("Date/Time", "")),
            end_reason=self.fields.get("Exception Type", ""),
            process=process_name,
            pid=None if pid < 0 else pid,
        )
        issues = (*list_culprit_issues(self.pause.threads, info.end_reason), *self.pause.list_issues())
        return TextRecording(info, (self.pause.build_counts(file),), issues)


def list_culprit_issues(threads: Sequence[PausedThread], reason: str) -> tuple[Issue, ...]:
    """Return an issue about the cause of the report, and one about the place of an exception."""
    culprits = [thread for thread in threads if thread.state in CULPRIT_STATES]
    if not culprits:
        return ()
    because = f": {reason}" if reason else ""
    text = f"the report was written because of '{culprits[0].name}'{because}"
    issues = [Issue("info", "report-cause", text)]
    for thread in threads:
        if not thread.is_sample:
            names = [frame.symbol for frame in thread.frames if frame.symbol]
            thrower = next((name for name in names if not _THROWS.search(name)), "a function without a name")
            text = f"the last exception was thrown in '{thrower}'; that stack is kept, and counts no sample"
            issues.append(Issue("info", "exception-stack", text))
    return tuple(issues)


def _parse_image(match: re.Match[str], arch: str) -> PausedImage:
    """Return an entry of the list of images: ``0x1 - 0x2 +NAME arch (version) <UUID> PATH``."""
    start, end, text = int(match[1], 16), int(match[2], 16), match[3]
    uuid = _IMAGE_UUID.search(text)
    label, path = (text[: uuid.start()], text[uuid.end() :].strip()) if uuid else (text, "")
    label = label.strip().removeprefix("+").partition(" (")[0].strip()
    name_before_arch, _, last_word = label.rpartition(" ")
    if name_before_arch and last_word in _ARCHES:
        label, arch = name_before_arch.strip(), last_word
    return PausedImage(label, path, normalize_uuid(uuid[1]) if uuid else "", arch, start, end)


def _iter_vendor_images(fields: dict[str, str]) -> Iterator[PausedImage]:
    """Yield the app's binary where fields describe it (Umeng)."""
    name, uuid, base, arch = (fields.get(key, "") for key in _VENDOR_IMAGE)
    if name and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", base):
        yield PausedImage(name, "", normalize_uuid(uuid), arch, min(int(base, 16), MAX_ADDRESS))


def read_crash_text(file: TextFile, kind: str, lines: Iterable[str]) -> Iterator[TextRecording]:
    """Yield the reports in the lines, one after another."""
    report = CrashText()
    for line in lines:
        if report.is_new_report(line):
            yield report.build_recording(file, kind)
            report = CrashText()
        report.add(line)
        require_at_most(file.name, len(report.pause.threads), file.limits.threads, "threads")
    yield report.build_recording(file, kind)


def _is_crash_text(head: str) -> bool:
    return _HEAD_TITLE.search(head) is not None or _HEAD_FRAME.search(head) is not None


def _read_reports(file: TextFile) -> Iterator[TextRecording]:
    return read_crash_text(file, CRASH_TEXT.name, file.iter_lines())


CRASH_TEXT = TextKind("crash-text", "a crash report", _is_crash_text, _read_reports)
