"""The files in the folder of a recording of ``tracekit record --via pymobiledevice3``; imports no reader."""

from __future__ import annotations

from pathlib import Path

DEVICE_STREAM, DEVICE_STACKSHOT = "stream.ktrace", "stackshot.json"
DEVICE_LOG, DEVICE_JOURNAL = "log.ndjson", "device.json"


def is_device_folder(path: Path) -> bool:
    """Return whether a folder is a recording of ``record --via``."""
    return (path / DEVICE_JOURNAL).is_file()
