"""The journal ``X.recording.json`` beside ``X.trace``: commands, versions and times of a recording."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tracekit.errors import UsageError
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.record.interleaving import SeriesPlace
from tracekit.record.output_path import build_journal_path
from tracekit.record.recorder import XCTRACE_LINES, XctraceRun
from tracekit.record.session import FLAGS, RecordingAttempt
from tracekit.record.target import Target
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version

SCHEMA = "tracekit-recording/1"
_MAX_COMMAND_LENGTH = 4000
_MAX_COMMANDS = 20
_MAX_FILES = 20
_REMOTE = re.compile(r"[/\\\\]{2}")
COMPUTE_UNITS_VARIABLE = "TRACEKIT_COMPUTE_UNITS"
"""The environment variable that passes the compute units to the app, which requests them from Core ML."""


def write_journal(
    recording: RecordingAttempt,
    tool: Xctrace,
    version: Version,
    tracekit_version: str,
    place: SeriesPlace | None = None,
) -> Path:
    """Write the journal, whole or not at all, and return its path; it replaces one of that name.

    The values of ``--env`` are left out, because they may be secrets; only the compute units stay.
    """
    path = build_journal_path(recording.bundle)
    # A further run in the same bundle extends its journal; a new recording of that name replaces it.
    earlier = _read_runs(path) if recording.settings.append else []
    content = {
        "schema": SCHEMA,
        "tracekit": tracekit_version,
        "trace": recording.bundle.name,
        "state": recording.result.state,
        "failure": str(recording.result.failure) if recording.result.failure else None,
        "run_issues": list(recording.result.notes),
        "xctrace": {"path": tool.path, "version": version.number, "build": version.build},
        "system": {"os": platform.platform(), "machine": platform.machine()},
        "plan": _describe_plan(recording),
        "target": _describe_target(recording.settings.target),
        "device": recording.settings.device.udid if recording.settings.device else None,
        "simulator": recording.settings.simulator.udid if recording.settings.simulator else None,
        "with": list(recording.settings.companions),
        "models": list(recording.settings.models),
        "plans": list(recording.settings.plans),
        "interleaved": asdict(place) if place else None,
        "runs": [
            *earlier,
            *(_describe_run(run, recording.settings.target_output == "-") for run in recording.runs),
        ],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    try:
        _replace_file(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return path


def read_recorded_commands(bundle: Path) -> tuple[str, ...]:
    """Return the commands that recorded a bundle, from its journal; none without a journal."""
    commands = (run.get("shell") for run in _read_runs(build_journal_path(bundle)) if isinstance(run, dict))
    return tuple(text[:_MAX_COMMAND_LENGTH] for text in commands if isinstance(text, str))[:_MAX_COMMANDS]


def read_recorded_compute_units(bundle: Path) -> str:
    """Return the setting of the compute units that a bundle was recorded with, from its journal.

    It is "" where the journal has none, or its runs have different ones.
    """
    settings = {_read_compute_units(run) for run in _read_runs(build_journal_path(bundle))}
    return settings.pop() if len(settings) == 1 else ""


def read_recorded_files(bundle: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the models and the plans that were noted with a bundle, each as ``[NAME=]FILE``."""
    content = _read_content(build_journal_path(bundle))
    models, plans = (content.get(name) for name in ("models", "plans"))
    return tuple(_iter_files(models)), tuple(_iter_files(plans))


def _iter_files(entries: object) -> Iterator[str]:
    """Yield the entries of a list that are files of this machine, not addresses of another one."""
    for entry in entries[:_MAX_FILES] if isinstance(entries, list) else ():
        if isinstance(entry, str) and len(entry) <= _MAX_COMMAND_LENGTH and not _REMOTE.search(entry):
            yield entry


def find_compute_units(environment: Sequence[tuple[str, str]]) -> str:
    """Return the setting of the compute units that an environment passes to the app; "" for none."""
    setting = dict(environment).get(COMPUTE_UNITS_VARIABLE, "")
    return setting if setting in COMPUTE_UNITS else ""


def _read_compute_units(run: object) -> str:
    words = run.get("command") if isinstance(run, dict) else None
    texts = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    pairs = [word.partition("=") for option, word in pairwise(texts) if option == "--env"]
    return find_compute_units([(name, value) for name, _, value in pairs])


def _describe_target(target: Target) -> dict[str, Any]:
    return {"kind": target.kind, "name": target.name, "pid": target.pid_among_all}


def _describe_plan(recording: RecordingAttempt) -> dict[str, Any]:
    plan = recording.settings.plan
    return {
        "template": plan.template,
        "instruments": list(plan.instruments),
        "reasons": [list(reason) for reason in plan.reasons],
        "notes": list(plan.notes),
    }


def _describe_run(run: XctraceRun, shares_output: bool) -> dict[str, Any]:
    """Return one run; where the target shares xctrace's output, with xctrace's own lines only."""
    command = hide_environment_values(run.command)
    return {
        "command": command,
        "shell": shlex.join(command),
        "exit_code": run.exit_code,
        "stopped_by": run.stop_reason or None,
        "killed": run.killed,
        "started": _format_time(run.started),
        "recording_from": _format_time(run.recording_from),
        "saving_from": _format_time(run.saving_from),
        "ended": _format_time(run.ended),
        "said": [line for line in run.output if not shares_output or line.startswith(XCTRACE_LINES)],
    }


def hide_environment_values(command: Sequence[str]) -> list[str]:
    """Return a command without the values of ``--env``, which may be secrets."""
    words = list(command)
    index = 2  # after "xctrace record"
    # Word by word, because a value may look like an option; the target's words after --launch are not ours.
    while index < len(words) and words[index] != "--launch":
        if words[index] == "--env" and index + 1 < len(words):
            name, _, _ = words[index + 1].partition("=")
            words[index + 1] = words[index + 1] if name == COMPUTE_UNITS_VARIABLE else f"{name}=<hidden>"
        index += 1 if words[index] in FLAGS else 2  # every other option has a value
    return words


def _format_time(seconds: float | None) -> str | None:
    return (
        None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    )


def _read_runs(path: Path) -> list[Any]:
    runs = _read_content(path).get("runs")
    return runs if isinstance(runs, list) else []


def _read_content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _replace_file(path: Path, data: bytes) -> None:
    # In the same folder, because only there is the renaming atomic: readers see the old journal or the new
    # one.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
