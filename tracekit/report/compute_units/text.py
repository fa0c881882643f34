"""Settings of compute units side by side, as text."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.compute_units import SettingRow
from tracekit.model.vocabulary import CPU_ONLY
from tracekit.text import UNAVAILABLE, align, clip, format_ms, printable, wrap

_MODEL_WIDTH = 32


def settings_text(rows: Sequence[SettingRow]) -> str:
    """Return the table, model by model, and what its numbers rest on."""
    with_models = any(row.model for row in rows)
    header = ["compute units", "calls", "cold", "warm p50", "warm p90", "× cpuOnly", "load", "ran on"]
    right = [name not in ("compute units", "ran on") for name in header]
    lines = [
        [
            *([clip(printable(row.model), _MODEL_WIDTH)] if with_models else []),
            row.setting,
            f"{row.windows:,}",
            format_ms(row.cold_ns, 2, UNAVAILABLE),
            format_ms(row.warm_p50_ns, 2, UNAVAILABLE),
            format_ms(row.warm_p90_ns, 2, UNAVAILABLE),
            "–" if row.speed_up is None else f"{row.speed_up:.2f} ×",
            format_ms(row.load_ns, 2, UNAVAILABLE) + (f" ({row.load_basis})" if row.load_basis else ""),
            ", ".join(f"{count} {verdict}" for verdict, count in row.verdicts.items()) or "–",
        ]
        for row in rows
    ]
    if with_models:
        header, right = ["model", *header], [False, *right]
    edges = sorted({edge for row in rows for edge in row.edges})
    basis = f"lengths of calls whose edges are {' or '.join(edges)}" if edges else "no call was found"
    title = f"Compute units compared ({basis}; cold is the first call, warm the others)"
    table = align(header, lines, right, "  ")
    return f"{wrap(title, '')}\n{table}\n{_missing(rows)}"


def _missing(rows: Sequence[SettingRow]) -> str:
    if any(row.setting == CPU_ONLY for row in rows):
        return ""
    return f"Without {CPU_ONLY} there is nothing to compare the others with: add it to --compute-units.\n"
