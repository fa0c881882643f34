"""CPU samples of every kind that Instruments records → ``Trace.samples``.

================= ====================================== =====================================================
schema            recorded by                            weight
================= ====================================== =====================================================
time-profile      Time Profiler                          ns that the sample represents
counters-profile  CPU Counters, time or event trigger    ns, or the count of the triggering event
cpu-profile       CPU Profiler                           cycles
time-sample       Time Profiler's raw rows (kperf)       none: a sample is one sampling interval
kdebug-counters-… CPU Counters' raw rows                 none, as time-sample; the counters count up per core
stack-counts      sample, spindump, crash reports, lldb  samples of one stack; there are no times
breakpoint-hits   breakpoints of ``tracekit lldb``       hits, one for each row
================= ====================================== =====================================================

A recording often holds several of them for the same moments, so one is chosen and an issue names the others:
adding them up would count the same time twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.errors import InputError, TracekitError
from tracekit.frozen import frozen
from tracekit.model.columns import SAMPLES, THREADS, IntArray
from tracekit.model.schemas import CUMULATIVE_COUNTERS, SAMPLE_TABLES, STACK_COUNTS, TIME_PROFILE, TIME_SAMPLE
from tracekit.model.tables import CoreType, StackTable, Table, TableInfo
from tracekit.model.trace import Issue, WeightUnit
from tracekit.parsers.combine import join_stack_pairs, join_tables
from tracekit.parsers.source import iter_readable, make_left_out_issue
from tracekit.parsers.tables.column_values import read_numbers
from tracekit.parsers.tables.hardware_counters import (
    attach_counters,
    read_counters,
    read_cumulative_counters,
    with_same_events,
)
from tracekit.text import plural

_RAW_SCHEMAS = (TIME_SAMPLE, CUMULATIVE_COUNTERS)

_DEFAULT_PERIOD_US = 1000  # Time Profiler's sampling interval unless the table says otherwise


@frozen
class LoadedSamples:
    """The samples of one run in the model's columns, row-aligned ``counters`` included."""

    rows: pd.DataFrame
    counters: pd.DataFrame
    stacks: StackTable
    threads: pd.DataFrame
    weight_unit: WeightUnit
    source: str
    issues: tuple[Issue, ...]
    core_types: Mapping[int, CoreType] = field(default_factory=dict)


def make_empty_samples() -> LoadedSamples:
    """Return no samples, from no table."""
    threads = THREADS.empty()
    return LoadedSamples(SAMPLES.empty(), pd.DataFrame(), StackTable.empty(), threads, "ns", "", ())


def build_samples(name: str, tables: Sequence[Table]) -> LoadedSamples:
    """Return the samples of one schema's tables (at least one), in time order.

    Rows that a second table repeats (same time, thread and core: App Launch records two time-profile tables)
    are dropped and reported. Raises ``InputError`` of the input ``name`` when times or threads are missing,
    and for numbers that no recording has.
    """
    issues: list[Issue] = []
    tables = with_same_events(tables, issues)
    table = join_tables([t for t in tables if len(t)] or tables[:1])
    rows = table.rows
    names = {column.mnemonic for column in table.columns}
    if not any(column.mnemonic == "thread" and column.kind == "thread" for column in table.columns):
        problem = f"'{table.schema}' has no column 'thread' that holds threads."
        raise InputError(name, problem, "The recording, or its export, is damaged.")
    stacks, stack_ids = _join_stack_columns(table)
    unit, weight = _read_weight(name, table, issues)
    is_timed = table.schema != STACK_COUNTS
    times = read_numbers(name, table, "time", None, issues) if is_timed else np.zeros(len(rows), np.int64)
    samples = pd.DataFrame(
        {
            "time_ns": times,
            "weight_ns": pd.arrays.IntegerArray(weight, np.full(len(rows), unit != "ns")),
            "thread_id": rows["thread"].to_numpy(np.int32),
            "core": _read_cores(table),
            "state": rows["thread-state"].astype("category")
            if "thread-state" in names
            else _make_empty_states(rows),
            "stack_id": stack_ids,
        },
        index=rows.index,
        copy=False,
    )
    if unit != "ns":
        samples[unit] = weight
    counters = _read_counters(name, table, samples, issues)
    _report_unrelated_tables(tables, issues)
    keep = _mark_first_copies(samples, tables, issues)
    # Sorting takes a copy of everything, and most exports are in time order already.
    if not keep.all() or (np.diff(times) < 0).any():
        order = np.argsort(samples["time_ns"].to_numpy()[keep], kind="stable")
        samples = samples.iloc[np.flatnonzero(keep)[order]].reset_index(drop=True)
        counters = counters.iloc[np.flatnonzero(keep)[order]].reset_index(drop=True)
    # Checked at run time, not only by tests: rows in = rows out, and the sum of the weights is preserved.
    _check_preserved(tables, samples, weight[~keep], unit)
    _report_stacks(samples, table.schema, stacks, issues)
    return LoadedSamples(
        SAMPLES.check(samples, f"samples of {table.schema}"),
        counters,
        stacks,
        THREADS.check(table.threads, "threads"),
        unit,
        table.schema,
        tuple(issues),
        table.core_types,
    )


def choose_schema(
    infos: Sequence[TableInfo], requested: str | None = None
) -> tuple[str | None, tuple[Issue, ...]]:
    """Return the schema to take samples from, or None, and issues about the unused tables.

    A schema with rows goes before an empty one; among those ``SAMPLE_TABLES`` is the order, except that
    event-triggered counters come after cpu-profile: their weight is neither time nor cycles.
    """
    rows = {s: sum(i.row_count or 0 for i in infos if i.schema == s) for s in SAMPLE_TABLES}
    present = [s for s in SAMPLE_TABLES if any(i.schema == s and i.row_count is not None for i in infos)]
    if requested is not None:
        present = [s for s in present if s == requested]
    by_event = {i.schema for i in infos if i.attributes.get("trigger") == "pmi"}
    # The sort is stable, so equal keys stay in the order of SAMPLE_TABLES. Raw tables come late, because
    # their exports have no symbols.
    order = sorted(present, key=lambda s: (rows[s] == 0, s in _RAW_SCHEMAS, s in by_event))
    if not order:
        return None, ()
    unused = [s for s in order[1:] if rows[s]]
    issues = [
        Issue(
            "info",
            "samples-not-used",
            f"{rows[s]} rows of '{s}' describe the same time as '{order[0]}' and were not added to it."
            f" Choose them with --samples {s}",
            rows[s],
        )
        for s in unused
    ]
    return order[0], tuple(issues)


def _read_counters(name: str, table: Table, samples: pd.DataFrame, issues: list[Issue]) -> pd.DataFrame:
    if table.schema != CUMULATIVE_COUNTERS:
        return read_counters(name, table, issues)
    times, cores = samples["time_ns"].to_numpy(np.int64), samples["core"].to_numpy(np.int16)
    return read_cumulative_counters(name, table, times, cores, issues)


def _read_cores(table: Table) -> npt.NDArray[np.int16]:
    """Return each row's core, -1 for none: stackshots have no core, and any larger number is damage."""
    name = next((n for n in ("core", "core-index") if n in table.rows.columns), "")
    if not name or not pd.api.types.is_integer_dtype(table.rows[name].dtype):
        return np.full(len(table.rows), -1, np.int16)
    cores = table.rows[name].fillna(-1)
    return cores.where((cores >= 0) & (cores < 2**15), -1).to_numpy(np.int16)


def _make_empty_states(rows: pd.DataFrame) -> pd.Categorical:
    return pd.Categorical.from_codes(np.full(len(rows), -1), categories=pd.Index([], dtype="str"))


def _read_weight(name: str, table: Table, issues: list[Issue]) -> tuple[WeightUnit, IntArray]:
    column = next((c for c in table.columns if c.mnemonic == "weight"), None)
    if column is None:
        period = table.attributes.get("sample-rate-micro-seconds", "")
        period_ns = (int(period) if period.isdecimal() and len(period) < 8 else _DEFAULT_PERIOD_US) * 1000
        issues.append(
            Issue(
                "info",
                "weight-assumed",
                f"'{table.schema}' has no weight column: each running sample counts as one sampling interval,"
                f" {period_ns / 1e6:g} ms",
            )
        )
        return "ns", _mark_running(table) * period_ns
    units: dict[str, WeightUnit] = {
        "weight": "ns",
        "cycle-weight": "cycles",
        "pmc-event": "events",
        "sample-count": "samples",
        "hit-count": "hits",
    }
    unit = units.get(column.engineering_type)
    if unit is None:
        unit = "ns"
        issues.append(
            Issue(
                "warning",
                "weight-unit-unknown",
                f"'{table.schema}' weighs samples in '{column.engineering_type}', an unknown unit;"
                " nanoseconds are assumed",
            )
        )
    return unit, read_numbers(name, table, "weight", 0, issues)


def _mark_running(table: Table) -> IntArray:
    """Return 1 for a thread that ran, 0 for one that a stackshot recorded as waiting."""
    if "thread-state" not in table.rows.columns:
        return np.ones(len(table.rows), np.int64)
    running: IntArray = (table.rows["thread-state"] == "Running").to_numpy().astype(np.int64)
    return running


def _join_stack_columns(table: Table) -> tuple[StackTable, npt.NDArray[np.int32]]:
    names = [column.mnemonic for column in table.columns if column.kind == "stack"]
    if not names:
        return table.stacks, np.full(len(table.rows), -1, np.int32)
    if len(names) == 1:
        return table.stacks, table.rows[names[0]].to_numpy(np.int32)
    kernel = next((name for name in names if "kernel" in name), names[0])
    user = next(name for name in names if name != kernel)
    upper, lower = (table.rows[name].to_numpy(np.int32) for name in (kernel, user))
    # Kernel and user stacks in two columns are one stack; the kernel's frames are nearer to the leaf.
    if (upper < 0).all():
        return table.stacks, lower
    return join_stack_pairs(table.stacks, upper, lower)


def _mark_first_copies(
    samples: pd.DataFrame, tables: Sequence[Table], issues: list[Issue]
) -> npt.NDArray[np.bool_]:
    """Mark the rows that no earlier table of the same schema has."""
    # ``origin`` is the table of each row; the first table that has a key keeps all of its rows with this key,
    # so that repetitions within one table stay:
    #   key     A  A  B | A  C     origin  0 0 0 | 1 1
    #   first   0  0  0 | 0  1     keep    T T T | F T
    filled = [table for table in tables if len(table)]
    keep = np.ones(len(samples), bool)
    if len(filled) < 2:
        return keep
    origin = np.repeat(np.arange(len(filled)), [len(table) for table in filled])
    keys = samples[["time_ns", "thread_id", "core"]]
    first_origin = (
        keys.assign(origin=origin).groupby(list(keys.columns))["origin"].transform("min").to_numpy()
    )
    keep = np.asarray(origin == first_origin, bool)
    repeated = int((~keep).sum())
    if repeated:
        rows = plural(repeated, "row")
        text = f"{rows} of '{filled[0].schema}', also in another table of this schema: counted once"
        issues.append(Issue("info", "samples-repeated", text, repeated))
    return keep


def _report_unrelated_tables(tables: Sequence[Table], issues: list[Issue]) -> None:
    """Warn about tables of one schema without a common process: they may be of different recordings."""
    pids = [set(table.threads["pid"]) - {-1} for table in tables if len(table)]
    if any(
        pids_of_table and pids_of_next and not pids_of_table & pids_of_next
        for pids_of_table, pids_of_next in combinations(pids, 2)
    ):
        issues.append(
            Issue(
                "warning",
                "tables-share-no-process",
                f"'{tables[0].schema}' has {len(pids)} tables without a common process. If they are of"
                " different recordings, no result can be trusted",
            )
        )


def _check_preserved(
    tables: Sequence[Table], samples: pd.DataFrame, repeated: IntArray, unit: WeightUnit
) -> None:
    """Raise ``TracekitError`` unless every row and its weight are in the samples or among the repeated."""
    rows_in = sum(len(table) for table in tables)
    weights = [read_numbers("", table, "weight", 0, []) for table in tables if "weight" in table.rows]
    weight_in = sum(int(weight.sum()) for weight in weights)
    weight_out = int(samples["weight_ns" if unit == "ns" else unit].sum()) + int(repeated.sum())
    if len(samples) + len(repeated) != rows_in or (weights and weight_out != weight_in):
        rows_out = len(samples) + len(repeated)
        raise TracekitError(
            f"'{tables[0].schema}': {rows_in} rows weighing {weight_in} came in and {rows_out} weighing"
            f" {weight_out} came out. This is a defect of tracekit: please report it."
        )


def _report_stacks(samples: pd.DataFrame, schema: str, stacks: StackTable, issues: list[Issue]) -> None:
    blocked = int(((samples["state"] == "Blocked") & (samples["weight_ns"].fillna(0) > 0)).sum())
    if blocked:
        text = f"samples of waiting threads: {blocked:,} of {len(samples):,} (elapsed time, not CPU time)"
        issues.append(Issue("info", "waiting-threads", text, blocked))
    has_none = (samples["stack_id"] < 0).to_numpy(bool)
    # A row of counted stacks may hold many samples.
    counts = (
        samples["samples"].to_numpy(np.int64) if "samples" in samples else np.ones(len(samples), np.int64)
    )
    null = int(counts[has_none].sum())
    if null:
        text = f"samples without a stack: {null:,} of {int(counts.sum()):,} (their weight is included)"
        issues.append(Issue("info", "null-stacks", text, null))
    if len(stacks) and not (stacks.frames["binary_id"] >= 0).any() and _is_mostly_bare(stacks):
        text = f"'{schema}' has addresses without symbols in this input, so its stacks identify no engine"
        if schema != TIME_PROFILE:
            text += f". If the recording has a '{TIME_PROFILE}' table with symbols, export that one"
        issues.append(Issue("warning", "no-symbols", text))


def _is_mostly_bare(stacks: StackTable) -> bool:
    return bool(stacks.frames["symbol"].str.fullmatch(r"0x[0-9a-f]+").mean() > 0.5)


Loader = Callable[[str], Iterator[Table]]


def load_samples(
    name: str, tables: Loader, infos: Sequence[TableInfo], requested: str | None = None
) -> LoadedSamples:
    """Return the run's samples from the best table, or from ``requested``; empty without a table."""
    schema, unused = choose_schema(infos, requested)
    if schema is None:
        return make_empty_samples()
    samples = _read_samples(name, schema, tables)
    # Counts may be in a separate raw table, which has no symbols in an export: the stacks come from the
    # chosen table, the counts from the raw one.
    has_counts = any(info.schema == CUMULATIVE_COUNTERS and info.row_count for info in infos)
    if has_counts and schema != CUMULATIVE_COUNTERS and not len(samples.counters.columns):
        samples = _with_counters(name, samples, tables)
    return replace(samples, issues=(*samples.issues, *unused))


def _read_samples(name: str, schema: str, tables: Loader) -> LoadedSamples:
    """Return the samples of the tables that can be read; raise the first error if none can."""
    damage: list[TracekitError] = []
    read = list(iter_readable(tables(schema), damage.append))
    if damage and not read:
        raise damage[0]
    samples = build_samples(name, read)
    return replace(
        samples, issues=(*samples.issues, *(make_left_out_issue(schema, error) for error in damage))
    )


def _with_counters(name: str, samples: LoadedSamples, tables: Loader) -> LoadedSamples:
    """Return the samples with the counters that the raw table has for the same time, thread and core."""
    try:
        raw = _read_samples(name, CUMULATIVE_COUNTERS, tables)
    except TracekitError as error:
        problem = str(getattr(error, "problem", error)).rstrip(".")
        text = f"'{CUMULATIVE_COUNTERS}' cannot be read and is left out: {problem}"
        return replace(samples, issues=(*samples.issues, Issue("warning", "table-unreadable", text)))
    counter_issues = [i for i in raw.issues if "counter" in i.code or i.code == "table-damaged"]
    counters, unmatched = attach_counters(raw.counters, _get_sample_keys(raw), _get_sample_keys(samples))
    if unmatched:
        text = (
            f"counts of {plural(unmatched, 'row')} of '{CUMULATIVE_COUNTERS}' are left out: no sample of"
            f" '{samples.source}' has the same time, thread and core"
        )
        counter_issues.append(Issue("info", "counters-not-attached", text, unmatched))
    return replace(samples, counters=counters, issues=(*samples.issues, *counter_issues))


def _get_sample_keys(samples: LoadedSamples) -> tuple[IntArray, IntArray, IntArray]:
    """Return each sample's time, tid and core."""
    rows = samples.rows
    tids = np.append(samples.threads["tid"].to_numpy(np.int64), -1)[rows["thread_id"].to_numpy()]
    return rows["time_ns"].to_numpy(np.int64), tids, rows["core"].to_numpy(np.int64)
