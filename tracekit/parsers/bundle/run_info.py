"""The circumstances of a recording (device, system, template, times, target) → ``TraceInfo``.

They are the run's entry in ``form.template``, an ``XRRunInfo``; Instruments makes an export's table of
contents from the same object. Without ``form.template``, the recording's own parameters
(``exposedTableInfo.plist``) still hold the system's version and the target's pid.

    $top  com.apple.xray.run.data → $1 → run 1 → runInfo         fields _targetName, _rawStartTime, …
                                                 mach_time_info  the clocks; the last element is the time zone
                                                 allObjects      XRCore: $0 its number, topology._clusterFlags
                                                 threadsByTID, processDatas: names
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tracekit.model.tables import CoreType
from tracekit.model.trace import TraceInfo
from tracekit.parsers.bundle.keyed_archive import KeyedArchive

_RUNS = "com.apple.xray.run.data"
_MAX_SECONDS = 10**9
_LAST_DATE = 253_402_300_799  # the end of the year 9999, in seconds


def find_recorded_run(document: KeyedArchive | None, run: int) -> Any:
    """Return the run's entry in the document, None when it has none."""
    return document.get(document.top(_RUNS), "$1", run) if document is not None else None


def read_info(name: str, document: KeyedArchive | None, run: int) -> TraceInfo:
    """Return the document's facts about a run; missing ones stay empty."""
    info = TraceInfo(name, "trace-bundle", run)
    entry = find_recorded_run(document, run)
    if document is None or entry is None:
        return info
    recorded = document.get(entry, "runInfo")

    def get_text(field: str) -> str:
        value = document.get(recorded, field)
        return value.strip() if isinstance(value, str) else ""

    pid = get_text("_targetProcessPid")
    zone = _find_time_zone(document, entry)
    return replace(
        info,
        device=get_text("_targetName"),
        model=get_text("_targetModel"),
        platform=get_text("_targetPlatform"),
        os=get_text("_targetOperatingSystem"),
        template=get_text("_templateName"),
        instruments=get_text("_instrumentVersion"),
        start=_format_date(document.get(recorded, "_rawStartTime"), zone),
        end=_format_date(document.get(recorded, "_rawEndTime"), zone),
        end_reason=get_text("_endReason"),
        recording_mode=get_text("_recordingMode"),
        time_limit=get_text("_timeLimit"),
        duration_ns=_convert_duration(document.get(recorded, "_rawDuration")),
        process=get_text("_targetProcessName"),
        pid=int(pid) if pid.isdecimal() and len(pid) < 10 else None,
    )


def read_parameters(info: TraceInfo, parameters: KeyedArchive) -> TraceInfo:
    """Fill the gaps of ``info`` from the recording's parameters."""
    root = parameters.top()
    versions = {key: parameters.get(root, "bindingParameters", key) for key in ("osx-version", "ios-version")}
    pid = parameters.get(root, "modelingParameters", "target-pid")
    system, version = next(((k, v) for k, v in versions.items() if isinstance(v, int)), ("", 0))
    return replace(
        info,
        os=info.os or (_format_version(version) if version else ""),
        platform=info.platform or {"osx-version": "macOS", "ios-version": "iOS"}.get(system, ""),
        pid=info.pid if info.pid is not None else pid if _is_pid(pid) else None,
    )


def read_core_types(document: KeyedArchive | None, run: int) -> dict[int, CoreType]:
    """Return "E" or "P" for each core with cluster flags: 1 is an efficiency, 2 a performance cluster."""
    if document is None:
        return {}
    types: dict[int, CoreType] = {}
    for core in document.elements(document.get(find_recorded_run(document, run), "allObjects")):
        number, flags = document.get(core, "$0"), document.get(core, "topology", "_clusterFlags")
        if document.class_name(core) == "XRCore" and isinstance(number, int) and flags in (1, 2):
            types[number] = "E" if flags == 1 else "P"
    return types


def read_thread_names(document: KeyedArchive | None, run: int) -> dict[int, str]:
    """Return the document's own names of threads by tid."""
    if document is None:
        return {}
    threads = document.items(document.get(find_recorded_run(document, run), "threadsByTID"))
    names = {tid: document.get(document.follow(entry), "preferredName") for tid, entry in threads.items()}
    return {tid: name for tid, name in names.items() if isinstance(tid, int) and isinstance(name, str)}


def read_process_names(document: KeyedArchive | None, run: int) -> dict[int, str]:
    """Return the document's own names of processes by pid."""
    if document is None:
        return {}
    names = {}
    for entry in document.elements(document.get(find_recorded_run(document, run), "processDatas")):
        pid, name = document.get(entry, "_pid"), document.get(entry, "displayName")
        if isinstance(pid, int) and isinstance(name, str):
            names[pid] = name
    return names


def _find_time_zone(document: KeyedArchive, entry: Any) -> tzinfo:
    """Return the target's time zone, in which dates are shown: the last element of its clock's record."""
    clocks = document.items(document.get(entry, "mach_time_info"))
    for clock in clocks.values():
        name = (document.elements(document.follow(clock)) or [None])[-1]
        if isinstance(name, str):
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return UTC


def _format_date(seconds: Any, zone: tzinfo) -> str:
    """Return the date as exports write it: ``2026-03-05T17:27:38.879Z``."""
    if not isinstance(seconds, (int, float)) or not 0 < seconds < _LAST_DATE:
        return ""
    try:
        rounded = datetime.fromtimestamp(round(seconds, 3), zone)
    except (OverflowError, ValueError, OSError):  # the year 10000 begins earlier in the east
        return ""
    return rounded.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _convert_duration(seconds: Any) -> int | None:
    """Return the duration rounded to microseconds, as exports round it, so that both numbers agree."""
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < _MAX_SECONDS:
        return None
    return round(seconds * 1e6) * 1000


def _format_version(number: int) -> str:
    """Return 15.7.3 for 150703."""
    parts = [number // 10_000, number // 100 % 100, number % 100]
    return ".".join(str(part) for part in (parts if parts[2] else parts[:2]))


def _is_pid(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
