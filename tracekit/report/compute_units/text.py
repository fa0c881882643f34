"""Settings of compute units in a table, as text."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.compute_units import SettingRow
from tracekit.model.vocabulary import CPU_ONLY
from tracekit.report.document.blocks import Block, Column, Paragraph, Section, Table
from tracekit.report.document.text_printer import Page, print_text
from tracekit.text import PARAGRAPH_WIDTH, UNAVAILABLE, format_ms

_MODEL_WIDTH = 32
_WITHOUT_CPU = f"Without {CPU_ONLY} there is nothing to compare the others with: add it to --compute-units."


def settings_text(rows: Sequence[SettingRow]) -> str:
    """Return the table, model by model, and what its numbers rest on."""
    columns: dict[str, list[str]] = {
        "model": [row.model for row in rows],
        "compute units": [row.setting for row in rows],
        "calls": [f"{row.windows:,}" for row in rows],
        "cold": [format_ms(row.cold_ns, 2, UNAVAILABLE) for row in rows],
        "warm p50": [format_ms(row.warm_p50_ns, 2, UNAVAILABLE) for row in rows],
        "warm p90": [format_ms(row.warm_p90_ns, 2, UNAVAILABLE) for row in rows],
        f"× {CPU_ONLY}": [UNAVAILABLE if row.speed_up is None else f"{row.speed_up:.2f} ×" for row in rows],
        "load": [
            format_ms(row.load_ns, 2, UNAVAILABLE) + (f" ({row.load_basis})" if row.load_basis else "")
            for row in rows
        ],
        "ran on": [
            ", ".join(f"{count} {verdict}" for verdict, count in row.verdicts.items()) or UNAVAILABLE
            for row in rows
        ],
    }
    texts = ("model", "compute units", "ran on")
    table = Table(
        tuple(
            Column(name, cells, "text" if name in texts else "number", width=_MODEL_WIDTH * (name == "model"))
            for name, cells in columns.items()
            if any(cells)
        )
    )
    edges = sorted({edge for row in rows for edge in row.edges})
    basis = f"lengths of calls whose edges are {' or '.join(edges)}" if edges else "no call was found"
    blocks: list[Block] = [table]
    if all(row.setting != CPU_ONLY for row in rows):
        blocks.append(Paragraph(_WITHOUT_CPU))
    about = f"{basis}; cold is the first call, warm the others"
    section = Section("compute-units", "Compute units compared", tuple(blocks), about)
    return print_text([section], Page(PARAGRAPH_WIDTH, has_whole_tables=True))
