"""Analyses of random samples: equal times, pauses, several cores, missing threads and stacks, nested windows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from export_support import window
from trace_support import ANE, ANE_WAIT, BNNS, LOAD, MS, UI, Sample, trace_of

from tracekit import Analysis, analyze
from tracekit.model.trace import WeightUnit

UNITS: tuple[WeightUnit, ...] = ("ns", "cycles", "events")


def random_analysis(seed: int, samples: int = 60) -> Analysis:
    dice = np.random.default_rng(seed)
    steps = dice.choice([0, 0.2, 1, 1, 1, 9], samples)
    stacks = [ANE, ANE_WAIT, BNNS, LOAD, UI, None]
    rows: list[Sample] = [
        (
            float(time_ms),
            f"thread {dice.integers(3)}",
            stacks[dice.integers(len(stacks))],
            int(dice.choice([0, 1, MS, MS, 3 * MS])),
        )
        for time_ms in np.cumsum(steps) - 2
    ]
    trace = trace_of(rows, UNITS[seed % len(UNITS)])
    threads = np.where(dice.random(samples) < 0.1, -1, trace.samples["thread_id"]).astype(np.int32)
    cores = dice.integers(-1, 4, samples).astype(np.int16)
    trace = replace(trace, samples=trace.samples.assign(thread_id=threads, core=cores))
    starts, lengths = dice.uniform(0, steps.sum(), 4).tolist(), dice.uniform(1, 30, 4).tolist()
    return analyze(
        trace,
        windows=[
            window(start, start + length, f"w{number}")
            for number, (start, length) in enumerate(zip(starts, lengths, strict=True))
        ],
    )
