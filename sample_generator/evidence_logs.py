"""Lines of the unified log: what the frameworks below Core ML write about their requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sample_generator.cells import Cells, composed, named, process, time_cell
from sample_generator.recording import on_clock
from sample_generator.xml_writer import SENTINEL, Element

if TYPE_CHECKING:
    from sample_generator.recording import Inference, Lane, Recording

ANE, ESPRESSO = "com.apple.ane", "com.apple.espresso"
_METHOD = "processRequest:model:qos:qIndex:modelStringID:options:returnValue:error:"
_DONE = "-----> %@: ANEProgramProcessRequestDirect() status=0x%x : statusType=0x%x : qos=0x%x"
_FAILED = (
    "ANEProgramProcessRequestDirect() Failed with status=0x{:x} : statusType=0x9: Program Inference error"
)


@dataclass(frozen=True)
class LogLine:
    """One line: its text as pieces, and what a reader is to take from it.

    ``status`` is that of a request (None: the line ends no request), ``operator`` and ``reason`` are those of
    a refusal.
    """

    time_ns: int
    writer: Lane | tuple[str, int, int]
    """A thread of the app; or the name, pid and tid of another process."""
    subsystem: str
    form: str
    pieces: tuple[str | int | Element, ...]
    level: str = "Debug"
    status: int | None = None
    inference: Inference | None = None
    operator: str = ""
    reason: str = ""


def request_line(
    end_ns: int,
    writer: Lane | tuple[str, int, int],
    status: int = 0,
    inference: Inference | None = None,
) -> LogLine:
    """Return the line of a request that was done at this time."""
    pieces = ("-----> ", named("string", _METHOD), ": ANEProgramProcessRequestDirect() status=0x", status)
    pieces += (" : statusType=0x", 9 if status else 0, " : qos=0x", 0x21)
    return LogLine(on_clock(end_ns + 118_000), writer, ANE, _DONE, pieces, status=status, inference=inference)


def error_lines(request: LogLine) -> list[LogLine]:
    """Return how two layers above report a failed request."""
    error = named(
        "string", f'Error Domain=com.apple.appleneuralengine Code=8 "{_FAILED.format(request.status)}"'
    )
    heads = ("ANE Evaluation Error = ", "ANE Scheduling Error = ")
    return [
        LogLine(
            on_clock(request.time_ns + delay), request.writer, ESPRESSO, f"{head}%@", (head, error), "Error"
        )
        for head, delay in zip(heads, (21_000, 64_000), strict=True)
    ]


def refusal_line(time_ns: int, writer: Lane, index: int, operator: str, reason: str) -> LogLine:
    """Return why Espresso keeps an operator off the Neural Engine."""
    pieces = ("Unsupported op ", named("uint64", str(index)), " (", named("string", operator), "): ")
    pieces += (named("string", reason),)
    form = "Unsupported op %lu (%s): %s"
    return LogLine(
        on_clock(time_ns), writer, ESPRESSO, form, pieces, "Info", operator=operator, reason=reason
    )


def withheld_line(time_ns: int, writer: Lane) -> LogLine:
    """Return a line whose argument the log may not hold."""
    private = Element("private", "<private>", "0")
    return LogLine(on_clock(time_ns), writer, ESPRESSO, "Loading %s", ("Loading ", private))


def unknown_line(time_ns: int, writer: Lane) -> LogLine:
    """Return a line of a form that shows nothing."""
    return LogLine(on_clock(time_ns), writer, ANE, "Session hint sent", ("Session hint sent",))


def app_line(time_ns: int, writer: Lane) -> LogLine:
    """Return a line of the app's own, in whose words a reader must see no request."""
    words = "I read: ANEProgramProcessRequestDirect() status=0x1d"
    return LogLine(on_clock(time_ns), writer, "org.example.SampleApp", words, (words,), "Default")


def log_row(recording: Recording, cells: Cells, line: LogLine) -> tuple[Element, ...]:
    """Return the line's cells."""
    if isinstance(line.writer, tuple):
        name, pid, tid = line.writer
        owner = process(name, pid)
        fmt = recording.platform.thread_fmt.format(name=name, tid=hex(tid), process=name, pid=pid)
        thread = Element("thread", fmt, children=(Element("tid", hex(tid), str(tid)), owner))
    else:
        owner, thread = cells.app, cells.thread(line.writer)
    return (
        time_cell("event-time", line.time_ns),
        thread,
        owner,
        named("event-type", line.level),
        named("format-string", line.form),
        SENTINEL,
        named("subsystem", line.subsystem),
        named("category", "common"),
        composed("os-log-metadata", *line.pieces),
        SENTINEL,
    )
