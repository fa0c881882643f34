"""Stackshots of the kernel: every thread once, with its names, its state and its stack."""

from __future__ import annotations

from pathlib import Path

import pytest
from kdebug_files import write_item, write_stackshot, write_task, write_thread

from tracekit.api import analyze, open_trace
from tracekit.errors import InputError
from tracekit.model.trace import Trace

pytestmark = pytest.mark.unit

UUID_A = "11111111-2222-3333-4444-555555555555"


def read(tmp_path: Path, content: bytes) -> Trace:
    file = tmp_path / "stackshot.kcdata"
    file.write_bytes(content)
    return open_trace(file)


TASKS = [
    write_task(
        42,
        "MyApp",
        [
            write_thread(101, 4, [0x1_0000_0040, 0x1_0000_0080], name="render"),
            write_thread(102, 1, [0x10], [0xFFFFFE0000000010], queue="com.apple.ane.requests"),
        ],
        [(0x1_0000_0000, UUID_A)],
    ),
    write_task(0, "kernel_task", [write_thread(7, 1, [], [0xFFFFFE0000000020], name="H11ANEServicesThread")]),
]


def test_each_thread_is_a_sample(tmp_path: Path) -> None:
    trace = read(tmp_path, write_stackshot(TASKS))
    assert trace.threads.values.tolist() == [
        [101, "render", 42, "MyApp"],
        [102, "com.apple.ane.requests", 42, "MyApp"],
        [7, "H11ANEServicesThread", 0, "kernel_task"],
    ]
    assert trace.samples[["samples", "state"]].values.tolist() == [
        [1, "Running"],
        [1, "Blocked"],
        [1, "Blocked"],
    ]
    addresses = trace.stacks.frames["address"].to_numpy()
    stacks = [addresses[trace.stacks.stack(row)].tolist() for row in trace.samples["stack_id"]]
    assert [stack[-1] for stack in stacks] == [0x1_0000_0080, 0x10, 0xFFFFFE0000000020]
    assert [len(stack) for stack in stacks] == [2, 2, 1]


def test_frames_lie_in_the_image_below_them(tmp_path: Path) -> None:
    trace = read(tmp_path, write_stackshot(TASKS))
    in_image = trace.stacks.frames["binary_id"] >= 0
    assert trace.stacks.binaries["uuid"].tolist() == [UUID_A]
    assert trace.stacks.symbols[in_image].tolist() == ["0x100000040", "0x100000080"]


def test_a_stackshot_that_is_cut_keeps_whole_threads(tmp_path: Path) -> None:
    content = write_stackshot(TASKS)
    for size in range(len(content) - 400, len(content), 37):
        assert 2 <= len(read(tmp_path, content[:size]).samples) <= 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (write_stackshot([]), "without a thread"),
        (b"PMOC" + bytes(64), "compressed"),
        (write_stackshot([write_item(0x906, bytes(120))]), "without a thread"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(tmp_path, content)


def test_an_array_that_claims_more_than_it_has_is_shortened(tmp_path: Path) -> None:
    content = bytearray(write_stackshot([write_task(1, "App", [write_thread(1, 4, [0x10, 0x20])])]))
    flags = content.index((0x916 << 32 | 2).to_bytes(8, "little"))
    content[flags : flags + 4] = b"\xff\xff\xff\xff"
    assert len(read(tmp_path, bytes(content)).samples) == 1


def test_stacks_without_symbols_do_not_show_that_no_thread_is_in_ml_code(tmp_path: Path) -> None:
    text = analyze(read(tmp_path, write_stackshot(TASKS[:1]))).to_text()
    assert "No thread has a stack with symbols, so none can be seen in ML code." in text
    assert "No thread is in ML code" not in text
