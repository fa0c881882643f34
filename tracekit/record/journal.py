"""``X.recording.json`` beside ``X.trace``: the commands, versions and times of a recording."""

from __future__ import annotations

import json
import os
import platform
import shlex
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracekit.errors import UsageError
from tracekit.record.output_path import journal_path
from tracekit.record.recorder import CHATTER, XctraceRun
from tracekit.record.session import FLAGS, RecordingAttempt
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version

SCHEMA = "tracekit-recording/1"
_LONGEST_COMMAND = 4000
_MOST_COMMANDS = 20
COMPUTE_UNITS_VARIABLE = "TRACEKIT_COMPUTE_UNITS"
"""The variable through which an app is told which compute units to ask Core ML for."""


def write_journal(
    recording: RecordingAttempt, tool: Xctrace, version: Version, tracekit_version: str
) -> Path:
    """Write the journal, whole or not at all; it replaces that of an earlier recording of that name.

    The values of ``--env`` are left out, as they may be secrets; only the compute units stay.
    """
    path = journal_path(recording.bundle)
    earlier = _runs_of(path) if recording.settings.append else []
    content = {
        "schema": SCHEMA,
        "tracekit": tracekit_version,
        "trace": recording.bundle.name,
        "state": recording.result.state,
        "failure": str(recording.result.failure) if recording.result.failure else None,
        "run_issues": list(recording.result.notes),
        "xctrace": {"path": tool.path, "version": version.number, "build": version.build},
        "system": {"os": platform.platform(), "machine": platform.machine()},
        "plan": _plan(recording),
        "target": {"kind": recording.settings.target.kind, "name": recording.settings.target.name},
        "device": recording.settings.device.udid if recording.settings.device else None,
        "runs": [*earlier, *(_run(run, recording.settings.target_output == "-") for run in recording.runs)],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    try:
        _replace(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return path


def recorded_commands(bundle: Path) -> tuple[str, ...]:
    """Return the commands that recorded a bundle, as its journal tells them; none without a journal."""
    shown = (run.get("shell") for run in _runs_of(journal_path(bundle)) if isinstance(run, dict))
    return tuple(text[:_LONGEST_COMMAND] for text in shown if isinstance(text, str))[:_MOST_COMMANDS]


def _plan(recording: RecordingAttempt) -> dict[str, Any]:
    plan = recording.settings.plan
    return {
        "template": plan.template,
        "instruments": list(plan.instruments),
        "reasons": [list(reason) for reason in plan.reasons],
        "notes": list(plan.notes),
    }


def _run(run: XctraceRun, with_target: bool) -> dict[str, Any]:
    """Return one run; where the target's output came with xctrace's, only the latter's known lines."""
    command = hide_environment_values(run.command)
    return {
        "command": command,
        "shell": shlex.join(command),
        "exit_code": run.exit_code,
        "stopped_by": run.reason or None,
        "killed": run.killed,
        "started": _iso(run.started),
        "recording_from": _iso(run.began),
        "saving_from": _iso(run.ending),
        "ended": _iso(run.ended),
        "said": [line for line in run.said if not with_target or line.startswith(CHATTER)],
    }


def hide_environment_values(command: Sequence[str]) -> list[str]:
    """Return a command without the values of ``--env``, which may be secrets."""
    words = list(command)
    at = 2  # behind "xctrace record"
    while at < len(words) and words[at] != "--launch":
        if words[at] == "--env" and at + 1 < len(words):
            name, _, _ = words[at + 1].partition("=")
            words[at + 1] = words[at + 1] if name == COMPUTE_UNITS_VARIABLE else f"{name}=<hidden>"
        at += 1 if words[at] in FLAGS else 2  # every other option has a value, whatever that looks like
    return words


def _iso(seconds: float | None) -> str | None:
    return (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    )


def _runs_of(path: Path) -> list[Any]:
    try:
        runs = json.loads(path.read_text("utf-8"))["runs"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    return runs if isinstance(runs, list) else []


def _replace(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
