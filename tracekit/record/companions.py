"""Tools that watch the Mac while xctrace records: power, the log, what is held for the Neural Engine.

Each has a file beside the recording. It writes into a pipe, which a thread copies to the file. A tool ends
when its pipe is closed, even one that runs as root and takes no signal from its user; so none outlives the
recording, or a tracekit that was killed. Commands and options: man powermetrics, man log; untried (claims
``log-meanwhile``, ``power-meanwhile``, ``usage-meanwhile``, ``presence-meanwhile``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Self

from tracekit.errors import InputError, UsageError
from tracekit.frozen import frozen
from tracekit.record.abandoned import create_hidden_file, find_abandoned_files
from tracekit.record.recorder import RecordingListener, StopReason
from tracekit.text import format_shell_command, format_size, printable
from tracekit.xctrace.tool import run_command

_SAMPLE_MS = 200
"""A choice: shorter samples cost more CPU, and powermetrics stretches them (107.9 ms for 100)."""
_MAX_OUTPUT_BYTES = 2 << 30
_END_SECONDS = 3.0
_SUDO_SECONDS = 30
_SLACK_SECONDS = 900
"""xctrace may take minutes to begin; a tool that outlives this has lost its recording."""
_MAX_ERROR_CHARACTERS = 300
_PREDICATE = (
    " OR ".join(
        f'subsystem == "com.apple.{name}"'
        for name in (
            "ane",
            "appleneuralengine",
            "coreml",
            "coreai",
            "espresso",
            "metalperformanceshadersgraph",
        )
    )
    + ' OR sender CONTAINS "H11ANE" OR sender CONTAINS "AppleNeuralEngine"'
)


@frozen
class Companion:
    """A tool: the word of ``--with``, its command, and the end of its file's name.

    ``needs_root`` tools are started through ``sudo -n``, which never asks for a password.
    """

    word: str
    command: Callable[[float], list[str]]
    suffix: str
    needs_root: bool


def _build_power_command(seconds: float) -> list[str]:
    count = int((seconds + _SLACK_SECONDS) * 1000 / _SAMPLE_MS)
    samplers = "cpu_power,gpu_power,ane_power,thermal"
    return ["powermetrics", "--samplers", samplers, "-i", str(_SAMPLE_MS), "-n", str(count), "-b", "1"]


def _build_log_command(seconds: float) -> list[str]:
    minutes = int((seconds + _SLACK_SECONDS) // 60) + 1
    level = ["--level", "debug"]
    return [
        "log",
        "stream",
        "--style",
        "ndjson",
        *level,
        "--timeout",
        f"{minutes}m",
        "--predicate",
        _PREDICATE,
    ]


def _build_sampler_command(module: str, seconds: float) -> list[str]:
    """Return the command of a sampler of this package, which ends by itself."""
    return [sys.executable, "-P", "-m", f"tracekit.record.{module}", str(round(seconds + _SLACK_SECONDS))]


def build_watch_command(process: str = "") -> list[str]:
    """Return the command that streams the engine's lines and the signposts, of one process or of all.

    Options and the keys of predicates: man log; never run on a Mac for this project.
    """
    quoted = process.replace("\\", "\\\\").replace('"', '\\"')
    of_process = f' AND process == "{quoted}"' if process else ""
    predicate = f"{_PREDICATE} OR (eventType == signpostEvent{of_process})"
    return ["log", "stream", "--style", "ndjson", "--signpost", "--level", "debug", "--predicate", predicate]


COMPANIONS = {
    companion.word: companion
    for companion in (
        Companion("power", _build_power_command, "power.txt", needs_root=True),
        Companion("log", _build_log_command, "log.ndjson", needs_root=False),
        Companion(
            "usage",
            partial(_build_sampler_command, "process_usage_sampler"),
            "usage.ndjson",
            needs_root=False,
        ),
        Companion(
            "presence",
            partial(_build_sampler_command, "engine_presence_sampler"),
            "presence.ndjson",
            needs_root=False,
        ),
    )
}


def parse_companions(text: str) -> tuple[str, ...]:
    """Return the tools in a list such as ``power,log``; raise ``UsageError`` for an unknown one."""
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for word in words:
        if word not in COMPANIONS:
            raise UsageError(f"--with: '{word}' is none of {', '.join(COMPANIONS)}.")
    return words


def build_companion_commands(words: Sequence[str], seconds: float, *, is_root: bool) -> list[list[str]]:
    """Return the command line of each tool for a recording of that length."""
    commands = []
    for word in words:
        companion = COMPANIONS[word]
        sudo = ["sudo", "-n"] if companion.needs_root and not is_root else []
        commands.append([*sudo, *companion.command(seconds)])
    return commands


def build_companion_path(bundle: Path, word: str) -> Path:
    """Return the path of a tool's file: ``X.power.txt`` beside ``X.trace``."""
    return bundle.with_name(f"{bundle.stem}.{COMPANIONS[word].suffix}")


def find_companion_files(recording: Path) -> list[Path]:
    """Return the texts that the tools wrote beside a recording. Raises ``InputError`` where there is none."""
    paths = [build_companion_path(recording, word) for word in COMPANIONS]
    found = [path for path in paths if path.is_file()]
    if not found:
        names = " or ".join(printable(path.name) for path in paths)
        raise InputError(
            printable(str(recording)),
            f"There is no text of the same time: {names} is missing.",
            "Record with: tracekit record --with power",
        )
    return found


def describe_abandoned_files(folder: Path, final: Path | None = None) -> list[tuple[str, ...]]:
    """Return the lines about each file that a killed tracekit left in a folder, or of one recording alone.

    Nothing is removed: what was recorded until then is the user's.
    """
    return [
        _describe_abandoned_file(file.path, COMPANIONS[file.word], file.stem, file.size_bytes)
        for file in find_abandoned_files(folder, final)
        if file.word in COMPANIONS
    ]


def _describe_abandoned_file(path: Path, companion: Companion, stem: str, size_bytes: int) -> tuple[str, ...]:
    purpose = f"beside {stem}.trace, until tracekit was killed" if stem else "for a tracekit that was killed"
    text = f"note: {path} is what {companion.command(1)[0]} wrote {purpose}"
    if not size_bytes:
        return (f"{text}: nothing. Delete it.",)
    target = path.with_name(f"{stem or 'recording'}.{companion.suffix}")
    commands = [["mv", "-n", str(path), str(target)]]
    if stem:
        bundle = path.with_name(f"{stem}.trace")
        commands.append(["tracekit", "analyze", str(bundle), "--with", str(target)])
    advice = "Delete it, or keep it and join it with the recording:" if stem else "Delete it, or keep it:"
    return (
        f"{text} ({format_size(size_bytes)}). {advice}",
        *(f"  {format_shell_command(words)}" for words in commands),
    )


def check_companions(words: Sequence[str], finals: Sequence[Path], *, replace: bool, is_root: bool) -> None:
    """Raise ``UsageError`` if a tool cannot be started or its file not written; nothing is recorded yet."""
    for word in words:
        companion = COMPANIONS[word]
        tool = companion.command(1)[0]
        if shutil.which(tool) is None:
            raise UsageError(f"--with {word}: {tool} was not found; it is a part of macOS. Leave it out.")
        if companion.needs_root and not is_root and not _may_sudo(tool):
            raise UsageError(
                f"--with {word}: {tool} needs root, and tracekit asks for no password. Run sudo -v first,"
                f" which lets sudo start it for some minutes, or leave out --with {word}."
            )
        for path in (build_companion_path(final, word) for final in finals):
            if os.path.lexists(path) and not (replace and path.is_file()):
                raise UsageError(f"{path} exists and will not be overwritten without --force.")


def _may_sudo(tool: str) -> bool:
    """Return True if sudo would start the tool without a password."""
    if shutil.which("sudo") is None:
        return False
    return run_command(["sudo", "-n", "-l", tool], _SUDO_SECONDS).ok


def find_error_line(errors: str) -> str:
    """Return the line of a tool's messages that names an error, or the last one; "" without any."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    line = next((line for line in lines if "ERROR" in line), lines[-1] if lines else "")
    return line[:_MAX_ERROR_CHARACTERS].rstrip(".")


class RunningTool:
    """One tool at work: its process, and the thread that copies its output to a file."""

    def __init__(self, word: str, command: Sequence[str], final: Path) -> None:
        self.word = word
        self.problem = ""
        descriptor, self.path = create_hidden_file(word, final)
        self._file = os.fdopen(descriptor, "wb")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ``end``
        try:
            # A session of its own: the terminal's Ctrl-C ends the recording, which ends the tool.
            self._process = subprocess.Popen(  # noqa: S603 - a list of words; no shell reads them
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            self._file.close()
            self._errors.close()
            self.path.unlink(missing_ok=True)
            raise UsageError(f"{command[0]} cannot be started: {error.strerror or error}.") from error
        assert self._process.stdout is not None  # a pipe
        self._pipe: IO[bytes] = self._process.stdout
        self._is_ending = threading.Event()
        self._copier = threading.Thread(target=self._copy_output, name=f"tracekit-{word}", daemon=True)
        self._copier.start()

    def _copy_output(self) -> None:
        size_bytes = 0
        try:
            while not self._is_ending.is_set() and (block := os.read(self._pipe.fileno(), 1 << 16)):
                size_bytes += len(block)
                if size_bytes > _MAX_OUTPUT_BYTES:
                    self.problem = f"it was cut off at {_MAX_OUTPUT_BYTES >> 30} GB"
                    return
                self._file.write(block)
        except (OSError, ValueError) as error:  # ValueError: closed, because the tool did not end in time
            self.problem = f"it could not be written: {error}"
        finally:
            # The tool's next write fails, and ends it.
            with suppress(OSError):
                self._pipe.close()

    def is_running(self) -> bool:
        """Return False when the tool has ended by itself."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the tool; what it has written is in its file. May be called again."""
        if self._file.closed:
            return
        exit_code = self._process.poll()
        self._is_ending.set()
        with suppress(OSError):  # a process of root takes no signal; its pipe ends it
            self._process.terminate()
        self._copier.join(_END_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        with suppress(OSError):
            self._file.close()
        self._errors.seek(0)
        reason = find_error_line(self._errors.read(4096).decode("utf-8", "replace"))
        self._errors.close()
        if exit_code not in (None, 0) and not self.problem:
            self.problem = f"it ended by itself with code {exit_code}" + (f": {reason}" if reason else "")


class Companions:
    """The tools beside one recording. Use as a context: they begin with it and end with it, at the latest."""

    def __init__(self, words: Sequence[str], final: Path, seconds: float, *, is_root: bool) -> None:
        self._words, self._final = words, final
        self._commands = build_companion_commands(words, seconds, is_root=is_root)
        self._running: list[RunningTool] = []

    def __enter__(self) -> Self:
        try:
            for word, command in zip(self._words, self._commands, strict=True):
                self._running.append(RunningTool(word, command, self._final))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for tool in self._running:
            tool.path.unlink(missing_ok=True)

    def end(self) -> None:
        """End the tools, whatever they have written."""
        for tool in self._running:
            tool.end()

    def keep(self, bundle: Path) -> tuple[list[Path], list[str]]:
        """Move the files beside the recording; return their paths, and a sentence for each problem.

        A tool that wrote nothing leaves no file.
        """
        self.end()
        paths, problems = [], []
        for tool in self._running:
            path = build_companion_path(bundle, tool.word)
            is_empty = tool.path.stat().st_size == 0
            if tool.problem or is_empty:
                problems.append(f"--with {tool.word}: {tool.problem or 'it wrote nothing'}.")
            if not is_empty:
                tool.path.chmod(0o644)
                tool.path.replace(path)
                paths.append(path)
        return paths, problems


class EndWithRecording:
    """A listener that ends the companions when the recording does; saving may take minutes more."""

    def __init__(self, listener: RecordingListener, companions: Companions) -> None:
        self._listener, self._companions = listener, companions
        self.on_recording = listener.on_recording
        self.on_no_output = listener.on_no_output
        self.on_progress = listener.on_progress
        self.on_stop_while_saving = listener.on_stop_while_saving

    def on_saving(self, reason: StopReason) -> None:
        """See ``RecordingListener``."""
        self._listener.on_saving(reason)
        self._companions.end()


def is_root() -> bool:
    """Return True where every tool can be started without sudo."""
    return sys.platform != "win32" and os.geteuid() == 0
