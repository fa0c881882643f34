"""Writes large exports that look like real ones: a time-profile as Xcode 26.3 exports it (shape B).

    python benchmarks/large_export.py FILE.xml [--megabytes 400] [--new-stacks 0.21]

What makes an export cheap or dear to read is kept as it is in real ones: each row has a time of its own, and
the rest of its cells are references; a part of the rows brings a new backtrace of some 27 frames, three
quarters of which refer to frames that came before; names are as long as those of C++ and Swift.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import BinaryIO

import numpy as np

DEPTH = 27
NEW_FRAMES = 0.26
_FOOT = b"</node></trace-query-result>\n"
_THREADS = 16
_CORES = 10
_PERIOD_NS = 1_000_000
_WORDS = (
    "Espresso", "MLModel", "compute", "plan", "Operation", "dispatch", "queue", "Buffer", "Layer",
    "render", "prediction", "decode", "Attention", "matmul", "kernel", "submit", "commit", "schedule",
    "copy", "release",
)  # fmt: skip
_IMAGES = (
    "CoreML", "Espresso", "libBNNS.dylib", "libdispatch.dylib", "AppKit", "Metal",
    "MetalPerformanceShaders", "libsystem_pthread.dylib", "libsystem_kernel.dylib", "libobjc.A.dylib",
    "Foundation", "CoreFoundation", "ANEServices", "AppleNeuralEngine", "SwiftUI", "libswiftCore.dylib",
    "QuartzCore", "vImage", "dyld", "App",
)  # fmt: skip
_COLUMNS = (
    ("time", "Sample Time", "sample-time"),
    ("thread", "Thread", "thread"),
    ("process", "Process", "process"),
    ("core", "Core", "core"),
    ("thread-state", "State", "thread-state"),
    ("weight", "Weight", "weight"),
    ("stack", "Backtrace", "backtrace"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--new-stacks", type=float, default=0.21, help="share of rows with a new backtrace")
    arguments = parser.parse_args()
    with arguments.file.open("wb") as out:
        rows = write_export(out, int(arguments.megabytes * 1e6), arguments.new_stacks)
    print(f"{rows} rows, {arguments.file.stat().st_size / 1e6:.1f} MB")


def write_export(out: BinaryIO, size_bytes: int, new_stacks: float = 0.21, seed: int = 1) -> int:
    """Write an export of about that size; return how many rows it has."""
    export = _Export(seed, new_stacks)
    written = out.write(export.head())
    rows = 0
    while written < size_bytes or not rows:
        block = max(20, min(2000, (size_bytes - written) // 500))
        written += out.write(export.rows(block).encode())
        rows += block
    out.write(_FOOT)
    return rows


def write_rows(out: BinaryIO, rows: int, new_stacks: float, seed: int = 1) -> None:
    """Write an export of so many rows."""
    export = _Export(seed, new_stacks)
    out.write(export.head())
    out.writelines(export.rows(min(2000, rows - begin)).encode() for begin in range(0, rows, 2000))
    out.write(_FOOT)


class _Export:
    """The ids given so far: the writer of one export."""

    def __init__(self, seed: int, new_stacks: float) -> None:
        self._dice = np.random.default_rng(seed)
        self._new_stacks = new_stacks
        self._next = 1
        self._time_ns = 497_399_291
        self._ids: dict[tuple[str, int], int] = {}
        self._frames: list[int] = []
        self._stacks: list[int] = []
        words = self._dice.integers(0, len(_WORDS), (4000, 4))
        self._names = [
            "::".join(_WORDS[index] for index in row) + "(int, float const&amp;)" for row in words.tolist()
        ]

    def head(self) -> bytes:
        columns = "".join(
            f"<col><mnemonic>{mnemonic}</mnemonic><name>{name}</name>"
            f"<engineering-type>{kind}</engineering-type></col>"
            for mnemonic, name, kind in _COLUMNS
        )
        return (
            '<?xml version="1.0"?>\n<trace-query-result>\n'
            "<node xpath='//trace-toc[1]/run[1]/data[1]/table[11]'>"
            f'<schema name="time-profile">{columns}</schema>'
        ).encode()

    def rows(self, count: int) -> str:
        is_new = self._dice.random(count) < self._new_stacks
        picks = self._dice.random((count, 4)).tolist()
        steps = self._dice.integers(_PERIOD_NS // 2, _PERIOD_NS, count).tolist()
        written = []
        for new, step, (thread, core, blocked, stack) in zip(is_new.tolist(), steps, picks, strict=True):
            self._time_ns += step
            seconds = self._time_ns / 1e9
            minutes = int(seconds // 60)
            cells = [
                f'<row><sample-time id="{self._number()}" fmt="{minutes:02}:{seconds % 60:06.3f}'
                f'.{self._time_ns // 1000 % 1000:03}">{self._time_ns}</sample-time>',
                self._thread(int(thread * _THREADS)),
                self._process(),
                self._leaf("core", int(core * _CORES), f"CPU {int(core * _CORES)} (P Core)"),
                self._word("Running" if blocked > 0.02 else "Blocked"),
                self._leaf("weight", _PERIOD_NS, "1.00 ms"),
                self._stack() if new or not self._stacks else self._old_stack(stack),
                "</row>\n",
            ]
            written.append("".join(cells))
        return "".join(written)

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _reference(self, tag: str, key: int) -> str:
        first_id = self._ids.get((tag, key))
        if first_id is not None:
            return f'<{tag} ref="{first_id}"/>'
        self._ids[tag, key] = self._next
        return ""

    def _leaf(self, tag: str, value: int, fmt: str) -> str:
        return self._reference(tag, value) or f'<{tag} id="{self._number()}" fmt="{fmt}">{value}</{tag}>'

    def _word(self, word: str) -> str:
        reference = self._reference("thread-state", ord(word[0]))
        return reference or f'<thread-state id="{self._number()}" fmt="{word}">{word}</thread-state>'

    def _process(self) -> str:
        return self._reference("process", 0) or (
            f'<process id="{self._number()}" fmt="App (751)">{self._leaf("pid", 751, "751")}'
            f"{self._leaf('device-session', 0, 'TODO')}</process>"
        )

    def _thread(self, index: int) -> str:
        reference = self._reference("thread", index)
        if reference:
            return reference
        tid = 0x644A1C3 + index
        return (
            f'<thread id="{self._number()}" fmt="worker {index} ({tid:#x}) (App, pid: 751)">'
            f"{self._leaf('tid', tid, hex(tid))}{self._process()}</thread>"
        )

    def _old_stack(self, pick: float) -> str:
        # Recent stacks come again more often than old ones.
        back = int(len(self._stacks) * pick**3)
        return f'<backtrace ref="{self._stacks[-1 - min(back, len(self._stacks) - 1)]}"/>'

    def _stack(self) -> str:
        depth = max(2, int(self._dice.normal(DEPTH, 8)))
        new = max(1, round(depth * NEW_FRAMES)) if len(self._frames) > 100 else depth
        number = self._number()
        self._stacks.append(number)
        picks = self._dice.integers(0, 2**31, 2 * new).tolist()
        name = self._names[picks[0] % len(self._names)]
        leaf = [self._frame(*picks[index * 2 : index * 2 + 2]) for index in range(new)]
        parts = [f'<backtrace id="{number}" fmt="{name} ← ({depth - 1} other frames)">', *leaf]
        if depth > new:
            start = picks[-1] % max(1, len(self._frames) - (depth - new))
            parts += [f'<frame ref="{frame}"/>' for frame in self._frames[start : start + depth - new]]
        parts.append("</backtrace>")
        return "".join(parts)

    def _frame(self, name: int, address: int) -> str:
        number = self._number()
        self._frames.append(number)
        return (
            f'<frame id="{number}" name="{self._names[name % len(self._names)]}"'
            f' addr="{0x180000000 + address * 4 + 1:#x}">'
            f"{self._binary(name % len(self._names) % len(_IMAGES))}</frame>"
        )

    def _binary(self, index: int) -> str:
        name = _IMAGES[index]
        return self._reference("binary", index) or (
            f'<binary id="{self._number()}" name="{name}" UUID="9F2E2C1A-7F3B-3B0E-9C39-8F1E0D0A{index:04X}"'
            f' arch="arm64e"'
            f' load-addr="{0x180000000 + index * 0x1000000:#x}" path="/System/Library/Frameworks/{name}"/>'
        )


if __name__ == "__main__":
    main()
