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
    found = []
    for at in range(LENGTH_MS):
        if at % 4 < 2:
            found.append(Sample(at, "alpha", "kernel"))
        if at % 10:
            found.append(Sample(at, "beta", "draw" if at % 2 else "sum"))
        found.append(Sample(at, "gamma", "sum" if at >= LENGTH_MS // 2 else "draw"))
    return found


def write_export(file: Path) -> list[Sample]:
    """Write the samples as ``xctrace export`` does, each value once and then by its number."""
    written = samples()
    process = '<process fmt="SampleApp (4711)"><pid fmt="4711">4711</pid></process>'
    values = {"process": _numbered(process, "9000")}
    for at, name in enumerate(THREADS):
        text = f'<thread fmt="{name} (0x{at + 1}) (SampleApp, pid: 4711)"><tid fmt="0x{at + 1}">{at + 1}</tid>{process}</thread>'
        values[name] = _numbered(text, f"910{at}")
    for at, (name, frames) in enumerate(STACKS.items()):
        inner = "".join(
            f'<frame name="{symbol}" addr="0x{1000 * at + depth:x}"><binary name="{binary}"/></frame>'
            for depth, (binary, symbol) in enumerate(frames)
        )
        values[name] = _numbered(f"<backtrace>{inner}</backtrace>", f"920{at}")
    values["weight"] = _numbered('<weight fmt="1.00 ms">1000000</weight>', "9300")
    columns = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name}</name><engineering-type>{kind}</engineering-type></col>"
        for name, kind in _COLUMNS.items()
    )
    rows = []
    for one in written:
        time = f'<sample-time fmt="">{one.time_ms * MS}</sample-time>'
        cells = (values[key].pop() if len(values[key]) > 1 else values[key][0] for key in _keys(one))
        rows.append(f"<row>{time}{''.join(cells)}</row>")
    file.write_text(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
        f'<schema name="time-profile">{columns}</schema>{"".join(rows)}</node></trace-query-result>\n',
        "utf-8",
    )
    return written


def _keys(one: Sample) -> tuple[str, ...]:
    return one.thread, "process", "weight", one.stack


def _numbered(element: str, number: str) -> list[str]:
    """Return the reference to an element, and on top of it the element itself, which goes first."""
    name = element[1:].partition(" ")[0].partition(">")[0]
    return [f'<{name} ref="{number}"/>', element.replace(f"<{name}", f'<{name} id="{number}"', 1)]
