"""One run of a recording → ``Trace``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from tracekit.detect import EXPORT_ADVICE, Input, Via, open_source
from tracekit.errors import InputError, UsageError
from tracekit.model.schemas import NON_SAMPLE_TABLES, SAMPLE_TABLES, STANDALONE_TABLES, TIME_PROFILE
from tracekit.model.tables import Table
from tracekit.model.trace import Issue, IssueCounter, RunInfo, Trace
from tracekit.parsers.in_memory import origin_of
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.parsers.source import Progress, Source
from tracekit.parsers.tables.non_samples import SLACK_NS, NonSampleRows, load_non_samples, with_new_threads
from tracekit.parsers.tables.row_times import OPEN_NS, read_times
from tracekit.parsers.tables.run_clock import from_start
from tracekit.parsers.tables.samples import Samples, load_samples
from tracekit.text import format_seconds, list_first

_LISTED_TABLES = 200
_MAX_NAMED_RUNS = 20
_MAX_ROWS_FOR_LENGTH = 1_000_000


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


def trace_of(
    source: Source, run: int | None = None, samples: str | None = None, *, any_table: bool = False
) -> Trace:
    """Return one run of an opened source as a ``Trace``; see ``open_trace``.

    With ``any_table``, a run whose tables cannot be analyzed but can be read is a trace without samples.
    """
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
    if not loaded.source:
        is_analyzable = _analyzable_without_samples(selected_run, evidence) or (
            any_table and _has_rows(selected_run)
        )
        if samples is not None or not is_analyzable:
            raise _no_samples(source, selected_run, samples, evidence)
        if any_table and not selected_run.info.duration_ns:
            selected_run = replace(
                selected_run,
                info=replace(selected_run.info, duration_ns=_length_of_tables(source, selected_run)),
            )
    issues = [
        *source.issues(selected_run.info.run),
        *loaded.issues,
        *evidence.issues,
        *(_toc_mismatches(selected_run, loaded) if origin_of(source) == "xctrace-xml" else ()),
    ]
    if not loaded.source:
        issues.append(_without_samples(selected_run))
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
    )
    return from_start(trace)


def _analyzable_without_samples(run: RunInfo, evidence: NonSampleRows) -> bool:
    """Return True if the input has a table, even an empty one, that can be analyzed without samples."""
    in_input = {table.schema for table in run.tables if table.row_count is not None}
    return bool(in_input.intersection(STANDALONE_TABLES) - evidence.unreadable)


def _has_rows(run: RunInfo) -> bool:
    """Return True if a table has rows, or, in a bundle, rows that were not counted."""
    return any(table.row_count not in (None, 0) for table in run.tables)


def _length_of_tables(source: Source, run: RunInfo) -> int | None:
    """Return the end of the last row of a run for which no length is stated; None if no row has a time.

    The shortest tables are read first, the clock's ticks among them, and further ones up to a number of rows.
    """
    last_ns = rows = 0
    for table_info in sorted(run.tables, key=lambda table_info: table_info.row_count or 0):
        if table_info.row_count in (None, 0) or rows > _MAX_ROWS_FOR_LENGTH:
            continue
        with suppress(InputError):
            for table in source.tables(table_info.schema, run.info.run):
                rows += len(table.rows)
                spans = read_times(table, IssueCounter())
                ends = np.where(spans.end_ns < OPEN_NS, spans.end_ns, spans.start_ns)
                last_ns = max(last_ns, int(ends.max(initial=0)))
    return last_ns or None


def _without_samples(run: RunInfo) -> Issue:
    text = (
        "this input has no samples: the analysis rests on other tables only, and the host's work is unknown"
    )
    recorded = [schema for schema in SAMPLE_TABLES if any(table.schema == schema for table in run.tables)]
    if not recorded:
        return Issue("info", "no-samples", text)
    names = ", ".join(f"'{schema}'" for schema in recorded)
    return Issue("warning", "no-samples", f"{text}. The recording has {names}, but this input does not")


def _toc_mismatches(run: RunInfo, samples: Samples) -> list[Issue]:
    """Return warnings where the table of contents does not fit the samples."""
    pids = set(samples.threads["pid"]) - {-1}
    times = samples.rows["time_ns"]
    last_ns = int(times.max()) if len(times) else 0
    if run.info.duration_ns is not None and len(times) and int(times.min()) > run.info.duration_ns:
        last_ns -= int(times.min())  # the times do not count from the start, see ``from_start``
    mismatches = []
    if run.pids and pids and not pids & run.pids:
        mismatches.append("it lists none of the sampled processes")
    if run.info.duration_ns is not None and last_ns > run.info.duration_ns + SLACK_NS:
        duration, samples_end = format_seconds(run.info.duration_ns), format_seconds(last_ns)
        mismatches.append(f"it states a duration of {duration}, but samples continue to {samples_end}")
    text = "the table of contents may be of another recording: "
    return [Issue("warning", "toc-mismatch", text + mismatch) for mismatch in mismatches]


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


def _no_samples(
    source: Source, run: RunInfo, schema_requested: str | None, evidence: NonSampleRows
) -> InputError | UsageError:
    messages = {issue.code: issue.message for issue in (*evidence.issues, *source.issues(run.info.run))}
    codes = ("table-damaged", "recording-unfinished", "table-unreadable")
    cause = next((messages[code] for code in codes if code in messages), "")
    exported = sorted({table.schema for table in run.tables if table.row_count is not None})
    recorded = [schema for schema in SAMPLE_TABLES if any(table.schema == schema for table in run.tables)]
    if not exported and origin_of(source) == "trace-bundle":
        problem = "holds no table that can be read."
    elif not exported:
        problem = "is a table of contents: it lists a recording's tables and has none of their rows."
    elif schema_requested:
        problem = f"holds no table '{schema_requested}'; it holds {list_first(exported, _LISTED_TABLES)}."
        recorded = [schema_requested] if schema_requested in recorded or not source.has_toc else []
    else:
        problem = f"holds no samples; it holds {list_first(exported, _LISTED_TABLES)}."
    advice = EXPORT_ADVICE
    if recorded:
        advice = EXPORT_ADVICE.replace(TIME_PROFILE, recorded[0])
    elif source.has_toc:
        what = f"no '{schema_requested}'" if schema_requested else "no table of samples"
        advice = f"The recording has {what}: record again with another template, such as Time Profiler."
    if "is encrypted" in cause:
        return InputError(source.name, "is an archive with a password.", "Unpack it with the password first.")
    # A damaged table or an unfinished recording is a likelier cause than a wrong query.
    if cause:
        return InputError(source.name, f"{problem.rstrip('.')}: {cause.rstrip('.')}.")
    if schema_requested and exported and all(table.schema != schema_requested for table in run.tables):
        return UsageError(f"--samples: {source.name} {problem} {advice}")
    return InputError(source.name, problem, advice)
