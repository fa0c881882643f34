"""Contradictions between a table of contents and the samples read with it."""

from __future__ import annotations

from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.tables.non_samples import SLACK_NS
from tracekit.parsers.tables.sample_tables import LoadedSamples
from tracekit.text import format_seconds


def find_toc_mismatches(run: RunInfo, samples: LoadedSamples) -> list[Issue]:
    """Return warnings where the table of contents does not fit the samples."""
    pids = set(samples.threads["pid"]) - {-1}
    times = samples.rows["time_ns"]
    last_ns = int(times.max()) if len(times) else 0
    if run.info.duration_ns is not None and len(times) and int(times.min()) > run.info.duration_ns:
        last_ns -= int(times.min())  # the times do not count from the start, see ``shift_to_start``
    mismatches = []
    if run.pids and pids and not pids & run.pids:
        mismatches.append("it lists none of the sampled processes")
    if run.info.duration_ns is not None and last_ns > run.info.duration_ns + SLACK_NS:
        duration, samples_end = format_seconds(run.info.duration_ns), format_seconds(last_ns)
        mismatches.append(f"it states a duration of {duration}, but samples continue to {samples_end}")
    text = "the table of contents may be of another recording: "
    return [Issue("warning", "toc-mismatch", text + mismatch) for mismatch in mismatches]
