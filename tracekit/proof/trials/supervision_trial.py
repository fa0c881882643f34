"""Claims about how recordings end, go together and are added to: short recordings of all processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from tracekit.errors import XctraceError
from tracekit.load import open_trace
from tracekit.model.schemas import TIME_PROFILE
from tracekit.proof import workbench
from tracekit.proof.claim_outcome import ClaimOutcome, judge
from tracekit.proof.trials.recorded_checks import read_run
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import QuietListener, StopAfter, Workbench, describe_attempt
from tracekit.record.recorder import Recorder, RecordLimits
from tracekit.record.recording_plan import make_plan
from tracekit.record.recording_result import read_run_numbers
from tracekit.record.session import RecordSettings, build_xctrace_command
from tracekit.record.signals import StopRequests
from tracekit.record.target import ALL_PROCESSES
from tracekit.record.xctrace_failures import find_known_failure

_LONG_SECONDS = 60.0
_SLACK_SECONDS = 1.0


def try_interrupt(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Interrupt a long recording after a moment."""
    requests = StopRequests()
    attempt = bench.record(
        "interrupted",
        make_plan(bench.catalog, "minimal"),
        seconds=_LONG_SECONDS,
        requests=requests,
        listener=StopAfter(requests, workbench.SHORT_SECONDS / 2),
    )
    run = attempt.runs[-1]
    is_saved = attempt.result.state == "good" and run.stop_reason == "asked" and not run.killed
    yield judge("interrupt-saves", is_saved, describe_attempt(attempt))


def try_window(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Keep the last part of a recording."""
    kept = workbench.SHORT_SECONDS / 3
    plan = make_plan(bench.catalog, "minimal")
    attempt = bench.record("windowed", plan, seconds=workbench.SHORT_SECONDS, window_seconds=kept)
    if attempt.result.state != "good":
        yield judge("window-kept", False, describe_attempt(attempt))
        return
    times = open_trace(attempt.bundle).samples["time_ns"]
    span = (int(times.max()) - int(times.min())) / 1e9 if len(times) else 0.0
    yield judge(
        "window-kept", 0 < span <= kept + _SLACK_SECONDS, f"samples of {span:.1f} s, of {kept:.1f} s kept"
    )


def try_append(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Add a run to a recording, and list the runs."""
    plan = make_plan(bench.catalog, "minimal")
    first = bench.record("appended", plan)
    if first.result.state != "good":
        yield judge("append-run", False, describe_attempt(first))
        return
    attempt = bench.record("appended", plan, append=True)
    runs = sorted(read_run_numbers(attempt.bundle, bench.tool))
    is_added = attempt.result.state == "good" and runs == [1, 2]
    finding = f"runs {', '.join(map(str, runs)) or 'none'}"
    yield judge("append-run", is_added, finding if is_added else f"{finding}; {describe_attempt(attempt)}")


def try_second(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Start a second xctrace while a first one records."""
    plan = make_plan(bench.catalog, "minimal")
    listener = _SignalWhenRecording()
    second: list[tuple[str, bool]] = []

    def start_second() -> None:
        if listener.recording.wait(workbench.PATIENCE_SECONDS):
            second.append(_record_beside(bench))

    thread = threading.Thread(target=start_second)
    thread.start()
    try:
        first = bench.record("first-of-two", plan, seconds=2 * workbench.SHORT_SECONDS, listener=listener)
    finally:
        listener.recording.set()
        thread.join()
    code, is_saved = second[0] if second else ("not started", False)
    tables = read_run(first.bundle).tables
    samples = sum(table.row_count or 0 for table in tables if table.schema == TIME_PROFILE)
    is_whole = first.result.state == "good" and samples > 0
    finding = f"the second: {code or 'no known message'}{', saved' if is_saved else ''}"
    finding += f"; the first: {first.result.state}"
    yield judge("second-recording", code == "recorder-busy" and not is_saved and is_whole, finding)


class _SignalWhenRecording(QuietListener):
    """Signals that a recording has begun."""

    def __init__(self) -> None:
        self.recording = threading.Event()

    def on_progress(self, saving: bool, seconds: float, size_bytes: int) -> None:
        """See ``RecordingListener``."""
        del saving, seconds, size_bytes
        self.recording.set()


def _record_beside(bench: Workbench) -> tuple[str, bool]:
    """Run a short recording without tracekit's lock; return its known failure, and whether it was saved."""
    plan = make_plan(bench.catalog, "minimal")
    limits = RecordLimits.build_within(1.0, workbench.PATIENCE_SECONDS, 0)
    bundle = bench.folder / "second-of-two.trace"
    command = build_xctrace_command(bench.tool, bundle, RecordSettings(plan, ALL_PROCESSES, limits))
    try:
        run = Recorder(command, bundle, limits, bench.requests, QuietListener()).record()
    except XctraceError:
        return "not started", False
    failure = find_known_failure(run.output)
    return failure.code if failure else "", bundle.exists()


SUPERVISION_TRIALS = (
    Trial(("interrupt-saves",), try_interrupt),
    Trial(("window-kept",), try_window),
    Trial(("append-run",), try_append),
    Trial(("second-recording",), try_second),
)
