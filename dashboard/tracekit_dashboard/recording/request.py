"""Recording requests of the page: checked, and converted to those of ``tracekit.record``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from tracekit.errors import UsageError
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.record.record_request import RecordRequest
from tracekit.record.recording_plan import PRESETS, Preset
from tracekit.xctrace.mac_host import Process

Kind: TypeAlias = Literal["running", "launch", "all"]
KINDS: tuple[Kind, ...] = ("running", "launch", "all")
MIN_SECONDS, MAX_SECONDS = 0.1, 3600.0
_MAX_TEXT_CHARACTERS = 1000


@dataclass(frozen=True)
class RecordingRequest:
    """A checked request; every text is one word of a command line that no shell reads.

    ``target`` is a path, name or bundle identifier, or with ``pid`` the name of that process when it was
    listed. ``device`` is an identifier, "" for this Mac. ``template`` takes precedence over ``preset``.
    """

    kind: Kind
    target: str = ""
    pid: int = 0
    device: str = ""
    preset: str = "counters"
    template: str = ""
    seconds: float = 10.0
    compute_units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for values that make no recording; they come from a browser."""
        if self.kind not in KINDS or (not self.template and self.preset not in PRESETS):
            raise UsageError("Choose what to record, and with which instruments.")
        for text in (self.target, self.device, self.template):
            _check_word(text)
        if not _is_number(self.pid) or not _is_number(self.seconds):
            raise UsageError("The time limit must be a number of seconds.")
        if not MIN_SECONDS <= self.seconds <= MAX_SECONDS:
            limits = f"{MIN_SECONDS:g} and {MAX_SECONDS:g}"
            raise UsageError(f"The time limit must lie between {limits} seconds.")
        if self.kind != "all" and not self.target.strip():
            raise UsageError("Choose or name what to record.")
        if any(unit not in COMPUTE_UNITS for unit in self.compute_units):
            raise UsageError(f"The compute units are {', '.join(COMPUTE_UNITS)}.")
        if self.compute_units and self.kind != "launch":
            raise UsageError("Compute units are set when an app is started: choose to start it.")

    def request(self, folder: Path, min_free_bytes: int) -> RecordRequest:
        """Return the request of recordings that go into ``folder``."""
        return RecordRequest(
            app=None if self.kind == "all" else str(self.pid) if self.pid else self.target,
            launch=self.kind == "launch",
            all_processes=self.kind == "all",
            devices=(self.device,) if self.device else (),
            time_limit_seconds=self.seconds,
            preset=None if self.template else cast(Preset, self.preset),
            template=self.template or None,
            compute_units=self.compute_units,
            output=str(folder),
            min_free_bytes=min_free_bytes,
        )

    def check_process(self, processes: Sequence[Process]) -> None:
        """Raise ``UsageError`` if the chosen process has ended, even if its pid is in use again."""
        if (
            self.pid
            and processes
            and (self.pid, self.target) not in {(process.pid, process.name) for process in processes}
        ):
            raise UsageError(f"{self.target} (pid {self.pid}) has ended. Start it, and choose it again.")


def describe_target(request: RecordingRequest) -> str:
    """Return the target of a request in a few words."""
    if request.kind == "all":
        return "all processes"
    return f"{request.target} (pid {request.pid})" if request.pid else request.target


def _check_word(text: object) -> None:
    if not isinstance(text, str) or len(text) > _MAX_TEXT_CHARACTERS or not text.isprintable():
        raise UsageError("A name is too long, or contains characters that no name has.")
    if text.startswith("-"):
        raise UsageError(f"'{text}': a name that begins with a dash would be taken for an option.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_PAGE_WORDING = (
    ("record everything with --all-processes", "record all processes"),
    ("or everything with --all-processes", "or all processes"),
    ("name the device with --device", "choose the device"),
    ("Name the simulator: --device", "Choose the simulator"),
    ("with --preset minimal", "with the preset minimal"),
    ("Name one with --app, or leave that instrument out.", "Choose one, or another template."),
    ("Free some space, choose another output with -o, or lower --min-free.", "Free some space."),
    (" --app NAME finds it by name.", " Choose it again."),
    (" (--save-timeout)", ""),
    ("--template and --instrument choose others.", "One of its templates may work."),
    ("--template ", "The template "),
    ("--app ", ""),
    ("--preset coreml", "the preset coreml"),
)


def reword_for_page(sentence: str) -> str:
    """Return a sentence with the page's words instead of command-line options."""
    for option, word in _PAGE_WORDING:
        sentence = sentence.replace(option, word)
    return sentence
