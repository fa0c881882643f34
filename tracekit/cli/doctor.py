"""``tracekit doctor``: check whether this machine can record, with advice for each problem."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

import tracekit
from tracekit.cli.output import HELP, add_output_options, check_output, guess_format, write_output
from tracekit.errors import XctraceError
from tracekit.text import escape_json, plural, printable

if TYPE_CHECKING:
    from tracekit.record.doctor import Check, CheckState

SCHEMA = "tracekit-doctor/1"
_FORMATS = {".json": "json", ".txt": "text"}
_WIDTH = 80
_SIGNS: dict[CheckState, str] = {"ok": "ok", "warning": "note", "problem": "PROBLEM", "skipped": "–"}


@click.command("doctor", context_settings=HELP, short_help="Check whether this machine can record.")
@click.option("--xctrace", metavar="PATH", help="Check this xctrace instead of the selected Xcode's.")
@click.option("--device", metavar="NAME|UDID", help="Also check this device or simulator.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    help="Default: by the output's extension, or text.",
)
@add_output_options
def doctor_command(
    xctrace: str | None, device: str | None, format_: str | None, output: str, force: bool
) -> None:
    """Check everything that a recording needs: Xcode, xctrace, templates, devices, disk space.

    One line for each check: ok, note (a possible cause of trouble), PROBLEM (recording fails until it is
    solved), or – (not checked). Advice follows on the next lines. Nothing is changed. Devices that do not
    answer can delay the result by up to a minute.

    \b
    Examples:
      tracekit doctor
      tracekit doctor --device 'My iPhone'
      tracekit doctor --format json

    Exit codes: 0 without a problem (on other systems than macOS, only reading is expected to work), 4 if
    recording cannot work here.
    """
    check_output(output, force)
    output_format = guess_format(format_, output, _FORMATS)

    from tracekit.record.doctor import examine

    checks = examine(tracekit.__version__, xctrace, device)
    is_json = output_format == "json"
    write_output(_to_json(checks) if is_json else _to_text(checks), output, force, is_document=is_json)
    if any(check.state == "problem" for check in checks):
        raise SystemExit(XctraceError.exit_code)


def _to_json(checks: Sequence[Check]) -> str:
    document = {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "checks": [check.to_json() for check in checks],
    }
    return escape_json(json.dumps(document, ensure_ascii=False, indent=2)) + "\n"


def _to_text(checks: Sequence[Check]) -> str:
    from tracekit.record.doctor import NEEDS_MAC, Check

    # One row for all that need a Mac: the same sentence in every second line hides the other lines.
    need_mac = [check for check in checks if check.finding == NEEDS_MAC]
    rows = [check for check in checks if check.finding != NEEDS_MAC]
    if need_mac:
        several = len(need_mac) > 1
        finding = "need a Mac" if several else NEEDS_MAC
        rows.append(Check(plural(len(need_mac), "other"), "skipped", finding))
    width = max(len(check.name) for check in rows)
    lines = [line for check in rows for line in _format_check(check, width)]
    return "\n".join([*lines, "", *_wrap_text(_summarize_checks(checks), "", ""), ""])


def _format_check(check: Check, width: int) -> list[str]:
    """Return the lines of a check; a command is never broken, so that it can be pasted."""
    head = f"{_SIGNS[check.state]:<7}  {check.name:<{width}}  "
    lines = _wrap_text(check.finding, head, " " * len(head))
    if check.advice:
        sentence, *commands = check.advice.split("\n")
        lines += _wrap_text(sentence, " " * 4, " " * 4)
        lines += [" " * 6 + printable(command) for command in commands]
    return lines


def _wrap_text(text: str, first_indent: str, indent: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        _WIDTH,
        initial_indent=first_indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summarize_checks(checks: Sequence[Check]) -> str:
    states = {check.name: check.state for check in checks}
    if "problem" in states.values():
        return "Recording cannot work here until each PROBLEM is solved."
    if states["xctrace"] == "skipped":
        system = next((check.finding for check in checks if check.name == "system"), "another system")
        return (
            f"Recording needs a Mac with Xcode; this is {system}. Reading, reports and the dashboard work"
            " here."
        )
    return "No problem found: recording should work here."
