"""Known failures of xctrace, recognised by its messages, with the way out of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracekit.frozen import frozen
from tracekit.model.issue_codes import REFUSED_RECORDING

REFUSED = "refused"
"""The code of the failure that leaves tables without rows."""

_SAVED = "Output file saved as: "
_NAMING = ("Starting recording", _SAVED)
"""Lines with names, which are not searched: an app may be called Ambiguous."""
_ISSUE = re.compile(r"\* \[(Error|Warning)\] (.+)")


@frozen
class Failure:
    """A known failure: ``code`` for programs, the problem as a sentence, and the advice."""

    code: str
    problem: str
    advice: str

    def __str__(self) -> str:
        return f"{self.problem} {self.advice}"


def _build_entry(code: str, pattern: str, problem: str, advice: str) -> tuple[re.Pattern[str], Failure]:
    return re.compile(pattern, re.IGNORECASE), Failure(code, problem, advice)


# The messages are quoted by public projects: software-mansion/argent, sforteln/xctrace-query-mcp-server,
# cmyr/cargo-instruments, callstack/agent-device, flamegraph-rs; untried (proof/claims.toml: attach-refused).
_FAILURES = (
    _build_entry(
        "licence",
        r"not agreed to the Xcode license",
        "The licence of Xcode was not accepted.",
        "Read and accept it with sudo xcodebuild -license, then record again.",
    ),
    _build_entry(
        "process-gone",
        r"Cannot find process for provided pid",
        "xctrace finds no process with that pid: it has ended, or runs on another device.",
        "Start it again. For a process on a simulator or device, name the device with --device.",
    ),
    _build_entry(
        "no-such-process",
        r"Cannot find process matching name",
        "xctrace finds no process with that name: it is not running, or is suspended.",
        "Start the app, bring it to the front and record again, by its pid if possible: Xcode 26.5 matches"
        " display names, earlier versions match executables.",
    ),
    _build_entry(
        "restricted",
        r"marked restricted|System Integrity Protection",
        "System Integrity Protection does not allow this process to be traced.",
        "Record a process of your own, or everything with --all-processes.",
    ),
    _build_entry(
        "attach-refused",
        r"Failed to attach to target|not allowed to attach",
        "macOS refused to attach to this process, as it does for hardened apps.",
        "Sign the app with the entitlement com.apple.security.get-task-allow (a debug build has it), or"
        " record everything with --all-processes.",
    ),
    _build_entry(
        "recorder-busy",
        r"could not lock kperf|another session just started",
        "Another recording is running: only one at a time can profile this Mac or device.",
        "Stop the other xctrace or Instruments (tracekit doctor lists them), wait a minute and record again.",
    ),
    _build_entry(
        REFUSED,
        REFUSED_RECORDING,
        "The kernel refused to record: this shell runs in a sandbox (of an editor, an agent or a CI), or an"
        " instrument needs privilege, as the template Core AI did in Xcode 27.0.1.",
        "Record from a Terminal of your own; with the template Core AI, as root: sudo tracekit record ….",
    ),
    _build_entry(
        "device-locked",
        r"device is locked|could not be,? unlocked|while your device is locked",
        "The device is locked.",
        "Unlock it, keep it awake, and record again.",
    ),
    _build_entry(
        "developer-mode",
        r"Developer Mode is disabled",
        "Developer Mode is off on this device.",
        "Turn it on in Settings > Privacy & Security > Developer Mode, and record again.",
    ),
    _build_entry(
        "device-gone",
        r"(device|connection)[^.]{0,60}(disconnected|was lost|went away|interrupted|reset)|lost connection",
        "The device was disconnected during the recording.",
        "Connect it by cable, keep it unlocked, and record again.",
    ),
    _build_entry(
        "ambiguous",
        r"\bambiguous\b",
        "Several processes or devices have that name.",
        "Name the process by its pid, the device by its identifier (xcrun xctrace list devices).",
    ),
    _build_entry(
        "disk-full",
        r"No space left on device|disk (is )?full|not enough (free )?(disk )?space",
        "The disk is full.",
        "Free some space, then record again, for a shorter time or with --preset minimal.",
    ),
    _build_entry(
        "all-processes",
        r"cannot handle a target type of 'All Processes'",
        "An instrument cannot record all processes.",
        "Name one with --app, or leave that instrument out.",
    ),
    _build_entry(
        "not-for-platform",
        r"is not supported in the Simulator|does not support the .{1,20} platform|does not have a CPU that",
        "An instrument does not work on this device.",
        "Record without it, or on another device.",
    ),
)


def find_known_failure(output: Sequence[str]) -> Failure | None:
    """Return the known failure that xctrace's output shows; None if it shows none."""
    # All lines together: the order of the failures decides, not that of xctrace's messages.
    text = "\n".join(line for line in output if not line.startswith(_NAMING))
    return next((failure for pattern, failure in _FAILURES if pattern.search(text)), None)


def find_saved_path(output: Sequence[str]) -> str | None:
    """Return the path of the saved recording that xctrace reports; the last such line counts."""
    paths = [line.split(_SAVED, 1)[1].strip() for line in output if _SAVED in line]
    return paths[-1] if paths else None


def list_run_issues(output: Sequence[str]) -> tuple[str, ...]:
    """Return the problems of the recording that xctrace lists, in its own words."""
    matches = (_ISSUE.search(line) for line in output)
    return tuple(match[2].strip() for match in matches if match)
