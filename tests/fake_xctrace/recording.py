"""`xctrace record`: starts, records, stops for one of several reasons, and saves – or not."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fake_xctrace.bundles import Growing
from fake_xctrace.catalogue import XCODE_26_4, XCODE_27, instruments_of, shown_options
from fake_xctrace.launching import Target
from fake_xctrace.machine import Console, Machine, Refusal
from fake_xctrace.options import parse, usage_error
from fake_xctrace.plan import Plan, make_plan, recorded_instruments

if TYPE_CHECKING:
    from types import FrameType

KPERF_BUSY = 2
STOPPED = 54
"""Ctrl-C, a target that ended or was killed, run issues: a good trace all the same (flamegraph-rs, xcprof)."""
_TICK_SECONDS = 0.01
_FOR_GOOD = 10**9


def record(machine: Machine, arguments: list[str], console: Console) -> int:
    """Run the command and return its exit code."""
    parsed = parse("record", arguments, machine.build)
    if "--show-recording-options" in parsed:
        console.write(shown_options(*recorded_instruments(machine, parsed)))
        return 0
    plan = make_plan(machine, parsed)
    with _kperf(machine, plan):
        return _Recorder(machine, plan, console, quiet="--quiet" in parsed).run()


def import_file(machine: Machine, arguments: list[str], console: Console) -> int:
    """Save the configured recording as if it came from the input, e.g. the raw data of an unfinished one."""
    parsed = parse("import", arguments, machine.build)
    source, shown = parsed.value("--input"), parsed.value("--output")
    if not source or not shown or not ("--template" in parsed or "--instrument" in parsed):
        raise usage_error("import", "Missing option", machine.build)  # invented wording
    if not Path(source).exists() or (Path(shown).exists() and "--append-run" not in parsed):
        raise Refusal(f"Import failed: {source} → {shown}")  # invented wording
    Growing(Path(shown)).finish(machine["recording"], disk_is_full=False, without_rows=False)
    console.write(f"Output file saved as: {shown}")
    return 0


@contextlib.contextmanager
def _kperf(machine: Machine, plan: Plan) -> Iterator[None]:
    """Hold the profiler, of which a Mac has one; a real device has its own."""
    busy = Refusal("_lockKPerf: could not lock kperf. Likely another session just started.", KPERF_BUSY)
    if not plan.device.on_host:
        yield
        return
    if machine["kperf"] == "busy":
        raise busy
    with (machine.folder / "kperf.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise busy from None
        yield


class _Recorder:
    """One recording from its first line to its exit code."""

    def __init__(self, machine: Machine, plan: Plan, console: Console, quiet: bool) -> None:
        self._machine = machine
        self._plan = plan
        self._console = console
        self._progress = Console(console.enabled and not quiet)
        self._interrupts = 0
        signal.signal(signal.SIGINT, self._interrupt)

    def run(self) -> int:
        # A test that has seen the first line may interrupt at once, and expect a trace.
        begun = None if self._machine["start_seconds"] or self._machine["hang"] == "start" else self._begin()
        self._progress.write(self._plan.opening)
        if not begun and not self._starts():
            return STOPPED
        growing, target = begun or self._begin()
        self._progress.write("Ctrl-C to stop the recording")
        cause = self._record(growing, target)
        if target:
            target.kill()
        return self._save(growing, cause)

    def _begin(self) -> tuple[Growing, Target | None]:
        # While it records, xctrace ignores SIGTERM (public notes). A function and not SIG_IGN, which the
        # target would inherit.
        signal.signal(signal.SIGTERM, lambda *_: None)
        try:
            return Growing(self._plan.output), Target.of(self._plan, self._machine.folder)
        except OSError as error:
            raise Refusal(f"Failed to start the recording: {error.strerror}: {error.filename}") from error

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupts += 1

    def _starts(self) -> bool:
        """Wait until the recording begins; return False if Ctrl-C came first."""
        hangs = self._machine["hang"] == "start"
        end = time.monotonic() + (_FOR_GOOD if hangs else self._machine["start_seconds"])
        return self._wait(end)

    def _wait(self, end: float) -> bool:
        while time.monotonic() < end and not self._interrupts:
            time.sleep(_TICK_SECONDS)
        return not self._interrupts

    def _record(self, growing: Growing, target: Target | None) -> str:
        """Record until something ends it; return the cause."""
        began = time.monotonic()
        limit = self._plan.limit_seconds
        if self._is_refused():
            return "failed"
        while True:
            elapsed = time.monotonic() - began
            if self._machine["dies"] is not None and elapsed >= self._machine["dies"]:
                os.kill(os.getpid(), signal.SIGKILL)
            if self._interrupts:
                return "interrupted"
            if (target and target.has_ended()) or elapsed >= (self._plan.ends_after_seconds or _FOR_GOOD):
                return "target ended"
            if self._device_disconnects() and elapsed >= (limit or 1.0) / 2:
                return "disconnected"
            if limit and elapsed >= limit and self._machine["hang"] != "time-limit":
                return "time limit"
            growing.grow()
            time.sleep(_TICK_SECONDS)

    def _device_disconnects(self) -> bool:
        return self._plan.device.kind == "device" and self._machine["device"] == "disconnects"

    def _save(self, growing: Growing, cause: str) -> int:
        if cause in _STOPPING:
            self._progress.write(_STOPPING[cause])
        if cause == "interrupted" and not self._machine["interrupt_saves"]:
            return STOPPED
        issues = self._issues(cause)
        if issues:
            self._progress.write("Run issues were detected (trace is still ready to be viewed):")
            for issue in issues:
                self._progress.write(f"* [Error] {issue}")
            self._progress.write("")
        self._progress.write(
            f"Recording {'failed with errors' if issues else 'completed'}. Saving output file..."
        )
        if not self._saving_goes_on(interrupted=cause == "interrupted"):
            return STOPPED
        try:
            full = self._machine["disk"] == "full"
            growing.finish(self._machine["recording"], full, without_rows=self._is_refused())
        except OSError as error:
            raise Refusal(
                f"Failed to save the trace: {error.strerror or error}"
            ) from error  # invented wording
        self._console.write(f"Output file saved as: {self._plan.shown}")
        return self._exit_code(cause, bool(issues))

    def _saving_goes_on(self, interrupted: bool) -> bool:
        """Wait while it saves; return False if another Ctrl-C ends it. SIGTERM now kills (cargo-instruments#88)."""
        hang = self._machine["hang"] or ("saving" if self._deadlocks() else "")
        if hang != "saving-ignores-interrupt":
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        hangs = hang.startswith("saving")
        self._interrupts -= interrupted
        end = time.monotonic() + (_FOR_GOOD if hangs else self._machine["save_seconds"])
        until = self._machine["save_until"]
        while time.monotonic() < end or (until and not Path(until).exists()):
            if self._interrupts and self._machine["second_interrupt"] == "aborts" and not hangs:
                return False
            time.sleep(_TICK_SECONDS)
        return True

    def _is_refused(self) -> bool:
        """Return True in a sandbox, and for the template Core AI without privilege (silicon-ledger EXP-028, 27.0.1)."""
        needs_root = self._plan.template == "Core AI" and self._machine.build >= XCODE_27
        return self._machine["sandbox"] or (needs_root and not self._machine["root"])

    def _deadlocks(self) -> bool:
        """Return True for a simulator in Xcode 26.4 to 27.0 (software-mansion/argent#330, #350, #380)."""
        return self._plan.device.kind == "simulator" and XCODE_26_4 <= self._machine.build <= XCODE_27

    def _issues(self, cause: str) -> list[str]:
        plan, issues = self._plan, list(self._machine["run_issues"])
        instruments = instruments_of(plan.template, plan.instruments)
        if cause == "failed":
            issues.append(
                "Failed to start the recording: Could not set the recording priority."
            )  # public source
        if cause == "disconnected":
            issues.append("The device was disconnected.")  # invented wording
        if plan.kind == "all" and "Allocations" in instruments:
            issues.append("Allocations cannot handle a target type of 'All Processes'")  # public source
        if plan.device.kind == "simulator" and "Network Connections" in instruments:
            issues.append("Recording of 'Network Connections' is not supported in the Simulator.")  # 26.3
        return issues

    def _exit_code(self, cause: str, failed: bool) -> int:
        forced: int | None = self._machine["exit_code"]
        if forced is not None:
            return forced
        killed = cause == "time limit" and self._plan.kind == "launch"
        return STOPPED if failed or killed or cause in {"interrupted", "target ended"} else 0


_STOPPING = {
    "time limit": "Reached specified time limit, ending recording...",  # skastr0/probe-cli
    "interrupted": "Stopping recording...",  # public notes
    "target ended": "Target app exited, ending recording...",  # quoted in several READMEs
}
