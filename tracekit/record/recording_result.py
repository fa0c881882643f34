"""The result of a recording, judged by its bundle and not by xctrace's exit code.

xctrace returns 54 or its target's status with a good recording saved, and 0 with an empty one
(flamegraph-rs, CharlesWiltgen/Axiom; reported by several projects, documented by none).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tracekit.errors import InputError, XctraceError
from tracekit.frozen import frozen
from tracekit.model.schemas import SAMPLE_TABLES
from tracekit.record.output_path import find_unused_path
from tracekit.record.recorder import XctraceRun
from tracekit.record.xctrace_failures import (
    REFUSED,
    Failure,
    find_known_failure,
    find_saved_path,
    list_run_issues,
)
from tracekit.text import format_shell_command
from tracekit.xctrace.tool import Xctrace

if TYPE_CHECKING:
    from tracekit.model.trace import RunInfo

ResultState: TypeAlias = Literal["good", "empty", "refused", "unfinished", "unreadable", "missing"]
"""Written to the journal. "empty" has no samples; in "refused" nothing was recorded."""

_TEMPLATE = "form.template"
"""Written last, when a recording is saved; without it nothing of Apple's opens the bundle."""


@frozen
class RecordingResult:
    """The state of a recording, the failure that explains it if one is known, and xctrace's own notes."""

    state: ResultState
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    detail: str = ""

    @property
    def is_analyzable(self) -> bool:
        """True when the bundle can be analysed; an empty one only if no known failure emptied it."""
        return self.state == "good" or (self.state == "empty" and self.failure is None)


def read_run_numbers(bundle: Path, tool: Xctrace) -> frozenset[int]:
    """Return the numbers of the runs in a bundle; none if it cannot be read."""
    try:
        return frozenset(run.info.run for run in _read_toc(bundle, tool))
    except (InputError, XctraceError):
        return frozenset()


def judge_result(
    bundle: Path, run: XctraceRun, tool: Xctrace, earlier_runs: frozenset[int] = frozenset()
) -> RecordingResult:
    """Return the result from the saved bundle and xctrace's output.

    ``earlier_runs`` are the runs that the bundle held before.
    """
    state, detail = _judge_state(bundle, tool, earlier_runs)
    not_reported_as_saved = bool(run.output) and find_saved_path(run.output) is None
    if earlier_runs and state in {"good", "empty"} and not_reported_as_saved:
        state = "unfinished"  # its template may be that of the earlier runs, and the new run half-written
    failure = find_known_failure(run.output) if state != "good" else None
    if state == "empty" and failure is not None and failure.code == REFUSED:
        state = "refused"
    return RecordingResult(state, failure, list_run_issues(run.output), detail)


def _judge_state(bundle: Path, tool: Xctrace, earlier_runs: frozenset[int]) -> tuple[ResultState, str]:
    if not bundle.is_dir():
        return "missing", ""
    if not (bundle / _TEMPLATE).exists():
        return "unfinished", ""
    try:
        runs = [run for run in _read_toc(bundle, tool) if run.info.run not in earlier_runs]
    except (InputError, XctraceError) as error:
        return ("unfinished" if "Missing Template" in str(error) else "unreadable"), str(error)
    if not runs:
        has_unlisted_run = len(list(bundle.glob("*.run"))) > len(earlier_runs)
        return ("unfinished" if has_unlisted_run else "missing"), ""
    # An unknown count (None) is not an empty table.
    sample_counts = [table.row_count for table in runs[-1].tables if table.schema in SAMPLE_TABLES]
    return ("empty" if sample_counts and all(count == 0 for count in sample_counts) else "good"), ""


def _read_toc(bundle: Path, tool: Xctrace) -> tuple[RunInfo, ...]:
    """Return the table of contents, read natively or, where that fails, exported by xctrace."""
    # The readers need pandas, whose import would delay the start of every recording.
    from tracekit.parsers.bundle.bundle_source import BundleSource
    from tracekit.parsers.bundle.container import open_bundle_files
    from tracekit.xctrace.xctrace_source import XctraceSource

    try:
        files = open_bundle_files(str(bundle), bundle.name)
        return BundleSource(files, str(bundle), counted_schemas=SAMPLE_TABLES).toc()
    except InputError:
        return XctraceSource(tool, str(bundle), bundle.name).toc()


def build_recovery_command(bundle: Path, tool: Xctrace) -> str:
    """Return the command that imports the raw data of an unfinished bundle; "" if it holds none."""
    raw_files = sorted(path for path in bundle.glob("*.run/Attachments/*.atrc") if path.is_file())
    if not raw_files:
        return ""
    output = find_unused_path(bundle, "recovered")
    command = [tool.path, "import", "--input", str(raw_files[0])]
    command += ["--template", "Time Profiler", "--output", str(output)]
    return format_shell_command(command)
