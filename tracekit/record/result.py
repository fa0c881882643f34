"""What a recording came to: the bundle decides, not xctrace's exit code.

xctrace returns 54 or its target's status with a good recording saved, and 0 with an empty one
(flamegraph-rs, CharlesWiltgen/Axiom; reported by several projects, documented by none).
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tracekit.errors import InputError, XctraceError
from tracekit.model.schemas import SAMPLE_TABLES
from tracekit.model.trace import RunInfo
from tracekit.parsers.bundle.container import open_bundle_files
from tracekit.parsers.bundle.source import BundleSource
from tracekit.record.failures import Failure, explain, run_issues, saved_path
from tracekit.record.output_path import unused_path
from tracekit.record.recorder import XctraceRun
from tracekit.xctrace.source import XctraceSource
from tracekit.xctrace.tool import Xctrace

State: TypeAlias = Literal["good", "empty", "unfinished", "unreadable", "missing"]

_TEMPLATE = "form.template"
"""Written when a recording is saved; without it nothing of Apple's opens the bundle."""


@dataclass(frozen=True)
class RecordingResult:
    """A recording's state, the failure that explains it if one is known, and what xctrace noted."""

    state: State
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    detail: str = ""

    @property
    def usable(self) -> bool:
        """True when there is something to analyse."""
        return self.state in {"good", "empty"}


def run_numbers(bundle: Path, tool: Xctrace) -> frozenset[int]:
    """Return the numbers of the runs that a bundle holds, none where it cannot be read."""
    try:
        return frozenset(run.info.run for run in _toc(bundle, tool))
    except (InputError, XctraceError):
        return frozenset()


def judge_result(
    bundle: Path, run: XctraceRun, tool: Xctrace, earlier: frozenset[int] = frozenset()
) -> RecordingResult:
    """Look at what was saved, and at what xctrace said; ``earlier`` are runs that were there before."""
    state, detail = _state(bundle, tool, earlier)
    unsaid = bool(run.said) and saved_path(run.said) is None
    if earlier and state in {"good", "empty"} and unsaid:
        state = "unfinished"  # what it holds may be the earlier runs', and the new one half-written
    failure = explain(run.said) if state != "good" else None
    return RecordingResult(state, failure, run_issues(run.said), detail)


def _state(bundle: Path, tool: Xctrace, earlier: frozenset[int]) -> tuple[State, str]:
    if not bundle.is_dir():
        return "missing", ""
    if not (bundle / _TEMPLATE).exists():
        return "unfinished", ""
    try:
        runs = [run for run in _toc(bundle, tool) if run.info.run not in earlier]
    except (InputError, XctraceError) as error:
        return ("unfinished" if "Missing Template" in str(error) else "unreadable"), str(error)
    if not runs:
        begun = len(list(bundle.glob("*.run"))) > len(earlier)
        return ("unfinished" if begun else "missing"), ""
    sampled = [table.row_count for table in runs[-1].tables if table.schema in SAMPLE_TABLES]
    return ("empty" if sampled and all(rows == 0 for rows in sampled) else "good"), ""


def _toc(bundle: Path, tool: Xctrace) -> tuple[RunInfo, ...]:
    """Return the table of contents, natively and, where that fails, as xctrace exports it."""
    try:
        return BundleSource(open_bundle_files(str(bundle), bundle.name), str(bundle)).toc()
    except InputError:
        return XctraceSource(tool, str(bundle), bundle.name).toc()


def recovery_command(bundle: Path, tool: Xctrace) -> str:
    """Return the command that makes a recording of an unfinished bundle's raw data, "" if it holds none."""
    raw = sorted(path for path in bundle.glob("*.run/Attachments/*.atrc") if path.is_file())
    if not raw:
        return ""
    output = unused_path(bundle, "recovered")
    words = [
        tool.path,
        "import",
        "--input",
        str(raw[0]),
        "--template",
        "Time Profiler",
        "--output",
        str(output),
    ]
    return shlex.join(words)
