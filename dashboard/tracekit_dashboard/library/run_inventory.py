"""The contents of a recording from which a visitor chooses what is analyzed again: ``inventory.json``.

It is written by the worker that reads the recording, so that the page's choices need no reading.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit_dashboard.library.outside_names import make_one_line

if TYPE_CHECKING:
    import pandas as pd

    from tracekit.model.trace import RunInfo, Trace

INVENTORY = "inventory.json"
_MAX_ENTRIES = 500
"""The entries of each list: those with most rows."""


def build_inventory(runs: Sequence[RunInfo], trace: Trace) -> dict[str, Any]:
    """Return the runs of a recording, and the processes, threads, tables and window sources of one."""
    processes, threads = _list_threads(trace)
    return {
        "run": trace.info.run,
        "runs": [_describe_run(run) for run in runs[:_MAX_ENTRIES]],
        "processes": processes,
        "threads": threads,
        "samples": _list_sample_tables(trace),
        "samples_source": trace.samples_source,
        "sources": _count_sources(trace),
        "signposts": _count_signposts(trace),
        "build_uuids": sorted(set(trace.stacks.binaries["uuid"].astype("str")) - {""}),
        "unnamed_builds": _list_unnamed_builds(trace),
    }


def write_inventory(folder: Path, content: dict[str, Any]) -> None:
    """Write the file into the folder of the results."""
    (folder / INVENTORY).write_text(json.dumps(content), "utf-8")


def read_inventory(path: Path) -> dict[str, Any]:
    """Return the content of the file; {} if it is missing or damaged."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _describe_run(run: RunInfo) -> dict[str, Any]:
    info = run.info
    return {
        "run": info.run,
        "process": make_one_line(info.process or ", ".join(sorted(run.process_names)[:1])),
        "template": make_one_line(info.template),
        "start": make_one_line(info.start),
        "duration_ns": info.duration_ns,
        "tables": sum(1 for table in run.tables if table.row_count),
    }


def _list_unnamed_builds(trace: Trace) -> list[list[str]]:
    """Return [name, UUID] of the builds without symbols: the app's first, then those in most samples."""
    from tracekit.analysis.missing_symbols import find_binaries_without_symbols

    builds = sorted(find_binaries_without_symbols(trace), key=lambda build: build.is_system)
    return [[make_one_line(build.name), build.uuid] for build in builds if build.name][:_MAX_ENTRIES]


def _list_threads(trace: Trace) -> tuple[list[Any], list[Any]]:
    """Return [pid, name, samples] and [tid, name, pid, samples] of each, those with most samples first."""
    from tracekit.analysis.engines.codes import sum_by_code

    thread_ids = trace.samples["thread_id"].to_numpy()
    counts = sum_by_code(thread_ids + 1, trace.sample_counts, len(trace.threads) + 1)[1:]
    names: dict[int, str] = {}
    samples: Counter[int] = Counter()
    threads = []
    columns = [trace.threads[name].tolist() for name in ("tid", "name", "pid", "process")]
    for tid, name, pid, process, count in zip(*columns, counts.tolist(), strict=False):
        if pid >= 0:
            names.setdefault(int(pid), make_one_line(str(process)))
            samples[int(pid)] += count
        if tid >= 0 and count:
            threads.append([int(tid), make_one_line(str(name)), int(pid), count])
    order = sorted(names, key=lambda pid: (-samples[pid], names[pid].casefold(), pid))
    threads.sort(key=lambda thread: (-thread[3], thread[0]))
    return [[pid, names[pid], samples[pid]] for pid in order[:_MAX_ENTRIES]], threads[:_MAX_ENTRIES]


def _list_sample_tables(trace: Trace) -> list[list[Any]]:
    from tracekit.model.schemas import SAMPLE_TABLES

    rows: Counter[str] = Counter()
    for table in trace.tables:
        if table.schema in SAMPLE_TABLES and table.row_count is not None:
            rows[table.schema] += max(table.row_count, 0)
    return [[schema, rows[schema]] for schema in SAMPLE_TABLES if schema in rows]


def _count_sources(trace: Trace) -> dict[str, int]:
    """Return the rows from which windows can be made, by the names of ``--windows``."""
    from tracekit.model.schemas import ANE_TABLES, CORE_AI, CORE_ML, MODEL_INFERENCE

    rows = trace.intervals
    source, channel = rows["source"], rows["channel"].astype("str")
    return {
        "coreml": int(((source == CORE_ML) & (channel == "Prediction") & (rows["depth"] == 0)).sum()),
        "coreai": int(((source == CORE_AI) & (channel == "Inference") & (rows["depth"] == 0)).sum()),
        "foundation-models": int((source == MODEL_INFERENCE).sum()),
        "ane": int(source.isin(ANE_TABLES).sum()),
    }


def _count_signposts(trace: Trace) -> list[list[Any]]:
    """Return [subsystem, category, name, intervals] of the signposts that can be windows."""
    from tracekit.analysis.windows.table_windows import select_signpost_intervals

    rows: pd.DataFrame = select_signpost_intervals(trace)
    names = ["subsystem", "category", "name"]
    counts = rows.groupby(names, observed=True, sort=False).size().sort_values(ascending=False, kind="stable")
    keys: Iterable[Any] = counts.index[:_MAX_ENTRIES].tolist()
    return [[*map(str, key), count] for key, count in zip(keys, counts.tolist(), strict=False)]
