"""Claims about what a recording of known calls holds: rows of Core ML, signposts, Neural Engine work."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.analysis import analyze
from tracekit.errors import NotMeasurableError, UsageError, XctraceError
from tracekit.load import open_trace
from tracekit.model.schemas import ANE_TABLES, CORE_ML
from tracekit.model.trace import Trace
from tracekit.probes.probe_manifest import read_manifest
from tracekit.probes.probe_reading import Placement, read_probes
from tracekit.probes.runner import CATEGORY, SIGNPOST, SUBSYSTEM
from tracekit.proof.claim_outcome import ClaimOutcome, judge
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Workbench
from tracekit.text import plural

_RECORDING = "preset-coreml"
_UNOWNED = ("ane-labels-unmatched", "ane-work-unclaimed", "ane-process-unknown")


def try_evidence(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Read the recording of the preset coreml against the calls that its program made."""
    bundle = dict(bench.recordings).get(_RECORDING)
    if bundle is None:
        raise XctraceError("There is no recording with the preset coreml.")
    calls = sum(bench.calls_per_setting.values())
    trace = open_trace(bundle)
    rows = int((trace.intervals["source"] == CORE_ML).sum())
    yield judge("core-ml-rows", rows >= calls, f"{plural(rows, 'row')} of Core ML, {plural(calls, 'call')}")
    marks = _count_marks(trace)
    yield judge(
        "app-signposts", marks == calls, f"{plural(marks, 'pair')} of signposts, {plural(calls, 'call')}"
    )
    engine_rows = int(trace.intervals["source"].isin(ANE_TABLES).sum())
    yield judge("ane-rows", engine_rows > 0, f"{plural(engine_rows, 'row')} of the Neural Engine")
    codes = {diagnostic.code for diagnostic in analyze(trace).diagnostics}
    unowned = [code for code in _UNOWNED if code in codes]
    yield judge(
        "ane-owned",
        engine_rows > 0 and not unowned,
        f"issues: {', '.join(unowned) or 'none'}; {plural(engine_rows, 'row')}",
    )
    try:
        results = read_probes(trace, read_manifest(bench.folder / "probes"))
    except NotMeasurableError:
        yield judge("probe-control", False, "no call of a probe was seen")
        return
    placements = [
        row.placement for row in results.rows if row.probe.is_control and row.setting == "cpuAndNeuralEngine"
    ]
    yield judge(
        "probe-control",
        placements == [Placement.WHOLE],
        f"the control is {', '.join(placements) or 'not seen'} with cpuAndNeuralEngine",
    )


def _count_marks(trace: Trace) -> int:
    """Return the number of the program's signposts that have a begin and an end."""
    try:
        return len(analyze(trace, signposts=f"{SUBSYSTEM}/{CATEGORY}/{SIGNPOST}").window_rows)
    except UsageError:  # none matches
        return 0


EVIDENCE_TRIAL = Trial(
    ("core-ml-rows", "app-signposts", "ane-rows", "ane-owned", "probe-control"), try_evidence
)
