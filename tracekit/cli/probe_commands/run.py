"""``tracekit probe run``: build the program that calls the probes, and record it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import click

from tracekit.cli.output import HELP, write_output
from tracekit.errors import UsageError, XctraceError
from tracekit.text import format_shell_command

_BUILD_SECONDS = 300
_SECONDS_PER_PROBE = 20
"""Of one probe with one setting, by an estimate; the recording ends when the program does."""
_LEAST_SECONDS, _MOST_SECONDS = 60, 3600


@click.command("run", context_settings=HELP, short_help="Build the probes' program, and record it (Mac).")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--dry-run", is_flag=True, help="Print the commands, ready to paste; build and record nothing.")
def run_command(folder: str, dry_run: bool) -> None:
    """Build the program that tracekit probe write left in FOLDER, record it, and write FOLDER/probes.trace.

    Needs a Mac with Xcode; exit code 4 without its compiler, or where the program cannot be built. The
    recording has Core ML's and the Neural Engine's tables, samples and signposts.

    \b
    Examples:
      tracekit probe run probes
      tracekit probe run probes --dry-run
    """
    from tracekit.probes.probe_manifest import read_manifest
    from tracekit.probes.runner import PROGRAM_NAME

    manifest = read_manifest(folder)
    source, program = Path(folder) / PROGRAM_NAME, Path(folder) / Path(PROGRAM_NAME).stem
    seconds = _SECONDS_PER_PROBE * len(manifest.probes) * len(manifest.settings)
    limit = min(max(seconds, _LEAST_SECONDS), _MOST_SECONDS)
    build = ["swiftc", "-O", "-parse-as-library", str(source), "-o", str(program)]
    record = ["--launch", "--preset", "coreml", "--time-limit", f"{limit}s"]
    record += [
        "-o",
        str(Path(folder) / "probes.trace"),
        "--",
        str(program.resolve()),
        str(Path(folder).resolve()),
    ]
    if dry_run:
        commands = [format_shell_command(build), format_shell_command(["tracekit", "record", *record])]
        write_output("\n".join(commands) + "\n", "-", force=False)
        return
    _require_own_program(source)
    _build(build)
    from tracekit.cli.record import record_command

    code = record_command.main(args=record, prog_name="tracekit record", standalone_mode=False)
    if code:
        raise SystemExit(code)


def _require_own_program(source: Path) -> None:
    """Refuse another program than tracekit's: a folder of probes may be anybody's, and is not executed."""
    from tracekit.probes.runner import read_program

    try:
        is_own = source.read_bytes() == read_program().encode()
    except OSError:
        is_own = False
    if not is_own:
        raise UsageError(
            f"{source} is missing, or is not the program of this version of tracekit: it is not run. If it is"
            " yours, build and record it with the commands that --dry-run prints."
        )


def _build(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        raise XctraceError(
            "swiftc is not here: probes run on a Mac with Xcode. --dry-run prints the commands to run there."
        )
    try:
        built = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_BUILD_SECONDS)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise XctraceError(f"swiftc did not end in {_BUILD_SECONDS} s.") from error
    if built.returncode:
        raise XctraceError(f"swiftc could not build the program: {built.stderr.strip()[-2000:]}")
