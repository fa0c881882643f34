"""A reader of ``tracekit-view/2``, written from the format's description."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from evidence_support import Signpost, ane, gpu, manual, prediction, with_evidence
from trace_support import ANE, BNNS, MS, UI, stack_table, trace_of

from tracekit import Analysis, analyze
from tracekit.model.columns import TRACKS
from tracekit.model.trace import Trace

__all__ = [
    "ANE",
    "BNNS",
    "MS",
    "UI",
    "Signpost",
    "analyze",
    "ane",
    "gpu",
    "manual",
    "prediction",
    "replace",
    "stack_table",
    "trace_of",
    "with_evidence",
]

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
RECORDINGS = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
DTYPES = {"u8": "<u1", "i8": "<i1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4", "f64": "<f8"}


@dataclass(frozen=True)
class View:
    """A block taken apart."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def text(self, number: int) -> str:
        """A text by its number; negative ones are none."""
        assert number >= 0
        strings: list[str] = self.header["strings"]
        return strings[number]

    def texts(self, name: str) -> list[str]:
        return [self.text(number) for number in self.arrays[name].tolist()]


def decoded(block: bytes) -> View:
    """Read a block, and hold what the format promises of every block."""
    (length,) = struct.unpack_from("<I", block)
    header = json.loads(block[4 : 4 + length].decode("utf-8"), parse_constant=_refuse)
    end = 4 + length + -(4 + length) % 8
    assert not any(block[4 + length : end]), "the padding is not zero"
    arrays = {}
    for name, (kind, offset, count, *how) in sorted(header["arrays"].items(), key=lambda item: item[1][1]):
        assert offset % 8 == 0, f"{name} is not aligned"
        assert offset >= end, f"{name} overlaps what stands before it"
        end = offset + count * np.dtype(DTYPES[kind]).itemsize
        assert end <= len(block), f"{name} reaches beyond the block"
        arrays[name] = _values(block, DTYPES[kind], count, offset, how[0].split() if how else [])
    return View(header, arrays)


def _values(block: bytes, dtype: str, count: int, offset: int, how: list[str]) -> np.ndarray:
    """Undo what an entry's fourth element names: "planes", all lowest bytes first."""
    assert set(how) <= {"planes"}
    size = np.dtype(dtype).itemsize
    data = block[offset : offset + count * size]
    if "planes" in how:
        data = np.frombuffer(data, np.uint8).reshape(size, count).T.tobytes()
    return np.frombuffer(data, dtype)


@dataclass(frozen=True)
class Rows:
    """The samples of a view, sorted by lane, then by time; ``stack`` is a row of the header's ``stacks``."""

    lane: list[int]
    time: list[float]
    stack: list[int]
    weight: list[float]
    number: list[float]


def sample_rows(view: View) -> Rows:
    """Read the samples of a view, or of the block that a server sends beside it."""
    fields = view.header["samples"]
    of_lane = view.arrays[fields["of_lane"]].tolist()
    count = fields["count"]
    assert sum(of_lane) == count
    if "edge" in fields:
        times = view.arrays[fields["edges"]][view.arrays[fields["edge"]]].tolist()
    else:
        times = _added_up(*(view.arrays[fields[name]].tolist() for name in ("step", "jump_row", "jump_time")))
    columns = {}
    for name in ("weight", "number"):
        value = fields[name]
        columns[name] = view.arrays[value].tolist() if isinstance(value, str) else [value] * count
    lanes = [lane for lane, rows in enumerate(of_lane) for _ in range(rows)]
    return Rows(lanes, times, view.arrays[fields["stack"]].tolist(), **columns)


def _added_up(steps: list[int], jump_rows: list[int], jump_times: list[float]) -> list[float]:
    jumps = dict(zip(jump_rows, jump_times, strict=True))
    times: list[float] = []
    for row, step in enumerate(steps):
        times.append(jumps[row] if row in jumps else (times[-1] if times else 0) + step)
    return times


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def inflated(text: str) -> bytes:
    """Return the inflated data between the tags of a page's data element."""
    return gzip.decompress(base64.b64decode(text, validate=True))


def view_of(analysis: Analysis, **options: Any) -> View:
    from tracekit.report.viewmodel.view import view_block

    return decoded(view_block(analysis, **options))


def with_tracks(
    trace: Trace, rows: Sequence[tuple[int, float]], name: str = "Power", unit: str = "W"
) -> Trace:
    """Rows are (time in ns, value)."""
    frame = pd.DataFrame(
        {
            "time_ns": np.array([time for time, _ in rows], np.int64),
            "name": pd.Categorical([name] * len(rows)),
            "unit": pd.Categorical([unit] * len(rows)),
            "value": np.array([value for _, value in rows], np.float64),
        }
    )
    return replace(trace, tracks=TRACKS.check(frame, "literal"))


def sums(keys: Iterable[Any], values: Iterable[float]) -> dict[Any, float]:
    """The sum of the values of each key."""
    totals: dict[Any, float] = {}
    for key, value in zip(keys, values, strict=True):
        totals[key] = totals.get(key, 0) + value
    return totals


def block_of(header: dict[str, Any], body: bytes = b"", dump: Callable[[Any], str] = json.dumps) -> bytes:
    text = dump(header).encode()
    return struct.pack("<I", len(text)) + text + bytes(-(4 + len(text)) % 8) + body
