"""Streams of ``log stream --style ndjson --signpost``, line by line, as the system writes them."""

from __future__ import annotations

import json
from typing import Any

SERVED = "-----> doEvaluate: ANEProgramProcessRequestDirect() status=0x0 : statusType=0x0 : qos=0x21"
FAILED = "-----> doEvaluate: ANEProgramProcessRequestDirect() status=0x16 : statusType=0x9 : qos=0x21"
PREAMBLE = b'Filtering the log data using "subsystem == \\"com.apple.ane\\""\n'


def format_clock(time_us: int) -> str:
    """Return a moment of 28 November 2026, given in microseconds since 10:00."""
    seconds, fraction = divmod(time_us, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(10 + hours, 24)
    return f"2026-11-{28 + days} {hour:02}:{minute:02}:{second:02}.{fraction:06}+0000"


def entry(time_us: int, message: str, **more: Any) -> bytes:
    """Return a line; ``more`` replaces or adds keys, and None leaves one out."""
    values = {
        "traceID": 6194135293972484,
        "eventMessage": message,
        "eventType": "logEvent",
        "subsystem": "com.apple.ane",
        "category": "client",
        "threadID": 7,
        "backtrace": {
            "frames": [{"imageOffset": 12345, "imageUUID": "9E2B2F1C-7B6C-3A09-A4BB-0A58D2F0B4C1"}]
        },
        "processImagePath": "/Applications/App.app/Contents/MacOS/App",
        "timestamp": format_clock(time_us),
        "senderImagePath": "/System/Library/PrivateFrameworks/AppleNeuralEngine.framework/AppleNeuralEngine",
        "machTimestamp": 9_000_000_000 + time_us * 24,
        "messageType": "Debug",
        "processID": 812,
        "timezoneName": "",
        **more,
    }
    return json.dumps({key: value for key, value in values.items() if value is not None}).encode() + b"\n"


def signpost(time_us: int, kind: str, name: str = "encode", number: int = 1, **more: Any) -> bytes:
    """Return a signpost of the app; only a Begin has a message."""
    return entry(
        time_us,
        "",
        **{
            "eventType": "signpostEvent",
            "signpostName": name,
            "signpostType": kind,
            "signpostID": number,
            "signpostScope": "process",
            "subsystem": "com.example.app",
            "category": "inference",
            "messageType": "Default",
        }
        | more,
    )


def call(start_us: int, end_us: int, *requests: tuple[int, str], number: int = 1, **more: Any) -> list[bytes]:
    """Return the lines of a call with requests at (time, message)."""
    return [
        signpost(start_us, "begin", number=number, **more),
        *(entry(time_us, message, **_owner(more)) for time_us, message in requests),
        signpost(end_us, "end", number=number, **more),
    ]


def _owner(more: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in more.items() if key in ("processID", "threadID", "processImagePath")}
