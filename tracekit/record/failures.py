"""What xctrace says when a recording goes wrong, and the way out of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SAVED = "Output file saved as: "
_NAMING = ("Starting recording", _SAVED)
"""Lines that hold names, which may be anything: an app may be called Ambiguous."""
_ISSUE = re.compile(r"\* \[(Error|Warning)\] (.+)")


@dataclass(frozen=True)
class Failure:
    """A known failure: ``code`` for programs, a sentence, and what to do about it."""

    code: str
    problem: str
    advice: str

    def __str__(self) -> str:
        return f"{self.problem} {self.advice}"


def _known(code: str, pattern: str, problem: str, advice: str) -> tuple[re.Pattern[str], Failure]:
    return re.compile(pattern, re.IGNORECASE), Failure(code, problem, advice)


# The wordings are quoted by public projects: software-mansion/argent, sforteln/xctrace-query-mcp-server,
# cmyr/cargo-instruments, callstack/agent-device, flamegraph-rs; none was seen on a Mac of ours.
_KNOWN = (
    _known(
        "licence",
        r"not agreed to the Xcode license",
        "The licence of Xcode was not accepted.",
        "Read and accept it with sudo xcodebuild -license, then record again.",
    ),
    _known(
        "process-gone",
        r"Cannot find process for provided pid",
        "xctrace finds no process of that pid: it has ended, or runs on another device.",
        "Start it again; for a simulator's or device's process name the device with --device.",
    ),
    _known(
        "no-such-process",
        r"Cannot find process matching name",
        "xctrace finds no process of that name: it does not run, or was suspended.",
        "Start the app and bring it to the front, then record again, by its pid if you can: Xcode 26.5 looks"
        " for display names, earlier ones for names of executables.",
    ),
    _known(
        "restricted",
        r"marked restricted|System Integrity Protection",
        "macOS does not let this process be traced: it is protected by System Integrity Protection.",
        "Record a process of your own, or everything with --all-processes.",
    ),
    _known(
        "attach-refused",
        r"Failed to attach to target|not allowed to attach",
        "macOS refused to attach to this process, as it does to hardened ones.",
        "Sign the app with the entitlement com.apple.security.get-task-allow (a debug build has it), or"
        " record everything with --all-processes.",
    ),
    _known(
        "recorder-busy",
        r"could not lock kperf|another session just started",
        "Another recording is at work: only one can profile this Mac or device at a time.",
        "Stop the other xctrace or Instruments (tracekit doctor lists them), wait a minute and record again.",
    ),
    _known(
        "sandbox",
        r"Could not set the recording priority",
        "The kernel refused to record: this shell runs in a sandbox (an editor's, an agent's or a CI's).",
        "Record from a Terminal of your own.",
    ),
    _known(
        "device-locked",
        r"device is locked|could not be,? unlocked|while your device is locked",
        "The device is locked.",
        "Unlock it, keep it awake, and record again.",
    ),
    _known(
        "developer-mode",
        r"Developer Mode is disabled",
        "Developer Mode is off on this device.",
        "Turn it on in Settings > Privacy & Security > Developer Mode, and record again.",
    ),
    _known(
        "device-gone",
        r"(device|connection)[^.]{0,60}(disconnected|was lost|went away|interrupted|reset)|lost connection",
        "The device went away while it was recorded.",
        "Connect it by cable, keep it unlocked, and record again.",
    ),
    _known(
        "ambiguous",
        r"\bambiguous\b",
        "xctrace finds several things of that name.",
        "Name the process by its pid, the device by its identifier (xcrun xctrace list devices).",
    ),
    _known(
        "disk-full",
        r"No space left on device|disk (is )?full|not enough (free )?(disk )?space",
        "The disk is full.",
        "Free some space, then record again, for a shorter time or with --preset minimal.",
    ),
    _known(
        "all-processes",
        r"cannot handle a target type of 'All Processes'",
        "An instrument cannot record all processes.",
        "Name one with --app, or leave that instrument out.",
    ),
    _known(
        "not-for-platform",
        r"is not supported in the Simulator|does not support the .{1,20} platform|does not have a CPU that",
        "An instrument does not work on this device.",
        "Record without it, or on another device.",
    ),
)


def explain(said: Sequence[str]) -> Failure | None:
    """Return the known failure in what xctrace said, None where it said nothing known."""
    text = "\n".join(line for line in said if not line.startswith(_NAMING))
    return next((failure for pattern, failure in _KNOWN if pattern.search(text)), None)


def saved_path(said: Sequence[str]) -> str | None:
    """Return where xctrace says it saved the recording; the last such line counts."""
    saved = [line.split(_SAVED, 1)[1].strip() for line in said if _SAVED in line]
    return saved[-1] if saved else None


def run_issues(said: Sequence[str]) -> tuple[str, ...]:
    """Return the problems of the recording that xctrace lists, as it words them."""
    found = (_ISSUE.search(line) for line in said)
    return tuple(match[2].strip() for match in found if match)
