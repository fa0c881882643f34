"""State of a recording attempt: a file in its folder that its worker writes and any server reads."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

Phase: TypeAlias = Literal["preparing", "recording", "saving", "done", "failed", "discarded", "lost"]
LIVE: tuple[Phase, ...] = ("preparing", "recording", "saving")
LOCK, DISCARD = "lock", "discard"
"""The lock is held while the worker of an attempt runs; the other file exists if the attempt is discarded."""
_FILE, _NEW = "state.json", "state.json.new"
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class MadeRecording:
    """A readable recording: its name in the attempt's folder, and a note for its reader."""

    name: str
    compute_units: str = ""
    note: str = ""


@dataclass(frozen=True)
class AttemptState:
    """The state of an attempt; ``began`` and ``insist_until`` are seconds since the epoch, 0 for not yet.

    ``message`` is the reason of a failure, ``command`` may recover ``left``, the bundle of an unfinished
    recording. In the phase "lost", the worker was killed.
    """

    phase: Phase
    what: str
    limit_seconds: float
    number: int = 1
    count: int = 1
    compute_units: str = ""
    began: float = 0.0
    size_bytes: int = 0
    note: str = ""
    insist_until: float = 0.0
    made: tuple[MadeRecording, ...] = ()
    message: str = ""
    command: str = ""
    left: str = ""


def write_state(folder: Path, state: AttemptState) -> bool:
    """Replace the state, and return False if the disk is full, which must not end a recording."""
    # Written beside and renamed, so that a reader sees a whole state, the old one or the new one.
    new = folder / _NEW
    try:
        new.write_text(json.dumps(asdict(state)), "utf-8", "replace")
        new.replace(folder / _FILE)
    except OSError:
        with suppress(OSError):
            new.unlink()
        return False
    return True


def read_state(folder: Path) -> AttemptState | None:
    """Return the state; None for a folder without a state, whose recordings are in the library."""
    try:
        with (folder / _FILE).open("rb") as file:
            values: dict[str, Any] = json.loads(file.read(_MAX_BYTES))
        return AttemptState(
            **{**values, "made": tuple(MadeRecording(**recording) for recording in values["made"])}
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def list_being_saved(recorded: Path) -> list[str]:
    """Return the targets that are still being recorded or saved below the folder of all attempts."""
    states = (read_state(folder) for folder in sorted(recorded.glob("*")))
    return [state.what for state in states if state is not None and state.phase in LIVE]


def forget_state(folder: Path) -> None:
    """Remove the state of an attempt that is over."""
    with suppress(OSError):
        os.unlink(folder / _FILE)  # noqa: PTH108
