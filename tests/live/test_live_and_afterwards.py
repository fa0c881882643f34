"""A saved stream gives the same calls while it comes, however its bytes are cut, and afterwards."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_streams import FAILED, PREAMBLE, SERVED, call, entry, signpost

from tracekit import analyze, open_trace
from tracekit.analysis.budget.parts import BudgetPart
from tracekit.live.live_call import LiveCall
from tracekit.live.stream_watch import StreamWatch

pytestmark = pytest.mark.integration

ERROR = "ANE inference operation failed"
EVALUATION = {
    "name": "_ANEF_MODEL_EVALUATE",
    "subsystem": "com.apple.ane",
    "category": "client",
    "signpostScope": "process",
}


def watched(cuts: list[bytes]) -> list[LiveCall]:
    watch = StreamWatch(["encode"])
    happenings = [happening for cut in cuts for happening in watch.feed(cut)] + list(watch.finish())
    return [happening for happening in happenings if isinstance(happening, LiveCall)]


def analyzed(path: Path) -> list[tuple[Any, ...]]:
    """Return start, end, pid, served and failed requests, verdict, and times of waiting and loading of calls."""
    analysis = analyze(open_trace(path), signposts="encode")
    rows = analysis.window_rows
    columns = [rows[name].tolist() for name in ("start_ns", "end_ns", "pid")]
    requests, sums = analysis.requests, analysis.budget.sums
    return sorted(
        zip(
            *columns,
            requests.served.tolist(),
            requests.failed.tolist(),
            analysis.verdicts.names,
            sums.sum_part(BudgetPart.WAITING).tolist(),
            sums.sum_part(BudgetPart.LOAD).tolist(),
            strict=True,
        )
    )


def overlaps(call: LiveCall, other: LiveCall) -> bool:
    is_meanwhile = call.start_ns < other.end_ns and other.start_ns < call.end_ns
    return other is not call and other.pid == call.pid and is_meanwhile


def placed(calls: list[LiveCall]) -> list[tuple[Any, ...]]:
    """Return the calls as ``analyzed`` does, from the first on."""
    return sorted(
        (
            call.start_ns,
            call.end_ns,
            call.pid,
            call.served,
            call.failed,
            call.engine.value,
            call.request_ns,
            call.loading_ns,
        )
        for call in calls
    )


def moved(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    first_ns = min((row[0] for row in rows), default=0)
    return [(row[0] - first_ns, row[1] - first_ns, *row[2:]) for row in rows]


@st.composite
def streams(draw: st.DrawFn, *, may_reach_beyond: bool) -> bytes:
    """Return a stream of several processes and threads, slightly out of order, with repeats and damage."""
    lines: list[tuple[int, bytes]] = []
    for pid in draw(st.lists(st.sampled_from([812, 900]), min_size=1, max_size=2, unique=True)):
        uses_evaluations = draw(st.booleans())
        for tid in draw(st.lists(st.integers(1, 3), min_size=1, max_size=2, unique=True)):
            owner = {"processID": pid, "threadID": pid * 10 + tid}
            # Threads have moments of their own: of two calls that end at once, a late line may be of either.
            time_us = 4 * draw(st.integers(0, 2_000)) + tid
            for number in range(draw(st.integers(1, 6))):
                end_us = time_us + 4 * draw(st.integers(250, 3_000))
                mark = {"number": number % 2, **owner}
                lines.append((time_us, signpost(time_us, "begin", **mark)))
                if draw(st.integers(0, 3)) == 0:
                    load_us, loaded_us = sorted(draw(st.integers(time_us, end_us)) for _ in range(2))
                    name = {"name": draw(st.sampled_from(["_ANEF_MODEL_LOAD", "_ANEF_MODEL_COMPILE"]))}
                    for moment_us, kind in ((load_us, "begin"), (loaded_us, "end")):
                        lines.append(
                            (
                                moment_us,
                                signpost(moment_us, kind, number=load_us, **EVALUATION | name | owner),
                            )
                        )
                for _ in range(draw(st.integers(0, 3))):
                    is_inside = uses_evaluations and not may_reach_beyond
                    moment_us = draw(st.integers(time_us, end_us if is_inside else end_us + 900))
                    if uses_evaluations:
                        begin_us = draw(st.integers(max(time_us, moment_us - 900), moment_us))
                        lines += [
                            (begin_us, signpost(begin_us, "begin", number=moment_us, **EVALUATION | owner)),
                            (moment_us, signpost(moment_us, "end", number=moment_us, **EVALUATION | owner)),
                        ]
                    else:
                        message = draw(st.sampled_from([SERVED, SERVED, FAILED, ERROR]))
                        lines.append((moment_us, entry(moment_us, message, **owner)))
                lines.append((end_us, signpost(end_us, "end", **mark)))
                time_us = end_us + 4 * draw(st.integers(1, 2_000))
    order = random.Random(draw(st.integers(0, 2**16)))
    jitter_us = draw(st.sampled_from([0, 300]))
    ordered = sorted(lines, key=lambda line: line[0] + order.uniform(-jitter_us, jitter_us))
    stream = [line for _, line in ordered]
    for _ in range(draw(st.integers(0, 2))):  # a program that connects again sends lines again
        position = order.randrange(len(stream))
        stream.insert(position + 1, stream[position])
    if draw(st.booleans()):
        stream.insert(order.randrange(len(stream) + 1), b'{"eventType":"signpostEvent","signpostName":"enc\n')
    return PREAMBLE + b"".join(stream)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=streams(may_reach_beyond=True), cut_seed=st.integers(0, 2**16))
def test_the_calls_are_the_same_live_and_afterwards(stream: bytes, cut_seed: int, tmp_path: Path) -> None:
    order = random.Random(cut_seed)
    places = sorted(order.sample(range(len(stream)), min(20, len(stream))))
    cuts = [stream[begin:end] for begin, end in zip([0, *places], [*places, len(stream)], strict=True)]
    live = watched(cuts)
    assert live == watched([stream])
    path = tmp_path / "saved.ndjson"
    path.write_bytes(stream)
    expected = analyzed(path) if live else []
    rows = placed(live)
    assert moved([row[:3] for row in rows]) == moved([row[:3] for row in expected])
    ordered = sorted(live, key=lambda live_call: (live_call.start_ns, live_call.end_ns, live_call.pid))
    for live_call, row, call_afterwards in zip(ordered, rows, expected, strict=True):
        # What is contested while another call is open is decided once that has ended.
        requests = live_call.served + live_call.failed
        assert requests <= call_afterwards[3] + call_afterwards[4] <= requests + live_call.contested
        if not live_call.contested:
            assert row[3:6] == call_afterwards[3:6]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=streams(may_reach_beyond=False))
def test_the_budget_is_the_same_live_and_afterwards(stream: bytes, tmp_path: Path) -> None:
    live = watched([stream])
    path = tmp_path / "saved.ndjson"
    path.write_bytes(stream)
    expected = analyzed(path) if live else []
    ordered = sorted(live, key=lambda live_call: (live_call.start_ns, live_call.end_ns, live_call.pid))
    for live_call, row, call_afterwards in zip(ordered, placed(live), expected, strict=True):
        # The analysis gives intervals to a call of several at once, whose thread its tables do not name.
        if not any(overlaps(live_call, other) for other in live):
            assert row[6:] == call_afterwards[6:]


def test_every_cut_of_a_stream_gives_the_same_calls() -> None:
    lines = [
        line for i in range(3) for line in call(i * 9_000, i * 9_000 + 5_000, (i * 9_000 + 4_000, SERVED))
    ]
    stream = b"".join(lines)
    whole = watched([stream])
    assert [each.served for each in whole] == [1, 1, 1]
    for place in range(0, len(stream), 7):
        assert watched([stream[:place], stream[place:]]) == whole
