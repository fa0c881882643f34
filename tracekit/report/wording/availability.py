"""The availability of a table as English: what it can show, and what became of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tracekit.analysis.availability import Evidence, Use
from tracekit.model import schemas
from tracekit.text import plural

_SHOWS = {
    schemas.TIME_PROFILE: "host samples: who called an engine, not how long the engine worked",
    schemas.CPU_PROFILE: "host samples weighted in CPU cycles, not in time",
    schemas.COUNTERS_PROFILE: "host samples with hardware counters",
    schemas.TIME_SAMPLE: "raw host samples, which have no symbols in an export",
    schemas.CUMULATIVE_COUNTERS: "hardware counters per core at each sampling tick",
    schemas.STACK_COUNTS: "stacks of threads with their samples, without times",
    schemas.CORE_ML: "Core ML's own predictions, requests and loads",
    schemas.ANE_INTERVALS: "when the Neural Engine ran, for all processes without naming one",
    schemas.MPS_INTERVALS: "when MPSGraph ran a program, on the GPU or through the Neural Engine",
    schemas.GPU_INTERVALS: "when the GPU ran, graphics included, for every process",
    schemas.GPU_STATE: "when the GPU was active, for all processes together",
    schemas.METAL_CALLS: "when an app encoded and submitted GPU work, not when the GPU did it",
    schemas.SIGNPOST_INTERVALS: "intervals that apps and frameworks mark",
    schemas.SIGNPOST_EVENTS: "events that apps and frameworks mark; begins and ends are separate rows",
    schemas.OS_LOG: "requests to the Neural Engine with their process and status, and operators that it"
    " refused, where the frameworks log them",
    schemas.POWER_RAILS: "power of the Neural Engine, the GPU and the CPU, estimated for the whole system",
    schemas.ANE_POWER_STATE: "when the kernel had the Neural Engine powered, not for which process",
    schemas.PROCESS_USAGE: "which processes held memory on the Neural Engine: programs that are loaded there,"
    " not that they ran",
    schemas.ENGINE_PRESENCE: "when bandwidth was kept ready for the Neural Engine, not for which process"
    " or how long it worked",
    schemas.THREAD_STATE: "when threads ran and waited",
    schemas.THREAD_METRICS: "sums of hardware counters per thread",
    schemas.THERMAL_STATE: "the device's thermal state, which may explain slower calls",
    schemas.MODEL_INFERENCE: "requests to Foundation Models; prompts and answers are not read",
    schemas.MODEL_LOADING: "when Foundation Models loaded which asset",
    schemas.CORE_AI: "Core AI's own inferences, loads and compiles, without the engine that ran them",
}
_READ = {
    schemas.MPS_INTERVALS: "measures the GPU's busy time",
    schemas.CORE_ML: "defines the calls, unless others were chosen",
    schemas.CORE_AI: "defines the calls, unless others were chosen",
    schemas.SIGNPOST_INTERVALS: "defines calls with --window-signpost",
    schemas.SIGNPOST_INTERVALS_NAMED: "defines calls with --window-signpost",
    schemas.REGIONS_OF_INTEREST: "defines calls with --window-signpost",
    schemas.SIGNPOST_EVENTS: "begins and ends are paired; defines calls with --window-signpost",
    schemas.OS_LOG: "only lines of the frameworks below Core ML and Core AI are read",
    schemas.THREAD_STATE: "shows when threads waited",
    schemas.GPU_STATE: "shown as a track",
    schemas.POWER_RAILS: "shown as tracks, and as the energy of calls",
    schemas.ANE_POWER_STATE: "shown as a track",
    schemas.PROCESS_USAGE: "shown as tracks",
    schemas.ENGINE_PRESENCE: "shown as tracks",
    schemas.THERMAL_STATE: "shown under Recording",
    schemas.MODEL_INFERENCE: "defines calls",
    schemas.METAL_CALLS: "names the process of GPU work",
}
_REMARKS = {
    Use.NOT_RECORDED: "not recorded",
    Use.NOT_EXPORTED: "recorded, but not exported into this input",
    Use.NOT_READABLE: "recorded, but unreadable (see the limits of this recording)",
    Use.NOT_KNOWN: "not in this input (unknown whether it was recorded: the export has no table of contents)",
    Use.REFUSED: "not recorded: the kernel refused (see the limits of this recording)",
    Use.NOTHING_HAS_ROWS: "no table of the recording has a row, so nothing shows that it was recorded",
    Use.NO_ROWS: "recorded, no rows (this does not prove that the engine was idle)",
    Use.SAMPLES: "the samples of this analysis",
    Use.OTHER_SAMPLES: "not used; choose it with --samples",
    Use.COUNTERS: "its counters are used",
    Use.UNREADABLE_ROWS: "could not be read (see the limits of this recording)",
    Use.ANE_NOT_COUNTED: "excluded: this app's stacks never call the Neural Engine, and no table"
    " lists its models",
    Use.ANE_OWNED: "measures the Neural Engine's busy time; every row is this app's",
    Use.ANE_SHARED: "measures the Neural Engine's busy time; some rows are another process's, or may be",
    Use.ANE_UNCHECKED: "measures the Neural Engine's busy time; its rows cannot be assigned to a process",
}


def shows(evidence: Evidence) -> str:
    """Return what a table can and cannot show."""
    return _SHOWS[evidence.table]


def remark(evidence: Evidence) -> str:
    """Return what became of a table in this analysis."""
    rows = plural(evidence.excluded, "row")
    match evidence.use:
        case Use.ANE_PARTLY:
            fit, are = ("fits", "is") if evidence.excluded == 1 else ("fit", "are")
            excluded = f"{rows} {fit} no model or request of this app and {are} excluded"
            return f"measures the Neural Engine's busy time; {excluded}"
        case Use.GPU:
            return f"measures the GPU's busy time; {rows} of other processes excluded"
        case Use.MPS_ON_ANE:
            repeats = "repeats one" if evidence.excluded == 1 else "repeat those"
            twins = f"{rows} {repeats} of the Neural Engine, and so name their process"
            return twins if evidence.excluded == evidence.rows else f"measures the GPU's busy time; {twins}"
        case Use.ROWS:
            return _READ.get(evidence.source.split(", ")[0], "read")
        case use:
            return _REMARKS[use]


def build_evidence_document(evidence: Evidence) -> dict[str, Any]:
    """Return the availability of a table as plain data, with its sentences."""
    document = asdict(evidence)
    names = ("source", "state", "rows", "scope")
    return {name: document[name] for name in names} | {"shows": shows(evidence), "remark": remark(evidence)}
