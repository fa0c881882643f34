"""Strict parsing of a command's options, which differ from version to version."""

from __future__ import annotations

from typing import NamedTuple

from fake_xctrace.catalogue import XCODE_26, XCODE_26_4, XCODE_27, Build
from fake_xctrace.machine import Refusal

USAGE_ERROR = 1
"""Invented: no source names the code."""


class Option(NamedTuple):
    """One option; without a placeholder it takes no value."""

    name: str
    placeholder: str = ""
    explanation: str = ""
    since: Build = (0, "")
    repeats: bool = False


class Parsed(NamedTuple):
    """A parsed command line."""

    values: dict[str, list[str]]
    launch: tuple[str, ...]
    positional: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def value(self, name: str) -> str | None:
        return self.values[name][0] if name in self.values else None


_QUIET = Option("--quiet")
_INPUT, _OUTPUT = Option("--input", "<file>"), Option("--output", "<path>")
_PACKAGE = Option(
    "--package", "<file>", "Load Instruments Package from given path for duration of the command"
)
_RUN_NAME = Option("--run-name", "<name>", "Names the run", since=XCODE_26)
_TEMPLATE = Option("--template", "<path|name>", "Record using given trace template name or path")
_INSTRUMENT = Option(
    "--instrument", "<name>", "Add Instrument with the given name to the recording", repeats=True
)

# Names and texts: the help of Xcode 26.4-26.6, and excerpts of 27.0 (sources in each "since").
COMMANDS: dict[str, tuple[Option, ...]] = {
    "record": (
        Option("--output", "<path>", "Output .trace file to the given path"),
        Option("--append-run", "", "Appends a new run to an existing trace file"),
        _RUN_NAME,
        _TEMPLATE,
        Option("--device", "<name|UDID>", "Record on device with the given name or UDID"),
        _INSTRUMENT,
        Option("--show-recording-options", "", "Show the options of the instruments", since=XCODE_27),
        Option("--recording-options", "<file>", "Use instrument options from the file", since=XCODE_27),
        Option("--time-limit", "<time[ms|s|m|h]>", "Limit recording time to the specified value"),
        Option("--window", "<duration[ms|s|m]>", "Keep only events from the specified end time window"),
        _PACKAGE,
        Option("--all-processes", "", "Record all processes"),
        Option("--attach", "<pid|name>", "Attach and record process with the given name or pid"),
        Option("--launch", "-- command [arguments]", "Launch process with the given name or path"),
        Option("--target-stdin", "<name>", "Redirect standard input of the launched process"),
        Option("--target-stdout", "<name>", "Redirect standard output of the launched process"),
        Option(
            "--env",
            "<VAR=value>",
            "Set specified environment variable for the launched process",
            repeats=True,
        ),
        Option(
            "--notify-tracing-started",
            "<name>",
            "Send Darwin notification with this name when a recording has started",
        ),
        Option(
            "--no-prompt", "", "Skip any prompts that would be otherwise presented (like privacy warnings)"
        ),
    ),
    "export": (
        Option("--input", "<file>", "Export data from the given .trace file"),
        Option("--output", "<path>", "Command output is written to the given path, if specified"),
        Option("--toc", "", "Present entities to export in the table of contents form"),
        Option("--xpath", "<expression>", "Choose elements to export using specified XPath expression"),
        Option("--har", "", "Export data as the HTTP Archive file"),
    ),
    "import": (
        _INPUT,
        _OUTPUT,
        _TEMPLATE,
        _INSTRUMENT,
        _RUN_NAME,
        _PACKAGE,
        Option("--append-run", "", "Appends a new run to an existing trace file", since=XCODE_26_4),
    ),
    "symbolicate": (_INPUT, _OUTPUT, Option("--dsym", "<path>", "Use dSYM from given path")),
    "remodel": (_INPUT, _OUTPUT, _PACKAGE),
}


def offered(command: str, build: Build) -> list[Option]:
    """Return the options of a command in that version."""
    return [option for option in COMMANDS[command] if build >= option.since]


def parse(command: str, arguments: list[str], build: Build, positional: int = 0) -> Parsed:
    """Parse a command line; raise Refusal for anything that this version does not support."""
    options = {option.name: option for option in (*offered(command, build), _QUIET)}
    values: dict[str, list[str]] = {}
    launch: tuple[str, ...] = ()
    unnamed: list[str] = []
    words = list(arguments)
    while words:
        name = words.pop(0)
        option = options.get("--quiet" if name == "-q" else name)
        if option is None:
            if name.startswith("-") or len(unnamed) >= positional:
                raise usage_error(command, f"Unrecognized argument: {name}", build)
            unnamed.append(name)
        elif option.name in values and not option.repeats:
            raise usage_error(command, f"Option was given twice: {name}", build)
        elif option.name == "--launch":
            values[name], launch, words = [], _command(words, command, build), []
        else:
            values.setdefault(option.name, []).extend(_value(option, words, command, build))
    return Parsed(values, launch, tuple(unnamed))


def _command(words: list[str], command: str, build: Build) -> tuple[str, ...]:
    if words[:1] != ["--"] or len(words) < 2:
        raise usage_error(command, "Option --launch must be the last one and followed by -- command", build)
    return tuple(words[1:])


def _value(option: Option, words: list[str], command: str, build: Build) -> list[str]:
    if not option.placeholder:
        return []
    if not words or words[0].startswith("--"):
        raise usage_error(command, f"Missing value for option: {option.name}", build)
    return [words.pop(0)]


def usage_error(command: str, message: str, build: Build) -> Refusal:
    """Return a refusal that shows the usage too (flamegraph-rs/flamegraph#380); most messages are invented."""
    return Refusal(f"{message}\n{usage(command, build)}", USAGE_ERROR)


def exclude(parsed: Parsed, command: str, build: Build, *names: str) -> None:
    """Refuse options that exclude each other; the message is Apple's (flamegraph-rs/flamegraph#380)."""
    present = [name for name in names if name in parsed]
    if len(present) > 1:
        listed = ", ".join(name.removeprefix("--") for name in present)
        raise usage_error(command, f"Mutually exclusive options provided: {listed}", build)


_SYNOPSES = {
    "record": "record [<options>] [--attach | --all-processes | --launch -- command ]",
    "export": "export [<options>] [--toc | --xpath expression]",
    "import": "import [<options>]",
    "symbolicate": "symbolicate [<options>] [--dsym path]",
    "remodel": "remodel [<options>]",
}


def usage(command: str, build: Build) -> str:
    """Return the help text of a command; Apple's layout, shortened."""
    synopsis = _SYNOPSES[command]
    if command == "export" and build >= XCODE_27:
        synopsis = synopsis.replace("export", "export [<trace>]")
    lines = [
        f"\t{f'{option.name} {option.placeholder}'.rstrip():<38} {option.explanation}".rstrip()
        for option in offered(command, build)
    ]
    ending = ["", "global options:", "\t--quiet        Make terminal ouput less verbose"]
    return "\n".join([f"usage: xctrace {synopsis}", "", "options:", *lines, *ending])


def seconds(text: str, units: tuple[str, ...], option: str) -> float:
    """Return a duration such as 500ms in seconds; the message is invented."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :]
    factor = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}.get(unit)
    if (
        factor is None
        or unit not in units
        or not number.isdecimal()
        or not number.isascii()
        or int(number) == 0
    ):
        raise Refusal(f"Invalid value for option {option}: {text}", USAGE_ERROR)
    return int(number) * factor
