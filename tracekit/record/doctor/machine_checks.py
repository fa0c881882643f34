"""Checks of this Mac besides Xcode: other recorders, disk space, permissions."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from tracekit.frozen import frozen
from tracekit.record.doctor.outcome import Check
from tracekit.record.leftover import find_all_leftovers
from tracekit.xctrace.tool import run_command

MACHINE_CHECKS = (
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


def _measure_free_bytes(folder: str) -> int:
    return shutil.disk_usage(folder).free


def _is_sandboxed() -> bool | None:
    """Return True if this process runs in a sandbox, None if the kernel does not report it.

    WebKit and Chromium (``Seatbelt::IsSandboxed``) call ``sandbox_check(pid, NULL, 0)``, too.
    """
    try:
        result = ctypes.CDLL(_SYSTEM_LIBRARY).sandbox_check(os.getpid(), None, 0)
    except (OSError, AttributeError):
        return None
    return {0: False, 1: True}.get(result)


@frozen
class MachineProbe:
    """Properties of the machine that need no command; tests replace them."""

    free_bytes: Callable[[str], int] = _measure_free_bytes
    is_sandboxed: Callable[[], bool | None] = _is_sandboxed


def check_machine(machine: MachineProbe) -> tuple[Check, ...]:
    """Check everything on this Mac that is known to prevent a recording."""
    return (
        _check_other_recorders(),
        _check_sandbox(machine),
        _check_debugging(),
        _check_output_folder(),
        _check_space(machine, "space here", Path.cwd),
        _check_space(machine, "space in TMPDIR", tempfile.gettempdir),
    )


def _check_other_recorders() -> Check:
    result = run_command(["ps", "-axww", "-o", "pid=,comm="])
    if not result.ok:
        return Check("other recorders", "skipped", result.last_lines)
    rows = [line.strip().partition(" ") for line in result.output.splitlines()]
    names = [(PurePosixPath(path.strip()).name, pid) for pid, _, path in rows]
    leftover_pids = {str(leftover.pid) for leftover in find_all_leftovers()}
    running = [
        f"{name} (pid {pid}{', left by a tracekit that was killed' if pid in leftover_pids else ''})"
        for name, pid in names
        if name in _RECORDERS or pid in leftover_pids
    ]
    if not running:
        return Check("other recorders", "ok", "none")
    advice = "Only one at a time can record this Mac: end the other recording, or wait for it."
    if leftover_pids:
        advice = "The next tracekit record offers to end it, and lets it save; or do so now:"
        advice = "\n".join([advice, *(f"kill -INT {pid}" for pid in sorted(leftover_pids))])
    return Check("other recorders", "warning", ", ".join(running), advice)


def _check_sandbox(machine: MachineProbe) -> Check:
    sandboxed = machine.is_sandboxed()
    if sandboxed is None:
        return Check("sandbox", "skipped", "unknown: macOS gives no answer")
    if not sandboxed:
        return Check("sandbox", "ok", "none")
    advice = "A sandbox may forbid recording: the trace is saved without rows. Use a Terminal of your own."
    return Check(
        "sandbox", "warning", "this shell runs in a sandbox (of an editor, an agent or a CI)", advice
    )


def _check_debugging() -> Check:
    result = run_command(["DevToolsSecurity", "-status"])
    status = result.output + result.error
    # "Developer mode is currently enabled." or "… disabled.", as public scripts look for it.
    if "currently enabled" in status:
        return Check("debugging", "ok", "allowed without a password")
    if "currently disabled" in status:
        advice = "On a machine without a user, such as a CI, allow it once:\nsudo DevToolsSecurity -enable"
        return Check("debugging", "warning", "macOS asks for a password before it attaches to an app", advice)
    return Check("debugging", "skipped", "unknown: DevToolsSecurity gives no answer")


def _check_output_folder() -> Check:
    if os.access(".", os.W_OK):
        return Check("output folder", "ok", "the current folder can be written to")
    advice = "Change to another folder, or name the output with its folder."
    return Check("output folder", "warning", "the current folder cannot be written to", advice)


def _check_space(machine: MachineProbe, name: str, folder: Callable[[], str | Path]) -> Check:
    try:
        free = machine.free_bytes(str(folder()))
    except OSError as error:
        return Check(name, "skipped", f"unknown: {error.strerror or error}")
    finding = f"{free / 1e9:.1f} GB free"
    if free >= _LOW_BYTES:
        return Check(name, "ok", finding)
    advice = (
        "Free some space: a recording takes up to several GB, and is written to the temporary folder first."
    )
    return Check(name, "problem" if free < _FULL_BYTES else "warning", finding, advice)
