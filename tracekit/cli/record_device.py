"""``tracekit record --via pymobiledevice3``: record an iPhone from any system, and analyze what it shows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
from click.core import ParameterSource

from tracekit.cli.standard_error import write_message
from tracekit.errors import InputError, UsageError
from tracekit.text import format_shell_command, format_size

_USED = frozenset({"via", "devices", "time_limit_seconds", "until_stopped", "output", "no_analysis"})
_LACKING = "the tables of the engines, which Instruments makes on a Mac, and stacks by a timer"
_SHOWS = (
    "Through pymobiledevice3: the log, and a stack whenever the Neural Engine's driver traces an event.",
    f"Not to be had this way: {_LACKING}.",
    "No recording of a device was tried with this version of tracekit.",
)


def record_from_device(context: click.Context, *, analyze: bool) -> None:
    """Record the device of the command line, which has no other option. Raises ``UsageError``."""
    from tracekit.record.device_program import PROGRAM, find_program, record_device
    from tracekit.record.signals import StopRequests, call_on_each_line

    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        if given and parameter.name not in _USED:
            raise UsageError(f"--via {PROGRAM} does not go with {parameter.opts[-1]}: leave out one of them.")
    options = context.params
    if len(options["devices"]) != 1 or not options["devices"][0][:1].isalnum():
        raise UsageError(
            f"--via {PROGRAM}: name one device by its UDID: --device UDID.",
            f"To list devices: {PROGRAM} usbmux list",
        )
    (device,) = options["devices"]
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    folder = Path(options["output"] or f"device-{stamp}.device")
    program = find_program()
    write_message(*_SHOWS)
    requests = StopRequests()
    if options["until_stopped"]:
        call_on_each_line(requests.request)
    seconds = options["time_limit_seconds"] or (600 if options["until_stopped"] else 10)
    recording = record_device(program, device, seconds, folder, requests, write_message)
    for problem in recording.problems:
        write_message(f"note: {problem}")
    sizes = ", ".join(f"{path.name} ({format_size(path.stat().st_size)})" for path in recording.files)
    write_message(f"Saved {recording.folder}: {sizes}", f"Not in it: {_LACKING}.")
    if analyze:
        _print_analysis(recording.folder)


def _print_analysis(folder: Path) -> None:
    from tracekit.analysis import analyze
    from tracekit.cli.terminal import measure_text_width, write_text
    from tracekit.load import open_trace
    from tracekit.report.analysis.text import TextLayout, to_text

    try:
        text = to_text(analyze(open_trace(folder)), TextLayout(measure_text_width("-")))
    except InputError as error:
        write_message(
            f"note: {error}", f"To try again: {format_shell_command(['tracekit', 'analyze', str(folder)])}"
        )
        return
    write_text(text, "-", force=False)
