"""What is this file, and which parser reads it: paths → ``Source`` → ``Trace``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from tracekit.errors import InputError, UsageError
from tracekit.model import INTERVALS, SIGNPOSTS, TRACKS, Issue, RunInfo, Trace
from tracekit.parsers.source import Progress, Source
from tracekit.parsers.tables.samples import SAMPLE_SCHEMAS, Samples, load_samples
from tracekit.parsers.xml.source import XmlFile, XmlSource
from tracekit.parsers.xml.stream import STDIN

Input: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

_SLACK_NS = 100_000_000  # a recording may end a little after its last tick
_EXPORTS = (".xml", ".xml.gz")
_EXPORT_ADVICE = (
    "Export a table of samples: xcrun xctrace export --input X.trace"
    """ --xpath '/trace-toc/run/data/table[@schema="time-profile"]' --output time-profile.xml"""
)


def open_source(path: Input, progress: Progress | None = None) -> Source:
    """Open an export, a folder of exports, or several exports of one recording; "-" is standard input.

    Raises ``InputError`` for anything else, with what to do instead.
    """
    paths = [os.fspath(path)] if isinstance(path, (str, os.PathLike)) else [os.fspath(one) for one in path]
    try:
        return _open(paths, progress)
    except OSError as error:
        raise InputError(
            str(error.filename or paths[0]), f"cannot be read: {error.strerror or error}."
        ) from error


def _open(paths: list[str], progress: Progress | None) -> Source:
    if not paths:
        raise UsageError(
            "No input was named. Name an exported .xml file, a folder of them, or - for standard input."
        )
    if len(paths) == 1:
        return _open_one(paths[0], progress)
    for one in paths:
        _refuse_other_formats(one)
    common = os.path.commonpath([Path(one).absolute() for one in paths])
    return XmlSource(_shown(common), [XmlFile(one, progress) for one in paths], parse_now=False)


def _open_one(path: str, progress: Progress | None) -> Source:
    if path == STDIN:
        return XmlSource("standard input", [XmlFile(path, progress)], parse_now=True)
    _refuse_other_formats(path)
    folder = Path(path)
    if not folder.is_dir():
        return XmlSource(_shown(path), [XmlFile(path, progress)], parse_now=True)
    exports = sorted(p for p in folder.iterdir() if p.name.endswith(_EXPORTS) and not p.name.startswith("."))
    if not exports:
        raise InputError(path, "is a folder without exports (*.xml or *.xml.gz).", _EXPORT_ADVICE)
    source = XmlSource(_shown(path), [XmlFile(str(export), progress) for export in exports], parse_now=False)
    if not source.toc():
        raise InputError(path, "holds XML files, but none that xctrace exported.", _EXPORT_ADVICE)
    return source


def _shown(path: str) -> str:
    """Return the file's or folder's own name, fit to print whatever bytes it is made of."""
    return os.fsencode(Path(path).resolve().name).decode("utf-8", "replace")


def _refuse_other_formats(path: str) -> None:
    if not os.path.lexists(path):
        raise InputError(path, "does not exist.", "Check the path.")
    if Path(path).is_dir():
        if path.rstrip("/").endswith(".trace") or (Path(path) / "form.template").exists():
            raise InputError(
                path,
                "is an Instruments bundle; this version reads what xctrace exports from it.",
                f"On the Mac: {_EXPORT_ADVICE.removeprefix('Export a table of samples: ')}",
            )
        return
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            if file.read(4) == b"PK\x03\x04":
                raise InputError(
                    path, "is a zip archive, which this version does not read.", "Unpack it first."
                )


def open_trace(
    path: Input,
    run: int | None = None,
    samples: str | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Read one run of a recording.

    ``path`` is a file, a folder of exports, several exports of one recording, or "-". ``run`` is the run's
    number (the first run when None). ``samples`` names the schema to take samples from; by default the best
    that is there. Raises ``InputError`` when the input holds no samples, ``UsageError`` for an unknown run.
    """
    source = open_source(path, progress)
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
    issues = [*source.issues(), *loaded.issues, *_doubts(chosen, loaded)]
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
    exported = sorted({table.schema for table in run.tables if table.row_count is not None})
    recorded = [schema for schema in SAMPLE_SCHEMAS if any(table.schema == schema for table in run.tables)]
    if not exported:
        problem = "is a table of contents: it lists a recording's tables and holds none of their rows."
    elif wanted:
        problem = f"holds no table '{wanted}'; it holds {', '.join(exported)}."
        recorded = [wanted] if wanted in recorded or not source.has_toc else []
    else:
        problem = f"holds no samples; it holds {', '.join(exported)}."
    advice = _EXPORT_ADVICE
    if recorded:
        advice = _EXPORT_ADVICE.replace("time-profile", recorded[0])
    elif source.has_toc:
        what = f"no '{wanted}'" if wanted else "no table of samples"
        advice = f"The recording has {what}: record again with the right template, such as Time Profiler."
    return InputError(source.name, problem, advice)
