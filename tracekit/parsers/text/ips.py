"""Reports of the system as ``.ips``: JSON documents, or a line of JSON before a report as text.

    {"app_name":"App","bug_type":"309",…}            the header
    {"threads":[…],"usedImages":[…],…}               a crash, a hang: frames with imageIndex and imageOffset
    {"processByPid":{…},"binaryImages":[…],…}        a stackshot of all processes: frames [image, offset]

The names of fields are those of "Interpreting the JSON format of a crash report" (Apple); a stackshot's are
not documented, and are those of programs that read them (blacktop/ipsw). The structure is walked: "symbol",
for one, is also a key of registers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from tracekit.errors import InputError
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.model.vocabulary import CALLERS_MISSING
from tracekit.parsers.text.crash_text import (
    CULPRIT_STATES,
    EXCEPTION_STACK,
    list_culprit_issues,
    read_crash_text,
)
from tracekit.parsers.text.json_text import read_json_text
from tracekit.parsers.text.pause import (
    MAX_ADDRESS,
    PausedFrame,
    PausedImage,
    PausedThread,
    count_stacks,
    format_thread_name,
    get_json_text,
    normalize_time,
    normalize_uuid,
)
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_HEADER = re.compile(r'^\s*\{[^\n]{0,4000}"bug_type"')
_STACKS = re.compile(r'"(?:imageOffset|imageIndex|usedImages|processByPid|threadById)"')
_LOG_ENTRY = re.compile(r'"(?:eventMessage|signpostName)"')
"""Keys of an entry of the log, which has a backtrace with offsets as well."""
_HAS_STACKS = {"threads", "processByPid"}
_CRASHES = ("109", "309")
_SPACE = re.compile(r"\s*")
_MAX_THREAD_ID = 2**63 - 1
_MAX_DEPTH = 100_000
"""Chosen limit: the system cuts stacks after some hundred frames."""


def _is_ips(head: str) -> bool:
    text = head.lstrip()
    if not text.startswith(("{", "[")):
        return False
    if _HEADER.match(text) is not None:
        return True
    return _STACKS.search(text) is not None and _LOG_ENTRY.search(text) is None


def _read_reports(file: TextFile) -> Iterator[TextRecording]:
    """Yield the reports. Raises ``InputError`` for one that has no stacks, with its type."""
    text = read_json_text(file)
    decoder = json.JSONDecoder()
    header: dict[str, Any] = {}
    position, reports = 0, 0
    while (position := _skip_space(text, position)) < len(text):
        if text[position] not in "{[":
            lines = (line.removesuffix("\r") for line in text[position:].split("\n"))
            for recording in read_crash_text(file, IPS.name, lines):
                reports += 1
                yield recording
            break
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise _make_damage_error(file.name, text, error) from error
        if isinstance(document, dict) and "bug_type" in document and not _HAS_STACKS & document.keys():
            header = document
        elif (report := _build_report(file, document, header)) is not None:
            reports += 1
            yield report
    if not reports:
        raise _make_no_stacks_error(file.name, header)


def _build_report(file: TextFile, document: Any, header: Mapping[str, Any]) -> TextRecording | None:
    """Return the report in one document; None where it has no threads."""
    issues = IssueCounter()
    facts = {**header, **document} if isinstance(document, dict) else {}
    images: list[PausedImage] = []
    threads: Iterable[PausedThread] = ()
    if isinstance(document, list):
        threads = _iter_threads(document, [], {}, issues)
    elif isinstance(facts.get("processByPid"), dict):
        images += _iter_images(facts.get("binaryImages"))
        threads = _iter_stackshot_threads(facts["processByPid"], images, issues)
    elif isinstance(facts.get("threads"), list):
        images += _iter_images(facts.get("usedImages"))
        threads = chain(
            _iter_threads(facts["threads"], images, facts, issues),
            _iter_exception_stack(facts, images, issues),
        )
    culprits: list[PausedThread] = []
    counts = count_stacks(file, _collect_culprits(threads, culprits), images)
    if not len(counts):
        return None
    info = _build_info(file.name, facts)
    return TextRecording(info, (counts,), (*list_culprit_issues(culprits, info.end_reason), *issues.issues()))


def _collect_culprits(
    threads: Iterable[PausedThread], culprits: list[PausedThread]
) -> Iterator[PausedThread]:
    """Yield the threads, and add those that caused the report to ``culprits``."""
    for thread in threads:
        if thread.state in CULPRIT_STATES or not thread.is_sample:
            culprits.append(thread)
        yield thread


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _make_damage_error(name: str, text: str, error: Exception) -> InputError:
    is_cut = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    )
    if is_cut:
        problem = "is cut off: its JSON ends in the middle."
    elif isinstance(error, json.JSONDecodeError):
        problem = f"is not valid JSON: see line {text.count(chr(10), 0, error.pos) + 1:,}."
    else:
        problem = "is no report: its JSON is nested too deeply, or has a number that is too long."
    return InputError(name, problem, "Get the report from the device again, as a file.")


def _make_no_stacks_error(name: str, header: Mapping[str, Any]) -> InputError:
    kind = get_json_text(header.get("bug_type"))
    problem = f"is a report of type {kind or 'unknown'} without stacks of threads."
    return InputError(name, problem, "Reports of crashes, hangs and stackshots have them.")


def _build_info(name: str, facts: Mapping[str, Any]) -> TraceInfo:
    """Return the facts in both documents of a report."""
    exception, version = facts.get("exception"), facts.get("osVersion")
    parts = (
        [get_json_text(exception.get(key)) for key in ("type", "signal")]
        if isinstance(exception, dict)
        else []
    )
    system = ""
    if isinstance(version, dict):
        system = f"{get_json_text(version.get('train'))} ({get_json_text(version.get('build'))})"
    pid = _get_number(facts.get("pid"), _MAX_THREAD_ID)
    return TraceInfo(
        name,
        IPS.name,
        model=get_json_text(facts.get("modelCode")) or get_json_text(facts.get("product")),
        os=get_json_text(facts.get("os_version")) or system or get_json_text(facts.get("build")),
        start=normalize_time(_get_first_text(facts, "captureTime", "date", "timestamp")),
        end_reason=" ".join([parts[0], f"({parts[1]})"] if len(parts) > 1 and parts[1] else parts[:1]),
        process=_get_first_text(facts, "procName", "app_name", "name"),
        pid=None if pid < 0 else pid,
    )


def _iter_threads(
    threads: list[Any], images: Sequence[PausedImage], facts: Mapping[str, Any], issues: IssueCounter
) -> Iterator[PausedThread]:
    """Yield the threads of one process; ``facts`` are those of its report."""
    process = _get_first_text(facts, "procName", "app_name", "name")
    pid = _get_number(facts.get("pid"), _MAX_THREAD_ID)
    culprit = _get_number(facts.get("faultingThread"), len(threads))
    is_crash = get_json_text(facts.get("bug_type")) in ("", *_CRASHES)
    for number, thread in enumerate(threads):
        if not isinstance(thread, dict) or not isinstance(thread.get("frames", []), list):
            _count_damaged(issues)
            continue
        is_culprit = thread.get("triggered") is True or number == culprit
        yield PausedThread(
            _get_number(thread.get("id"), _MAX_THREAD_ID),
            format_thread_name(number, get_json_text(thread.get("name")), get_json_text(thread.get("queue"))),
            ("Crashed" if is_crash else "Triggered") if is_culprit else "",
            _build_stack(thread.get("frames", []), images, issues),
            pid=pid,
            process=process,
        )


def _iter_exception_stack(
    document: Mapping[str, Any], images: Sequence[PausedImage], issues: IssueCounter
) -> Iterator[PausedThread]:
    frames = document.get("lastExceptionBacktrace")
    if isinstance(frames, list) and frames:
        stack = _build_stack(frames, images, issues)
        pid = _get_number(document.get("pid"), _MAX_THREAD_ID)
        process = get_json_text(document.get("procName"))
        yield PausedThread(-1, EXCEPTION_STACK, "", stack, is_sample=False, pid=pid, process=process)
    elif frames is not None and not isinstance(frames, list):
        _count_damaged(issues)


def _build_stack(frames: list[Any], images: Sequence[PausedImage], issues: IssueCounter) -> list[PausedFrame]:
    """Return a stack, leaf first; a stack that is too long keeps the frames at the leaf."""
    stack = [_build_frame(frame, images) for frame in frames[:_MAX_DEPTH]]
    if len(frames) > _MAX_DEPTH:
        text = f"stacks of more than {_MAX_DEPTH:,} frames, whose callers are left out: {{n}}"
        issues.add("warning", "callers-missing", text)
        stack.append(PausedFrame(CALLERS_MISSING))
    return stack


def _build_frame(frame: Any, images: Sequence[PausedImage]) -> PausedFrame:
    """Return a frame: an object, or a pair of image and offset."""
    if isinstance(frame, list):
        image, offset = frame if len(frame) == 2 else [*frame, None, None][:2]
        return PausedFrame(
            "", address=_find_address(image, offset, images), image=_get_number(image, MAX_ADDRESS)
        )
    if not isinstance(frame, dict):
        return PausedFrame("")
    number = _get_number(frame.get("imageIndex"), MAX_ADDRESS)
    return PausedFrame(
        get_json_text(frame.get("symbol")),
        address=_find_address(number, frame.get("imageOffset"), images),
        file=get_json_text(frame.get("sourceFile")),
        line=_get_number(frame.get("sourceLine"), 2**31 - 1),
        is_inlined=frame.get("inline") is True,
        image=number,
    )


def _find_address(image: Any, offset: Any, images: Sequence[PausedImage]) -> int:
    """Return the address of an offset into an image; 0 if either is invalid."""
    number, distance = _get_number(image, len(images) - 1), _get_number(offset, MAX_ADDRESS)
    address = images[number].start + distance if number >= 0 <= distance else 0
    return address if address <= MAX_ADDRESS else 0


def _iter_stackshot_threads(
    processes: Mapping[str, Any], images: Sequence[PausedImage], issues: IssueCounter
) -> Iterator[PausedThread]:
    """Yield the threads of a stackshot; kernel frames are nearer to the leaf than those of the process."""
    for key, process in processes.items():
        threads = process.get("threadById") if isinstance(process, dict) else None
        if not isinstance(threads, dict):
            _count_damaged(issues)
            continue
        pid = int(key) if key.isdecimal() and len(key) < 10 else -1
        for tid, thread in threads.items():
            if not isinstance(thread, dict):
                _count_damaged(issues)
                continue
            frames = [
                frame for name in ("kernelFrames", "userFrames") for frame in _get_list(thread.get(name))
            ]
            yield PausedThread(
                _get_number(thread.get("id"), _MAX_THREAD_ID) if "id" in thread else _parse_tid(tid),
                _get_first_text(thread, "name", "queue", "dispatch_queue_label"),
                _find_state(_get_list(thread.get("state"))),
                _build_stack(frames, images, issues),
                pid=pid,
                process=_get_first_text(process, "procname", "name"),
            )


def _parse_tid(key: str) -> int:
    return int(key) if key.isdecimal() and len(key) < 19 else -1


def _find_state(states: Iterable[Any]) -> str:
    return "Blocked" if "TH_WAIT" in states else "Running" if "TH_RUN" in states else ""


def _iter_images(images: Any) -> Iterator[PausedImage]:
    """Yield images: objects, or triples of UUID, address and kind. Each keeps its position."""
    for image in _get_list(images):
        if isinstance(image, list):
            uuid, start = [*image, None, None][:2]
            yield PausedImage(
                normalize_uuid(get_json_text(uuid)),
                "",
                normalize_uuid(get_json_text(uuid)),
                "",
                max(_get_number(start, MAX_ADDRESS), 0),
            )
        elif isinstance(image, dict):
            path, uuid = get_json_text(image.get("path")), normalize_uuid(get_json_text(image.get("uuid")))
            start, size = (max(_get_number(image.get(key), MAX_ADDRESS), 0) for key in ("base", "size"))
            name = get_json_text(image.get("name")) or path.rpartition("/")[2]
            # Kind "A" is memory that no image covers: offsets into it are addresses.
            yield PausedImage(
                "" if image.get("source") == "A" else name,
                path,
                uuid,
                get_json_text(image.get("arch")),
                start,
                start + size,
            )
        else:
            yield PausedImage("")


def _get_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count_damaged(issues: IssueCounter) -> None:
    issues.add("warning", "document-damaged", "threads and processes that are no list of frames: {n}")


def _get_first_text(facts: Mapping[str, Any], *keys: str) -> str:
    """Return the first of these that is a text."""
    return next((text.strip() for key in keys if (text := get_json_text(facts.get(key)))), "")


def _get_number(value: Any, maximum: int) -> int:
    """Return a whole number from 0 to ``maximum``; -1 for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= maximum else -1


IPS = TextKind("ips", "a report of a crash or a hang (.ips)", _is_ips, _read_reports)
