"""Samples as pykdebugparser reads them, a reader of the same streams that shares no code with ours."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kdebug_files import event, sample, write_version_2, write_version_3
from pykdebugparser.pykdebugparser import PyKdebugParser

from tracekit.api import open_trace
from tracekit.model.trace import Trace

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "evidence" / "ktrace"

addresses = st.integers(1, 2**48)
user_stacks = st.lists(addresses, min_size=1, max_size=11)
noise = st.builds(
    event, st.integers(0, 2**40), st.just(0x040C_0004), st.lists(addresses, max_size=4), st.just(1)
)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Return the events of several threads, each in order, shuffled among each other."""
    queues = []
    for tid in draw(st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True)):
        parts = []
        for _ in range(draw(st.integers(1, 4))):
            parts += sample(draw(st.integers(0, 2**40)), draw(user_stacks), tid, tid % 3)
            parts += draw(st.lists(noise, max_size=1))
        queues.append(parts)
    events = []
    while any(queues):
        queue = draw(st.sampled_from([queue for queue in queues if queue]))
        events.append(queue.pop(0))
    return events


def count_with_oracle(content: bytes) -> Counter[tuple[int, tuple[int, ...]]]:
    stacks = PyKdebugParser().callstacks(io.BytesIO(content))
    return Counter(
        (stack.tid, tuple(frame.address for frame in stack.frames if frame.address)) for stack in stacks
    )


def count_samples(trace: Trace) -> Counter[tuple[int, tuple[int, ...]]]:
    frames = trace.stacks.frames["address"].to_numpy()
    tids = trace.threads["tid"].to_numpy()[trace.samples["thread_id"]].tolist()
    stacks = [tuple(frames[trace.stacks.stack(row)].tolist()) for row in trace.samples["stack_id"]]
    return Counter(zip(tids, stacks, strict=True))


@given(events=streams())
def test_both_readers_find_the_same_stacks(
    events: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("streams") / "app.ktrace"
    content = write_version_2(events, [(1, 42, "MyApp")])
    file.write_bytes(content)
    assert count_samples(open_trace(file)) == count_with_oracle(content)
    file.write_bytes(write_version_3([events[:3], events[3:]]))
    assert count_samples(open_trace(file)) == count_with_oracle(content)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the shared recordings")
def test_a_stream_that_others_wrote() -> None:
    for file in sorted(SHARED.glob("*.ktrace")):
        assert count_samples(open_trace(file)) == count_with_oracle(file.read_bytes())
