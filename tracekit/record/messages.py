"""What to tell about a finished recording: what it came to, what is left of it, and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.errors import XctraceError
from tracekit.record.output_path import journal_path
from tracekit.record.recorder import CHATTER, XctraceRun
from tracekit.record.result import State, recovery_command
from tracekit.record.session import RecordingAttempt
from tracekit.xctrace.tool import Xctrace

_MOST_NOTES = 5
_LAST_LINES = 3
_LONGEST_LINE = 300


def size_text(size_bytes: int) -> str:
    """Return a size as people read it."""
    return f"{size_bytes / 1e6:,.1f} MB" if size_bytes < 10**9 else f"{size_bytes / 1e9:,.2f} GB"


def saved_message(recording: RecordingAttempt) -> str:
    """Return lines on a recording that can be analysed, and what xctrace noted about it."""
    run = recording.runs[-1]
    seconds = run.ended - (run.ending or run.ended)
    size = sum(path.lstat().st_size for path in recording.bundle.rglob("*") if path.is_file())
    lines = [f"Saved {recording.bundle} ({size_text(size)}) in {seconds:.1f} s"]
    notes = recording.result.notes
    lines += [f"xctrace reports: {note}" for note in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        lines.append(f"xctrace reports {len(notes) - _MOST_NOTES} more: see {journal_path(recording.bundle)}")
    if run.reason == "disk":
        lines.append("It is shorter than asked for: the disk was nearly full.")
    if recording.result.state == "empty":
        why = recording.result.failure or "The target may have been idle, or have ended at once."
        lines.append(f"It holds no sample. {why}")
    return "\n".join(lines)


def recording_error(recording: RecordingAttempt, tool: Xctrace) -> XctraceError:
    """Return the error of a recording that cannot be used."""
    run, outcome = recording.runs[-1], recording.result
    why = _why(run)
    told = f"{_state(recording, outcome.state)}: {why}." if why else f"{_state(recording, outcome.state)}."
    said = str(outcome.failure) if outcome.failure else _said(run.said, run.exit_code)
    parts = [told, said, outcome.detail]
    command = recovery_command(recording.bundle, tool) if outcome.state == "unfinished" else ""
    if outcome.state == "unfinished":
        parts.append("This recovers what was recorded (not tried by us):" if command else "Record again.")
    return XctraceError(" ".join(part for part in parts if part), *([command] if command else []))


def _state(recording: RecordingAttempt, state: State) -> str:
    if state == "missing":
        kept = f"; {recording.final} is as it was" if recording.settings.append else ""
        return f"Nothing was recorded{kept}"
    told = {"unreadable": "cannot be read", "empty": "holds no sample"}.get(state, "was not finished")
    return f"{recording.bundle} {told}"


def _why(run: XctraceRun) -> str:
    began = run.began is not None
    return {
        "insisted": "xctrace was killed while it saved, as you insisted",
        "silent": "xctrace gave no sign of life while it saved (--save-timeout) and was ended",
        "asked": "it was stopped, and xctrace did not save it" if began else "it was stopped before it began",
        "overdue": "xctrace did not end by itself at its time limit",
        "disk": "the disk was nearly full",
        "": f"xctrace was ended by signal {-run.exit_code}" if run.exit_code < 0 else "",
    }[run.reason]


def _said(said: Sequence[str], code: int) -> str:
    telling = [line for line in said if not line.startswith(CHATTER)]
    if telling:
        said_last = " ".join(line[:_LONGEST_LINE] for line in telling[-_LAST_LINES:])
        return f"xctrace said: {said_last.rstrip('.')}."
    return "" if said else f"xctrace said nothing (exit code {code})."
