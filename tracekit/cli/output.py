"""Output of commands: results to a file or standard output, and progress while a long input is read."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self, TypeVar

import click

from tracekit.cli.standard_error import clear_progress, write_message, write_progress
from tracekit.errors import UsageError
from tracekit.parsers.input_kinds import INPUTS
from tracekit.parsers.limits import DEFAULT_LIMITS, RAISE_OPTION
from tracekit.parsers.progress import format_remaining
from tracekit.text import format_size, plural, without_commands

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MIN_SECONDS_BEFORE_PROGRESS = 1.0
_NO_INPUTS = frozenset({"output", "keep", "junit", "report", "report_file", "title", "note", "notes", "link"})
"""Parameters of commands that name an output, or are text for people."""
_TABLES = (".xml", ".gz", ".zip", ".tar", ".tgz")
"""Endings of recordings in a folder; any other file beside them, such as a report, may be overwritten."""
_LARGE_BYTES = 100_000_000
"""Size of a JSON document from which on a smaller format is offered."""

HELP = {"help_option_names": ["-h", "--help"]}
"""Every command's context settings."""


def explain_inputs(command: _Command) -> _Command:
    """Write the kinds of inputs into the command's help, in the place of ``{INPUTS}``."""
    assert command.__doc__
    command.__doc__ = command.__doc__.replace("{INPUTS}", INPUTS)
    return command


def add_output_options(command: _Command) -> _Command:
    """Add ``-o/--output`` and ``-f/--force``."""
    command = click.option("-f", "--force", is_flag=True, help="Overwrite the output file.")(command)
    return click.option(
        "-o", "--output", default="-", metavar="FILE", help="Write to FILE; - is standard output (default)."
    )(command)


def add_document_options(by_extension: dict[str, str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds ``--format``, ``-o/--output`` and ``-f/--force``.

    ``by_extension`` has the formats by the extensions of files. The output is checked before the command
    runs, and ``file_format`` is the format that was requested, the extension's, or text.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, file_format: str | None, output: str, force: bool, **values: Any) -> Any:
            check_output(output, force)
            chosen = guess_format(file_format, output, by_extension)
            return command(*args, file_format=chosen, output=output, force=force, **values)

        return click.option(
            "--format",
            "file_format",
            type=click.Choice([*by_extension.values()]),
            help="Format (default: by the extension of --output, else text).",
        )(add_output_options(run))

    return add


def add_raw_option(command: _Command) -> _Command:
    """Add ``--raw``: CSV that is not made safe for spreadsheets."""
    return click.option(
        "--raw",
        is_flag=True,
        help="CSV: exact text, which a spreadsheet can take for formulas (default: safe).",
    )(command)


def add_via_option(command: _Command) -> _Command:
    """Add ``--via``: how a bundle is read."""
    return click.option(
        "--via",
        type=click.Choice(["auto", "native", "xctrace"]),
        default="auto",
        help="Reader of a .trace: native and, if that fails, xctrace (default: auto); or only one of them.",
    )(command)


def add_symbols_option(command: _Command) -> _Command:
    """Add ``--symbols``: files that name the frames which a recording holds as addresses."""
    return click.option(
        "--symbols",
        multiple=True,
        type=click.Path(),
        metavar="PATH",
        help="Names for frames without symbols: a dSYM, a binary, a symbol map, or a folder to search, such"
        " as an archive of Xcode. Files of other builds are not used. Repeatable.",
    )(command)


def add_limits_option(command: _Command) -> _Command:
    """Add ``--raise-limits``; the command gets ``limits``, which are ``Limits``."""
    return click.option(
        RAISE_OPTION,
        "limits",
        type=click.IntRange(1, 1000),
        default=1,
        metavar="N",
        callback=lambda _context, _option, factor: DEFAULT_LIMITS.times(factor),
        help="Multiply the limits on what an input may hold and unpack to by N: for files that you trust.",
    )(command)


def guess_format(requested: str | None, output: str, by_extension: dict[str, str]) -> str:
    """Return the requested format, else the one of the output's extension, else text.

    Raises ``UsageError`` for an extension of no format: the name of the file would be wrong.
    """
    extension = Path(output).suffix.lower()
    if requested or output == "-" or not extension:
        return requested or "text"
    if extension not in by_extension:
        extensions = ", ".join(by_extension)
        raise UsageError(
            f"{output}: the extension names no format ({extensions} do). Choose one with --format."
        )
    return by_extension[extension]


def check_output(output: str, force: bool) -> None:
    """Raise ``UsageError``, before any work, when the output cannot be written or is an input."""
    if output == "-":
        return
    if not output:
        raise UsageError("The name of the output is empty. Name a file, or - for standard output.")
    path = Path(output)
    if os.path.isdir(path):  # noqa: PTH112
        raise UsageError(f"{output} is a folder. Name a file.")
    if os.path.lexists(path) and not _is_special(path) and not force:
        raise UsageError(f"{output} exists and will not be overwritten without --force.")
    folder = path.absolute().parent
    if not os.path.isdir(folder):  # noqa: PTH112
        raise UsageError(f"{output} cannot be written: its folder does not exist. Create it first.")
    if not _is_special(path) and not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{output} cannot be written: its folder is not writable. Name a file elsewhere.")
    for given in _iter_given_arguments():
        if _would_harm(path, Path(given)):
            raise UsageError(
                f"{output} is part of the input {given}, which is never overwritten. Choose another name."
            )


def check_raw(file_format: str, output: str) -> None:
    """Raise ``UsageError`` where ``--raw`` has no effect, or where its text would drive a terminal."""
    if file_format != "csv":
        raise UsageError(f"--raw is for CSV, not for {file_format}.")
    if output == "-" and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("--raw writes control characters as they are: name a file with -o FILE.csv.")


def _iter_given_arguments() -> Iterator[str]:
    """Yield the arguments of the running command besides its outputs; some are paths of its inputs."""
    context = click.get_current_context(silent=True)
    for name, value in (context.params if context else {}).items():
        if name not in _NO_INPUTS:
            values = value if isinstance(value, tuple) else (value,)
            yield from (value for value in values if value and isinstance(value, str))


def _would_harm(path: Path, given: Path) -> bool:
    """Return True if writing to ``path`` replaces an input or a table in it, or adds a file to a bundle."""
    try:
        if path.exists() and path.samefile(given):
            return True
        target, folder = path.resolve(), given.resolve()
        is_inside = folder.is_dir() and target.is_relative_to(folder)
    except OSError:  # not a path: arguments may be any text
        return False
    is_table = path.exists() and target.name.endswith(_TABLES)
    return is_inside and (is_table or any(parent.suffix == ".trace" for parent in target.parents))


def _is_special(path: Path) -> bool:
    """Return True for a pipe or a device, which is written to and never replaced."""
    # os.path, because pathlib raises where a folder may not be searched.
    return os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113


def write_output(data: str | bytes, output: str, force: bool, *, is_document: bool = False) -> None:
    """Write a finished result: a document for a program, or lines, none of which is a command to a CI."""
    check_output(output, force)
    if isinstance(data, str) and not is_document:
        data = without_commands(data)
    with open_output(output) as file:
        file.write(_encode_utf8(data))


def _encode_utf8(data: str | bytes) -> bytes:
    return data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data


def write_pieces(pieces: Iterable[str | bytes], output: str, force: bool) -> int:
    """Write a result while it is made; return its size in bytes."""
    check_output(output, force)
    size_bytes = 0
    with open_output(output) as file:
        for piece in pieces:
            size_bytes += file.write(_encode_utf8(piece))
    return size_bytes


def write_json(pieces: Iterable[bytes], windows: int, output: str, force: bool) -> None:
    """Write an analysis as JSON; offer what is smaller where it is large."""
    size_bytes = write_pieces(pieces, output, force)
    if size_bytes >= _LARGE_BYTES:
        write_message(
            f"The JSON of {plural(windows, 'call')} has {format_size(size_bytes)}."
            " Smaller: tracekit analyze --format jsonl has a call per line,"
            " tracekit export --table windows -o windows.parquet a row per call."
        )


@contextmanager
def open_output(output: str) -> Iterator[IO[bytes]]:
    """Open an output that appears whole or not at all; "-" is standard output.

    What is written goes into a file beside the target, which takes its place when the block ends well; a pipe
    or a device is written to directly. Raises ``UsageError`` when the target cannot be written.
    """
    try:
        if output == "-":
            with _open_standard_output() as stream:
                yield stream
            return
        path = Path(output).resolve()
        if _is_special(path):
            with path.open("wb") as stream:
                yield stream
            return
        with _open_temporary_beside(path) as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "Standard output" if output == "-" else output
        raise UsageError(f"{name} cannot be written: {error.strerror or error}.") from error
    write_message(f"Wrote {output}")


@contextmanager
def _open_standard_output() -> Iterator[IO[bytes]]:
    if sys.stdout is None:  # closed by the shell: tracekit … >&-
        raise UsageError("Standard output is closed. Name a file with -o.")
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _open_temporary_beside(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file in the target's folder that becomes the target when the block ends well."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        Path(temporary).chmod(0o666 & ~_read_umask())
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Progress:
    """Shows how much of a long input has been read, on a terminal's stderr only; a context manager."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._started = self._began = self._shown = time.monotonic()
        self._done = 0
        self._visible = False

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int | None) -> None:
        """See ``parsers.source.Progress``."""
        now = time.monotonic()
        if done < self._done:  # the next recording
            self._began = now
        self._done = done
        if (
            sys.stderr is None
            or not sys.stderr.isatty()
            or now - self._started < _MIN_SECONDS_BEFORE_PROGRESS
            or now - self._shown < 0.2
        ):
            return
        self._shown, self._visible = now, True
        share = f"{100 * done // total} %" if total else f"{done / 1e6:.0f} MB"
        time_left = format_remaining(done, total, now - self._began)
        write_progress(f"{self._subject}: {share}{f', {time_left}' if time_left else ''} ")

    def __exit__(self, *exception: object) -> None:
        if self._visible:
            clear_progress()
