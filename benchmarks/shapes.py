"""Writes recordings of shapes that real apps produce, in any size: overlap, equal times, deep stacks.

    python benchmarks/shapes.py SHAPE SIZE FOLDER

``SHAPE`` is a name of ``SHAPES``. Prints the arguments of tracekit that read what was written, one per line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np
from many_tables import write_bundle
from recorded_tables import (
    MS,
    STACKS,
    Samples,
    random_samples,
    write_ane,
    write_core_ai,
    write_mps,
    write_predictions,
    write_samples,
    write_steps,
)

# Shapes: each writes a recording of a size, and returns the arguments of tracekit ---------------------------


def overlapping_predictions(folder: Path, size: int) -> list[str]:
    """So many predictions, each overlapping half of all, with ten samples and an ANE interval each."""
    write_samples(folder, random_samples(10 * size, period_ns=MS // 10))
    starts = range(0, size * MS, MS)
    write_predictions(folder, starts, repeat(size * MS // 2))
    write_ane(folder, starts, repeat(MS // 2))
    return ["analyze", str(folder)]


def concurrent_calls(folder: Path, size: int) -> list[str]:
    """So many predictions at once, of 100 models, with a sample each."""
    write_samples(folder, random_samples(size))
    models = (f"Model{number % 100}" for number in range(size))
    write_predictions(folder, range(size), repeat(size * MS // 2), models)
    return ["analyze", str(folder)]


def owned_work(folder: Path, size: int) -> list[str]:
    """So many predictions of 50 models, six at once, with work of the Neural Engine and the GPU each."""
    write_samples(folder, random_samples(size, period_ns=MS))
    starts, models = range(0, size * MS, MS), [f"Model{number % 50}" for number in range(size)]
    write_predictions(folder, starts, repeat(6 * MS), models)
    write_ane(folder, (start + MS for start in starts), repeat(4 * MS), models)
    write_mps(folder, (start + 2 * MS for start in starts), repeat(MS // 2))
    return ["analyze", str(folder)]


def one_instant(folder: Path, size: int) -> list[str]:
    """So many predictions at one time, with work of the Neural Engine and the GPU each."""
    write_samples(folder, random_samples(size, period_ns=MS))
    write_predictions(folder, repeat(5 * MS, size), repeat(6 * MS))
    write_ane(folder, repeat(5 * MS, size), range(MS, MS + size))
    write_mps(folder, repeat(6 * MS, size), range(MS, MS + size))
    return ["analyze", str(folder)]


def over_everything(folder: Path, size: int) -> list[str]:
    """So many predictions and rows of engines; every second of each spans the whole recording."""
    write_samples(folder, random_samples(size, period_ns=MS))
    starts = [number * MS * (number % 2) for number in range(size)]
    lengths = [MS if number % 2 else size * MS for number in range(size)]
    write_predictions(folder, starts, lengths, (f"Model{number % 3}" for number in range(size)))
    write_ane(folder, starts, lengths, (f"Model{number % 5}" for number in range(size)))
    write_mps(folder, starts, (length - 7 for length in lengths))
    return ["analyze", str(folder)]


def overlapping_windows(folder: Path, size: int) -> list[str]:
    """So many samples, each in some fifty of 100 windows of a CSV."""
    write_samples(folder, random_samples(size))
    return ["analyze", str(folder), "--windows-csv", _csv(folder, 100, size * MS // 200, size * MS // 4)]


def nested_windows(folder: Path, size: int) -> list[str]:
    """So many windows of a CSV, each inside of the one before, and a sample for each."""
    write_samples(folder, random_samples(size))
    rows = (f"{number},{size * MS // 2 - number}\n" for number in range(size))
    path = folder / "windows.csv"
    path.write_text("start_ns,end_ns\n" + "".join(rows))
    return ["analyze", str(folder), "--windows-csv", str(path)]


def _csv(folder: Path, count: int, step_ns: int, length_ns: int) -> str:
    path = folder / "windows.csv"
    rows = (f"{number * step_ns},{number * step_ns + length_ns}\n" for number in range(count))
    path.write_text("start_ns,end_ns\n" + "".join(rows))
    return str(path)


def one_moment(folder: Path, size: int) -> list[str]:
    """So many samples at one nanosecond."""
    samples = random_samples(size)
    write_samples(folder, Samples(np.full(size, 5 * MS), samples.thread, samples.stack))
    return ["analyze", str(folder)]


def many_processes(folder: Path, size: int) -> list[str]:
    """So many processes, each with a hundred samples on two threads, two predictions and ANE intervals."""
    write_samples(folder, random_samples(100 * size, 2 * size, size))
    write_predictions(folder, range(0, 50 * size * MS, 25 * MS), repeat(20 * MS))
    write_ane(folder, range(0, 50 * size * MS, 25 * MS), repeat(MS))
    return ["analyze", str(folder)]


def requests_at_once(folder: Path, size: int) -> list[str]:
    """So many requests to a language model, each overlapping half of all, with two tokens and two samples."""
    nothing = np.zeros(2 * size, np.int64)
    write_samples(folder, Samples(np.arange(2 * size) * MS // 2, nothing, nothing))
    write_core_ai(folder, range(0, size * MS, 10 * MS), repeat(8 * MS))
    length_ns, steps = size * MS // 4, []
    for number, start in enumerate(range(0, size * MS, MS)):
        steps.append((start, length_ns, "Prompt", f"tokens={number + 1}"))
        steps.append((start + length_ns, length_ns, "Extend", f"step=1, tokens={number + 2}"))
    write_steps(folder, steps)
    return ["analyze", str(folder)]


def thread_definitions(folder: Path, size: int) -> Path:
    """So many samples, each of a thread and a process of its own: a definition of both in each row."""
    numbers = np.arange(size)
    write_samples(folder, Samples(numbers * MS, numbers, numbers % len(STACKS), processes=size))
    return folder


def many_windows(folder: Path, size: int) -> Path:
    """So many predictions, one after another, with ten samples and an ANE interval each."""
    write_samples(folder, random_samples(10 * size, threads=1))
    write_predictions(folder, range(0, 5 * size * MS, 5 * MS), repeat(5 * MS))
    write_ane(folder, range(MS, 5 * size * MS, 5 * MS), repeat(MS))
    return folder


def samples_alone(folder: Path, size: int) -> Path:
    """So many samples, and a prediction for each thousand of them."""
    write_samples(folder, random_samples(size))
    write_predictions(folder, range(0, size * MS // 2, 500 * MS), repeat(400 * MS))
    return folder


def deep_first_row(folder: Path, size: int) -> list[str]:
    """So many samples, the first of them with a stack of 2,000 frames, which ends beyond 128 KiB."""
    deep = tuple(
        ("App", f"Deep::recursion_{number}(std::vector&lt;int&gt; const&amp;)") for number in range(2000)
    )
    samples = random_samples(size)
    samples.stack[0] = len(STACKS)
    write_samples(folder, Samples(samples.times_ns, samples.thread, samples.stack, 1, (*STACKS, deep)))
    return ["analyze", str(folder)]


def many_tables(folder: Path, size: int, command: str = "tables", different: bool = False) -> list[str]:
    """A bundle with so many tables."""
    return [command, str(write_bundle(folder / "many.trace", size, different)), "--raise-limits", "8"]


def _then(write: Callable[[Path, int], Path], *command: str) -> Callable[[Path, int], list[str]]:
    """Return a shape: what is written, and a command with that at ``IN`` and an output at ``OUT``."""

    def shape(folder: Path, size: int) -> list[str]:
        places = {"IN": str(write(folder, size)), "OUT": str(folder / "out")}
        return [places.get(word, word) for word in command]

    return shape


SHAPES: dict[str, Callable[[Path, int], list[str]]] = {
    "overlapping predictions": overlapping_predictions,
    "concurrent calls": concurrent_calls,
    "owned work": owned_work,
    "one instant": one_instant,
    "over everything": over_everything,
    "overlapping windows": overlapping_windows,
    "nested windows": nested_windows,
    "one moment": one_moment,
    "processes": many_processes,
    "requests at once": requests_at_once,
    "thread definitions": _then(
        thread_definitions,
        "tables",
        "IN",
        "--schema",
        "time-profile",
        "--format",
        "csv",
        "-o",
        "OUT",
        "--force",
    ),
    "JSON": _then(many_windows, "analyze", "IN", "--format", "json"),
    "Perfetto": _then(samples_alone, "export", "IN", "--to", "perfetto", "-o", "OUT", "--force"),
    "Firefox": _then(samples_alone, "export", "IN", "--to", "firefox", "-o", "OUT", "--force"),
    "speedscope": _then(samples_alone, "export", "IN", "--to", "speedscope", "-o", "OUT", "--force"),
    "CSV": _then(samples_alone, "export", "IN", "--to", "csv", "-o", "OUT", "--force"),
    "table": _then(
        samples_alone, "tables", "IN", "--schema", "time-profile", "--format", "csv", "-o", "OUT", "--force"
    ),
    "report": _then(samples_alone, "report", "IN", "-o", "OUT", "--force"),
    "deep first row": deep_first_row,
    "tables": many_tables,
    "different tables": partial(many_tables, different=True),
    "unread tables": partial(many_tables, command="analyze", different=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=list(SHAPES))
    parser.add_argument("size", type=int)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print(*SHAPES[arguments.shape](arguments.folder, arguments.size), sep="\n")


if __name__ == "__main__":
    main()
