"""Claims about a booted simulator: the hang of its own recording, and its processes in one of the Mac."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis.diagnostics import list_simulated_processes
from tracekit.errors import XctraceError
from tracekit.load import open_trace
from tracekit.proof.claim_outcome import ClaimOutcome, judge, leave
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Workbench, describe_attempt
from tracekit.record.recording_plan import InstrumentPlan, make_plan
from tracekit.record.simulator import must_record_through_mac
from tracekit.xctrace.xctrace_list import Device, list_devices


def try_hang(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record the simulator itself; a recording that does not end is ended."""
    device = _find_simulator(bench)
    if not must_record_through_mac(device, bench.version):
        yield leave("simulator-hangs", "this Xcode is older than 26.4")
        return
    attempt = bench.record("simulator", InstrumentPlan("Time Profiler", ()), device=device)
    reason = attempt.runs[-1].stop_reason
    yield judge("simulator-hangs", reason in ("silent", "overdue"), describe_attempt(attempt))


def try_through_mac(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record all processes of the Mac, and look for those of the simulator."""
    attempt = bench.record("simulator-on-host", make_plan(bench.catalog, "minimal"))
    if attempt.result.state != "good":
        yield judge("simulator-on-host", False, describe_attempt(attempt))
        return
    processes = list_simulated_processes(open_trace(attempt.bundle))
    yield judge("simulator-on-host", bool(processes), f"{len(processes)} simulated processes have samples")


def _find_simulator(bench: Workbench) -> Device:
    udid = bench.surroundings.simulator
    device = next((device for device in list_devices(bench.tool) if device.udid == udid), None)
    if device is None:
        raise XctraceError("xctrace does not list the booted simulator.")
    return device


SIMULATOR_TRIALS = (
    Trial(("simulator-hangs",), try_hang),
    Trial(("simulator-on-host",), try_through_mac),
)
