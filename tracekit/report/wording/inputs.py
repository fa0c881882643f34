"""Kinds of input (``TraceInfo.kind``) as a sentence names them."""

from __future__ import annotations

_KINDS = {
    "xctrace-xml": "exports of xctrace",
    "trace-bundle": "a recording of Instruments",
    "pack": "a pack of tracekit",
    "sample": "a report of sample",
    "spindump": "a report of spindump",
    "microstackshots": "a report of microstackshots",
    "deep-copy": "a call tree copied from Instruments",
    "ips": "a report of a crash or a hang (.ips)",
    "crash-text": "a crash report",
    "lldb": "a backtrace of lldb",
    "lldb-hits": "hits of breakpoints in lldb",
    "log": "a log",
    "powermetrics": "output of powermetrics",
    "powermetrics-plist": "property lists of powermetrics",
    "power-json": "samples of power as JSON",
}


def input_kind(kind: str) -> str:
    """Return ``a report of sample``; a kind without words of its own is named as it is."""
    return _KINDS.get(kind, kind)
