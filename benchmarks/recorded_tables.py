"""Writes tables of recordings as ``xctrace export`` writes them: samples, calls, engines, signposts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np

MS = 1_000_000
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

_STEP_COLUMNS = (
    ("start", "start-time"),
    ("duration", "duration"),
    ("name", "string"),
    ("category", "string"),
    ("subsystem", "string"),
    ("start-thread", "thread"),
    ("start-message", "string"),
)
_CORE_AI_COLUMNS = (
    ("start", "start-time"),
    ("duration", "duration"),
    ("model-name", "string"),
    ("function-name", "string"),
    ("category", "string"),
    ("level", "uint64"),
)
THREAD = ("thread", 0)
"""The cell of the first thread of the first process."""
LANGUAGE_MODELS = "com.apple.coreai-models.performance"
"""The subsystem of the signposts of Apple's package of language models."""


@dataclass(frozen=True)
class Samples:
    """A time profile as parallel arrays; threads are dealt to the processes in turn."""

    times_ns: np.ndarray
    thread: np.ndarray
    stack: np.ndarray
    processes: int = 1
    stacks: Sequence[Sequence[tuple[str, str]]] = STACKS


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

    def process(self, number: int) -> str:
        pid = 700 + number
        return self.element("process", pid, f"App{number} ({pid})", lambda: self.leaf("pid", pid))

    def thread(self, number: int, processes: int) -> str:
        tid, owner = 0x1000 + number, number % processes
        fmt = f"worker {number} ({tid:#x}) (App{owner}, pid: {700 + owner})"
        return self.element("thread", tid, fmt, lambda: self.leaf("tid", tid) + self.process(owner))


def write_samples(folder: Path, samples: Samples) -> None:
    """Write ``time-profile.xml``."""
    ids = _Ids()

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

    constant = [("core", 0), ("thread-state", "Running"), ("weight", MS)]
    with (folder / "time-profile.xml").open("w", encoding="utf-8") as file:
        file.write(_head("time-profile", _SAMPLE_COLUMNS))
        columns = (column.tolist() for column in (samples.times_ns, samples.thread, samples.stack))
        for time_ns, thread_id, stack_id in zip(*columns, strict=True):
            # In a document, ids ascend: cells are made in their order.
            cells = [
                f'<row><sample-time id="{ids.new()}" fmt="">{time_ns}</sample-time>',
                ids.thread(thread_id, samples.processes),
                ids.process(thread_id % samples.processes),
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
        for row in rows:
            cells = (ids.thread(0, 1) if cell is THREAD else ids.leaf(*cell) for cell in row)
            file.write(f"<row>{''.join(cells)}</row>\n")
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


def write_core_ai(folder: Path, starts_ns: Iterable[int], lengths_ns: Iterable[int]) -> None:
    """Write ``ODIEProfile.xml``: Core AI's calls of a model."""
    rows = (
        [
            ("start-time", start),
            ("duration", length),
            ("string", "Chat"),
            ("string", "main"),
            ("string", "Inference"),
            ("uint64", 0),
        ]
        for start, length in zip(starts_ns, lengths_ns, strict=False)
    )
    _write_rows(folder / "ODIEProfile.xml", _head("ODIEProfile", _CORE_AI_COLUMNS), rows)


def write_steps(
    folder: Path, steps: Iterable[tuple[int, int, str, str]], subsystem: str = LANGUAGE_MODELS
) -> None:
    """Write ``os-signpost-interval.xml``: start, length, name and message of a language model's steps."""
    rows = (
        [
            ("start-time", start),
            ("duration", length),
            ("string", name),
            ("string", "performance"),
            ("string", subsystem),
            THREAD,
            ("string", message),
        ]
        for start, length, name, message in steps
    )
    _write_rows(folder / "os-signpost-interval.xml", _head("os-signpost-interval", _STEP_COLUMNS), rows)


def random_samples(count: int, threads: int = 8, processes: int = 1, period_ns: int = MS // 2) -> Samples:
    """Return samples of all kinds of stacks, in turn on random threads."""
    dice = np.random.default_rng(1)
    return Samples(
        np.arange(count) * period_ns,
        dice.integers(0, threads, count),
        dice.integers(0, len(STACKS), count),
        processes,
    )
