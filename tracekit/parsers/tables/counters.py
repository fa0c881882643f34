"""Hardware counter values of samples, named by the table of contents.

A ``pmc-events`` cell is a list of numbers (``40 4770``) in the order of the table's ``pmc-events`` attribute
(``"L1D_CACHE_MISS_LD" "MEM_LOAD_RETIRED.L1_HIT"``); the values are per sample, not cumulative, as in the
exports of fzhinkin/xctraceprof.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracekit.errors import InputError
from tracekit.model import Issue, Table

_EVENT_NAME = re.compile(r'"([^"]+)"')


def read_counters(name: str, table: Table, issues: list[Issue]) -> pd.DataFrame:
    """Return one int64 column per event, row-aligned to ``table``; no column where it has no counters.

    A sample without values counts 0, with a warning. Raises ``InputError`` of the input ``name`` for cells
    that are no lists of numbers.
    """
    column = next((c for c in table.columns if c.engineering_type == "pmc-events"), None)
    if column is None:
        return pd.DataFrame(index=table.rows.index)
    cells = table.rows[column.mnemonic]
    beyond = column.kind == "ints" and any(number >= 2**63 for cell in cells if cell for number in cell)
    if column.kind != "ints" or beyond:
        problem = f"the counters of '{table.schema}' are no lists of numbers."
        raise InputError(name, problem, "The recording, or its export, is damaged.")
    width = max((len(cell) for cell in cells if cell is not None), default=0)
    short = sum(1 for cell in cells if cell is None or len(cell) != width)
    if short:
        issues.append(Issue("warning", "null-counters", f"{short} samples lack counter values", short))
    zeros = (0,) * width
    matrix = [(*(cell or ()), *zeros)[:width] for cell in cells]
    values = np.array(matrix, dtype=np.int64).reshape(len(cells), width)
    return pd.DataFrame(values, columns=_names(table, width, issues), index=table.rows.index)


def _names(table: Table, width: int, issues: list[Issue]) -> list[str]:
    names = _EVENT_NAME.findall(table.attributes.get("pmc-events", ""))
    if len(names) == width == len(set(names)):
        return names
    if width:
        known = f"names {len(set(names))}" if names else "is not here to name them"
        text = f"the rows hold {width} counters and the table of contents {known}; they are numbered"
        issues.append(Issue("warning", "counter-names-unknown", text))
    return [f"counter-{at + 1}" for at in range(width)]


def of_one_event_list(tables: Sequence[Table], issues: list[Issue]) -> list[Table]:
    """Keep the tables that count what the first one with rows counts: other counters are other columns."""
    filled = [table for table in tables if len(table)] or list(tables[:1])
    events = filled[0].attributes.get("pmc-events", "")
    kept = [table for table in filled if table.attributes.get("pmc-events", "") == events]
    left = sum(len(table) for table in filled) - sum(len(table) for table in kept)
    if left:
        text = f"{left} rows of '{filled[0].schema}' count other events ({events} are used) and were left out"
        issues.append(Issue("warning", "other-counters", text, left))
    return kept
