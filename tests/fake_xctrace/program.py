"""The entry point of every executable; the name that it was installed under selects the program."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from fake_xctrace import host, listing
from fake_xctrace.machine import Console, Machine, Refusal, log_call
from fake_xctrace.options import USAGE_ERROR


def main(name: str, folder: str) -> int:
    """Run as `name` with the settings in `folder`, and return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = sys.argv[1:]
    if "export" in arguments[:2]:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a recording goes on without its reader
    log_call(Path(folder), [name, *arguments], os.getpid())
    return run_program(name, arguments, Machine(Path(folder)), Console())


def run_program(name: str, arguments: list[str], machine: Machine, console: Console) -> int:
    try:
        if name == "xctrace":
            return xctrace(machine, arguments, console)
        tool = {"xcrun": host.xcrun, "xcode-select": host.xcode_select, "ps": host.ps, "mdfind": host.mdfind}[
            name
        ]
        return tool(machine, arguments, console)
    except Refusal as refusal:
        console.write_error(str(refusal))
        return refusal.code


def xctrace(machine: Machine, arguments: list[str], console: Console) -> int:
    host.check_xctrace(machine)
    while arguments and arguments[0] in {"-q", "--quiet"}:
        arguments = arguments[1:]
    command, *words = arguments or [""]
    console.enabled = machine["prints"] or command not in {"record", "import"}
    if command == "version":
        listing.version(machine, console)
    elif command == "help":
        listing.show_help(machine, words, console)
    elif command == "list":
        listing.listing(machine, words, console)
    elif command == "record":
        from fake_xctrace.recording import record

        return record(machine, words, console)
    elif command == "import":
        from fake_xctrace.recording import import_file

        return import_file(machine, words, console)
    elif command == "export":
        from fake_xctrace.exporting import export

        return export(machine, words, console)
    elif command in {"symbolicate", "remodel"}:
        raise Refusal(f"fake xctrace does not support {command}")
    else:
        unknown = f"Unknown command: {command}\n" if command else ""  # invented wording
        raise Refusal(unknown + listing.overview(), USAGE_ERROR)
    return 0
