"""Entries of a log in JSON: one per line, or pieces of an array. ``log_lines.py`` has their names."""

from __future__ import annotations

import re
from functools import lru_cache

from tracekit.parsers.text.device_lines import DeviceForm
from tracekit.parsers.text.log_fields import read_fields
from tracekit.parsers.text.log_lines import (
    MAX_CHARACTERS,
    TIMESTAMP,
    LogEntry,
    clip_text,
    parse_moment,
)
from tracekit.parsers.text.signpost_pairing import NO_IDENTIFIER, Signpost, SignpostKind

MAX_LINE_BYTES = 1 << 20
"""Chosen limit on a line of JSON: longer ones count as damaged."""
_ARRAY_END = re.compile(rb"\n\}[\s\]]*$")
_MAX_NAME_CHARACTERS = 256
_SIGNPOST, _LOSS = "signpostEvent", "lossEvent"
"""Values of ``eventType``."""
_SIGNPOST_KINDS: dict[str, SignpostKind] = {"begin": "begin", "end": "end"}
_NUMBER_END = 2**63
_IDENTIFIER_END = 2**64
_MAX_REMEMBERED = 1 << 13
"""Chosen limit on the bytes of a line whose texts are remembered: there are a few hundred."""
_STAMP_LENGTH = len("2026-11-28 10:00:00.250000+0100")
_NO_TIME = (None, None)


def parse_json_line(line: bytes) -> LogEntry | None:
    """Return the entry of a line of JSON; None for any other line, and one of an absurd length."""
    return parse_object(line) if len(line) <= MAX_LINE_BYTES else None


def parse_array_piece(piece: bytes) -> LogEntry | None:
    """Return the entry of a piece of an array, which may lack the braces around it."""
    content = _ARRAY_END.sub(b"", piece).lstrip(b" \t\r\n[,").removeprefix(b"{")
    return parse_object(b"{%b}" % content)


def parse_object(line: bytes) -> LogEntry | None:
    """Return a JSON object as an entry; None for any other text, or an object without a message."""
    fields = read_fields(line)
    if fields is None:
        return None
    message, event = fields.message, fields.event
    is_signpost = event == _SIGNPOST
    if not isinstance(message, str):
        # A signpost or a loss needs no message; a line of text does.
        if not is_signpost and event != _LOSS:
            return None
        message = ""
    texts = (
        fields.process_path,
        fields.sender_path,
        fields.subsystem,
        fields.category,
        fields.message_type,
        fields.signpost_type,
        fields.signpost_name,
        fields.signpost_scope,
    )
    try:
        names = _read_names(texts) if len(line) <= _MAX_REMEMBERED else _read_names.__wrapped__(texts)
    except TypeError:  # lists and objects, which cannot be remembered
        names = _read_names.__wrapped__(texts)
    process, sender, subsystem, category, message_type, kind, name, scope = names
    time_ns, offset_s = _read_stamp(fields.timestamp) if isinstance(fields.timestamp, str) else _NO_TIME
    pid, tid, ticks = [
        number if type(number) is int and 0 <= number < _NUMBER_END else -1
        for number in (fields.process_id, fields.thread_id, fields.ticks)
    ]
    signpost = None
    if is_signpost and name:
        number = fields.signpost_id
        is_identifier = type(number) is int and NO_IDENTIFIER <= number < _IDENTIFIER_END
        signpost = Signpost(kind, name, number if is_identifier else 0, scope)
    form = fields.device_form
    return LogEntry(
        time_ns,
        message if len(message) <= MAX_CHARACTERS and message.isascii() else clip_text(message),
        process,
        pid,
        tid,
        subsystem,
        category,
        message_type,
        offset_s,
        False,
        sender,
        signpost,
        ticks,
        event == _LOSS,
        is_signpost and not name,
        form if isinstance(form, DeviceForm) else None,
    )


@lru_cache(maxsize=512)
def _read_names(values: tuple[object, ...]) -> tuple[str, str, str, str, str, SignpostKind, str, str]:
    """Return the texts of an entry as they are kept; a log has few sets of them, each many times."""
    texts = [clip_text(value) if isinstance(value, str) else "" for value in values]
    process, sender, subsystem, category, message_type, kind, name, scope = texts
    return (
        _read_file_name(process),
        _read_file_name(sender),
        subsystem,
        category,
        message_type,
        _SIGNPOST_KINDS.get(kind.lower(), "event"),
        name[:_MAX_NAME_CHARACTERS],
        scope.lower()[:16],
    )


def _read_file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _read_stamp(stamp: str) -> tuple[int | None, int | None]:
    """Return nanoseconds since 1970 and the offset of the zone; None for what is unknown."""
    # The form of ``log``: 2026-11-28 10:00:00.250000+0100. Only the fraction is another on every line.
    fraction = stamp[20:26]
    if len(stamp) == _STAMP_LENGTH and stamp[19] == "." and stamp[26] in "+-" and fraction.isdecimal():
        moment = _read_second(stamp[:19] + stamp[26:])
        if moment is not None:
            return moment[0] + int(fraction) * 1_000, moment[1]
    match = TIMESTAMP.match(clip_text(stamp))
    if match is None:
        return _NO_TIME
    second, fraction, zone = match.groups()
    moment = parse_moment(second, zone or "")
    if moment is None:
        return _NO_TIME
    return moment[0] + int((fraction or "0").ljust(9, "0")), moment[1]


@lru_cache(maxsize=64)
def _read_second(stamp: str) -> tuple[int, int | None] | None:
    match = TIMESTAMP.fullmatch(stamp)
    return parse_moment(match["second"], match["zone"] or "") if match else None
