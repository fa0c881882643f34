"""The work of a line: calls of Python, which a slow machine does not change."""

from __future__ import annotations

import pytest
from documents_support import python_calls
from log_streams import SERVED, call, signpost

from tracekit.live.stream_watch import StreamWatch

pytestmark = pytest.mark.slow

EVALUATION = {"name": "_ANEF_MODEL_EVALUATE", "subsystem": "com.apple.ane"}
MAX_CALLS_OF_A_LINE = 36


def lines_of(numbers: range) -> list[bytes]:
    """Return calls of 4 ms every 5 ms, each with an evaluation inside and its line."""
    lines: list[bytes] = []
    for number in numbers:
        start_us = number * 5_000
        begin, served, end = call(start_us, start_us + 4_000, (start_us + 3_500, SERVED), number=number)
        inside = (
            signpost(start_us + moment_us, kind, number=number, **EVALUATION)
            for moment_us, kind in ((100, "begin"), (3_400, "end"))
        )
        lines += [begin, *inside, served, end]
    return lines


def calls_of_a_line(watch: StreamWatch, lines: list[bytes]) -> float:
    """Return the calls of Python that a watch makes for a line."""
    data = b"".join(lines)
    return python_calls(lambda: [*watch.feed(data)]) / len(lines)


def test_a_line_takes_few_calls_of_python() -> None:
    watch = StreamWatch(["encode"], keep_bytes=1 << 20)
    least = min(calls_of_a_line(watch, lines_of(range(n * 200, n * 200 + 200))) for n in range(4))
    assert least <= MAX_CALLS_OF_A_LINE
    list(watch.finish())
    assert watch.counts.calls == 800


def test_a_line_takes_as_many_calls_after_many_lines() -> None:
    watch = StreamWatch(["encode"], keep_bytes=1 << 20)
    early = min(calls_of_a_line(watch, lines_of(range(n * 200, n * 200 + 200))) for n in range(3))
    for _ in watch.feed(b"".join(lines_of(range(600, 3_000)))):
        pass
    late = min(calls_of_a_line(watch, lines_of(range(n * 200, n * 200 + 200))) for n in range(15, 18))
    assert late < 1.05 * early
