"""What was recorded, where and how: the run's entry in ``form.template`` → ``TraceInfo``.

An export's table of contents is made from the same ``XRRunInfo``. Without ``form.template`` the recording's
own parameters (``exposedTableInfo.plist``) still tell the system's version and the target's pid.
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
_MOST_SECONDS = 10**9
_LAST_DATE = 253_402_300_799  # the end of the year 9999, in seconds


def recorded_run(form: KeyedArchive | None, run: int) -> Any:
    """Return the run's entry in the document, None when it has none."""
    return form.get(form.top(_RUNS), "$1", run) if form is not None else None


def read_info(name: str, form: KeyedArchive | None, run: int) -> TraceInfo:
    """Return what the document tells of a run; what is missing stays empty."""
    info = TraceInfo(name, "trace-bundle", run)
    entry = recorded_run(form, run)
    if form is None or entry is None:
        return info
    recorded = form.get(entry, "runInfo")

    def text(field: str) -> str:
        value = form.get(recorded, field)
        return value.strip() if isinstance(value, str) else ""

    pid = text("_targetProcessPid")
    zone = _time_zone(form, entry)
    return replace(
        info,
        device=text("_targetName"),
        model=text("_targetModel"),
        platform=text("_targetPlatform"),
        os=text("_targetOperatingSystem"),
        template=text("_templateName"),
        instruments=text("_instrumentVersion"),
        start=_date(form.get(recorded, "_rawStartTime"), zone),
        end=_date(form.get(recorded, "_rawEndTime"), zone),
        end_reason=text("_endReason"),
        recording_mode=text("_recordingMode"),
        time_limit=text("_timeLimit"),
        duration_ns=_duration_ns(form.get(recorded, "_rawDuration")),
        process=text("_targetProcessName"),
        pid=int(pid) if pid.isdecimal() and len(pid) < 10 else None,
    )


def read_parameters(info: TraceInfo, parameters: KeyedArchive) -> TraceInfo:
    """Fill what ``info`` lacks from the recording's parameters."""
    root = parameters.top()
    bound = {key: parameters.get(root, "bindingParameters", key) for key in ("osx-version", "ios-version")}
    pid = parameters.get(root, "modelingParameters", "target-pid")
    system, version = next(((k, v) for k, v in bound.items() if isinstance(v, int)), ("", 0))
    return replace(
        info,
        os=info.os or (_version(version) if version else ""),
        platform=info.platform or {"osx-version": "macOS", "ios-version": "iOS"}.get(system, ""),
        pid=info.pid if info.pid is not None else pid if _is_pid(pid) else None,
    )


def core_types(form: KeyedArchive | None, run: int) -> dict[int, CoreType]:
    """Return "E" or "P" for each core that says which it is: 1 is an efficiency, 2 a performance cluster."""
    if form is None:
        return {}
    types: dict[int, CoreType] = {}
    for core in form.elements(form.get(recorded_run(form, run), "allObjects")):
        number, flags = form.get(core, "$0"), form.get(core, "topology", "_clusterFlags")
        if getattr(core, "class_name", "") == "XRCore" and isinstance(number, int) and flags in (1, 2):
            types[number] = "E" if flags == 1 else "P"
    return types


def thread_names(form: KeyedArchive | None, run: int) -> dict[int, str]:
    """Return the document's own names of threads by tid."""
    if form is None:
        return {}
    threads = form.items(form.get(recorded_run(form, run), "threadsByTID"))
    names = {tid: form.get(form.follow(entry), "preferredName") for tid, entry in threads.items()}
    return {tid: name for tid, name in names.items() if isinstance(tid, int) and isinstance(name, str)}


def process_names(form: KeyedArchive | None, run: int) -> dict[int, str]:
    """Return the document's own names of processes by pid."""
    if form is None:
        return {}
    names = {}
    for entry in form.elements(form.get(recorded_run(form, run), "processDatas")):
        pid, name = form.get(entry, "_pid"), form.get(entry, "displayName")
        if isinstance(pid, int) and isinstance(name, str):
            names[pid] = name
    return names


def _time_zone(form: KeyedArchive, entry: Any) -> tzinfo:
    """Dates are shown in the target's time zone, whose name stands at the end of its clock's record."""
    clocks = form.items(form.get(entry, "mach_time_info"))
    for clock in clocks.values():
        name = (form.elements(form.follow(clock)) or [None])[-1]
        if isinstance(name, str):
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return UTC


def _date(seconds: Any, zone: tzinfo) -> str:
    """Return the date as exports write it: ``2026-03-05T17:27:38.879Z``."""
    if not isinstance(seconds, (int, float)) or not 0 < seconds < _LAST_DATE:
        return ""
    try:
        rounded = datetime.fromtimestamp(round(seconds, 3), zone)
    except (OverflowError, ValueError, OSError):  # the year 10000 begins earlier in the east
        return ""
    return rounded.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _duration_ns(seconds: Any) -> int | None:
    """Exports round to microseconds; so do we, for the same number."""
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < _MOST_SECONDS:
        return None
    return round(seconds * 1e6) * 1000


def _version(number: int) -> str:
    """150703 → 15.7.3"""
    parts = [number // 10_000, number // 100 % 100, number % 100]
    return ".".join(str(part) for part in (parts if parts[2] else parts[:2]))


def _is_pid(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
