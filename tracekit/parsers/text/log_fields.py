"""An entry of a log in JSON → the fields that are read, of any type that JSON has.

Of two dozen fields, an entry of ``log`` has a dozen that nothing reads: msgspec skips them without making
objects. It reads a value as ``json`` does, or refuses it (halves of character pairs, NaN, bytes that are no
UTF-8), and ``json`` decides about what it refuses.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import UNSET, Struct, field
from msgspec.json import Decoder

from tracekit.parsers.text.device_lines import FORM, translate_device_line

_JSON_SPACE = " \t\r\n"


class LogFields(Struct, gc=False):
    """The fields of an entry; None where it has none."""

    message: Any = field(default=UNSET, name="eventMessage")
    event: Any = field(default=None, name="eventType")
    timestamp: Any = None
    process_id: Any = field(default=None, name="processID")
    thread_id: Any = field(default=None, name="threadID")
    ticks: Any = field(default=None, name="machTimestamp")
    process_path: Any = field(default=None, name="processImagePath")
    sender_path: Any = field(default=None, name="senderImagePath")
    subsystem: Any = None
    category: Any = None
    message_type: Any = field(default=None, name="messageType")
    signpost_type: Any = field(default=None, name="signpostType")
    signpost_name: Any = field(default=None, name="signpostName")
    signpost_scope: Any = field(default=None, name="signpostScope")
    signpost_id: Any = field(default=None, name="signpostID")
    device_form: Any = field(default=None, name=FORM)
    """The form of a line that pymobiledevice3 printed, by other names."""


_DECODER = Decoder(LogFields)
_KEYS = LogFields.__struct_encode_fields__


def read_fields(line: bytes) -> LogFields | None:
    """Return the fields of a JSON object; None for any other line."""
    try:
        fields = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return read_unusual_fields(line)
    return fields if fields.message is not UNSET else read_unusual_fields(line)


def read_unusual_fields(line: bytes) -> LogFields | None:
    """Return the fields of any object that ``json`` can read; bytes that are no UTF-8 are replaced."""
    text = line.decode(errors="replace").strip(_JSON_SPACE)
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    return LogFields(*map((entry if "eventMessage" in entry else translate_device_line(entry)).get, _KEYS))
