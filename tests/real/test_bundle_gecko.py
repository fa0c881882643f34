"""The native reader against Gecko profiles that another tool made from exports of the same recording."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gecko import GeckoThread, read_gecko
from real_bundles import (
    BUNDLES,
    WEBKIT,
    cells,
    table,
)


@cache
def gecko(run: int) -> list[GeckoThread]:
    name = {1: "gpu", 2: "webcontent"}[run]
    return read_gecko(BUNDLES / f"mstyura__webkit-profiler-data/ff-00-one-video-{name}.json.gz")


@cache
def by_thread(run: int) -> dict[int, list[tuple[int, list[tuple[Any, ...]] | None]]]:
    """Native samples (time, stack) by tid."""
    profile = table(WEBKIT, "time-profile", run)
    stacks = defaultdict(list)
    columns = {column.mnemonic: cells(profile, column) for column in profile.columns}
    for time, thread, stack in zip(columns["time"], columns["thread"], columns["stack"], strict=True):
        stacks[thread[0]].append((time, stack))
    return dict(stacks)


@pytest.mark.parametrize(("run", "threads", "samples", "without_stack"), [(1, 21, 10181, 55), (2, 3, 547, 0)])
def test_gecko_profile_has_the_same_samples(
    shared: Path, run: int, threads: int, samples: int, without_stack: int
) -> None:
    """Times and depths. The profile leaves out samples without a stack, and puts in idle rows of its own."""
    decoded = by_thread(run)
    profile = table(WEBKIT, "time-profile", run)
    names = {
        tid: f"{name} {tid:#x} ({process}, pid: {pid})"
        for tid, name, pid, process in profile.threads.itertuples(index=False)
    }
    assert names == {thread.tid: thread.name for thread in gecko(run)}
    assert len(names) == threads
    compared = 0
    for thread in gecko(run):
        stacks = [
            (sample.time_ns, len(sample.stack)) for sample in thread.samples if sample.stack is not None
        ]
        assert [(time, len(stack)) for time, stack in decoded[thread.tid] if stack] == stacks
        compared += len(stacks)
        times = [sample.time_ns for sample in thread.samples]
        for before, sample in zip(times, thread.samples[1:], strict=False):
            # an idle row is one interval after the last sample before a gap
            assert sample.stack is not None or sample.time_ns == before + 100_000
    assert compared == samples
    assert sum(stack is None for stacks in decoded.values() for _, stack in stacks) == without_stack
    assert len(profile) == samples + without_stack


@pytest.mark.parametrize(("run", "frames"), [(1, 155_481), (2, 6971)])
def test_gecko_profile_has_the_same_names(shared: Path, run: int, frames: int) -> None:
    equal = 0
    other_differences: Counter[tuple[str, str]] = Counter()
    for decoded, expected in paired_stacks(run):
        for frame, (name, _) in zip(decoded, expected, strict=True):
            if frame[1] == name:
                equal += 1
            else:
                other_differences[frame[1], name] += 1
    assert not other_differences
    assert equal == frames


@pytest.mark.parametrize(("run", "frames"), [(1, 155_481), (2, 6971)])
def test_gecko_profile_has_the_same_kinds_of_binaries(shared: Path, run: int, frames: int) -> None:
    """The other tool categorizes a frame by the path of its binary, where a thread first had that name.

    It does not remove signatures from addresses, and calls an address in no binary a framework.
    """
    agreed = 0
    for thread in gecko(run):
        kinds: dict[str, str] = {}
        stacks = [sample.stack for sample in thread.samples if sample.stack is not None]
        decoded = [stack for _, stack in by_thread(run)[thread.tid] if stack]
        for stack, shown in zip(decoded, stacks, strict=True):
            for frame, (name, kind) in zip(stack, shown, strict=True):
                assert kinds.setdefault(name, kind_of(frame)) == kind
                agreed += 1
    assert agreed == frames


def paired_stacks(run: int) -> list[tuple[list[tuple[Any, ...]], tuple[tuple[str, str], ...]]]:
    pairs = []
    for thread in gecko(run):
        stacks = [sample.stack for sample in thread.samples if sample.stack is not None]
        decoded = [stack for _, stack in by_thread(run)[thread.tid] if stack]
        pairs += list(zip(decoded, stacks, strict=True))
    return pairs


def kind_of(frame: tuple[Any, ...]) -> str:
    address, path = frame[0], frame[2][1]
    if address >= 2**47 or path.startswith("/System/Library/"):
        return "Framework"
    return "System" if path.startswith("/usr/lib/") else "Other"
