"""Analyses of literal inferences, for comparisons and checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from evidence_support import Interval, ane, core_ml, prediction, with_evidence
from trace_support import ANE, BNNS, Sample, trace_of

from tracekit import Analysis, Comparison, analyze
from tracekit.analysis.windows.choose import WindowSource
from tracekit.comparison.result import Difference
from tracekit.model.trace import Issue, TraceInfo

LENGTHS = [10.0, 12, 11, 13, 10, 12, 11, 14, 10, 12]
INFO = TraceInfo("literal", "xctrace-xml", device="Mac", os="15.0", template="Core ML", process="App")


def recorded(
    lengths: Sequence[float],
    engines: str = "",
    *,
    models: Sequence[str] = (),
    ane_busy: float = 2.0,
    load: float = 0.0,
    info: TraceInfo = INFO,
    issues: tuple[Issue, ...] = (),
    windows: WindowSource = "auto",
    measured: bool = True,
) -> Analysis:
    """Predictions of these lengths in ms, one after another, 10 ms apart, with samples of their engine.

    ``engines`` has a letter for each: A (the Neural Engine busy for ``ane_busy`` ms, measured unless not
    ``measured``), C (CPU samples each ms), X (both), U (no sample at all). The default is A for all.
    """
    engines = engines or "A" * len(lengths)
    models = models or ["Net"] * len(lengths)
    intervals: list[Interval] = [core_ml(1, 1 + load, "Load", models[0] if models else "Net")] if load else []
    samples: list[Sample] = []
    start = 20.0
    for length, engine, model in zip(lengths, engines, models, strict=True):
        intervals.append(prediction(start, start + length, model))
        if engine in "AX":
            samples.append((start + 0.25, "main", ANE))
            if measured:
                intervals.append(ane(start + 0.5, start + 0.5 + ane_busy, f"{model}_main__Op0_AneInference"))
        if engine in "CX":
            samples += [(start + 3.25 + index, "main", BNNS) for index in range(int(length) - 4)]
        start += length + 10
    trace = with_evidence(trace_of(samples), intervals)
    return analyze(replace(trace, info=info, issues=issues), windows=windows)


def row(comparison: Comparison, metric: str, group: int = 0) -> Difference:
    match = next(
        candidate for candidate in comparison.rows(comparison.groups[group]) if candidate.metric == metric
    )
    assert match is not None
    return match


def numbers(compared: Difference) -> tuple[float | None, float | None, float | None, str]:
    """Base, new and difference in ms, and the judgement."""
    amounts = [
        None if n is None else n / 1e6 for n in (compared.base.value, compared.new.value, compared.difference)
    ]
    return (*amounts, compared.judgement)  # type: ignore[return-value]


def several(
    lengths: list[float], engines: str = "", factor: float = 1.0, spread: float = 0.01
) -> list[Analysis]:
    """Three runs of the same program, which differ by ``spread``."""
    levels = (1.0, 1 + spread, 1 - spread)
    return [run(tuple(factor * level * length for length in lengths), engines) for level in levels]


@cache
def run(lengths: tuple[float, ...], engines: str) -> Analysis:
    return recorded(lengths, engines)
