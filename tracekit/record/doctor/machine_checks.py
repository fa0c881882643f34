"""What may hinder a recording on this Mac besides Xcode: other recorders, disk space, rights."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tracekit.record.doctor.check import Check
from tracekit.xctrace.tool import run_command

MACHINE = (
    "other recorders",
    "sandbox",
    "debugging",
    "output folder",
    "space here",
    "space in TMPDIR",
)
_RECORDERS = ("xctrace", "Instruments")
_LOW_BYTES = 5 * 10**9
_FULL_BYTES = 10**9
_SYSTEM_LIBRARY = "/usr/lib/libSystem.B.dylib"


def _free_bytes(folder: str) -> int:
    return shutil.disk_usage(folder).free


def _is_sandboxed() -> bool | None:
    """Ask the kernel whether a sandbox holds this process, None where it does not say.

    ``sandbox_check(pid, NULL, 0)`` is what WebKit and Chromium (``Seatbelt::IsSandboxed``) ask.
    """
    try:
        answer = ctypes.CDLL(_SYSTEM_LIBRARY).sandbox_check(os.getpid(), None, 0)
    except (OSError, AttributeError):
        return None
    return {0: False, 1: True}.get(answer)


@dataclass(frozen=True)
class MachineProbe:
    """What is asked of the machine without running a command."""

    free_bytes: Callable[[str], int] = _free_bytes
    is_sandboxed: Callable[[], bool | None] = _is_sandboxed


def check_machine(machine: MachineProbe) -> tuple[Check, ...]:
    """Look for whatever is known to stop a recording."""
    return (
        _other_recorders(),
        _sandbox(machine),
        _debugging(),
        _output_folder(),
        _space(machine, "space here", Path.cwd),
        _space(machine, "space in TMPDIR", tempfile.gettempdir),
    )


def _other_recorders() -> Check:
    answer = run_command(["ps", "-axww", "-o", "pid=,comm="])
    if not answer.ok:
        return Check("other recorders", "skipped", answer.gist)
    rows = [line.strip().partition(" ") for line in answer.output.splitlines()]
    names = [(PurePosixPath(path.strip()).name, pid) for pid, _, path in rows]
    running = [f"{name} (pid {pid})" for name, pid in names if name in _RECORDERS]
    if not running:
        return Check("other recorders", "ok", "none")
    advice = "Only one can record this Mac at a time: end what it records, or wait for it."
    return Check("other recorders", "warning", ", ".join(running), advice)


def _sandbox(machine: MachineProbe) -> Check:
    inside = machine.is_sandboxed()
    if inside is None:
        return Check("sandbox", "skipped", "macOS does not say whether a sandbox holds this shell")
    if not inside:
        return Check("sandbox", "ok", "none")
    advice = "It may forbid to record, and the trace is then saved without rows: use a Terminal of your own."
    return Check("sandbox", "warning", "this shell runs in one (an editor's, an agent's or a CI's)", advice)


def _debugging() -> Check:
    answer = run_command(["DevToolsSecurity", "-status"])
    said = answer.output + answer.error
    # "Developer mode is currently enabled." or "… disabled.", as public scripts look for it.
    if "currently enabled" in said:
        return Check("debugging", "ok", "allowed without a password")
    if "currently disabled" in said:
        advice = "Where nobody can type it, as on a CI, allow it once:\nsudo DevToolsSecurity -enable"
        return Check("debugging", "warning", "macOS asks for a password before it attaches to an app", advice)
    return Check("debugging", "skipped", "DevToolsSecurity does not tell whether it is allowed")


def _output_folder() -> Check:
    if os.access(".", os.W_OK):
        return Check("output folder", "ok", "the current folder can be written to")
    advice = "Go to another folder, or name the output with its folder."
    return Check("output folder", "warning", "the current folder cannot be written to", advice)


def _space(machine: MachineProbe, name: str, folder: Callable[[], str | Path]) -> Check:
    try:
        free = machine.free_bytes(str(folder()))
    except OSError as error:
        return Check(name, "skipped", f"the disk does not tell: {error.strerror or error}")
    found = f"{free / 1e9:.1f} GB free"
    if free >= _LOW_BYTES:
        return Check(name, "ok", found)
    advice = "Free some: a recording takes up to several GB, and lies in the temporary folder first."
    return Check(name, "problem" if free < _FULL_BYTES else "warning", found, advice)
