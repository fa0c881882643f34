"""Entries of a log: the forms in which ``log show``, ``log stream``, dmesg and NSLog begin a line.

    default   2024-03-26 10:31:41.803180-0700 0x4a46a  Default  0x0  0  0  kernel: (Sender) [subsystem:…] …
    compact   2024-03-26 10:31:41.803 Df kernel[0:4a46a] (Sender) [subsystem:…] …
    syslog    2024-03-26 10:31:41.803180-0700  localhost kernel[0]: (Sender) [subsystem:…] …
    NSLog     2023-09-27 17:10:08.236 Python[13813:192227] …
    dmesg     [54476.282258]: …                                       seconds since the system was started
    JSON      {"timestamp": "2024-03-26 10:31:41.803180-0700", "eventMessage": …, "processID": …}

default, NSLog and dmesg are from real files; compact and syslog from published excerpts; the names in JSON
from programs that read it. A line of none of these forms continues the message before it.

pymobiledevice3 prints lines of a device as JSON with names of its own (``device_lines.py``).

A signpost in JSON has ``eventType`` "signpostEvent" and ``signpostName``, ``signpostType`` (begin, end,
event), ``signpostID`` and ``signpostScope`` (a line of ``log show --signpost --style ndjson`` in the tests
of a public program); ``machTimestamp`` counts ticks of a clock that is never set.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from tracekit.parsers.text.device_lines import (
    FORM,
    OSLOG_KEYS,
    SYSLOG_KEYS,
    DeviceForm,
    translate_device_line,
)
from tracekit.parsers.text.signpost_pairing import NO_IDENTIFIER, Signpost, SignpostKind

_STAMP = (
    r"(?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?\d*"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_TIMESTAMP = re.compile(_STAMP)
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
_MAX_CHARACTERS = 4_000
"""Chosen limit: the known forms are at the beginning of a message."""
_MAX_NAME_CHARACTERS = 256
_SIGNPOST, _LOSS = "signpostEvent", "lossEvent"
"""Values of ``eventType``."""
_SIGNPOST_KINDS: dict[str, SignpostKind] = {"begin": "begin", "end": "end"}
_TEXT_KEYS = (
    "processImagePath",
    "senderImagePath",
    "subsystem",
    "category",
    "messageType",
    "signpostType",
    "signpostName",
    "signpostScope",
)
_NUMBER_KEYS = ("processID", "threadID", "machTimestamp")
_NUMBER_END = 2**63
_MAX_REMEMBERED = 1 << 13
"""Chosen limit on the characters of a line whose texts are remembered: there are a few hundred."""
_STAMP_LENGTH = len("2026-11-28 10:00:00.250000+0100")
_NO_TIME = (None, None)
_DECODER = json.JSONDecoder()
_JSON_SPACE = " \t\r\n"
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
        return self._replace(message=line[:_MAX_CHARACTERS])


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
    line = line.rstrip("\r\n")[: 2 * _MAX_CHARACTERS]
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
        return LogEntry(time_ns, text[:_MAX_CHARACTERS], _KERNEL, 0, is_uptime=True)
    moment = _parse_moment(groups["second"], groups["zone"] or "")
    if moment is None:
        return None
    time_ns, offset_s = moment
    decimal = groups.get("decimal_tid")
    tid = int(decimal) if decimal else int(groups.get("tid") or "-1", 16)
    return LogEntry(
        time_ns + int((groups["fraction"] or "0").ljust(9, "0")),
        text[:_MAX_CHARACTERS],
        groups["process"].strip(),
        int(groups["pid"]),
        tid if tid < 2**63 else -1,
        subsystem,
        category,
        groups.get("type") or "",
        offset_s,
        sender=(sender["sender"] or "") if sender else "",
    )


def parse_object(text: str) -> LogEntry | None:
    """Return a JSON object as an entry; None for any other text, or an object without a message."""
    text = text.strip(_JSON_SPACE)
    try:
        # ``json.loads`` would search for white space at both ends of every line.
        entry, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if end < len(text) or not isinstance(entry, dict):
        return None
    form = None
    if "eventMessage" not in entry:
        entry = translate_device_line(entry)
        form = entry.get(FORM)
    get = entry.get
    message, event = get("eventMessage"), get("eventType")
    is_signpost = event == _SIGNPOST
    if not isinstance(message, str):
        # A signpost or a loss needs no message; a line of text does.
        if not is_signpost and event != _LOSS:
            return None
        message = ""
    texts = tuple(map(get, _TEXT_KEYS))
    try:
        names = _read_names(texts) if len(text) <= _MAX_REMEMBERED else _read_names.__wrapped__(texts)
    except TypeError:  # lists and objects, which cannot be remembered
        names = _read_names.__wrapped__(texts)
    process, sender, subsystem, category, message_type, kind, name, scope = names
    stamp = get("timestamp")
    time_ns, offset_s = _read_stamp(stamp) if isinstance(stamp, str) else _NO_TIME
    pid, tid, ticks = [
        number if type(number) is int and 0 <= number < _NUMBER_END else -1
        for number in map(get, _NUMBER_KEYS)
    ]
    return LogEntry(
        time_ns,
        message if len(message) <= _MAX_CHARACTERS and message.isascii() else _clip(message),
        process,
        pid,
        tid,
        subsystem,
        category,
        message_type,
        offset_s,
        False,
        sender,
        Signpost(kind, name, _read_identifier(get("signpostID")), scope) if is_signpost and name else None,
        ticks,
        event == _LOSS,
        is_signpost and not name,
        form if isinstance(form, DeviceForm) else None,
    )


@lru_cache(maxsize=512)
def _read_names(values: tuple[object, ...]) -> tuple[str, str, str, str, str, SignpostKind, str, str]:
    """Return the texts of ``_TEXT_KEYS`` as they are kept; a log has few sets of them, each many times."""
    texts = [_clip(value) if isinstance(value, str) else "" for value in values]
    process, sender, subsystem, category, message_type, kind, name, scope = texts
    return (
        PurePosixPath(process).name,
        PurePosixPath(sender).name,
        subsystem,
        category,
        message_type,
        _SIGNPOST_KINDS.get(kind.lower(), "event"),
        name[:_MAX_NAME_CHARACTERS],
        scope.lower()[:16],
    )


def _read_identifier(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if NO_IDENTIFIER <= value < 2**64 else 0


def _clip(text: str) -> str:
    """Return the beginning of a text, which JSON may have filled with halves of character pairs."""
    text = text[:_MAX_CHARACTERS]
    return text if text.isascii() else text.encode(errors="replace").decode()


def _read_stamp(stamp: str) -> tuple[int | None, int | None]:
    """Return nanoseconds since 1970 and the offset of the zone; None for what is unknown."""
    # The form of ``log``: 2026-11-28 10:00:00.250000+0100. Only the fraction is another on every line.
    fraction = stamp[20:26]
    if len(stamp) == _STAMP_LENGTH and stamp[19] == "." and stamp[26] in "+-" and fraction.isdecimal():
        moment = _read_second(stamp[:19] + stamp[26:])
        if moment is not None:
            return moment[0] + int(fraction) * 1_000, moment[1]
    match = _TIMESTAMP.match(_clip(stamp))
    if match is None:
        return _NO_TIME
    second, fraction, zone = match.groups()
    moment = _parse_moment(second, zone or "")
    if moment is None:
        return _NO_TIME
    return moment[0] + int((fraction or "0").ljust(9, "0")), moment[1]


@lru_cache(maxsize=64)
def _read_second(stamp: str) -> tuple[int, int | None] | None:
    match = _TIMESTAMP.fullmatch(stamp)
    return _parse_moment(match["second"], match["zone"] or "") if match else None


@lru_cache(maxsize=4096)
def _parse_moment(second: str, zone: str) -> tuple[int, int | None] | None:
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
