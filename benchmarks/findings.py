"""Measure what findings add to an analysis, and fail above a tenth of it, or above 20 s for 100,000 models.

    python benchmarks/findings.py [--scale 1] [--out FILE.json]

Each row is one recording: many samples, windows, or models. Seconds are those of the CPU, the best of two.
``added`` is the time of all detectors and their ranking, relative to the analysis without them; reading the
recording is part of neither.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
from fusion import synthetic

from tracekit import Analysis, analyze
from tracekit.model.trace import Trace

TARGET = 0.1
MODELS_TARGET_SECONDS = 20
"""The analysis of 100,000 models takes some 2 ms of CPU for each, so that this is a tenth of it, too."""
_SHAPES = {
    "samples and windows": (1_000_000, 100_000, 10_000, False),
    "models": (1_000_000, 100_000, 100_000, True),
}
"""Samples, intervals and windows; and whether each window is of a model of its own."""
_RUNS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1, help="times the sizes; below 1 there is no target")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    arguments = parser.parse_args()
    print(f"{'recording':20} {'samples':>10} {'windows':>8} {'analysis':>9} {'findings':>9} {'added':>6}")
    figures = []
    for name, (samples, intervals, windows, are_models) in _SHAPES.items():
        sizes = (max(int(size * arguments.scale), 10) for size in (samples, intervals, windows))
        trace = synthetic(*sizes)
        figure = {"recording": name, "samples": len(trace.samples)} | measure(trace, are_models)
        figures.append(figure)
        print(
            f"{name:20} {figure['samples']:>10,} {figure['windows']:>8,} {figure['analysis_seconds']:>9.2f}"
            f" {figure['findings_seconds']:>9.2f} {figure['added']:>6.1%}"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps({"findings": figures}, indent=2) + "\n")
    above = [
        figure["recording"]
        for figure in figures
        if (
            figure["findings_seconds"] > MODELS_TARGET_SECONDS
            if figure["recording"] == "models"
            else figure["added"] > TARGET
        )
    ]
    if above and arguments.scale >= 1:
        raise SystemExit(f"findings add more than {TARGET:.0%} to the analysis of: {', '.join(above)}")


def measure(trace: Trace, are_models: bool = False) -> dict[str, float]:
    """Return CPU seconds of an analysis and of its findings; the best of each.

    Core ML's calls alone are the windows: random stacks would make a hundred thousand more.
    """
    costs = []
    for _ in range(_RUNS):
        begun = time.process_time()
        analysis = analyze(trace, windows="coreml")
        analysis_seconds = time.process_time() - begun
        if are_models:
            analysis = one_model_per_call(analysis)
        begun = time.process_time()
        count = len(analysis.findings)
        costs.append((analysis_seconds, time.process_time() - begun))
    analysis_seconds, findings_seconds = (min(column) for column in zip(*costs, strict=True))
    return {
        "windows": len(analysis.window_rows),
        "findings": count,
        "analysis_seconds": analysis_seconds,
        "findings_seconds": findings_seconds,
        "added": findings_seconds / analysis_seconds,
    }


def one_model_per_call(analysis: Analysis) -> Analysis:
    """Return an analysis in which each call is of a model of its own.

    The analysis of so many models takes minutes; their findings are what is measured.
    """
    rows = analysis.window_rows
    models = pd.Series([f"Model{number}" for number in range(len(rows))], index=rows.index, dtype="str")
    return replace(analysis, window_rows=rows.assign(model=models, first=True))


if __name__ == "__main__":
    main()
