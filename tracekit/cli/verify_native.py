"""``tracekit verify-native``: comparison of the native reading of a bundle with its xctrace exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracekit.cli.output import HELP, Progress, add_limits_option, check_output, write_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError, XctraceError

if TYPE_CHECKING:
    from tracekit.parsers.limits import Limits


@click.command(
    "verify-native",
    context_settings=HELP,
    short_help="Compare the native reading of a .trace with its exports.",
)
@click.argument("bundle", metavar="X.trace", type=click.Path())
@click.option(
    "--exports",
    type=click.Path(),
    metavar="DIR",
    help="Compare with these exports (a folder or a file) instead of running xctrace.",
)
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    help="Write the report to FILE (default: X.trace.verify.json in this folder; -: no report).",
)
@click.option("-f", "--force", is_flag=True, help="Overwrite the report.")
@add_limits_option
def verify_native_command(
    bundle: str, exports: str | None, report_file: str | None, force: bool, limits: Limits
) -> None:
    """Compare every table that xctrace exports with the native reading of it, cell by cell.

    On a Mac, xctrace exports each table; elsewhere, --exports names a folder of exports of the same
    recording. The matrix goes to standard output. The report holds versions, table and column names, types
    and counts, and no recorded content: please send it to the project when something differs.

    \b
    Examples:
      tracekit verify-native MyApp.trace
      tracekit verify-native MyApp.trace.zip --exports exports/

    Exit code 1 when a table differs or cannot be read natively.
    """
    target = report_file or f"{Path(bundle).resolve().name}.verify.json"
    if target != "-":
        check_output(target, force)

    from tracekit.detect import open_source
    from tracekit.parsers.in_memory import find_origin
    from tracekit.verify.table_match import verify
    from tracekit.verify.verification_report import format_matrix, format_report
    from tracekit.xctrace.tool import find_xctrace

    with Progress("Comparing") as progress:
        native = open_source(bundle, via="native", limits=limits)
        if not exports and find_xctrace() is None:
            raise XctraceError(
                "xctrace was not found: it is part of Xcode, on a Mac. Elsewhere, name exports of the same"
                " recording with --exports DIR."
            )
        exported = (
            open_source(exports, progress, limits=limits)
            if exports
            else open_source(bundle, progress, via="xctrace", limits=limits)
        )
        if find_origin(exported) == "trace-bundle":
            raise UsageError(f"{exports} is a bundle: --exports names exports that xctrace made of it.")
        matches = verify(native, exported)
    write_output(format_matrix(matches), "-", force=False)
    if target != "-":
        write_output(format_report(matches, native.toc()), target, force, is_document=True)
        write_message(f"The report is {target}. It has no names, paths or values of the recording.")
    if not matches or any(match.status not in ("equal", "other order") for match in matches):
        raise SystemExit(1)
