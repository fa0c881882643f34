"""Lines of an iPhone's log as pymobiledevice3 prints them → the names that ``log`` has for the same.

It is a program of its own (GPL-3), of which nothing but the output is used. Version 11.45.0 prints an object
of JSON per line; times are local ones, without a zone (its guide "Machine-readable output"):

* ``developer dvt oslog --format json``: the rows of the device's tables of lines and of signposts. A
  signpost has "Begin", "End" or "Event" for a type, and its name stands for the message where it has none
  of its own; with a message, the name is lost. No thread, no identifier, and no process but by number.
* ``syslog live --format json``: lines with process and thread. What they are of is not printed, so a
  signpost in them is no signpost.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from tracekit.parsers.text.signpost_pairing import NO_IDENTIFIER


class DeviceForm(StrEnum):
    """The command that printed a line."""

    OSLOG = "oslog"
    SYSLOG = "syslog"


FORM = "deviceForm"
OSLOG_KEYS = ("message_type", "image_name")
SYSLOG_KEYS = ("image_offset", "filename")
"""Keys that tell the two forms from others."""
SIGNPOST_TYPES = {"Begin": "begin", "End": "end"}
_KERNEL = "kernel"


def translate_device_line(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a line of either form with the names of ``log``; any other object as it is."""
    if all(key in entry for key in OSLOG_KEYS):
        return _translate_oslog(entry)
    if all(key in entry for key in SYSLOG_KEYS):
        return _translate_syslog(entry)
    return entry


def _translate_oslog(entry: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        FORM: DeviceForm.OSLOG,
        "timestamp": _get_time(entry),
        "eventMessage": entry.get("message"),
        "processID": entry.get("pid"),
        "processImagePath": _KERNEL if entry.get("pid") == 0 else "",  # no other process is named
        "subsystem": entry.get("subsystem"),
        "category": entry.get("category"),
        "messageType": entry.get("message_type"),
        "senderImagePath": entry.get("image_name"),
    }
    kind = entry.get("message_type")
    if not isinstance(kind, str) or kind not in SIGNPOST_TYPES:
        return names
    has_message = bool(entry.get("format_string") or entry.get("arguments"))
    return names | {
        "eventType": "signpostEvent",
        "eventMessage": entry.get("message") if has_message else "",
        "signpostName": "" if has_message else entry.get("message"),
        "signpostType": SIGNPOST_TYPES[kind],
        "signpostID": NO_IDENTIFIER,
        "signpostScope": "process",
    }


def _translate_syslog(entry: Mapping[str, Any]) -> dict[str, Any]:
    label = entry.get("label")
    names = label if isinstance(label, dict) else {}
    return {
        FORM: DeviceForm.SYSLOG,
        "timestamp": _get_time(entry),
        "eventMessage": entry.get("message"),
        "processID": entry.get("pid"),
        "threadID": entry.get("thread_id"),
        "processImagePath": entry.get("filename"),
        "subsystem": names.get("subsystem"),
        "category": names.get("category"),
        "messageType": entry.get("level"),
        "senderImagePath": entry.get("image_name"),
    }


def _get_time(entry: Mapping[str, Any]) -> str:
    stamp = entry.get("timestamp")
    return stamp.replace("T", " ", 1) if isinstance(stamp, str) else ""
