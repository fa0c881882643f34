"""Entries of a log: the forms in which ``log show``, ``log stream``, dmesg and NSLog begin a line.

    default   2024-03-26 10:31:41.803180-0700 0x4a46a  Default  0x0  0  0  kernel: (Sender) [subsystem:…] …
    compact   2024-03-26 10:31:41.803 Df kernel[0:4a46a] (Sender) [subsystem:…] …
    syslog    2024-03-26 10:31:41.803180-0700  localhost kernel[0]: (Sender) [subsystem:…] …
    NSLog     2023-09-27 17:10:08.236 Python[13813:192227] …
    dmesg     [54476.282258]: …                                       seconds since the system was started
    JSON      {"timestamp": "2024-03-26 10:31:41.803180-0700", "eventMessage": …, "processID": …}

default, NSLog and dmesg are from real files; compact and syslog from published excerpts; the names in JSON
from programs that read it (``log_objects.py``). A line of none of these forms continues the message before
it.

pymobiledevice3 prints lines of a device as JSON with names of its own (``device_lines.py``).

A signpost in JSON has ``eventType`` "signpostEvent" and ``signpostName``, ``signpostType`` (begin, end,
event), ``signpostID`` and ``signpostScope`` (a line of ``log show --signpost --style ndjson`` in the tests
of a public program); ``machTimestamp`` counts ticks of a clock that is never set.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from tracekit.parsers.text.device_lines import OSLOG_KEYS, SYSLOG_KEYS, DeviceForm
from tracekit.parsers.text.signpost_pairing import Signpost

_STAMP = (
    r"(?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?\d*"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
TIMESTAMP = re.compile(_STAMP)
_FORMS = tuple(
    re.compile(form)
    for form in (
        _STAMP
        + r"\s+0x(?P<tid>[0-9a-f]{1,16})\s+(?P<type>[A-Z]\w*)\s+0x[0-9a-f]+\s+(?P<pid>\d{1,9})\s+\d+\s+"
        r"(?P<process>[^:]*(?::(?! )[^:]*)*): (?P<message>.*)",
        _STAMP + r" (?P<type>Df|Db|De|In|Er|Ft|I|E|F|A|S|D) +(?P<process>[^\[]*)\[(?P<pid>\d{1,9}):"
        r"(?P<tid>[0-9a-f]{1,16})\] (?P<message>.*)",
        _STAMP + r" (?P<process>[^\[]*)\[(?P<pid>\d{1,9}):(?P<decimal_tid>\d{1,19})\] (?P<message>.*)",
        _STAMP + r"\s+\S+ (?P<process>[^\[]*)\[(?P<pid>\d{1,9})\]: (?P<message>.*)",
        r"\[ *(?P<uptime>\d{1,10}\.\d{1,9})\]: (?P<message>.*)",
    )
)
_SENDER = re.compile(
    r"(?:<\w+>:? )?(?:\((?P<sender>[^()]{1,200})\) )?(?:<\w+>:? )?"
    r"(?:\[(?P<subsystem>[\w-]+(?:\.[\w-]+)+)(?::(?P<category>[^\]]{0,200}))?\] )?"
)
PREAMBLE = "Filtering the log data using "
"""What ``log`` prints first for a predicate, in every style."""
_HEADINGS = re.compile(
    rf"^(?:{PREAMBLE}|Timestamp +(?:Thread +Type +Activity|Ty +Process\[|\(process\)\[))",
    re.MULTILINE,
)
_STDERR = re.compile(
    r"^(?:E5RT[: ]|ANE model load has failed|ANE (?:Evaluation|Scheduling) Error"
    r"|Error Domain=com\.apple\.appleneuralengine )",
    re.MULTILINE,
)
"""Lines that frameworks print to a program's standard error, without a time."""
_KEYS = (("eventMessage",), ("traceID",), ("signpostName", "eventType"), OSLOG_KEYS, SYSLOG_KEYS)
"""Keys of an entry in JSON; other tools' reports have a ``signpostName`` as well."""
MAX_CHARACTERS = 4_000
"""Chosen limit: the known forms are at the beginning of a message."""
_SECOND_NS = 10**9
_KERNEL = "kernel"


class LogEntry(NamedTuple):
    """One entry. ``time_ns`` counts from 1970, or from the system's start (``is_uptime``); None is unknown.

    Without a zone (``utc_offset_s`` is None), the time is local time, counted as if it were UTC.
    """

    time_ns: int | None
    message: str
    process: str = ""
    pid: int = -1
    tid: int = -1
    subsystem: str = ""
    category: str = ""
    message_type: str = ""
    utc_offset_s: int | None = None
    is_uptime: bool = False
    sender: str = ""
    """The library that wrote it; "" is unknown."""
    signpost: Signpost | None = None
    ticks: int = -1
    """Time on a clock that is never set, in ticks of a length that depends on the device; -1 is unknown."""
    is_loss: bool = False
    """True where the log reports that it dropped entries."""
    is_nameless: bool = False
    """True for a signpost whose name the log does not have."""
    device_form: DeviceForm | None = None
    """The form of a line that pymobiledevice3 printed."""

    def make_continuation(self, line: str) -> LogEntry:
        """Return an entry of the same moment and process for a further line of a message."""
        return self._replace(message=line[:MAX_CHARACTERS])


def is_log(head: str) -> bool:
    """Recognise a log by its first characters."""
    if is_json(head):
        return True
    if head.lstrip("\ufeff \t\r\n")[:1] in ("<", "{", "["):
        return parse_line(head.lstrip("\ufeff \t\r\n").partition("\n")[0]) is not None
    return (
        _HEADINGS.search(head) is not None
        or _STDERR.search(head) is not None
        or any(parse_line(line) is not None for line in head.splitlines()[:200])
    )


def is_json(head: str) -> bool:
    """Recognise the entries of ``log`` as JSON, one per line or in an array."""
    head = head.lstrip("\ufeff \t\r\n[")
    if head.startswith(PREAMBLE):
        head = head.partition("\n")[2].lstrip(" \t\r\n[")
    return head[:1] == "{" and any(all(f'"{key}"' in head for key in keys) for keys in _KEYS)


def parse_line(line: str) -> LogEntry | None:
    """Return the entry that a line begins; None for one that continues a message."""
    if not line[:1].isdigit() and line[:1] != "[":
        return None
    line = line.rstrip("\r\n")[: 2 * MAX_CHARACTERS]
    match = next((match for form in _FORMS if (match := form.match(line))), None)
    if match is None:
        return None
    groups = match.groupdict()
    message = groups["message"]
    sender = _SENDER.match(message)
    subsystem, category = (sender[name] or "" for name in ("subsystem", "category")) if sender else ("", "")
    text = message[sender.end() :] if sender else message
    if groups.get("uptime"):
        time_ns = round(float(groups["uptime"]) * _SECOND_NS)
        return LogEntry(time_ns, text[:MAX_CHARACTERS], _KERNEL, 0, is_uptime=True)
    moment = parse_moment(groups["second"], groups["zone"] or "")
    if moment is None:
        return None
    time_ns, offset_s = moment
    decimal = groups.get("decimal_tid")
    tid = int(decimal) if decimal else int(groups.get("tid") or "-1", 16)
    return LogEntry(
        time_ns + int((groups["fraction"] or "0").ljust(9, "0")),
        text[:MAX_CHARACTERS],
        groups["process"].strip(),
        int(groups["pid"]),
        tid if tid < 2**63 else -1,
        subsystem,
        category,
        groups.get("type") or "",
        offset_s,
        sender=(sender["sender"] or "") if sender else "",
    )


def clip_text(text: str) -> str:
    """Return the beginning of a text, which JSON may have filled with halves of character pairs."""
    text = text[:MAX_CHARACTERS]
    return text if text.isascii() else text.encode(errors="replace").decode()


@lru_cache(maxsize=4096)
def parse_moment(second: str, zone: str) -> tuple[int, int | None] | None:
    """Return nanoseconds since 1970 and the offset of the zone; None for an impossible date."""
    offset_s = None
    if zone:
        digits = zone[1:].replace(":", "") or "0000"
        offset_s = (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1 if zone[0] == "-" else 1)
    try:
        local = datetime.fromisoformat(f"{second}+00:00")
    except ValueError:
        return None
    seconds = int(local.timestamp()) - (offset_s or 0)
    return (seconds * _SECOND_NS, offset_s) if 0 <= seconds < 2**33 else None
