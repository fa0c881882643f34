"""The sampler of memory on the Neural Engine: literal ``rusage_info_v6`` in, lines out."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime

import pytest

from tracekit.record.process_usage_sampler import ProcessTable, take_sample, write_samples

pytestmark = pytest.mark.unit

MOMENT = datetime(2026, 11, 28, 9, 0, 0, 100_000, UTC)


def usage(neural: int, most_neural: int, energy_nj: int = 0, instructions: int = 0) -> bytes:
    """Return ``struct rusage_info_v6``: a UUID and 56 numbers, by their places in bsd/sys/resource.h."""
    numbers = [0] * 56
    numbers[29], numbers[40], numbers[44], numbers[45] = instructions, energy_nj, neural, most_neural
    return bytes(16) + struct.pack("<56Q", *numbers)


class FakeTable:
    def __init__(self, processes: dict[int, tuple[str, bytes | None]]) -> None:
        self._processes = processes

    def list_pids(self) -> list[int]:
        return list(self._processes)

    def read_usage(self, pid: int) -> bytes | None:
        return self._processes[pid][1]

    def read_name(self, pid: int) -> str:
        return self._processes[pid][0]


TABLE: ProcessTable = FakeTable(
    {
        1: ("launchd", None),
        42: ("MyApp", usage(85_000_000, 90_000_000, 1_200, 5_000)),
        43: ("Finder", usage(0, 0, 9, 9)),
        44: ("photoanalysisd", usage(0, 7_000_000)),
    }
)


def test_a_sample_has_the_processes_that_ever_held_memory() -> None:
    assert len(usage(0, 0)) == 464
    assert take_sample(TABLE, MOMENT) == {
        "tracekit": "process-usage",
        "version": 1,
        "timestamp": "2026-11-28T09:00:00.100000+00:00",
        "interval_ms": 100,
        "processes": [
            {
                "pid": 42,
                "name": "MyApp",
                "neural_bytes": 85_000_000,
                "most_neural_bytes": 90_000_000,
                "energy_nj": 1_200,
                "instructions": 5_000,
            },
            {
                "pid": 44,
                "name": "photoanalysisd",
                "neural_bytes": 0,
                "most_neural_bytes": 7_000_000,
                "energy_nj": 0,
                "instructions": 0,
            },
        ],
        "unreadable": 1,
    }


def test_lines_come_until_the_time_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    write_samples(TABLE, 0.25)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert 2 <= len(lines) <= 4
    assert all(len(line["processes"]) == 2 for line in lines)
