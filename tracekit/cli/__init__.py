"""The command line: one file per command; the only place that prints and exits."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import tracekit
from tracekit.cli.output import HELP
from tracekit.cli.standard_error import escape_usage_errors, write_message, write_traceback
from tracekit.errors import EXIT_CODES, InputError, TracekitError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

_BROKEN_PIPE = 128 + 13
"""The exit code that a shell reports for SIGPIPE: neither a failed requirement nor a mistake."""

_DEFECT = 70
"""The exit code for unforeseen errors (EX_SOFTWARE of sysexits.h); Python's 1 is a failed requirement."""

_COMMANDS = (
    "analyze",
    "classify",
    "collect",
    "completion",
    "compare",
    "check",
    "pack",
    "plan",
    "demo",
    "doctor",
    "explain",
    "export",
    "fleet",
    "lint",
    "lldb",
    "mcp",
    "model",
    "probe",
    "prove",
    "recipe",
    "recipes",
    "record",
    "report",
    "rules",
    "show",
    "spread",
    "symbols",
    "tables",
    "verify-native",
    "watch",
)
"""Each is in the module of its name; only the module of the command that runs is imported."""

_COMPLETION = "_TRACEKIT_COMPLETE"
"""Set by the scripts of ``tracekit completion``."""

_PLUGINS = "tracekit.commands"
"""Entry points of commands in packages that import this one, such as the dashboard's."""


def _import_command(name: str) -> click.Command:
    module = name.replace("-", "_")
    command: click.Command = getattr(import_module(f"tracekit.cli.{module}"), f"{module}_command")
    return command


def _find_plugins() -> EntryPoints:
    # importlib.metadata takes as long to import as click itself, and the commands above do without it.
    from importlib.metadata import entry_points

    return entry_points(group=_PLUGINS)


def _reduce_garbage_collection() -> None:
    """Make Python collect cyclic garbage less often, and not at the end of the process.

    There is next to none: arrays and strings take the memory. Traversing the objects of pandas again and
    again while it is imported, and once more at exit, took a sixth of the time of a short command.
    """
    gc.set_threshold(200_000)
    atexit.register(_freeze_garbage)


def _freeze_garbage() -> None:
    if "duckdb" not in sys.modules:  # which would list what remains of it on standard error
        gc.freeze()


def _limit_matrix_threads() -> None:
    """Keep numpy, which is imported later, from starting threads for products of matrices: there are none.

    OpenBLAS starts one for each core, and they wait busily: a fifth of the CPU time of a short command.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _load_plugin(point: EntryPoint) -> click.Command:
    try:
        command: click.Command = point.load()
    except Exception as error:  # noqa: BLE001 - a broken package must not break the other commands
        problem = f"'{point.name}' cannot be loaded from {point.value}: {error}."

        def refuse(**_: object) -> None:
            raise TracekitError(problem)

        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
        return click.Command(point.name, settings, refuse, help="Cannot be loaded.", add_help_option=False)
    return command


class _Commands(click.Group):
    """Command group: the one place that turns a ``TracekitError`` into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_COMMANDS, *_find_plugins().names})

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes and the questions after the commands."""
        from tracekit.cli.questions_help import write_questions

        super().format_epilog(ctx, formatter)
        write_questions(formatter)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            return _import_command(cmd_name)
        for point in _find_plugins().select(name=cmd_name):
            return _load_plugin(point)
        # click suggests similar names among the commands that were added.
        for name in _COMMANDS:
            self.add_command(_import_command(name))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; of a path in its place, ``analyze``."""
        # No command has a point in its name, and most files do: one that is missing is named as such.
        is_path = "." in args[0] or os.path.lexists(args[0])
        if is_path and self.get_command(ctx, args[0]) is None:
            args = ["analyze", *args]
        return super().resolve_command(ctx, args)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Only where tracekit is the program, not where it is imported.
        _reduce_garbage_collection()
        _limit_matrix_threads()
        sys.excepthook = write_traceback
        if _COMPLETION in os.environ:
            from tracekit.cli.bash_completion import register

            register()
        try:
            return super().__call__(*args, **kwargs)
        except Exception:  # noqa: BLE001 - any error that no line foresaw
            write_traceback(*sys.exc_info())
            write_message("Error: this is a defect of tracekit. Please report it with the lines above.")
            sys.exit(_DEFECT)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with escape_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        # SIGTERM becomes an ordinary exit, so that temporary files beside an output are removed.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            with escape_usage_errors():
                return super().invoke(ctx)
        except TracekitError as error:
            write_message(f"Error: {error}", *(f"  {line}" for line in error.lines))
            ctx.exit(error.exit_code)
        except EOFError as error:
            # click would take it for the end of a terminal's input: "Aborted!", and exit code 1.
            raise RuntimeError("unexpected end of a file") from error
        except MemoryError:
            write_message("Error: not enough memory for this input.")
            ctx.exit(InputError.exit_code)
        except KeyboardInterrupt:
            write_message("Interrupted.")
            ctx.exit(128 + signal.SIGINT)
        except BrokenPipeError:
            # The reader of the output closed it early. The rest in the buffer must not fail again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(_BROKEN_PIPE)
        except OSError as error:
            message, exit_code = _explain_file_problem(error)
            write_message(f"Error: {message}")
            ctx.exit(exit_code)


def _explain_file_problem(error: OSError) -> tuple[str, int]:
    """Return the message and the exit code for a file or folder that went away, or a disk that failed."""
    try:
        Path.cwd()
    except OSError:
        return "The current folder was deleted. Change to another folder.", UsageError.exit_code
    name = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return f"{name}{error.strerror or error}.", InputError.exit_code


_EXIT_CODES = (
    "Exit codes: "
    + ", ".join(f"{code} {EXIT_CODES[code].summary}" for code in range(6))
    + (f", {_DEFECT} {EXIT_CODES[_DEFECT].summary}. tracekit explain CODE has the details.")
)


@click.group(cls=_Commands, context_settings={**HELP, "max_content_width": 100}, epilog=_EXIT_CODES)
@click.version_option(tracekit.__version__, "-V", "--version", message="tracekit %(version)s")
def main() -> None:
    """Show the engine that each Core ML inference ran on: Neural Engine, GPU or CPU, with the evidence.

    Reads Instruments recordings (.trace bundles and xctrace exports) on any operating system.

    \b
    Start with:
      tracekit MyApp.trace             the engine of each inference, as text
      tracekit recipes MyApp.trace     the questions that it answers, with the answers
      tracekit tables MyApp.trace      the tables of a recording
      tracekit demo                    two recordings that come with it
    """
