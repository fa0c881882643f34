"""The small tables of a whole run: engines, hardware counters, latency."""

from __future__ import annotations

from typing import Any

from tracekit.analysis.engines.attribution import SharesByWindow
from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.membership import OUTSIDE
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.model.vocabulary import ENGINES, Engine

_MOST_EVENTS = 8
MEANINGS = {
    Engine.ANE: "Neural Engine",
    Engine.GPU: "GPU work submitted by ML code",
    Engine.CPU: "an ML engine on the CPU",
    Engine.RUNTIME: "Core ML or another ML runtime, engine not visible",
    Engine.GRAPHICS: "Metal without an ML caller",
    Engine.OTHER: "everything else",
    Engine.UNKNOWN: "no stack, or a stack without symbols",
}


def engine_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return a row for each engine that was seen, over the whole run."""
    shares = SharesByWindow(analysis.totals).get(OUTSIDE, [])
    rows = []
    for engine in ENGINES:
        engine_shares = [share for share in shares if share.engine is engine]
        busy = [
            share.busy_ns
            for share in engine_shares
            if share.busy_ns is not None and (share.phase is None or share.is_inference)
        ]
        if not any(share.samples for share in engine_shares) and not any(busy):
            continue
        sampled = [share.sampled_ns for share in engine_shares if share.sampled_ns is not None]
        rows.append(
            {
                "engine": str(engine),
                "busy_ns": sum(busy) if busy or engine in analysis.measured.engines else None,
                "samples": sum(share.samples for share in engine_shares),
                "sampled_ns": sum(sampled) if sampled else None,
                "weight": sum(share.weight for share in engine_shares),
                "phases": {
                    str(share.phase): share.samples
                    for share in engine_shares
                    if share.phase is not None and share.samples
                },
                "meaning": MEANINGS[engine],
            }
        )
    return rows


def counter_table(analysis: Analysis) -> dict[str, Any] | None:
    """Return the hardware counters summed by engine over the run, None without any."""
    events = analysis.events
    if not len(events):
        return None
    grouped = events.groupby(["engine", "event"], observed=True, sort=True)["value"].sum()
    sums = grouped.unstack(fill_value=0)
    names = [str(name) for name in sums.columns][:_MOST_EVENTS]
    rows: list[list[Any]] = []
    for engine, values in sums.iterrows():
        counts = {str(name): int(value) for name, value in values.items()}
        quotients = ", ".join(f"{name} {value:.2f}" for name, value in ratios(counts).items())
        rows.append([str(engine), *(counts[name] for name in names), quotients])
    note = "Sums over samples, by the engine that each sample's stack shows."
    return {"columns": ["engine", *names, "ratios"], "rows": rows, "note": note}


def latency_table(analysis: Analysis) -> dict[str, Any]:
    """Return the percentiles of all windows, and under "models" those of each model."""

    def as_dict(durations: Durations) -> dict[str, Any]:
        names = ("p50_ns", "p90_ns", "p99_ns", "first_ns", "warm_p50_ns", "warm_p90_ns", "warm_p99_ns")
        return {name: getattr(durations, name) for name in names}

    summary = analysis.summary
    models = {name: as_dict(durations) for name, durations in summary.models.items()}
    return {**as_dict(summary), "models": models}
