"""Commands without a recording: `list`, `version`, `help`."""

from __future__ import annotations

from typing import Any

from fake_xctrace.catalogue import XCODE_27
from fake_xctrace.machine import Console, Machine, Refusal
from fake_xctrace.options import COMMANDS, USAGE_ERROR, usage

_COMMANDS = {
    "record": "Perform new recording using specified template",
    "import": "Import file of a supported format into .trace file",
    "export": "Export .trace file content to an external format",
    "remodel": "Remodel .trace using currently installed modelers",
    "symbolicate": "Symbolicate .trace file using specified dSYM",
    "list [devices|templates|instruments]": "List capabilities of the current running environment",
    "version": "Print version of the tool",
}


_COMMANDS_27 = {
    "toc": "Present the table of contents of a .trace file",
    "show": "Show a table of a .trace file",
    "triage": "Triage a .trace file",
}
"""Commands of Xcode 27; their wording is invented."""


def version(machine: Machine, console: Console) -> None:
    console.write(f"xctrace version {machine['version']} ({machine['build']})")


def show_help(machine: Machine, arguments: list[str], console: Console) -> None:
    if not arguments:
        console.write(overview(machine.build >= XCODE_27))
    elif arguments[0] in COMMANDS:
        console.write(usage(arguments[0], machine.build))
    elif arguments[0] in {"list", "version", "help"}:
        console.write(f"usage: xctrace {arguments[0]}")
    else:
        raise Refusal(
            f"Unknown command: {arguments[0]}\n{overview(machine.build >= XCODE_27)}", USAGE_ERROR
        )  # invented wording


def overview(is_27: bool = False) -> str:
    """Return the output of `xctrace help` (Xcode 26), with the commands that Xcode 27 added."""
    commands = {**_COMMANDS, **(_COMMANDS_27 if is_27 else {})}
    lines = [f"\t{name:<43} {text}" for name, text in commands.items()]
    head = [
        "usage:",
        "\txctrace <command> [options]",
        "",
        "global options:",
        "\t-q, --quiet",
        "",
        "commands:",
    ]
    return "\n".join([*head, *lines, "", "further help:", "\t xctrace help <command>"])


def listing(machine: Machine, arguments: list[str], console: Console) -> None:
    kind = arguments[0] if len(arguments) == 1 else ""
    if kind == "devices":
        console.write("\n\n".join(sections(machine)))
    elif kind == "templates":
        console.write("\n".join(["== Standard Templates ==", *machine.templates]))
        if machine["user_templates"]:
            console.write("\n".join(["", "== User Templates ==", *machine["user_templates"]]))
    elif kind == "instruments":
        console.write("\n".join(machine["instruments"]))
    else:
        raise Refusal("usage: xctrace list [devices|templates|instruments]", USAGE_ERROR)


def sections(machine: Machine, numbered: bool = False) -> list[str]:
    """Return the sections of `list devices`, numbered as in an error message."""
    titles = {"devices": "Devices", "offline": "Devices Offline", "simulators": "Simulators"}
    number = iter(range(1000))
    return [
        "\n".join(
            [f"== {title} =="]
            + [f"[{next(number)}] " * numbered + device_line(device) for device in machine[name]]
        )
        for name, title in titles.items()
        if machine[name]
    ]


def device_line(device: dict[str, Any]) -> str:
    system = f" ({device['os']})" if device.get("os") else ""
    return f"{device['name']}{system} ({device['udid']})"
