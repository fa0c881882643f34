"""The tools around xctrace: xcrun (with devicectl), xcode-select, ps, mdfind."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from fake_xctrace.machine import Console, Machine, Refusal, birth, read_settings, write_settings

XCODE = "/Applications/Xcode.app/Contents/Developer"
TOOLS = "/Library/Developer/CommandLineTools"

_LICENCE = (
    "You have not agreed to the Xcode license agreements. Please run 'sudo xcodebuild -license' from within a"
    " Terminal window to review and agree to the Xcode and Apple SDKs license."
)


def developer_folder(machine: Machine) -> str | None:
    """Return the selected folder; DEVELOPER_DIR overrides `xcode-select --switch`."""
    selected = {"command-line-tools": TOOLS, "none": None}.get(machine["xcode"], XCODE)
    return machine.environment.get("DEVELOPER_DIR") or selected


def check_xctrace(machine: Machine) -> None:
    """Refuse to be xctrace where the machine has no usable Xcode (texts: Apple's, as quoted in public issues)."""
    folder = developer_folder(machine)
    if folder is None:
        raise Refusal("xcode-select: note: No developer tools were found, requesting install.")
    if folder == TOOLS:
        raise Refusal(
            "xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory"
            f" '{folder}' is a command line tools instance"
        )
    if machine["xcode"] == "licence":
        raise Refusal(_LICENCE, 69)


def xcrun(machine: Machine, arguments: list[str], console: Console) -> int:
    """Run `--find TOOL`, `-f TOOL` or `TOOL ARGUMENTS`."""
    if not arguments:
        raise Refusal("usage: xcrun [options] <tool name> ... arguments ...", 64)  # invented wording
    folder = developer_folder(machine)
    if folder is None:
        raise Refusal(
            f"xcrun: error: invalid active developer path ({TOOLS}), missing xcrun at: {TOOLS}/usr/bin/xcrun"
        )
    if not folder.startswith(("/Applications/", TOOLS)) and not Path(folder).is_dir():
        raise Refusal(f"xcrun: error: missing DEVELOPER_DIR path: {folder}")
    if machine["xcode"] == "licence":
        raise Refusal(_LICENCE, 69)
    find = arguments[0] in {"--find", "-f"}
    tool, *left = arguments[1:] if find else arguments
    if tool not in {"xctrace", "devicectl"} or folder == TOOLS:
        raise Refusal(f'xcrun: error: unable to find utility "{tool}", not a developer tool or in PATH', 72)
    path = machine.folder / tool
    if find:
        console.write(str(path))
        return 0
    if tool == "devicectl":
        return _devicectl(machine, left, console)
    return machine.execute(path, [tool, *left])


def _devicectl(machine: Machine, arguments: list[str], console: Console) -> int:
    """Run `device info details --device UDID`, which wakes a healthy phone listed under Offline."""
    if (
        arguments[:3] != ["device", "info", "details"]
        or arguments[3:4] != ["--device"]
        or len(arguments) != 5
    ):
        raise Refusal("Error: Unexpected arguments", 64)  # invented wording
    udid = arguments[4]
    asleep = [device for device in machine["offline"] if device["udid"] == udid and device.get("wakes", True)]
    if not asleep and all(device["udid"] != udid for device in machine["devices"]):
        raise Refusal("ERROR: The specified device was not found. (com.apple.dt.CoreDeviceError error 1000)")
    if asleep:
        offline = [device for device in machine["offline"] if device not in asleep]
        devices = [*machine["devices"], *asleep]
        write_settings(
            machine.folder, {**read_settings(machine.folder), "offline": offline, "devices": devices}
        )
    console.write(f"Current device details:\n  • udid: {udid}")
    return 0


def xcode_select(machine: Machine, arguments: list[str], console: Console) -> int:
    if arguments not in (["-p"], ["--print-path"]):
        raise Refusal("xcode-select: error: unknown command option", 1)  # invented wording
    folder = developer_folder(machine)
    if folder is None:
        raise Refusal(
            "xcode-select: error: unable to get active developer directory, use `sudo xcode-select --switch"
            " path/to/Xcode.app` to set one (or see `man xcode-select`)",
            2,
        )
    console.write(folder)
    return 0


def ps(machine: Machine, arguments: list[str], console: Console) -> int:
    if arguments[:1] == ["-ww"] and arguments[-2] == "-p":
        return _ps_of_one(machine, int(arguments[-1]), arguments[1:-2], console)
    if arguments != ["-axww", "-o", "pid=,comm="]:
        raise Refusal(f"ps: fake xctrace does not support these arguments: {arguments}")
    for process in machine["processes"]:
        console.write(f"{process['pid']:5} {process['path']}")
    return 0


def _ps_of_one(machine: Machine, pid: int, columns: list[str], console: Console) -> int:
    """Print when a fake program started, and its command line, as `ps -ww -o lstart= -o command= -p PID`."""
    if columns != ["-o", "lstart=", "-o", "command="]:
        raise Refusal(f"ps: fake xctrace does not support these columns: {columns}")
    calls = [json.loads(line) for line in (machine.folder / "calls.jsonl").read_text("utf-8").splitlines()]
    call = next((call for call in calls if call["pid"] == pid and call["born"] == birth(pid)), None)
    if call is None or call["born"] is None:
        return 1
    console.write(" ".join([time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(call["time"])), *call["argv"]]))
    return 0


def mdfind(machine: Machine, arguments: list[str], console: Console) -> int:
    query = re.fullmatch(
        r"kMDItemCFBundleIdentifier == '([^']*)'", arguments[0] if len(arguments) == 1 else ""
    )
    if not query:
        raise Refusal("Failed to create query for the given arguments")  # invented wording
    paths = machine["apps"].get(query[1], [])
    for path in [paths] if isinstance(paths, str) else paths:
        console.write(path)
    return 0
