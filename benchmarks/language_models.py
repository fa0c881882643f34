"""Measure what the view of language models adds to ``analyze``; fails above 5 %.

    python benchmarks/language_models.py [--scale 1] [--out FILE.json]

A long chat is recorded twice: once with the signposts of Apple's package of language models, and once with
the same signposts of a subsystem that marks no request. Both are read by whole commands in processes of their
own, in turns, and by analyses in memory. ``added`` is the median of the pairs' ratios of CPU time, less 1.
Where valgrind is installed, ``instructions_added`` is that of the instructions of one command each, which
other programs do not change; then it decides.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from recorded_tables import LANGUAGE_MODELS, MS, Samples, write_ane, write_core_ai, write_samples, write_steps
from start import HERE, count_instructions, cpu_seconds

from tracekit import analyze, open_trace
from tracekit.report.analysis.text import to_text

TARGET = 0.05
_REQUESTS, _TOKENS = 20, 1_000
_PREFILL_NS, _TOKEN_NS = 400 * MS, 20 * MS
_PAUSE_NS = 600 * MS
_CALL_NS = slice(1 * MS, 17 * MS)
"""The time of a call in that of a token."""
_OTHER, _SUBMITTING = 0, 2
"""Stacks of ``STACKS``."""
_RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--scale", type=float, default=1, help="times the requests; below 1 there is no target"
    )
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    arguments = parser.parse_args()
    counts = shutil.which("valgrind") is not None
    figures = measure(max(int(_REQUESTS * arguments.scale), 1), counts=counts)
    for name, value in figures.items():
        print(f"{name:24} {value:,.3g}" if isinstance(value, float) else f"{name:24} {value:,}")
    if arguments.out:
        arguments.out.write_text(json.dumps({"language_models": figures}, indent=2) + "\n")
    added = figures["instructions_added" if counts else "added"]
    if arguments.scale >= 1 and added > TARGET:
        raise SystemExit(f"The view adds {added:.1%} to analyze, more than {TARGET:.0%}.")


def measure(requests: int, *, counts: bool) -> dict[str, Any]:
    """Return CPU seconds of whole commands and of analyses in memory, with the view and without it.

    With ``counts``, the instructions of the commands as well.
    """
    with tempfile.TemporaryDirectory() as folder:
        folders = []
        for name, subsystem in (("with", LANGUAGE_MODELS), ("without", "org.example.chat")):
            folders.append(Path(folder) / name)
            write_chat(folders[-1], requests, subsystem)
        commands = [[cpu_seconds(HERE, path) for path in folders] for _ in range(_RUNS)]
        analyses = [[_cost_in_memory(path) for path in folders] for _ in range(_RUNS)]
        instructions = [count_instructions(HERE, path) for path in folders] if counts else []
    return {
        "requests": requests,
        "tokens": requests * _TOKENS,
        "samples": requests * count_samples(),
        **_compare("", commands),
        **_compare("memory_", analyses),
        **({"instructions_added": instructions[0] / instructions[1] - 1} if counts else {}),
    }


def _compare(name: str, pairs: list[list[float]]) -> dict[str, float]:
    with_seconds, without_seconds = (min(column) for column in zip(*pairs, strict=True))
    return {
        f"{name}seconds_with": with_seconds,
        f"{name}seconds_without": without_seconds,
        f"{name}added": statistics.median(costs[0] / costs[1] for costs in pairs) - 1,
    }


def _cost_in_memory(path: Path) -> float:
    """Return the CPU seconds of an analysis of a trace in memory, and of its text."""
    trace = open_trace(path)
    begun = time.process_time()
    to_text(analyze(trace))
    return time.process_time() - begun


def count_samples() -> int:
    """Return the samples of a request: one in each millisecond."""
    length_ns: int = _PREFILL_NS + _TOKENS * _TOKEN_NS + _PAUSE_NS
    return length_ns // MS


def write_chat(folder: Path, requests: int, subsystem: str) -> None:
    """Write requests one after another: a prefill, then tokens, with a call, sampling and samples each."""
    folder.mkdir()
    length = count_samples()
    moment_ns = np.arange(requests * length) % length * MS
    in_token_ns = (moment_ns - _PREFILL_NS) % _TOKEN_NS
    is_called = (in_token_ns >= _CALL_NS.start) & (in_token_ns < _CALL_NS.stop)
    is_called &= moment_ns < length * MS - _PAUSE_NS
    times_ns = np.arange(requests * length) * MS
    write_samples(
        folder, Samples(times_ns, np.zeros_like(times_ns), np.where(is_called, _SUBMITTING, _OTHER))
    )
    begins = [number * length * MS for number in range(requests)]
    tokens = [begin + _PREFILL_NS + _TOKEN_NS * token for begin in begins for token in range(_TOKENS)]
    calls = sorted([*((begin, _PREFILL_NS) for begin in begins), *((token, _TOKEN_NS) for token in tokens)])
    write_core_ai(folder, (start + MS for start, _ in calls), (span - 4 * MS for _, span in calls))
    write_ane(
        folder,
        (start + 2 * MS for start, _ in calls),
        (span - 6 * MS for _, span in calls),
    )
    write_steps(folder, (step for begin in begins for step in _list_steps(begin)), subsystem)


def _list_steps(begin: int) -> list[tuple[int, int, str, str]]:
    """Return the signposts of a request: start, length, name and message."""
    steps = [(begin, _PREFILL_NS, "Prompt", "tokens=500")]
    for token in range(_TOKENS):
        start = begin + _PREFILL_NS + _TOKEN_NS * token
        message = f"step={token + 1}, tokens={501 + token}"
        steps += [
            (start, MS // 10, "Decode", f"step={token}"),
            (start + MS // 5, _TOKEN_NS - MS // 5, "Extend", message),
            (start + MS // 2, _TOKEN_NS - 4 * MS, "LogitsInference", message),
            (start + _TOKEN_NS - 3 * MS, 2 * MS, "Sample", "strategy=topK"),
        ]
    return steps


if __name__ == "__main__":
    main()
