"""The means that trials share: the xctrace, the folder of their recordings, and one way to record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tracekit.errors import XctraceError
from tracekit.proof.surroundings import Surroundings
from tracekit.record.recorder import RecordingListener, RecordLimits, StopReason
from tracekit.record.recording_plan import InstrumentCatalog, InstrumentPlan
from tracekit.record.session import RecordingAttempt, RecordSettings, record
from tracekit.record.signals import StopRequests
from tracekit.record.target import ALL_PROCESSES, Target
from tracekit.xctrace.mac_host import Mac
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version
from tracekit.xctrace.xctrace_list import Device

Report: TypeAlias = Callable[[str], None]

SHORT_SECONDS = 4.0
"""The length of a recording of all processes."""
PATIENCE_SECONDS = 120.0
"""After so long without activity, a recording that hangs is ended."""
_MIN_FREE_BYTES = 2 * 10**9


@dataclass
class Workbench:
    """The means of all trials. ``program`` calls the models once the trial of programs has built it."""

    folder: Path
    tool: Xctrace
    version: Version
    catalog: InstrumentCatalog
    surroundings: Surroundings
    requests: StopRequests
    report: Report
    every_template: bool = False
    program: tuple[str, ...] = ()
    calls_per_setting: dict[str, int] = field(default_factory=dict)
    recordings: list[tuple[str, Path]] = field(default_factory=list)

    def record(
        self,
        name: str,
        plan: InstrumentPlan,
        target: Target = ALL_PROCESSES,
        *,
        seconds: float | None = None,
        window_seconds: float | None = None,
        append: bool = False,
        device: Device | None = None,
        requests: StopRequests | None = None,
        listener: RecordingListener | None = None,
    ) -> RecordingAttempt:
        """Record into ``name.trace`` of the folder; raises what ``session.record`` raises."""
        if self.requests.count:
            raise XctraceError("It was stopped before.")
        self.report(f"Recording {name} …")
        limits = RecordLimits.build_within(seconds or SHORT_SECONDS, PATIENCE_SECONDS, _MIN_FREE_BYTES)
        settings = RecordSettings(plan, target, limits, device, window_seconds=window_seconds, append=append)
        attempt = record(
            self.tool,
            settings,
            self.folder / f"{name}.trace",
            requests or self.requests,
            listener or QuietListener(),
            force=True,
            host=Mac(),
        )
        if attempt.result.state == "good" and not append:
            self.recordings.append((name, attempt.bundle))
        return attempt

    def launch(self) -> Target:
        """Return the target that calls the models."""
        program, *arguments = self.program
        return Target("launch", Path(program).name, program, tuple(arguments), "a trial")


class QuietListener:
    """Listens to a recording and reports nothing. Implements ``recorder.RecordingListener``."""

    def on_recording(self) -> None:
        """See ``RecordingListener``."""

    def on_saving(self, reason: StopReason) -> None:
        """See ``RecordingListener``."""

    def on_no_output(self) -> None:
        """See ``RecordingListener``."""

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """See ``RecordingListener``."""

    def on_stop_while_saving(self, seconds: float) -> None:
        """See ``RecordingListener``."""


class StopAfter(QuietListener):
    """Requests a stop once, when the recording has gone on for a time."""

    def __init__(self, requests: StopRequests, seconds: float) -> None:
        self._requests, self._seconds = requests, seconds

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """See ``RecordingListener``."""
        del size_bytes
        if not saving and seconds >= self._seconds and not self._requests.count:
            self._requests.request()


def describe_attempt(attempt: RecordingAttempt) -> str:
    """Return the state of a recording in a few words: no output of xctrace, which may name people."""
    run, result = attempt.runs[-1], attempt.result
    cause = result.failure.problem if result.failure else f"exit code {run.exit_code}"
    stop = f", ended as {run.stop_reason}" if run.stop_reason else ""
    return f"the recording is {result.state}{stop}: {cause}"
