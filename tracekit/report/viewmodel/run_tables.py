"""The small tables of a whole run: engines, hardware counters, latency."""

from __future__ import annotations

from typing import Any

from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.totals import count_samples_by_phase
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.model.vocabulary import Engine

_MOST_EVENTS = 8
MEANINGS = {
    Engine.ANE: "Neural Engine",
    Engine.GPU: "GPU work of ML code",
    Engine.CPU: "an ML engine on the CPU",
    Engine.RUNTIME: "ML runtime, engine not seen",
    Engine.GRAPHICS: "Metal without an ML caller",
    Engine.OTHER: "no ML frame on the stack",
    Engine.UNKNOWN: "no stack with symbols",
}


def engine_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return a row for each engine that was seen, over the whole run."""
    return [
        {
            "engine": str(totals.engine),
            "busy_ns": totals.busy_ns,
            "samples": totals.samples,
            "sampled_ns": totals.sampled_ns,
            "weight": totals.weight,
            "phases": {
                str(phase): samples
                for phase, samples in count_samples_by_phase(totals).items()
                if phase is not None
            },
            "meaning": MEANINGS[totals.engine],
        }
        for totals in analysis.engine_totals
        if totals.is_seen
    ]


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


def build_latency_table(analysis: Analysis) -> dict[str, Any]:
    """Return the percentiles of all windows, and under "models" those of each model."""

    def as_dict(durations: Durations) -> dict[str, Any]:
        names = ("p50_ns", "p90_ns", "p99_ns", "first_ns", "warm_p50_ns", "warm_p90_ns", "warm_p99_ns")
        return {name: getattr(durations, name) for name in names}

    summary = analysis.summary
    models = {name: as_dict(durations) for name, durations in summary.models.items()}
    return {**as_dict(summary), "models": models}
