"""Writes recordings of shapes that real apps produce, in any size: overlap, equal times, deep stacks.

    python benchmarks/shapes.py SHAPE SIZE FOLDER

``SHAPE`` is a name of ``SHAPES``. Prints the arguments of tracekit that read what was written, one per line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np
from many_tables import write_bundle

_MS = 1_000_000
_FOOT = "</node></trace-query-result>\n"
_CALL = ("CoreML", "-[MLModel predictionFromFeatures:error:]")
STACKS = (
    (("AppKit", "-[NSView drawRect:]"), ("App", "main")),
    (("Espresso", "Espresso::net::__forward(int)"), _CALL, ("App", "main")),
    (("ANEServices", "H11ANEProgramProcessRequestDirect"), _CALL, ("App", "main")),
    (
        ("libBNNS.dylib", "BNNSFilterApply"),
        ("Espresso", "Espresso::BNNSEngine::convolution_kernel::__launch"),
        _CALL,
    ),
    (
        ("Espresso", "E5RT::Ops::AneInferenceOperation::ExecuteSync()"),
        ("libdispatch.dylib", "_dispatch_worker_thread2"),
    ),
)
"""Leaf first: outside of a call, inside of one, on the Neural Engine, on the CPU, a worker of the runtime."""
_SAMPLE_COLUMNS = (
    ("time", "sample-time"),
    ("thread", "thread"),
    ("process", "process"),
    ("core", "core"),
    ("thread-state", "thread-state"),
    ("weight", "weight"),
    ("stack", "backtrace"),
)
_PREDICTION_COLUMNS = (
    ("start", "start-time"),
    ("duration", "duration"),
    ("event-label", "coreml-model-event"),
    ("model-name", "coreml-model-name"),
    ("model-level", "coreml-model-level"),
    ("event-type", "string"),
)
_WORK_COLUMNS = (
    ("start", "start-time"),
    ("duration", "duration"),
    ("channel-name", "event-name"),
    ("event-depth", "metal-nesting-level"),
    ("event-label", "formatted-label"),
    ("state", "gpu-state"),
)


@dataclass(frozen=True)
class Samples:
    """A time profile as parallel arrays; threads are dealt to the processes in turn."""

    times_ns: np.ndarray
    thread: np.ndarray
    stack: np.ndarray
    processes: int = 1
    stacks: Sequence[Sequence[tuple[str, str]]] = STACKS


# Tables -----------------------------------------------------------------------------------------------------


def _head(schema: str, columns: Sequence[tuple[str, str]]) -> str:
    declared = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name><engineering-type>{kind}</engineering-type></col>"
        for name, kind in columns
    )
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
        f'<schema name="{schema}">{declared}</schema>\n'
    )


class _Ids:
    """The ids of one document: an element is written once, and referred to from then on."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, object], int] = {}
        self.latest = 0

    def new(self) -> int:
        self.latest += 1
        return self.latest

    def add(self, tag: str, key: object) -> int:
        number = self._ids[tag, key] = self.new()
        return number

    def reference(self, tag: str, key: object) -> str:
        number = self._ids.get((tag, key))
        return "" if number is None else f'<{tag} ref="{number}"/>'

    def element(self, tag: str, key: object, fmt: str, content: Callable[[], str]) -> str:
        reference = self.reference(tag, key)
        return reference or f'<{tag} id="{self.add(tag, key)}" fmt="{fmt}">{content()}</{tag}>'

    def leaf(self, tag: str, value: object) -> str:
        return self.element(tag, value, str(value), lambda: str(value))


def write_samples(folder: Path, samples: Samples) -> None:
    """Write ``time-profile.xml``."""
    ids = _Ids()

    def process(number: int) -> str:
        pid = 700 + number
        return ids.element("process", pid, f"App{number} ({pid})", lambda: ids.leaf("pid", pid))

    def thread(number: int) -> str:
        tid, owner = 0x1000 + number, number % samples.processes
        fmt = f"worker {number} ({tid:#x}) (App{owner}, pid: {700 + owner})"
        return ids.element("thread", tid, fmt, lambda: ids.leaf("tid", tid) + process(owner))

    def frame(place: tuple[str, str]) -> str:
        binary, symbol = place
        number, image = ids.new(), ids.reference("binary", binary)
        image = image or (
            f'<binary id="{ids.add("binary", binary)}" name="{binary}" UUID="" arch="arm64"'
            f' load-addr="0x1000" path="/{binary}"/>'
        )
        return f'<frame id="{number}" name="{symbol}" addr="{0x1000 + number:#x}">{image}</frame>'

    def stack(number: int) -> str:
        frames = samples.stacks[number]
        return ids.element("backtrace", number, frames[0][1], lambda: "".join(map(frame, frames)))

    constant = [("core", 0), ("thread-state", "Running"), ("weight", _MS)]
    with (folder / "time-profile.xml").open("w", encoding="utf-8") as file:
        file.write(_head("time-profile", _SAMPLE_COLUMNS))
        columns = (column.tolist() for column in (samples.times_ns, samples.thread, samples.stack))
        for time_ns, thread_id, stack_id in zip(*columns, strict=True):
            # In a document, ids ascend: cells are made in their order.
            cells = [
                f'<row><sample-time id="{ids.new()}" fmt="">{time_ns}</sample-time>',
                thread(thread_id),
                process(thread_id % samples.processes),
                *(ids.leaf(tag, value) for tag, value in constant),
                stack(stack_id),
                "</row>\n",
            ]
            file.write("".join(cells))
        file.write(_FOOT)


def _write_rows(path: Path, head: str, rows: Iterable[Iterable[tuple[str, object]]]) -> None:
    ids = _Ids()
    with path.open("w", encoding="utf-8") as file:
        file.write(head)
        file.writelines(f"<row>{''.join(ids.leaf(*cell) for cell in row)}</row>\n" for row in rows)
        file.write(_FOOT)


def write_predictions(
    folder: Path, starts_ns: Iterable[int], lengths_ns: Iterable[int], models: Iterable[str] = repeat("Model")
) -> None:
    """Write ``coreml-os-signpost.xml``: Core ML's predictions."""
    rows = (
        [
            ("start-time", start),
            ("duration", length),
            ("coreml-model-event", "Prediction"),
            ("coreml-model-name", model),
            ("coreml-model-level", "Top"),
            ("string", "Prediction"),
        ]
        for start, length, model in zip(starts_ns, lengths_ns, models, strict=False)
    )
    _write_rows(folder / "coreml-os-signpost.xml", _head("coreml-os-signpost", _PREDICTION_COLUMNS), rows)


def write_ane(
    folder: Path, starts_ns: Iterable[int], lengths_ns: Iterable[int], models: Iterable[str] = repeat("Model")
) -> None:
    """Write ``ane-hw-intervals.xml``: the Neural Engine's work for models."""
    labels = (f"{model}_0a1b2c3d main Neural Engine Prediction" for model in models)
    _write_work(folder, "ane-hw-intervals", zip(starts_ns, lengths_ns, labels, strict=False))


def write_mps(folder: Path, starts_ns: Iterable[int], lengths_ns: Iterable[int]) -> None:
    """Write ``mps-hw-intervals.xml``: work of the GPU that names neither a model nor a process."""
    _write_work(folder, "mps-hw-intervals", zip(starts_ns, lengths_ns, repeat("MPSGraph"), strict=False))


def _write_work(folder: Path, schema: str, work: Iterable[tuple[int, int, str]]) -> None:
    rows = (
        [
            ("start-time", start),
            ("duration", length),
            ("event-name", "Compute"),
            ("metal-nesting-level", 0),
            ("formatted-label", label),
            ("gpu-state", "Active"),
        ]
        for start, length, label in work
    )
    _write_rows(folder / f"{schema}.xml", _head(schema, _WORK_COLUMNS), rows)


def random_samples(count: int, threads: int = 8, processes: int = 1, period_ns: int = _MS // 2) -> Samples:
    """Return samples of all kinds of stacks, in turn on random threads."""
    dice = np.random.default_rng(1)
    return Samples(
        np.arange(count) * period_ns,
        dice.integers(0, threads, count),
        dice.integers(0, len(STACKS), count),
        processes,
    )


# Shapes: each writes a recording of a size, and returns the arguments of tracekit ---------------------------


def overlapping_predictions(folder: Path, size: int) -> list[str]:
    """So many predictions, each overlapping half of all, with ten samples and an ANE interval each."""
    write_samples(folder, random_samples(10 * size, period_ns=_MS // 10))
    starts = range(0, size * _MS, _MS)
    write_predictions(folder, starts, repeat(size * _MS // 2))
    write_ane(folder, starts, repeat(_MS // 2))
    return ["analyze", str(folder)]


def concurrent_calls(folder: Path, size: int) -> list[str]:
    """So many predictions at once, of 100 models, with a sample each."""
    write_samples(folder, random_samples(size))
    models = (f"Model{number % 100}" for number in range(size))
    write_predictions(folder, range(size), repeat(size * _MS // 2), models)
    return ["analyze", str(folder)]


def owned_work(folder: Path, size: int) -> list[str]:
    """So many predictions of 50 models, six at once, with work of the Neural Engine and the GPU each."""
    write_samples(folder, random_samples(size, period_ns=_MS))
    starts, models = range(0, size * _MS, _MS), [f"Model{number % 50}" for number in range(size)]
    write_predictions(folder, starts, repeat(6 * _MS), models)
    write_ane(folder, (start + _MS for start in starts), repeat(4 * _MS), models)
    write_mps(folder, (start + 2 * _MS for start in starts), repeat(_MS // 2))
    return ["analyze", str(folder)]


def one_instant(folder: Path, size: int) -> list[str]:
    """So many predictions at one time, with work of the Neural Engine and the GPU each."""
    write_samples(folder, random_samples(size, period_ns=_MS))
    write_predictions(folder, repeat(5 * _MS, size), repeat(6 * _MS))
    write_ane(folder, repeat(5 * _MS, size), range(_MS, _MS + size))
    write_mps(folder, repeat(6 * _MS, size), range(_MS, _MS + size))
    return ["analyze", str(folder)]


def over_everything(folder: Path, size: int) -> list[str]:
    """So many predictions and rows of engines; every second of each spans the whole recording."""
    write_samples(folder, random_samples(size, period_ns=_MS))
    starts = [number * _MS * (number % 2) for number in range(size)]
    lengths = [_MS if number % 2 else size * _MS for number in range(size)]
    write_predictions(folder, starts, lengths, (f"Model{number % 3}" for number in range(size)))
    write_ane(folder, starts, lengths, (f"Model{number % 5}" for number in range(size)))
    write_mps(folder, starts, (length - 7 for length in lengths))
    return ["analyze", str(folder)]


def overlapping_windows(folder: Path, size: int) -> list[str]:
    """So many samples, each in some fifty of 100 windows of a CSV."""
    write_samples(folder, random_samples(size))
    return ["analyze", str(folder), "--windows-csv", _csv(folder, 100, size * _MS // 200, size * _MS // 4)]


def nested_windows(folder: Path, size: int) -> list[str]:
    """So many windows of a CSV, each inside of the one before, and a sample for each."""
    write_samples(folder, random_samples(size))
    rows = (f"{number},{size * _MS // 2 - number}\n" for number in range(size))
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
    write_samples(folder, Samples(np.full(size, 5 * _MS), samples.thread, samples.stack))
    return ["analyze", str(folder)]


def many_processes(folder: Path, size: int) -> list[str]:
    """So many processes, each with a hundred samples on two threads, two predictions and ANE intervals."""
    write_samples(folder, random_samples(100 * size, 2 * size, size))
    write_predictions(folder, range(0, 50 * size * _MS, 25 * _MS), repeat(20 * _MS))
    write_ane(folder, range(0, 50 * size * _MS, 25 * _MS), repeat(_MS))
    return ["analyze", str(folder)]


def thread_definitions(folder: Path, size: int) -> Path:
    """So many samples, each of a thread and a process of its own: a definition of both in each row."""
    numbers = np.arange(size)
    write_samples(folder, Samples(numbers * _MS, numbers, numbers % len(STACKS), processes=size))
    return folder


def many_windows(folder: Path, size: int) -> Path:
    """So many predictions, one after another, with ten samples and an ANE interval each."""
    write_samples(folder, random_samples(10 * size, threads=1))
    write_predictions(folder, range(0, 5 * size * _MS, 5 * _MS), repeat(5 * _MS))
    write_ane(folder, range(_MS, 5 * size * _MS, 5 * _MS), repeat(_MS))
    return folder


def samples_alone(folder: Path, size: int) -> Path:
    """So many samples, and a prediction for each thousand of them."""
    write_samples(folder, random_samples(size))
    write_predictions(folder, range(0, size * _MS // 2, 500 * _MS), repeat(400 * _MS))
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
