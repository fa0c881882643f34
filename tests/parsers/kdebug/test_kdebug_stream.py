"""Kdebug streams: the samples of kperf, whatever stands between them, in both versions of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from kdebug_files import (
    BEGIN,
    END,
    LOST_EVENTS,
    NEW_THREAD,
    NEW_THREAD_NAME,
    RUNNABLE,
    RUNNING,
    SAMPLE,
    THREAD_NAME,
    TICKS_PER_MS,
    USER_DATA,
    USER_HEADER,
    WAITING,
    event,
    image_event,
    sample,
    text_event,
    write_chunk,
    write_stackshot,
    write_task,
    write_thread,
    write_version_2,
    write_version_3,
)

from tracekit.api import open_trace
from tracekit.errors import InputError
from tracekit.model.trace import Trace
from tracekit.parsers.limits import LimitError, Limits

pytestmark = pytest.mark.unit

THREADS = [(1, 42, "MyApp"), (2, 42, "MyApp"), (9, 1, "kernel_task")]
UUID_A, UUID_B = "11111111-2222-3333-4444-555555555555", "AAAAAAAA-BBBB-CCCC-DDDD-EEEEEEEEEEEE"


def read(tmp_path: Path, content: bytes) -> Trace:
    file = tmp_path / "app.ktrace"
    file.write_bytes(content)
    return open_trace(file)


def list_stacks(trace: Trace) -> list[tuple[int, ...]]:
    """Return the addresses of each sample's stack."""
    addresses = trace.stacks.frames["address"].to_numpy()
    ids = trace.samples["stack_id"].tolist()
    return [tuple(addresses[trace.stacks.stack(row)].tolist()) if row >= 0 else () for row in ids]


def list_rows(trace: Trace, *columns: str) -> list[tuple[object, ...]]:
    return list(trace.samples[list(columns)].itertuples(index=False, name=None))


def codes(trace: Trace) -> dict[str, str]:
    return {issue.code: issue.message for issue in trace.issues}


def test_samples_of_a_timer_are_one_interval_apart(tmp_path: Path) -> None:
    events = [part for tick in range(5) for part in sample(tick * 5 * TICKS_PER_MS, [0x1000, 0x2000, 0x3000])]
    trace = read(tmp_path, write_version_2(events, THREADS))
    assert list_rows(trace, "time_ns", "weight_ns", "core", "state") == [
        (tick * 5_000_000, 5_000_000, 0, "Running") for tick in range(5)
    ]
    assert list_stacks(trace) == [(0x1000, 0x2000, 0x3000)] * 5
    assert trace.threads[["tid", "pid", "process"]].values.tolist() == [[1, 42, "MyApp"]]
    assert "weight-assumed" in codes(trace) and "5 ms" in codes(trace)["weight-assumed"]
    assert "sampling-uneven" not in codes(trace)


def test_a_core_that_idles_leaves_whole_intervals_out(tmp_path: Path) -> None:
    events = [part for tick in (0, 1, 2, 5, 6, 9, 10) for part in sample(tick * TICKS_PER_MS, [0x1000])]
    trace = read(tmp_path, write_version_2(events, THREADS))
    assert set(trace.samples["weight_ns"]) == {1_000_000}
    assert "sampling-uneven" not in codes(trace)


def test_samples_at_events_are_marked_as_no_time(tmp_path: Path) -> None:
    ticks = [0, 1, 2.3, 2.7, 5.4, 9.9, 10.2, 15.5, 15.9, 21.6]
    events = [part for tick in ticks for part in sample(int(tick * TICKS_PER_MS), [0x1000])]
    assert "sampling-uneven" in codes(read(tmp_path, write_version_2(events, THREADS)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_samples_are_no_sign_of_a_timer(tmp_path: Path, count: int) -> None:
    events = [part for tick in range(count) for part in sample(tick * 7 * TICKS_PER_MS, [0x1000])]
    issues = codes(read(tmp_path, write_version_2(events, THREADS)))
    assert issues["sampling-uneven"].startswith("the samples have no common interval")
    assert issues["weight-assumed"].endswith("counts as 1 ms")


def test_events_of_two_threads_stand_between_each_other(tmp_path: Path) -> None:
    first = sample(0, [1, 2, 3, 4, 5], tid=1, cpu=0)
    second = sample(10, [6, 7], tid=2, cpu=1)
    mixed = [part for pair in zip(first, [*second, b"", b""], strict=False) for part in pair]
    rest = first[len(second) + 2 :] if len(first) > len(second) + 2 else []
    trace = read(tmp_path, write_version_2([*mixed, *rest], THREADS))
    assert sorted(list_stacks(trace)) == [(1, 2, 3, 4, 5), (6, 7)]
    assert "samples-cut" not in codes(trace)


def test_the_kernel_is_nearer_to_the_leaf(tmp_path: Path) -> None:
    kernel = [0xFFFFFE0007000000, 0xFFFFFE0007000100]
    trace = read(tmp_path, write_version_2(sample(0, [0x1000, 0x2000], kernel=kernel), THREADS))
    assert list_stacks(trace) == [(*kernel, 0x1000, 0x2000)]


def test_a_sampling_thread_states_whom_it_samples(tmp_path: Path) -> None:
    events = [
        *sample(0, [0x1000], tid=9, thread=(42, 1, RUNNING)),
        *sample(100, [0x2000], tid=9, thread=(42, 2, WAITING)),
        *sample(200, [0x3000], tid=9, thread=(42, 7, RUNNABLE)),
        *sample(TICKS_PER_MS, [0x1000], tid=9, thread=(42, 1, RUNNING)),
    ]
    trace = read(tmp_path, write_version_2(events, THREADS))
    tids = trace.threads["tid"].to_numpy()[trace.samples["thread_id"]].tolist()
    assert list(zip(tids, trace.samples["state"], trace.samples["weight_ns"] > 0, strict=True)) == [
        (1, "Running", True),
        (2, "Blocked", False),
        (7, "Runnable", False),
        (1, "Running", True),
    ]
    assert trace.threads["process"].tolist() == ["MyApp"] * 3


def test_names_follow_the_events_that_give_them(tmp_path: Path) -> None:
    events = [
        event(0, NEW_THREAD, (5, 77), tid=1),
        text_event(1, NEW_THREAD_NAME, "Helper", tid=1),
        text_event(2, THREAD_NAME, "com.example.decode", tid=5),
        *sample(3, [0x1000], tid=5),
    ]
    trace = read(tmp_path, write_version_2(events, THREADS))
    assert trace.threads.values.tolist() == [[5, "com.example.decode", 77, "Helper"]]


def test_images_belong_to_their_process(tmp_path: Path) -> None:
    threads = [(1, 42, "MyApp"), (2, 43, "Other")]
    events = [
        image_event(0, UUID_A, 0x1_0000_0000, tid=1),
        image_event(1, UUID_B, 0x1_0000_0000, tid=2),
        *sample(2, [0x1_0000_0040, 0x40], tid=1),
        *sample(3, [0x1_0000_0040], tid=2),
    ]
    trace = read(tmp_path, write_version_2(events, threads))
    uuids = [*trace.stacks.binaries["uuid"], ""]
    of_frame = [uuids[row] for row in trace.stacks.frames["binary_id"]]
    stacks = [[of_frame[frame] for frame in trace.stacks.stack(row)] for row in trace.samples["stack_id"]]
    assert stacks == [[UUID_A, ""], [UUID_B]]
    assert set(trace.stacks.binaries["load_address"]) == {0x1_0000_0000}


def test_version_3_has_the_same_samples(tmp_path: Path) -> None:
    blocks = [sample(0, [1, 2, 3]), sample(TICKS_PER_MS, [4, 5])]
    for counts_time in (False, True):
        trace = read(tmp_path, write_version_3(blocks, THREADS, counts_time=counts_time))
        assert list_stacks(trace) == [(1, 2, 3), (4, 5)]
        assert trace.samples["time_ns"].tolist() == [0, 1_000_000]
        assert trace.threads["process"].tolist() == ["MyApp"]
        assert "document-incomplete" not in codes(trace)


def test_a_sample_may_begin_in_one_chunk_and_end_in_the_next(tmp_path: Path) -> None:
    events = sample(0, [1, 2, 3, 4, 5])
    trace = read(tmp_path, write_version_3([events[:3], events[3:]], THREADS))
    assert list_stacks(trace) == [(1, 2, 3, 4, 5)]


def test_a_stackshot_in_the_stream_names_threads_queues_and_images(tmp_path: Path) -> None:
    threads = [
        write_thread(1, 4, [0x1000], name="render", queue="com.example.render"),
        write_thread(2, 1, [0x1000], queue="com.apple.ane.requests"),
    ]
    stackshot = write_stackshot([write_task(42, "MyApp", threads, [(0x1000, UUID_A)])])
    blocks = [[*sample(0, [0x1010], tid=1), *sample(9, [0x2000], tid=2)]]
    trace = read(tmp_path, write_version_3(blocks, stackshot=stackshot))
    assert trace.threads["name"].tolist() == ["render (com.example.render)", "com.apple.ane.requests"]
    assert trace.threads["process"].tolist() == ["MyApp", "MyApp"]
    assert trace.stacks.binaries["uuid"].tolist() == [UUID_A]


@pytest.mark.parametrize(
    ("ticks_per_second", "time_ns", "assumed"),
    [(24_000_000, 1_000_000, False), (1_000_000_000, 24_000, False), (0, 1_000_000, True)],
)
def test_the_clock_is_that_of_the_file(
    tmp_path: Path, ticks_per_second: int, time_ns: int, assumed: bool
) -> None:
    events = [*sample(0, [1]), *sample(TICKS_PER_MS, [1])]
    trace = read(tmp_path, write_version_2(events, THREADS, ticks_per_second))
    assert trace.samples["time_ns"].tolist() == [0, time_ns]
    assert ("tick-rate-assumed" in codes(trace)) is assumed


def test_what_the_kernel_lost_is_counted(tmp_path: Path) -> None:
    events = [*sample(0, [1, 2]), event(50, LOST_EVENTS), *sample(100, [3, 4])]
    assert "1 place" in codes(read(tmp_path, write_version_2(events, THREADS)))["events-lost"]


def test_a_sample_without_its_end_or_its_frames_is_kept_and_counted(tmp_path: Path) -> None:
    cut = [
        event(0, SAMPLE | BEGIN, (8, 1)),
        event(1, USER_HEADER, (5, 8)),
        event(2, USER_DATA, (1, 2, 3, 4)),
    ]
    trace = read(tmp_path, write_version_2([*cut, *sample(9, [5, 6])], THREADS))
    assert list_stacks(trace) == [(1, 2, 3, 4), (5, 6)]
    assert "samples-cut" in codes(trace)


def test_events_outside_of_samples_are_of_none(tmp_path: Path) -> None:
    stray = [event(0, USER_HEADER, (5, 2)), event(1, USER_DATA, (7, 8)), event(2, SAMPLE | END)]
    trace = read(tmp_path, write_version_2([*stray, *sample(3, [1]), *stray], THREADS))
    assert list_stacks(trace) == [(1,)]


def test_a_stream_that_is_cut_anywhere_keeps_what_came_before(tmp_path: Path) -> None:
    events = [part for tick in range(4) for part in sample(tick * TICKS_PER_MS, [1, 2, 3])]
    for content in (write_version_2(events, THREADS), write_version_3([events], THREADS)):
        start = content.index(events[0])
        for size in (start + 64 * 6 + 1, start + 64 * 11, len(content) - 90):
            trace = read(tmp_path, content[:size])
            whole = min((size - start) // 64, len(events))
            begins = sum(int.from_bytes(part[48:52], "little") == SAMPLE | BEGIN for part in events[:whole])
            assert len(trace.samples) == begins


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\1\1\xaa\x55" + bytes(100), "version 1"),
        (b"\0\2\xaa\x55", "header is cut off"),
        (b"\0\3\xaa\x55" + bytes(8), "header is cut off"),
        (write_version_2([event(0, 0x0400_0000)]), "1 event without a sample"),
        (write_version_2([]), "0 events without a sample"),
        (write_version_2([*sample(0, [1]), *sample(2**63, [1])]), "36 years"),
        (write_version_3([sample(0, [1])])[:100] + b"\xff" * 60, "without a sample"),
        (b"\0\3\xaa\x55" + b"\xff" * 200, "without a sample"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(tmp_path, content)


def test_a_chunk_that_claims_more_than_the_file_is_cut_off(tmp_path: Path) -> None:
    content = write_version_3([sample(0, [1, 2])]) + write_chunk(0x8004, b"x", 2**62)
    trace = read(tmp_path, content)
    assert list_stacks(trace) == [(1, 2)]
    assert "document-incomplete" in codes(trace)


def test_a_thread_map_larger_than_the_file_is_no_memory(tmp_path: Path) -> None:
    content = bytearray(write_version_2(sample(0, [1])))
    content[4:8] = b"\xff\xff\xff\xff"
    with pytest.raises(InputError, match="without a sample"):
        read(tmp_path, bytes(content))


def test_more_events_than_the_limit_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.ktrace"
    file.write_bytes(write_version_2(sample(0, [1])))
    with pytest.raises(LimitError):
        open_trace(file, limits=Limits(cells=2))
