"""One run of a recording → ``Trace``."""

from __future__ import annotations

from tracekit.errors import InputError, UsageError
from tracekit.model import INTERVALS, SIGNPOSTS, TRACKS, Issue, RunInfo, Trace
from tracekit.parsers.source import Progress, Source
from tracekit.parsers.tables.samples import SAMPLE_SCHEMAS, Samples, load_samples
from tracekit.sources import EXPORT_ADVICE, Input, Via, open_source

_SLACK_NS = 100_000_000  # a recording may end a little after its last tick


def open_trace(
    path: Input,
    run: int | None = None,
    samples: str | None = None,
    progress: Progress | None = None,
    via: Via = "auto",
) -> Trace:
    """Read one run of a recording.

    ``path`` is a .trace bundle, an export, a folder of exports, several exports of one recording, or "-";
    ``via`` says how a bundle is read. ``run`` is the run's number (the first run when None). ``samples``
    names the schema to take samples from; by default the best that is there. Raises ``InputError`` when the
    input holds no samples, ``UsageError`` for an unknown run, ``XctraceError`` when xctrace fails.
    """
    source = open_source(path, progress, via, SAMPLE_SCHEMAS)
    return trace_of(source, run, samples)


def trace_of(source: Source, run: int | None = None, samples: str | None = None) -> Trace:
    """Return one run of an opened source as a ``Trace``; see ``open_trace``."""
    runs = source.toc()
    chosen = _choose_run(source, runs, run)
    infos = chosen.tables
    if samples is not None and samples not in SAMPLE_SCHEMAS:
        raise UsageError(f"'{samples}' is no table of samples. Choose one of {', '.join(SAMPLE_SCHEMAS)}.")
    loaded = load_samples(source.name, lambda schema: source.tables(schema, chosen.info.run), infos, samples)
    if not loaded.source:
        raise _no_samples(source, chosen, samples)
    issues = [
        *source.issues(chosen.info.run),
        *loaded.issues,
        *(_doubts(chosen, loaded) if chosen.info.kind == "xctrace-xml" else ()),
    ]
    if run is None and len(runs) > 1:
        numbers = ", ".join(str(one.info.run) for one in runs)
        issues.append(
            Issue("info", "several-runs", f"the recording has runs {numbers}; this is run {chosen.info.run}")
        )
    return Trace(
        info=chosen.info,
        samples=loaded.rows,
        stacks=loaded.stacks,
        threads=loaded.threads,
        intervals=INTERVALS.empty(),
        signposts=SIGNPOSTS.empty(),
        counters=loaded.counters,
        tracks=TRACKS.empty(),
        tables=infos,
        issues=tuple(issues),
        weight_unit=loaded.weight_unit,
        samples_source=loaded.source,
        has_toc=source.has_toc,
        core_types=loaded.core_types,
    )


def _doubts(run: RunInfo, samples: Samples) -> list[Issue]:
    """Return warnings where the table of contents does not fit the samples."""
    pids = set(samples.threads["pid"]) - {-1}
    last_ns = int(samples.rows["time_ns"].max()) if len(samples.rows) else 0
    doubts = []
    if run.pids and pids and not pids & run.pids:
        doubts.append("it lists none of the sampled processes")
    if run.info.duration_ns is not None and last_ns > run.info.duration_ns + _SLACK_NS:
        doubts.append(
            f"it says {run.info.duration_ns / 1e9:.3f} s and samples go on to {last_ns / 1e9:.3f} s"
        )
    text = "the table of contents may be of another recording: "
    return [Issue("warning", "toc-mismatch", text + doubt) for doubt in doubts]


def _choose_run(source: Source, runs: tuple[RunInfo, ...], run: int | None) -> RunInfo:
    if not runs:
        raise InputError(
            source.name,
            "holds no table: the query that exported it matched nothing in the recording.",
            "See what was recorded with xcrun xctrace export --input X.trace --toc.",
        )
    if run is None:
        with_rows = [one for one in runs if any(table.row_count for table in one.tables)]
        return (with_rows or list(runs))[0]
    for one in runs:
        if one.info.run == run:
            return one
    numbers = ", ".join(str(one.info.run) for one in runs)
    raise UsageError(f"{source.name} has no run {run}; its runs are {numbers}.")


def _no_samples(source: Source, run: RunInfo, wanted: str | None) -> InputError:
    told = {issue.code: issue.message for issue in source.issues(run.info.run)}
    known = next((told[code] for code in ("table-damaged", "recording-unfinished") if code in told), "")
    exported = sorted({table.schema for table in run.tables if table.row_count is not None})
    recorded = [schema for schema in SAMPLE_SCHEMAS if any(table.schema == schema for table in run.tables)]
    if not exported and run.info.kind == "trace-bundle":
        problem = "holds no table that can be read."
    elif not exported:
        problem = "is a table of contents: it lists a recording's tables and holds none of their rows."
    elif wanted:
        problem = f"holds no table '{wanted}'; it holds {', '.join(exported)}."
        recorded = [wanted] if wanted in recorded or not source.has_toc else []
    else:
        problem = f"holds no samples; it holds {', '.join(exported)}."
    advice = EXPORT_ADVICE
    if recorded:
        advice = EXPORT_ADVICE.replace("time-profile", recorded[0])
    elif source.has_toc:
        what = f"no '{wanted}'" if wanted else "no table of samples"
        advice = f"The recording has {what}: record again with the right template, such as Time Profiler."
    if known:  # what is damaged or was not finished is the likelier reason
        return InputError(source.name, f"{problem.rstrip('.')}: {known.rstrip('.')}.")
    return InputError(source.name, problem, advice)
