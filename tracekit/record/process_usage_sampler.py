"""Print, ten times a second, which processes hold memory on the Neural Engine (``proc_pid_rusage``).

    python -m tracekit.record.process_usage_sampler SECONDS

Each line is a JSON object (``parsers/text/process_usage.py`` reads them) with the processes that hold, or
ever held, such memory. Without root, macOS answers for the user's own processes; the others are counted as
unreadable. Layout: ``struct rusage_info_v6`` of bsd/sys/resource.h (apple-oss-distributions/xnu). Never run
on a Mac for this project.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
import time
from datetime import UTC, datetime
from typing import Any, Protocol

INTERVAL_MS = 100
_VERSION_6 = 6
_FIELDS = struct.Struct("<16x29Q Q 10Q Q 3Q 2Q 10Q")
"""Behind the UUID: 29 fields, instructions, 10, energy in nJ, 3, the two neural footprints, the rest."""
_INSTRUCTIONS, _ENERGY_NJ, _NEURAL_BYTES, _MOST_NEURAL_BYTES = 29, 40, 44, 45
_NAME_BYTES = 256
_MOST_PIDS = 32_768


class ProcessTable(Protocol):
    """The calls of the system that the sampler needs."""

    def list_pids(self) -> list[int]:
        """Return the numbers of all processes."""

    def read_usage(self, pid: int) -> bytes | None:
        """Return a process's ``rusage_info_v6``; None for one of another user, or that has ended."""

    def read_name(self, pid: int) -> str:
        """Return a process's name; "" for one that has ended."""


class LibprocTable:
    """The processes of this Mac, by libproc."""

    def __init__(self) -> None:
        self._libproc: Any = ctypes.CDLL("/usr/lib/libproc.dylib", use_errno=True)

    def list_pids(self) -> list[int]:
        """See ``ProcessTable``."""
        pids = (ctypes.c_int * _MOST_PIDS)()
        count = self._libproc.proc_listallpids(pids, ctypes.sizeof(pids))
        return [pid for pid in pids[: max(count, 0)] if pid > 0]

    def read_usage(self, pid: int) -> bytes | None:
        """See ``ProcessTable``."""
        usage = ctypes.create_string_buffer(_FIELDS.size)
        return usage.raw if self._libproc.proc_pid_rusage(pid, _VERSION_6, usage) == 0 else None

    def read_name(self, pid: int) -> str:
        """See ``ProcessTable``."""
        name = ctypes.create_string_buffer(_NAME_BYTES)
        self._libproc.proc_name(pid, name, _NAME_BYTES)
        return name.value.decode("utf-8", "replace")


def take_sample(table: ProcessTable, moment: datetime) -> dict[str, Any]:
    """Return one line: the processes that hold, or ever held, memory on the Neural Engine."""
    holders, unreadable = [], 0
    for pid in table.list_pids():
        usage = table.read_usage(pid)
        if usage is None:
            unreadable += 1
            continue
        fields = _FIELDS.unpack(usage)
        if fields[_MOST_NEURAL_BYTES]:
            holders.append(
                {
                    "pid": pid,
                    "name": table.read_name(pid),
                    "neural_bytes": fields[_NEURAL_BYTES],
                    "most_neural_bytes": fields[_MOST_NEURAL_BYTES],
                    "energy_nj": fields[_ENERGY_NJ],
                    "instructions": fields[_INSTRUCTIONS],
                }
            )
    return {
        "tracekit": "process-usage",
        "version": 1,
        "timestamp": moment.isoformat(timespec="microseconds"),
        "interval_ms": INTERVAL_MS,
        "processes": holders,
        "unreadable": unreadable,
    }


def write_samples(table: ProcessTable, seconds: float) -> None:
    """Write a line for each interval, until the time is over or nobody reads."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        sys.stdout.write(json.dumps(take_sample(table, datetime.now(UTC))) + "\n")
        sys.stdout.flush()
        time.sleep(max(INTERVAL_MS / 1000 - (time.monotonic() - begin), 0))


if __name__ == "__main__":
    try:
        write_samples(LibprocTable(), float(sys.argv[1]))
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)
    except OSError as error:
        sys.exit(f"libproc, a part of macOS, cannot be used: {error}")
