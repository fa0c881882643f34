"""One run of a recording → ``Trace``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tracekit.detect import Input, Via, open_source
from tracekit.errors import InputError, UsageError
from tracekit.model.schemas import NON_SAMPLE_TABLES, SAMPLE_TABLES
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, RunInfo, Trace
from tracekit.parsers.in_memory import find_origin
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.parsers.source import Progress, Source
from tracekit.parsers.tables.missing_samples import (
    explain_missing_samples,
    find_end_of_tables,
    is_analyzable_without_samples,
    is_readable,
    make_no_samples_issue,
)
from tracekit.parsers.tables.non_samples import load_non_samples, with_new_threads
from tracekit.parsers.tables.run_clock import shift_to_start
from tracekit.parsers.tables.sample_tables import load_samples
from tracekit.parsers.tables.toc_mismatches import find_toc_mismatches

_MAX_NAMED_RUNS = 20


def open_trace(
    path: Input,
    run: int | None = None,
    samples: str | None = None,
    progress: Progress | None = None,
    via: Via = "auto",
    limits: Limits = DEFAULT_LIMITS,
    symbols: Sequence[str | os.PathLike[str]] = (),
    overlays: Sequence[str | os.PathLike[str]] = (),
    offset_ns: int = 0,
) -> Trace:
    """Read one run of a recording.

    ``path`` is a .trace bundle, an export, a folder of exports, several exports of one recording, or "-";
    ``via`` says how a bundle is read. ``run`` is the run's number (the first run when None). ``samples``
    names the schema to take samples from; by default the best available one, and none where the input has
    only intervals, signposts or the like. ``limits.times(4)`` is for an input that exceeds them and is
    trusted. ``symbols`` are dSYMs, binaries, symbol maps, or folders of them, which name frames that the
    recording holds as addresses (docs/symbols.md). ``overlays`` are texts (logs, power samples, spindumps)
    that are laid over the recording by wall clock, each moved by ``offset_ns``. Raises ``InputError`` when
    the input holds nothing to analyze or exceeds the limits, ``UsageError`` for a run or a table of samples
    that does not exist, ``XctraceError`` when xctrace fails.
    """
    source = open_source(
        path, progress, via, (*SAMPLE_TABLES, *NON_SAMPLE_TABLES), limits, symbols, overlays, offset_ns
    )
    return trace_of(source, run, samples)


def trace_of(source: Source, run: int | None = None, samples: str | None = None) -> Trace:
    """Return one run of an opened source as a ``Trace``; see ``open_trace``."""
    runs = source.toc()
    selected_run = _choose_run(source, runs, run)
    infos = selected_run.tables
    if samples is not None and samples not in SAMPLE_TABLES:
        raise UsageError(f"'{samples}' is not a table of samples. Choose one of {', '.join(SAMPLE_TABLES)}.")

    def read_tables(schema: str) -> Iterator[Table]:
        return source.tables(schema, selected_run.info.run)

    loaded = load_samples(source.name, read_tables, infos, samples)
    evidence = load_non_samples(
        read_tables, infos, selected_run.info, loaded.rows["time_ns"].to_numpy(np.int64)
    )
    is_analyzable = True
    if not loaded.source:
        is_analyzable = is_analyzable_without_samples(selected_run, evidence)
        if samples is not None or not (is_analyzable or is_readable(source, selected_run, evidence)):
            raise explain_missing_samples(source, selected_run, samples, evidence)
        if not is_analyzable and not selected_run.info.duration_ns:
            selected_run = replace(
                selected_run,
                info=replace(selected_run.info, duration_ns=find_end_of_tables(source, selected_run)),
            )
    issues = [
        *source.issues(selected_run.info.run),
        *loaded.issues,
        *evidence.issues,
        *(find_toc_mismatches(selected_run, loaded) if find_origin(source) == "xctrace-xml" else ()),
    ]
    if not loaded.source:
        issues.append(make_no_samples_issue(selected_run, is_analyzable))
    if run is None and len(runs) > 1:
        numbers = ", ".join(str(run_info.info.run) for run_info in runs[:_MAX_NAMED_RUNS])
        numbers += f", … {runs[-1].info.run}" if len(runs) > _MAX_NAMED_RUNS else ""
        text = (
            f"the recording has runs {numbers}; this is run {selected_run.info.run} (--run chooses another)"
        )
        issues.append(Issue("info", "several-runs", text))
    trace = Trace(
        info=selected_run.info,
        samples=loaded.rows,
        stacks=loaded.stacks,
        threads=with_new_threads(loaded.threads, evidence.threads),
        intervals=evidence.intervals,
        signposts=evidence.signposts,
        counters=loaded.counters,
        tracks=evidence.tracks,
        tables=infos,
        issues=tuple(issues),
        weight_unit=loaded.weight_unit,
        samples_source=loaded.source,
        has_toc=source.has_toc,
        core_types=loaded.core_types,
        thread_states=evidence.thread_states,
        metrics=evidence.metrics,
        engine_log=evidence.engine_log,
        model_requests=evidence.model_requests,
    )
    return shift_to_start(trace)


def _choose_run(source: Source, runs: tuple[RunInfo, ...], run: int | None) -> RunInfo:
    if not runs:
        raise InputError(
            source.name,
            "holds no table: the query of the export matched nothing in the recording.",
            "List the recorded tables with xcrun xctrace export --input X.trace --toc.",
        )
    if run is None:
        with_rows = [
            run_info for run_info in runs if any((table.row_count or 0) > 0 for table in run_info.tables)
        ]
        return (with_rows or list(runs))[0]
    if not isinstance(run, int):
        raise UsageError(f"run is the number of a run, not {run!r}. Several exports are one list of paths.")
    for run_info in runs:
        if run_info.info.run == run:
            return run_info
    numbers = ", ".join(str(run_info.info.run) for run_info in runs)
    raise UsageError(f"{source.name} has no run {run}; its runs are {numbers}.")
