"""Messages about a finished recording: success with its notes, or the failure and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.errors import XctraceError
from tracekit.record.output_path import build_journal_path
from tracekit.record.recorder import XCTRACE_LINES, XctraceRun
from tracekit.record.recording_result import ResultState, build_recovery_command
from tracekit.record.session import RecordingAttempt
from tracekit.text import format_size, printable
from tracekit.xctrace.tool import Xctrace

_MAX_NOTES = 5
_LAST_LINES = 3
_MAX_LINE_LENGTH = 300


def format_saved_message(recording: RecordingAttempt) -> str:
    """Return the lines about a recording that can be analysed, with xctrace's notes."""
    run = recording.runs[-1]
    seconds = run.ended - (run.saving_from or run.ended)
    size = sum(path.lstat().st_size for path in recording.bundle.rglob("*") if path.is_file())
    lines = [f"Saved {recording.bundle} ({format_size(size)}) in {seconds:.1f} s"]
    notes = recording.result.notes
    lines += [f"xctrace reports: {note}" for note in notes[:_MAX_NOTES]]
    if len(notes) > _MAX_NOTES:
        lines.append(
            f"xctrace reports {len(notes) - _MAX_NOTES} more: see {build_journal_path(recording.bundle)}"
        )
    if run.stop_reason == "disk":
        lines.append("It is shorter than requested: the disk was nearly full.")
    target = recording.settings.target
    if target.pid_among_all is not None:
        lines.append(
            f"It holds all processes of this Mac; {target.name} is the process {target.pid_among_all}."
        )
    if recording.result.state == "empty":
        cause = recording.result.failure or "The target may have been idle, or have ended at once."
        lines.append(f"It has no samples. {cause}")
    return "\n".join(map(printable, lines))


def build_recording_error(recording: RecordingAttempt, tool: Xctrace) -> XctraceError:
    """Return the error for a recording that cannot be used."""
    run, result = recording.runs[-1], recording.result
    cause = _explain_stop(run)
    state = _describe_state(recording, result.state)
    failure = str(result.failure) if result.failure else _describe_output(run.output, run.exit_code)
    parts = [f"{state}: {cause}." if cause else f"{state}.", failure, result.detail]
    command = build_recovery_command(recording.bundle, tool) if result.state == "unfinished" else ""
    if result.state == "unfinished":
        parts.append("This command may recover the raw data (untested):" if command else "Record again.")
    return XctraceError(" ".join(part for part in parts if part), *([command] if command else []))


def _describe_state(recording: RecordingAttempt, state: ResultState) -> str:
    if state == "missing":
        unchanged = f"; {recording.final} is unchanged" if recording.settings.append else ""
        return f"Nothing was recorded{unchanged}"
    if state == "refused":
        return f"Nothing was recorded: {recording.bundle} has tables without rows"
    description = {"unreadable": "cannot be read", "empty": "has no samples"}.get(state, "was not finished")
    return f"{recording.bundle} {description}"


def _explain_stop(run: XctraceRun) -> str:
    """Return the reason why the run was ended, "" where xctrace ended it by itself."""
    began = run.recording_from is not None
    return {
        "insisted": "xctrace was killed while it was saving, after a repeated stop request",
        "silent": "xctrace showed no activity while it was saving (--save-timeout) and was killed",
        "asked": "it was stopped, and xctrace did not save it" if began else "it was stopped before it began",
        "overdue": "xctrace did not stop at its time limit",
        "disk": "the disk was nearly full",
        "": f"xctrace was ended by signal {-run.exit_code}" if run.exit_code < 0 else "",
    }[run.stop_reason]


def _describe_output(output: Sequence[str], exit_code: int) -> str:
    """Return the last lines of xctrace that are more than its usual progress."""
    unusual = [line for line in output if not line.startswith(XCTRACE_LINES)]
    if unusual:
        message = " ".join(line[:_MAX_LINE_LENGTH] for line in unusual[-_LAST_LINES:])
        return f"xctrace reported: {message.rstrip('.')}."
    return "" if output else f"xctrace wrote no message (exit code {exit_code})."
