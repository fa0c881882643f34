"""How an attempt to record stands: a file in its folder that its process writes, and any server reads."""

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
"""Held while the process of an attempt lives; there when the attempt is not to be kept."""
_FILE, _NEW = "state.json", "state.json.new"
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Made:
    """A recording that can be read: its name in the attempt's folder, and what its reader should know."""

    name: str
    compute_units: str = ""
    note: str = ""


@dataclass(frozen=True)
class State:
    """``began`` and ``insist_until`` are seconds since the epoch, 0 where it is not so far.

    ``message`` says why nothing, or not all, was recorded, and ``command`` what may recover ``left``, the
    bundle of an unfinished recording. "lost" is what a process left that was ended from outside.
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
    made: tuple[Made, ...] = ()
    message: str = ""
    command: str = ""
    left: str = ""


def write_state(folder: Path, state: State) -> bool:
    """Replace the state; False where the disk does not take it, which is no reason to lose a recording."""
    new = folder / _NEW
    try:
        new.write_text(json.dumps(asdict(state)), "utf-8", "replace")
        new.replace(folder / _FILE)
    except OSError:
        with suppress(OSError):
            new.unlink()
        return False
    return True


def read_state(folder: Path) -> State | None:
    """Return the state; None for a folder without one: its recordings are in the library."""
    try:
        with (folder / _FILE).open("rb") as file:
            found: dict[str, Any] = json.loads(file.read(_MOST_BYTES))
        return State(**{**found, "made": tuple(Made(**one) for one in found["made"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def being_saved(recorded: Path) -> list[str]:
    """Return what is still being recorded or saved below the folder of all attempts."""
    found = (read_state(one) for one in sorted(recorded.glob("*")))
    return [state.what for state in found if state is not None and state.phase in LIVE]


def forget_state(folder: Path) -> None:
    """Remove the state: all that it tells is told."""
    with suppress(OSError):
        os.unlink(folder / _FILE)  # noqa: PTH108
