"""``tracekit doctor``: can this machine record, and if not, what to do."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

import tracekit
from tracekit.cli.output import HELP, check_output, guess_format, output_options, write_output
from tracekit.errors import XctraceError
from tracekit.text import printable

if TYPE_CHECKING:
    from tracekit.record.doctor import Check, State

SCHEMA = "tracekit-doctor/1"
_FORMATS = {".json": "json", ".txt": "text"}
_WIDTH = 80
_SIGNS: dict[State, str] = {"ok": "ok", "warning": "note", "problem": "PROBLEM", "skipped": "–"}


@click.command("doctor", context_settings=HELP, short_help="Can this machine record, and if not, why?")
@click.option("--xctrace", metavar="PATH", help="Examine this xctrace instead of the selected Xcode's.")
@click.option("--device", metavar="NAME|UDID", help="Examine this device or simulator too.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    help="Default: by the output's extension, or text.",
)
@output_options
def doctor_command(
    xctrace: str | None, device: str | None, format_: str | None, output: str, force: bool
) -> None:
    """Look at everything that a recording needs: Xcode, xctrace, templates, devices, disk space.

    One line each: ok, note (it may hinder), PROBLEM (nothing can be recorded before it is solved), or – for
    what could not be checked, and what to do below it. Nothing is changed. Devices that do not answer
    make it wait, up to a minute.

    \b
    Examples:
      tracekit doctor
      tracekit doctor --device 'My iPhone'
      tracekit doctor --format json

    Exit codes: 0 if there is no problem for what this machine can do (reading, where it is no Mac), 4 if
    recording cannot work here.
    """
    check_output(output, force)
    chosen = guess_format(format_, output, _FORMATS)

    from tracekit.record.doctor import examine

    checks = examine(tracekit.__version__, xctrace, device)
    write_output(_to_json(checks) if chosen == "json" else _to_text(checks), output, force)
    if any(check.state == "problem" for check in checks):
        raise SystemExit(XctraceError.exit_code)


def _to_json(checks: Sequence[Check]) -> str:
    from dataclasses import asdict

    document = {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "checks": [asdict(check) for check in checks],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _to_text(checks: Sequence[Check]) -> str:
    width = max(len(check.name) for check in checks)
    lines = [line for check in checks for line in _lines(check, width)]
    return "\n".join([*lines, "", _conclusion(checks), ""])


def _lines(check: Check, width: int) -> list[str]:
    """Return a check's lines; a command is never broken, so that it can be pasted."""
    head = f"{_SIGNS[check.state]:<7}  {check.name:<{width}}  "
    lines = _wrap(check.found, head, " " * len(head))
    if check.advice:
        sentence, *commands = check.advice.split("\n")
        lines += _wrap(sentence, " " * 4, " " * 4)
        lines += [" " * 6 + printable(command) for command in commands]
    return lines


def _wrap(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _conclusion(checks: Sequence[Check]) -> str:
    states = {check.name: check.state for check in checks}
    if "problem" in states.values():
        return "Recording cannot work here before what is marked PROBLEM is solved."
    if states["xctrace"] == "skipped":
        return "Recordings can be read here; recording needs a Mac."
    return "Nothing was found that keeps a recording from working."
