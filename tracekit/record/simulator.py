"""Simulators whose recording by ``--device`` does not come to its end are recorded through this Mac.

A simulator's processes are processes of this Mac. From Xcode 26.4 to 27.0 a recording of a simulator
deadlocks at its end (software-mansion/argent#330, #350, #380), and argent records all processes of the Mac
instead. No later Xcode is known to be free of it.
"""

from __future__ import annotations

from tracekit.errors import UsageError
from tracekit.record.target import ALL_PROCESSES, Target
from tracekit.text import format_shell_command
from tracekit.xctrace.version import Version
from tracekit.xctrace.xctrace_list import Device

FIRST_HANGING = "17E"
"""The first family of builds, Xcode 26.4."""
NO_ENGINES_OF_DEVICE = (
    "A simulator runs models on this Mac's CPU and GPU: its recording does not show a device's engines."
)


def must_record_through_mac(device: Device | None, version: Version) -> bool:
    """Return True for a simulator that this Xcode does not record to the end."""
    return device is not None and device.kind == "simulator" and version.is_since(FIRST_HANGING)


def move_to_mac(target: Target, device: Device) -> Target:
    """Return the target of a simulator as one of this Mac: all its processes, with the app's pid.

    Raises ``UsageError`` for a program to start, which this Mac would start outside of the simulator.
    """
    if target.kind == "launch":
        raise UsageError(
            f"{target.name} cannot be started in {device.name}: xctrace of Xcode 26.4 to 27.0 does not end a"
            " recording with --device SIMULATOR, and no later one is known to. Start the app there first,"
            " with its arguments and variables, and record it by its name or pid:",
            format_shell_command(["xcrun", "simctl", "launch", device.udid, "BUNDLE-IDENTIFIER"]),
        )
    if target.kind == "all":
        return ALL_PROCESSES
    reason = f"pid {target.locator} in {device.name}; all processes of this Mac are recorded"
    return Target("all", target.name, target.locator, reason=reason)


def refuse_turns(device: Device) -> str:
    """Return why two apps of a simulator cannot take turns: each recording would hold both."""
    return (
        f"--interleave: {device.name} is recorded with all processes of this Mac, so that each recording"
        " would hold both targets. Record them one after the other, and compare the recordings."
    )


def describe_way_through_mac(device: Device) -> str:
    """Return the note on a recording that was moved."""
    return (
        f"{device.name} is recorded through this Mac, with all processes of the Mac: xctrace of Xcode 26.4 to"
        " 27.0 does not end a recording with --device SIMULATOR, and no later one is known to."
    )
