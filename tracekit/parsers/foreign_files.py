"""The names of other tools' files, which are no recordings."""

from __future__ import annotations

import re

DEVICE_READINGS = (
    "what a program (pyidevice, pymobiledevice3) read of a device's processes, events, energy, pictures or"
    " network, in which no engine is"
)
DEVICE_ADVICE = "Record the device's stacks and log: tracekit record --via pymobiledevice3 --device UDID"
_FIREFOX = "a profile of the Firefox Profiler"
_JSON = (
    ((b'"meta"', b'"stackwalk"'), _FIREFOX),
    ((b'"meta"', b'"markerSchema"'), _FIREFOX),
    ((b'"meta"', b'"preprocessedProfileVersion"'), _FIREFOX),
    ((b"speedscope.app/file-format-schema",), "a profile of speedscope"),
    ((b'"traceEvents"',), "a trace in Chrome's JSON"),
    ((b'"tracekit-',), "JSON that tracekit wrote"),
    ((b'"log"', b'"creator"'), "an HTTP archive (HAR)"),
    *(
        (marks, DEVICE_READINGS)
        for marks in (
            (b"StartMachAbsTime",),
            (b"cpuUsage", b"pid"),
            (b"energy.cost",),
            (b"currentTime", b"fps"),
            (b"state_description", b"mach_absolute_time"),
            (b"net.packets",),
        )
    ),
    ((), "JSON"),
)
"""Bytes in the beginning of JSON, all of which are in it, and its name."""
_BINARIES = (
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG", "a picture"),
    (b"\x7fELF", "an ELF binary"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O binary, which --symbols takes"),
    (b"\xca\xfe\xba\xbe", "a universal Mach-O binary, which --symbols takes"),
)
_DEVICE_TEXT = re.compile(
    rb"(?:Memory|Network|Disk|CPU) +>> |\"?connection-update\{"
    rb"|[^\n]{1,80}\(\d+\) +\S+(?: \(0x[0-9a-f]+\))? +DBG_[A-Z]+ "
)
"""Lines of ``pyidevice instruments monitor``, ``networking`` and ``core_profile``: the last has no times."""
_FOLDED = re.compile(rb"[^\n;]+(?:;[^\n;]+)+ \d+\r?\n")
_PERFETTO = (".pftrace", ".perfetto-trace", ".perfetto")


def name_foreign_file(name: str, head: bytes) -> str:
    """Return the kind of another tool's file by its name and its first bytes, "" for any other file."""
    if head[:1] in (b"{", b"["):
        return next(kind for marks, kind in _JSON if all(mark in head for mark in marks))
    if known := next((kind for mark, kind in _BINARIES if head.startswith(mark)), ""):
        return known
    if _DEVICE_TEXT.match(head):
        return DEVICE_READINGS
    if name.endswith(_PERFETTO):  # packets have no mark of their own
        return "a trace of Perfetto"
    return "a file of folded stacks" if _FOLDED.match(head) else ""
