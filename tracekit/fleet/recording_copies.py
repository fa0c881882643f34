"""Copies of a recording whose files differ: packed, redacted, exported by themselves or in part.

A run is identified by its start to the millisecond, its length, the device's model and the system, all of
which survive packing and redaction. Where it states no such start, or no length, copies cannot be found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from tracekit.frozen import frozen
from tracekit.model.trace import TraceInfo

COLUMNS = (
    "recording", "identity", "content", "path", "tracekit", "options", "labels",
    "calls", "samples", "device", "kind",
)  # fmt: skip
"""The columns of ``recordings`` that ``read_runs`` needs."""
_KINDS = ("xctrace-xml", "pack", "trace-bundle")
"""Kinds of files that hold what xctrace states of a recording, those that may lack tables before others.
Texts of one moment are several recordings."""
_START = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,}.*")


Labels: TypeAlias = tuple[tuple[str, str], ...]


@frozen
class Run:
    """A row of ``recordings``. Of the copies of a run, the one with the highest ``rank`` counts."""

    recording: str
    identity: str
    content: str
    path: str
    version: tuple[str, str]
    labels: Labels
    rank: tuple[int, int, bool, int, str]


@frozen
class RecordingCopy:
    """A file that does not count, because one of other content has the same runs."""

    file: Run
    counted: Run


def identify_run(info: TraceInfo) -> str:
    """Return a text that copies of a run share and other runs do not, "" where that is not certain."""
    if info.kind not in _KINDS or not info.duration_ns or not _START.fullmatch(info.start):
        return ""
    facts = "\n".join([info.start, str(info.duration_ns), info.model, info.os])
    return hashlib.sha256(facts.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def read_runs(recordings: pa.Table) -> list[Run]:
    """Return the rows of a table of recordings."""
    return [
        Run(
            row["recording"],
            row["identity"] or "",
            row["content"] or "",
            row["path"] or "",
            (row["tracekit"] or "", row["options"] or ""),
            tuple(row["labels"] or ()),
            _rank(row),
        )
        for row in recordings.select(COLUMNS).to_pylist()
    ]


def _rank(row: Mapping[str, Any]) -> tuple[int, int, bool, int, str]:
    """Return what a copy shows, the most first; the content makes it independent of the order of files."""
    kind = _KINDS.index(row["kind"]) if row["kind"] in _KINDS else 0
    return row["calls"] or 0, row["samples"] or 0, bool(row["device"]), kind, row["content"] or ""


def find_uncounted_runs(present: Sequence[Run], new: Iterable[Run]) -> list[tuple[Run, Run]]:
    """Return each run that does not count any more, or shall not, with the copy that counts.

    Of runs of other versions or options, the new one counts.
    """
    counted_runs = {run.identity: run for run in present if run.identity}
    pairs = []
    for run in new:
        rival = counted_runs.get(run.identity) if run.identity else None
        if rival is not None and rival.content == run.content:
            continue
        if rival is not None and rival.version == run.version and rival.rank > run.rank:
            pairs.append((run, rival))
            continue
        if rival is not None:
            pairs.append((rival, run))
        counted_runs[run.identity] = run
    return [(run, counted_runs[run.identity]) for run, _ in pairs]


def find_whole_copies(pairs: Sequence[tuple[Run, Run]], runs: Iterable[Run]) -> list[RecordingCopy]:
    """Return the files of which no run counts, once each."""
    excluded = {run.recording for run, _ in pairs}
    counting = {run.content for run in runs if run.recording not in excluded}
    files = {
        run.content: RecordingCopy(run, counted_run)
        for run, counted_run in pairs
        if run.content not in counting
    }
    return list(files.values())
