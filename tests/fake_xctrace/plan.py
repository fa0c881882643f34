"""The recording that `record` is to make, checked against the machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

from fake_xctrace.bundles import EXPORTS
from fake_xctrace.catalogue import RECORDING_OPTIONS, XCODE_26_5, instruments_of
from fake_xctrace.listing import sections
from fake_xctrace.machine import Machine, Refusal
from fake_xctrace.options import Parsed, exclude, seconds, usage_error

# Exit codes: sforteln, skastr0/probe-cli (2, 21, 28, 30, 56, 57), public notes (19).
ATTACH_REFUSED, NO_SUCH_NAME, NO_SUCH_PID = 2, 19, 21
AMBIGUOUS_DEVICE, AMBIGUOUS_TEMPLATE, UNKNOWN_INSTRUMENT, BAD_OPTIONS = 28, 30, 56, 57

_ATTACH = {
    # sforteln
    "refused": "Failed to attach to target: Failed to attach to target process.",
    # public source
    "restricted": (
        "Target process is marked restricted and cannot be traced while System Integrity Protection is enabled"
    ),
}


class Device(NamedTuple):
    """The device to record: the host, a simulator (which is on the host too) or a real device."""

    kind: str
    name: str
    udid: str

    @property
    def on_host(self) -> bool:
        return self.kind != "device"


class Plan(NamedTuple):
    """One recording."""

    output: Path
    shown: str
    append: bool
    template: str
    instruments: tuple[str, ...]
    device: Device
    kind: str
    target: str
    pid: int = 0
    ends_after_seconds: float | None = None
    command: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    standard_input: str | None = None
    standard_output: str | None = None
    limit_seconds: float | None = None

    @property
    def opening(self) -> str:
        """The first line (skastr0/probe-cli, lucaf/rtk); the naming of instruments beside a template is a guess."""
        added = f" and {', '.join(self.instruments)} Instruments" if self.instruments else ""
        target = {
            "attach": f"Attaching to: {self.target} ({self.pid}).",
            "launch": f"Launching process: {self.target}.",
            "all": "Targeting All Processes.",
        }[self.kind]
        limit = f" Time limit: {self.limit_seconds} s" if self.limit_seconds else ""
        return f"Starting recording with the {self.template} template{added}. {target}{limit}"


def make_plan(machine: Machine, parsed: Parsed) -> Plan:
    """Return the recording to make; raise Refusal where xctrace refuses it."""
    _check_combinations(machine, parsed)
    output, shown = _output(machine, parsed)
    template = _template(machine, parsed)
    instruments = _instruments(machine, parsed)
    if parsed.value("--recording-options"):
        check_recording_options(Path(str(parsed.value("--recording-options"))), template, instruments)
    device = find_device(machine, parsed.value("--device"))
    kind, target, more = _target(machine, parsed, device)
    limit, window = parsed.value("--time-limit"), parsed.value("--window")
    if window:
        seconds(window, ("ms", "s", "m"), "--window")
    return Plan(
        output=output,
        shown=shown,
        append="--append-run" in parsed,
        template=template,
        instruments=instruments,
        device=device,
        kind=kind,
        target=target,
        variables=tuple(parsed.values.get("--env", ())),
        standard_input=parsed.value("--target-stdin"),
        standard_output=parsed.value("--target-stdout"),
        limit_seconds=seconds(limit, ("ms", "s", "m", "h"), "--time-limit") if limit else None,
        **more,
    )


def _check_combinations(machine: Machine, parsed: Parsed) -> None:
    exclude(parsed, "record", machine.build, "--attach", "--all-processes", "--launch")
    for option in ("--target-stdin", "--target-stdout", "--env"):
        exclude(parsed, "record", machine.build, option, "--attach")
        exclude(parsed, "record", machine.build, option, "--all-processes")
    if not any(name in parsed for name in ("--attach", "--all-processes", "--launch")):
        raise usage_error("record", "No target was given", machine.build)  # invented wording
    if not any(name in parsed for name in ("--template", "--instrument", "--append-run")):
        raise usage_error("record", "No template or instrument was given", machine.build)  # invented wording
    for variable in parsed.values.get("--env", ()):
        if not variable.partition("=")[0] or "=" not in variable:
            raise usage_error("record", f"Invalid value for option --env: {variable}", machine.build)


# Output ---------------------------------------------------------------------------------------------------


def _output(machine: Machine, parsed: Parsed) -> tuple[Path, str]:
    """Return the path of the trace, and its name as typed; all messages are invented."""
    shown = parsed.value("--output")
    if "--append-run" in parsed:
        if not shown or not is_finished(Path(shown)):
            raise usage_error(
                "record", "Option --append-run needs an existing trace as --output", machine.build
            )
        return Path(shown), shown
    if shown is None or (Path(shown).is_dir() and not shown.rstrip("/").endswith(".trace")):
        name = _unique_name(parsed)
        return Path(shown or ".") / name, f"{shown.rstrip('/')}/{name}" if shown not in {None, "."} else name
    if not shown.endswith(".trace"):
        raise Refusal(f"The output path must end in .trace or be a directory: {shown}")
    if Path(shown).exists():
        raise Refusal(f"The output file exists already: {shown}")
    if not Path(shown).absolute().parent.is_dir():
        raise Refusal(f"The directory of the output file does not exist: {shown}")
    return Path(shown), shown


def is_finished(bundle: Path) -> bool:
    """Return True for a saved recording: only that has a form.template."""
    return (bundle / "form.template").is_file()


def _unique_name(parsed: Parsed) -> str:
    """Return e.g. Launch_rustbolt_2023-04-24_11.32.06_9CFE3A63.trace (quoted in several READMEs)."""
    if "--launch" in parsed:
        start = f"Launch_{Path(parsed.launch[0]).name}"
    else:
        start = f"Attach_{parsed.value('--attach')}" if "--attach" in parsed else "AllProcesses"
    return f"{start}_{time.strftime('%Y-%m-%d_%H.%M.%S')}_{os.urandom(4).hex().upper()}.trace"


# Template, instruments ------------------------------------------------------------------------------------


def _template(machine: Machine, parsed: Parsed) -> str:
    """Return the template's name; a run that is appended is recorded with the template of the trace (man page)."""
    name = parsed.value("--template")
    if "--append-run" in parsed:
        return _template_of(Path(str(parsed.value("--output"))))
    if name is None:
        return "Blank"
    if "/" in name or name.endswith(".tracetemplate"):
        if not Path(name).exists():
            raise Refusal(f"No templates found matching {name}")  # invented wording
        return Path(name).stem
    count = [*machine.templates, *machine["user_templates"]].count(name)
    if count > 1:
        raise Refusal(f"Multiple templates found matching {name}", AMBIGUOUS_TEMPLATE)  # invented wording
    if not count:
        raise Refusal(f"No templates found matching {name}")  # invented wording
    return name


def _template_of(bundle: Path) -> str:
    for contents in bundle.glob(f"{EXPORTS}/run1/toc.xml"):
        if named := re.search("<template-name>(.*?)</template-name>", contents.read_text("utf-8")):
            return named[1]
    return "Blank"


def _instruments(machine: Machine, parsed: Parsed) -> tuple[str, ...]:
    names = tuple(parsed.values.get("--instrument", ()))
    for name in names:
        if name not in machine["instruments"]:
            raise Refusal(f"No instruments found matching {name}", UNKNOWN_INSTRUMENT)  # invented wording
    return names


def recorded_instruments(machine: Machine, parsed: Parsed) -> tuple[str, tuple[str, ...]]:
    """Return template and instruments for `--show-recording-options`, which needs no target."""
    return _template(machine, parsed), _instruments(machine, parsed)


def check_recording_options(path: Path, template: str, added: tuple[str, ...]) -> None:
    """Refuse a file that is not JSON, or holds a part of an instrument's keys; unknown keys are ignored (sforteln)."""
    try:
        chosen = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Refusal(
            f"Failed to read recording options: {error}", BAD_OPTIONS
        ) from error  # invented wording
    for instrument in instruments_of(template, added):
        options = chosen.get(instrument) if isinstance(chosen, dict) else {}
        missing = RECORDING_OPTIONS.get(instrument, {}).keys() - options.keys() if options is not None else ()
        if missing:
            # Invented wording; the real message is misleading, too (sforteln).
            raise Refusal(f"Failed to decode recording options of {instrument}", BAD_OPTIONS)


# Device, target -------------------------------------------------------------------------------------------


def find_device(machine: Machine, name: str | None) -> Device:
    """Return a device by UDID, name or name with version."""
    host = next((entry for entry in machine["devices"] if not entry.get("os")), {"name": "Mac", "udid": ""})
    if name is None:
        return Device("host", host["name"], host["udid"])
    devices = [_device(entry) for entry in machine["devices"] if name in _names(entry)]
    simulators = [
        Device("simulator", entry["name"], entry["udid"])
        for entry in machine["simulators"]
        if name in _names(entry)
    ]
    matches = simulators or devices if "simulator" in name.lower() else [*devices, *simulators]
    if len(matches) > 1:
        raise Refusal(f"Multiple devices found matching {name}", AMBIGUOUS_DEVICE)  # invented wording
    if matches:
        return matches[0]
    # appium/appium-xcuitest-driver#1312; a phone listed under Offline cannot be recorded on either.
    listed = "\n\n".join(sections(machine, numbered=True))
    raise Refusal(f"No devices found matching {name}\nChoose from the list of all devices:\n{listed}")


def _device(entry: dict[str, Any]) -> Device:
    return Device("device" if entry.get("os") else "host", entry["name"], entry["udid"])


def _names(entry: dict[str, Any]) -> set[str]:
    return {entry["udid"], entry["name"], f"{entry['name']} ({entry.get('os')})"}


def _target(machine: Machine, parsed: Parsed, device: Device) -> tuple[str, str, dict[str, Any]]:
    """Return (kind, name, fields of the plan)."""
    _check_device(machine, parsed, device)
    attach = parsed.value("--attach")
    if attach is not None:
        process = _find_process(machine, attach, device)
        if machine["attach"] != "ok":
            raise Refusal(_ATTACH[machine["attach"]], ATTACH_REFUSED)
        more = {"pid": process["pid"], "ends_after_seconds": process.get("ends_after")}
        return "attach", Path(process["path"]).name, more
    if "--launch" in parsed:
        command = (
            parsed.launch if device.kind != "host" else (_executable(parsed.launch[0]), *parsed.launch[1:])
        )
        return "launch", Path(command[0]).name, {"command": command}
    return "all", "", {}


def _check_device(machine: Machine, parsed: Parsed, device: Device) -> None:
    """Refuse a device that is not ready (devicectl's words, quoted in public logs)."""
    if device.kind != "device":
        return
    if machine["device"] == "locked" and "--launch" in parsed:
        name = parsed.launch[0]
        raise Refusal(f"Unable to launch {name} because the device was not, or could not be, unlocked.")
    if machine["device"] == "locked":
        raise Refusal("The device is locked.")
    if machine["device"] == "developer-mode-off":
        raise Refusal("The operation failed because Developer Mode is disabled.")


def _find_process(machine: Machine, name: str, device: Device) -> dict[str, Any]:
    """Return a process of the device; a simulator's are found only together with `--device` (argent)."""
    udid = None if device.kind == "host" else device.udid
    processes = [process for process in machine["processes"] if process.get("device") == udid]
    if name.isdecimal():
        matches = [process for process in processes if process["pid"] == int(name)]
        if not matches:
            raise Refusal(f"Cannot find process for provided pid: {name}", NO_SUCH_PID)
        return dict(matches[0])
    # From 26.5 on a simulator's app answers to the name under its icon (argent#333).
    by_display = device.kind == "simulator" and machine.build >= XCODE_26_5
    matches = [
        process
        for process in processes
        if name == (by_display and process.get("display") or Path(process["path"]).name)  # noqa: RUF021
    ]
    if not matches:
        raise Refusal(f"Cannot find process matching name: {name}", NO_SUCH_NAME)
    if len(matches) > 1:
        raise Refusal(f"Multiple processes found matching name: {name}", NO_SUCH_NAME)  # invented wording
    return dict(matches[0])


def _executable(name: str) -> str:
    """Return the program to start on the host: a path, the executable of an app, or a command in PATH."""
    path = Path(name)
    if path.is_dir() and name.rstrip("/").endswith(".app"):
        inside = path / "Contents" / "MacOS" if (path / "Contents").is_dir() else path
        files = sorted(file for file in inside.iterdir() if file.is_file() and os.access(file, os.X_OK))
        program = str(files[0]) if files else None
    else:
        program = str(path) if path.is_file() and os.access(path, os.X_OK) else shutil.which(name)
    if program is None:
        raise Refusal(f"Failed to launch process: {name}")  # invented wording
    return str(Path(program).absolute())
