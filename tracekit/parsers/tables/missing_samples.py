"""Runs without samples: what other tables allow, the time that they cover, and the cause of the lack."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from tracekit.errors import InputError, UsageError
from tracekit.model.schemas import SAMPLE_TABLES, STANDALONE_TABLES, TIME_PROFILE
from tracekit.model.trace import Issue, IssueCounter, RunInfo
from tracekit.parsers.in_memory import find_origin
from tracekit.parsers.source import EXPORT_ADVICE, Source
from tracekit.parsers.tables.non_samples import NonSampleRows
from tracekit.parsers.tables.row_times import OPEN_NS, read_times
from tracekit.text import list_first

_DAMAGE = ("table-damaged", "table-unreadable")
_MAX_LISTED_TABLES = 200
_MAX_NAMED_TABLES = 12
_MAX_ROWS_FOR_DURATION = 1_000_000


def is_analyzable_without_samples(run: RunInfo, evidence: NonSampleRows) -> bool:
    """Return True if the input has a table, even an empty one, that can be analyzed without samples."""
    in_input = {table.schema for table in run.tables if table.row_count is not None}
    return bool(in_input.intersection(STANDALONE_TABLES) - evidence.unreadable)


def is_readable(source: Source, run: RunInfo, evidence: NonSampleRows) -> bool:
    """Return True if a table has rows, or rows that were not counted, and no table of samples is damaged."""
    with_rows = {table.schema for table in run.tables if table.row_count not in (None, 0)}
    are_samples_damaged = any(table.schema in SAMPLE_TABLES for table in run.tables) and any(
        issue.code in _DAMAGE for issue in source.issues(run.info.run)
    )
    return bool(with_rows - evidence.unreadable) and not are_samples_damaged


def find_end_of_tables(source: Source, run: RunInfo) -> int | None:
    """Return the end of the last row of a run for which no length is stated; None if no row has a time.

    The shortest tables are read first, the clock's ticks among them, and further ones up to a number of rows.
    """
    last_ns = rows = 0
    for table_info in sorted(run.tables, key=lambda table_info: table_info.row_count or 0):
        if table_info.row_count in (None, 0) or rows > _MAX_ROWS_FOR_DURATION:
            continue
        with suppress(InputError):
            for table in source.tables(table_info.schema, run.info.run):
                rows += len(table.rows)
                spans = read_times(table, IssueCounter())
                ends = np.where(spans.end_ns < OPEN_NS, spans.end_ns, spans.start_ns)
                last_ns = max(last_ns, int(ends.max(initial=0)))
    return last_ns or None


def make_no_samples_issue(run: RunInfo, is_analyzable: bool) -> Issue:
    """Return the issue of a run without samples; one that is not analyzable has other tables only."""
    if not is_analyzable:
        held = list_first(
            sorted({table.schema for table in run.tables if table.row_count not in (None, 0)}),
            _MAX_NAMED_TABLES,
        )
        text = f"no table of this input shows a call or an engine. It holds {held}: see tracekit tables"
        return Issue("info", "no-samples", text)
    text = (
        "this input has no samples: the analysis rests on other tables only, and the host's work is unknown"
    )
    recorded = [schema for schema in SAMPLE_TABLES if any(table.schema == schema for table in run.tables)]
    if not recorded:
        return Issue("info", "no-samples", text)
    names = ", ".join(f"'{schema}'" for schema in recorded)
    return Issue("warning", "no-samples", f"{text}. The recording has {names}, but this input does not")


def explain_missing_samples(
    source: Source, run: RunInfo, schema_requested: str | None, evidence: NonSampleRows
) -> InputError | UsageError:
    """Return the error for a run that cannot be analyzed, with the likeliest cause and the next step."""
    messages = {issue.code: issue.message for issue in (*evidence.issues, *source.issues(run.info.run))}
    codes = (_DAMAGE[0], "recording-unfinished", _DAMAGE[1])
    cause = next((messages[code] for code in codes if code in messages), "")
    exported = sorted({table.schema for table in run.tables if table.row_count is not None})
    recorded = [schema for schema in SAMPLE_TABLES if any(table.schema == schema for table in run.tables)]
    if not exported and find_origin(source) == "trace-bundle":
        problem = "holds no table that can be read."
    elif not exported:
        problem = "is a table of contents: it lists a recording's tables and has none of their rows."
    elif schema_requested:
        problem = f"holds no table '{schema_requested}'; it holds {list_first(exported, _MAX_LISTED_TABLES)}."
        recorded = [schema_requested] if schema_requested in recorded or not source.has_toc else []
    else:
        problem = f"holds no samples; it holds {list_first(exported, _MAX_LISTED_TABLES)}."
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
