"""The lines that are kept: of five minutes, as they came, within a limit on memory."""

from __future__ import annotations

import random

from tracekit.live.recent_lines import KEEP_NS, RecentLines


def write_lines(numbers: range) -> list[bytes]:
    """Return lines of a kilobyte that cannot be compressed to less than half."""
    return [b"%d " % number + random.Random(number).randbytes(500).hex().encode() for number in numbers]


def add_lines(recent: RecentLines, lines: list[bytes], time_ns: int) -> None:
    for line in lines:
        recent.add(line, time_ns)


def test_lines_come_back_as_they_came_from_memory_and_from_compressed_blocks() -> None:
    lines = [*write_lines(range(1_000)), b'{"eventMessage": "\xff"}', b"", b"last"]
    recent = RecentLines(10 << 20)
    add_lines(recent, lines, 1)
    assert len([*recent.iter_bytes()]) > 3
    assert b"".join(recent.iter_bytes()) == b"".join(line + b"\n" for line in lines)


def test_the_oldest_lines_make_room_in_memory() -> None:
    lines = write_lines(range(3_000))
    recent = RecentLines(1 << 20)
    add_lines(recent, lines, 1)
    content = b"".join(recent.iter_bytes())
    assert content == b"".join(line + b"\n" for line in lines)[-len(content) :]
    assert 1 << 20 < len(content) < 5 << 19


def test_lines_of_more_than_five_minutes_ago_are_forgotten() -> None:
    old_lines, new_lines = write_lines(range(600)), write_lines(range(600, 1_200))
    recent = RecentLines(10 << 20)
    add_lines(recent, old_lines, 1)
    add_lines(recent, new_lines, KEEP_NS + 2)
    numbers = [int(line.split()[0]) for line in b"".join(recent.iter_bytes()).splitlines()]
    assert numbers[-600:] == [*range(600, 1_200)]
    assert len(numbers) < 900


def test_no_memory_keeps_no_lines() -> None:
    recent = RecentLines(0)
    add_lines(recent, write_lines(range(600)), 1)
    assert b"".join(recent.iter_bytes()) == b""
