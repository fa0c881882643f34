"""A recording of more samples than a page is sent, and what is in it, counted without the product."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MS = 1_000_000
LENGTH_MS = 60_000
THREADS = ("alpha", "beta", "gamma")
STACKS = {
    "kernel": (("libBNNS.dylib", "BNNSFilterApply"), ("CoreML", "-[MLModel predictionFromFeatures:error:]")),
    "draw": (("AppKit", "-[NSView drawRect:]"),),
    "sum": (("SampleApp", "Matrix.sum()"), ("SampleApp", "main")),
}
_COLUMNS = {
    "time": "sample-time",
    "thread": "thread",
    "process": "process",
    "weight": "weight",
    "stack": "backtrace",
}


@dataclass(frozen=True)
class Sample:
    """One sample of the recording."""

    time_ms: int
    thread: str
    stack: str


def samples() -> list[Sample]:
    """Return every sample: alpha is at work in 2 ms of 4, beta in 9 of 10, gamma always."""
    samples = []
    for index in range(LENGTH_MS):
        if index % 4 < 2:
            samples.append(Sample(index, "alpha", "kernel"))
        if index % 10:
            samples.append(Sample(index, "beta", "draw" if index % 2 else "sum"))
        samples.append(Sample(index, "gamma", "sum" if index >= LENGTH_MS // 2 else "draw"))
    return samples


def write_export(file: Path) -> list[Sample]:
    """Write the samples as ``xctrace export`` does, each value once and then by its number."""
    written = samples()
    process = '<process fmt="SampleApp (4711)"><pid fmt="4711">4711</pid></process>'
    values = {"process": _numbered(process, "9000")}
    for index, name in enumerate(THREADS):
        text = f'<thread fmt="{name} (0x{index + 1}) (SampleApp, pid: 4711)"><tid fmt="0x{index + 1}">{index + 1}</tid>{process}</thread>'
        values[name] = _numbered(text, f"910{index}")
    for index, (name, frames) in enumerate(STACKS.items()):
        inner = "".join(
            f'<frame name="{symbol}" addr="0x{1000 * index + depth:x}"><binary name="{binary}"/></frame>'
            for depth, (binary, symbol) in enumerate(frames)
        )
        values[name] = _numbered(f"<backtrace>{inner}</backtrace>", f"920{index}")
    values["weight"] = _numbered('<weight fmt="1.00 ms">1000000</weight>', "9300")
    columns = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name><engineering-type>{kind}</engineering-type></col>"
        for name, kind in _COLUMNS.items()
    )
    rows = []
    for sample in written:
        time = f'<sample-time fmt="">{sample.time_ms * MS}</sample-time>'
        cells = (values[key].pop() if len(values[key]) > 1 else values[key][0] for key in _keys(sample))
        rows.append(f"<row>{time}{''.join(cells)}</row>")
    file.write_text(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
        f'<schema name="time-profile">{columns}</schema>{"".join(rows)}</node></trace-query-result>\n',
        "utf-8",
    )
    return written


def _keys(sample: Sample) -> tuple[str, ...]:
    return sample.thread, "process", "weight", sample.stack


def _numbered(element: str, number: str) -> list[str]:
    """Return the reference to an element, and on top of it the element itself, which goes first."""
    name = element[1:].partition(" ")[0].partition(">")[0]
    return [f'<{name} ref="{number}"/>', element.replace(f"<{name}", f'<{name} id="{number}"', 1)]
