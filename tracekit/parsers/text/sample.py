"""The call graph that ``sample`` and Activity Monitor write.

A line is a count, a function, its binary and addresses, each level two columns further right than its caller:

    825 Thread_15758523   DispatchQueue_1: com.apple.main-thread  (serial)
    + 825 start  (in libdyld.dylib) + 1  [0x7fff737cf3d5]
    +   825 main  (in rg) + 41  [0x10384b549]

Format: macOS 10.14 to 26 (real files); ``sample`` counts waiting threads as well as running ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracekit.errors import InputError
from tracekit.model.trace import IssueCounter, TraceInfo
from tracekit.parsers.text.lines import TextFile
from tracekit.parsers.text.recording import TextKind, TextRecording
from tracekit.parsers.text.stack_counts import InclusiveCounts, StackCounts

_TITLE = re.compile(
    r"^Analysis of sampling (?P<process>.+) \(pid (?P<pid>\d+)\) every (?P<interval>.+)$", re.MULTILINE
)
_HEADING = re.compile(r"^(?P<key>[A-Z][\w /-]+): +(?P<value>.+)$")
_LINE = re.compile(r"^(?P<indent>[ +!:|]*)(?P<count>\d+) (?P<text>.+)$")
_THREAD = re.compile(
    r"^Thread_(?P<tid>\d+|[0-9a-f]+)(?:: (?P<name>.+?))?(?:   (?P<queue>DispatchQueue_.+))?$"
)
_FRAME = re.compile(
    r"^(?P<symbol>.+?)  \(in (?P<binary>.+?)\)(?: \+ [\d,.]+)?"
    r"  \[(?P<address>0x[0-9a-f]+)[^\]]*\](?:  (?P<file>.+))?$"
)
_INDENT = 2


def _recognises(head: str) -> bool:
    return _TITLE.search(head[:4096]) is not None


def _read(file: TextFile) -> Iterator[TextRecording]:
    """Yield the report. Raises ``InputError`` for one without a call graph."""
    counts, issues = StackCounts(), IssueCounter()
    tree = InclusiveCounts(counts, issues)
    headings: dict[str, str] = {}
    process, pid, in_graph, base, threads = "", -1, False, -1, 0
    for line in file.lines():
        if not in_graph:
            title = _TITLE.match(line)
            if title:
                process, pid = title["process"], int(title["pid"])
            heading = _HEADING.match(line)
            if heading:
                headings.setdefault(heading["key"], heading["value"].strip())
            in_graph = line.startswith("Call graph:")
            continue
        match = _LINE.match(line)
        if match is None:
            if line.startswith("Total number in stack"):
                break
            continue
        indent, count = len(match["indent"]), int(match["count"])
        base = indent if base < 0 else base
        if indent == base:
            thread = _THREAD.match(match["text"])
            name = (thread["name"] or thread["queue"] or "") if thread else match["text"]
            tid = int(thread["tid"], 16 if not thread["tid"].isdecimal() else 10) if thread else -1
            tree.begin(counts.thread(tid, name, pid, process), count)
            threads += 1
        else:
            frame = _FRAME.match(match["text"])
            binary = counts.binary(frame["binary"]) if frame else -1
            symbol = frame["symbol"] if frame else match["text"]
            address = int(frame["address"], 16) if frame else 0
            tree.line((indent - base) // _INDENT - 1, counts.frame(symbol, binary, address), count)
    tree.end()
    if not threads:
        raise InputError(file.name, "is a report of 'sample' without a call graph.", "Take the sample again.")
    info = TraceInfo(
        file.name,
        SAMPLE.name,
        os=headings.get("OS Version", ""),
        start=headings.get("Date/Time", ""),
        process=process,
        pid=pid,
    )
    yield TextRecording(info, (counts.table(),), issues.issues())


SAMPLE = TextKind("sample", _recognises, _read)
