"""Kernel streams and stackshots that are cut or changed anywhere: read as far as they go, or refused."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kdebug_files import (
    APP_SIGNPOST,
    BEGIN,
    END,
    TICKS_PER_MS,
    compress_stackshot,
    event,
    image_event,
    sample,
    write_chunk,
    write_device_folder,
    write_log,
    write_stackshot,
    write_task,
    write_thread,
    write_version_2,
    write_version_3,
)

from tracekit.detect import open_source
from tracekit.errors import InputError
from tracekit.load import trace_of

pytestmark = pytest.mark.slow

UUID_A = "11111111-2222-3333-4444-555555555555"
THREADS = [(1, 42, "MyApp"), (2, 42, "MyApp")]
CASES = 40
NUMBERS = (0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)


def write_events() -> list[bytes]:
    marks = [event(9_000, APP_SIGNPOST | BEGIN, (7,)), event(99_000, APP_SIGNPOST | END, (7,))]
    samples = [
        part for ms in range(9) for part in sample(ms * TICKS_PER_MS, [0x1010, 0x2020], tid=1 + ms % 2)
    ]
    return [image_event(1, UUID_A, 0x1000), *marks, *samples]


def write_tasks() -> list[bytes]:
    threads = [
        write_thread(1, 4, [0x1010], [0xFFFF0010], "render", "com.example.render"),
        write_thread(2, 1, []),
    ]
    return [write_task(42, "MyApp", threads, [(0x1000, UUID_A)])]


def write_whole_version_3() -> bytes:
    date = {"sec": 1_790_000_000, "usec": 2_000}
    entries = [
        {
            "cm": 1,
            "ud": date,
            "mct": 5,
            "tid": 1,
            "pid": 42,
            "p": 2,
            "sub": 3,
            "sn": 4,
            "si": 9,
            "ti": 6 | kind << 8,
        }
        for kind in (1, 2)
    ]
    log = write_log(entries, ["", "MyApp", "com.example.app", "encode"]) + write_chunk(0x8004, b"images")
    stackshot = compress_stackshot(write_stackshot(write_tasks()))
    clock = (1, 1_790_000_000, 0)
    return write_version_3([write_events()], THREADS, stackshot=stackshot, clock=clock, log=log)


WHOLE: dict[str, Callable[[], bytes]] = {
    "version 2": lambda: write_version_2(write_events(), THREADS),
    "version 3": write_whole_version_3,
    "stackshot": lambda: write_stackshot(write_tasks()),
    "compressed stackshot": lambda: compress_stackshot(write_stackshot(write_tasks())),
}


def damage(dice: random.Random, content: bytes) -> bytes:
    """Return the content with one to three changes: a cut, a number, a byte, a part moved, doubled or lost."""
    data = bytearray(content)
    for _ in range(dice.randint(1, 3)):
        position, length = dice.randrange(len(data)), dice.choice((1, 8, 16, 64, 400))
        match dice.randrange(6):
            case 0:
                del data[max(position, 1) :]
            case 1:
                data[position : position + 8] = dice.choice(NUMBERS).to_bytes(8, "little")
            case 2:
                data[position] ^= 1 << dice.randrange(8)
            case 3:
                del data[position : position + length]
            case 4:
                data[position:position] = data[position : position + length]
            case _:
                data[position : position + 4] = dice.choice(NUMBERS[:4]).to_bytes(4, "little")
        data = data or bytearray(content)
    return bytes(data)


def read(path: Path) -> None:
    """Read everything; content that cannot be read raises ``InputError``."""
    try:
        trace_of(open_source(path))
    except InputError as error:
        assert str(error) and "\n" not in error.problem


@pytest.mark.integration
@pytest.mark.parametrize("kind", WHOLE)
def test_what_is_damaged_is_read_or_refused_soon(tmp_path: Path, kind: str) -> None:
    whole, file = WHOLE[kind](), tmp_path / "app.ktrace"
    for seed in range(CASES):
        file.write_bytes(damage(random.Random(f"{kind} {seed}"), whole))
        begin = time.process_time()
        read(file)
        assert time.process_time() - begin < 5, seed


@pytest.mark.integration
def test_json_that_is_damaged_is_read_or_refused(tmp_path: Path) -> None:
    folder = write_device_folder(tmp_path / "x.device")
    whole = (folder / "stackshot.json").read_bytes()
    for seed in range(CASES):
        (folder / "stackshot.json").write_bytes(damage(random.Random(seed), whole))
        read(folder)
        read(folder / "stackshot.json")
    for text in ("null", "[]", "1", '{"task_snapshots": {"1": []}}', json.dumps([[[]]])):
        (folder / "stackshot.json").write_text(text)
        read(folder)
