"""Hardware counter values of samples, named by the table of contents.

A ``pmc-events`` cell is a list of numbers (``40 4770``) in the order of the table's ``pmc-events`` attribute
(``"L1D_CACHE_MISS_LD" "MEM_LOAD_RETIRED.L1_HIT"``). In ``counters-profile`` the values are per sample, as in
the exports of fzhinkin/xctraceprof. In ``kdebug-counters-with-time-sample`` they count up per core, and
samples of threads that waited have none (landaire/xct2cli reads them so; no export with rows was at hand).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import InputError
from tracekit.model.columns import IntArray
from tracekit.model.tables import Table
from tracekit.model.trace import Issue
from tracekit.parsers.tables.column_values import number_rows
from tracekit.text import plural

_EVENT_NAME = re.compile(r'"([^"]+)"')
_MAX_EVENTS_PER_SAMPLE = 10**9
"""An event occurs some 10^7 times per core and interval: a larger step is a reset (see xct2cli)."""


def read_counters(name: str, table: Table, issues: list[Issue]) -> pd.DataFrame:
    """Return one int64 column per event, row-aligned to ``table``; no column where it has no counters.

    A sample without values counts 0, with a warning. Raises ``InputError`` of the input ``name`` for cells
    that are not lists of numbers.
    """
    counters, complete = _read_values(name, table, issues)
    if len(counters.columns):
        _report_gaps(int((~complete).sum()), issues)
    return counters


def read_cumulative_counters(
    name: str, table: Table, times: IntArray, cores: npt.NDArray[np.int16], issues: list[Issue]
) -> pd.DataFrame:
    """Return each event's count since the previous sample on the same core; see ``read_counters``.

    ``times`` and ``cores`` are the rows'. The first sample of a core counts 0; so does one after a reset,
    which is reported as ``counter-resets``, and one without a core.
    """
    counters, complete = _read_values(name, table, issues)
    if not len(counters.columns):
        return counters
    counted_rows = np.flatnonzero(complete & (cores >= 0))
    _report_gaps(int(((~complete & _mark_running(table)) | (complete & (cores < 0))).sum()), issues)
    # Counters run per core: in (core, time) order the step from the row above is the count of a sample,
    # except at the first row of a core and where the counter was reset.
    order = counted_rows[np.lexsort((times[counted_rows], cores[counted_rows]))]
    values = counters.to_numpy(np.int64)
    deltas = np.zeros_like(values)
    steps = np.diff(values[order], axis=0)
    same_core = cores[order][1:] == cores[order][:-1]
    reset = same_core & ((steps < 0) | (steps > _MAX_EVENTS_PER_SAMPLE)).any(axis=1)
    deltas[order[1:]] = np.where((same_core & ~reset)[:, None], steps, 0)
    if reset.any():
        samples = plural(int(reset.sum()), "sample")
        text = f"the counters of '{table.schema}' were reset before {samples}, counted as 0"
        issues.append(Issue("warning", "counter-resets", text, int(reset.sum())))
    return pd.DataFrame(deltas, columns=counters.columns, index=counters.index)


def attach_counters(
    counters: pd.DataFrame, places: Sequence[IntArray], samples: Sequence[IntArray]
) -> tuple[pd.DataFrame, int]:
    """Return the counters by sample, from rows with the keys ``places``, and the number of unmatched rows.

    Both are (time, tid, core); they match where all three are equal and the thread is known. A sample
    without a match counts 0. Rows without counts are not reported as missing.
    """
    rows = len(samples[0])
    # One key per sample and per raw row, numbered together:  key = [samples… | raw rows…]
    key = number_rows([np.concatenate(pair) for pair in zip(samples, places, strict=True)])
    sample_keys, firsts = np.unique(key[:rows], return_index=True)
    deltas = counters.to_numpy(np.int64)
    # ``add.at`` and not assignment: several raw rows may have the key of one sample, and each of their counts
    # is real.
    totals = np.zeros((rows, len(counters.columns)), np.int64)
    fits = np.isin(key[rows:], sample_keys) & (places[1] >= 0)
    np.add.at(totals, firsts[np.searchsorted(sample_keys, key[rows:][fits])], deltas[fits])
    missed = int((deltas[~fits] != 0).any(axis=1).sum())
    return pd.DataFrame(totals, columns=counters.columns), missed


def with_same_events(tables: Sequence[Table], issues: list[Issue]) -> list[Table]:
    """Return the tables that count the same events as the first one with rows: others need other columns."""
    filled = [table for table in tables if len(table)] or list(tables[:1])
    events = filled[0].attributes.get("pmc-events", "")
    same_events = [table for table in filled if table.attributes.get("pmc-events", "") == events]
    left_out = sum(len(table) for table in filled) - sum(len(table) for table in same_events)
    if left_out:
        text = (
            f"{plural(left_out, 'row')} of '{filled[0].schema}' with other events (used: {events}) left out"
        )
        issues.append(Issue("warning", "other-counters", text, left_out))
    return same_events


def _read_values(name: str, table: Table, issues: list[Issue]) -> tuple[pd.DataFrame, npt.NDArray[np.bool_]]:
    """Return the values as recorded, and which rows have a value for every event."""
    column = next((c for c in table.columns if c.engineering_type == "pmc-events"), None)
    if column is None:
        return pd.DataFrame(index=table.rows.index), np.zeros(len(table), bool)
    # A row's cell has one value per event, in the order of the table's attribute:
    #   pmc-events="A" "B"     cell (40, 4770)     →     columns A 40, B 4770
    cells = table.rows[column.mnemonic]
    is_list = column.kind == "ints"
    beyond = is_list and any(not 0 <= number < 2**63 for cell in cells if cell for number in cell)
    if not is_list or beyond:
        problem = f"the counters of '{table.schema}' are not lists of numbers."
        raise InputError(name, problem, "The recording, or its export, is damaged.")
    width = max((len(cell) for cell in cells if cell is not None), default=0)
    complete = np.array([cell is not None and len(cell) == width for cell in cells], bool)
    zeros = (0,) * width
    # Each list is filled with zeros to the width of the longest, so that the rows form a matrix.
    matrix = [(*(cell or ()), *zeros)[:width] for cell in cells]
    values = np.array(matrix, dtype=np.int64).reshape(len(cells), width)
    values = _drop_repeated_lists(table, values, issues)
    return pd.DataFrame(
        values, columns=_name_columns(table, values.shape[1], issues), index=table.rows.index
    ), complete


def _drop_repeated_lists(
    table: Table, values: npt.NDArray[np.int64], issues: list[Issue]
) -> npt.NDArray[np.int64]:
    """Return each list once: some exports write it twice in a row (8 events, 16 values)."""
    events = len(_read_event_names(table))
    if not events or values.shape[1] != 2 * events or (values[:, :events] != values[:, events:]).any():
        return values
    text = f"each list of counters in '{table.schema}' is written twice and counts once"
    issues.append(Issue("info", "counters-repeated", text, len(values)))
    return values[:, :events]


def _mark_running(table: Table) -> npt.NDArray[np.bool_]:
    if "thread-state" not in table.rows.columns:
        return np.ones(len(table), bool)
    return (table.rows["thread-state"] != "Blocked").to_numpy(bool)


def _report_gaps(gaps: int, issues: list[Issue]) -> None:
    if gaps:
        issues.append(
            Issue("warning", "null-counters", f"{plural(gaps, 'sample')} without counter values", gaps)
        )


def _read_event_names(table: Table) -> list[str]:
    return _EVENT_NAME.findall(table.attributes.get("pmc-events", ""))


def _name_columns(table: Table, width: int, issues: list[Issue]) -> list[str]:
    names = _read_event_names(table)
    if len(names) == width == len(set(names)):
        return names
    if width:
        names_in_contents = f"names {len(set(names))}" if names else "names none"
        text = (
            f"the rows have {width} counters and the table of contents {names_in_contents};"
            " they are numbered instead"
        )
        issues.append(Issue("warning", "counter-names-unknown", text))
    return [f"counter-{index + 1}" for index in range(width)]
