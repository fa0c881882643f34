"""How, on what and when a run was recorded, in words: for the text, the report and the page."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.result import Analysis
from tracekit.analysis.selection import Selection
from tracekit.analysis.whole_threads import WholeThreads
from tracekit.model.trace import MICROSTACKSHOTS, Trace
from tracekit.report.analysis.inputs import describe_input
from tracekit.text import format_weight, plural

_MOST_EVENTS = 8
_ACCELERATORS = "GPU Neural Accelerators: "
_THERMAL = {0: "nominal", 1: "fair", 2: "serious", 3: "critical"}


def recording_facts(analysis: Analysis) -> list[tuple[str, str]]:
    """Return how, on what and when it was recorded, in words; what is not known is left out."""
    trace = analysis.trace
    info = trace.info
    system = f"{info.platform} {info.os}".strip()
    target = f"{info.process} ({info.pid})" if info.process and info.pid is not None else info.process
    facts = {
        "Input": _input(trace),
        "Recorded": ", ".join(part for part in (info.device or info.model, system, info.start) if part),
        "Target": target,
        "Template": ", ".join(
            part for part in (info.template, info.instruments and f"Instruments {info.instruments}") if part
        ),
        "Duration": f"{info.duration_ns / 1e9:.3f} s" if info.duration_ns else "",
        "Cause": "" if trace.has_timeline else info.end_reason,
        "Selected": _selected(analysis.selection),
        "Samples": _sample_fact(trace),
        "Cores": _core_fact(trace),
        "Heat": _heat_fact(trace),
        "GPU": _accelerator_fact(trace),
    }
    return [(name, text) for name, text in facts.items() if text]


def _input(trace: Trace) -> str:
    """Return ``dump.txt, a report of sample``; a file may hold several reports."""
    info = trace.info
    if not trace.is_of_text:
        return f"{info.name}, run {info.run}"
    report = f", report {info.run}" if info.run > 1 else ""
    return f"{info.name}, {describe_input(info.kind)}{report}"


def _selected(selection: Selection) -> str:
    parts: list[str] = []
    if selection.process is not None:
        parts.append(f"process {selection.process}")
    if selection.thread is not None:
        parts.append(f"thread {selection.thread} and the workers of its calls")
    return ", ".join(parts)


def _core_fact(trace: Trace) -> str:
    """Count samples by the kind of core that they ran on."""
    kinds = trace.samples["core"].map(dict(trace.core_types)).value_counts()
    named = {"P": "performance", "E": "efficiency"}
    parts = [f"{kinds[kind]:,} on {name} cores" for kind, name in named.items() if kind in kinds]
    return "samples " + ", ".join(parts) if parts else ""


def _heat_fact(trace: Trace) -> str:
    """Return ``thermal state nominal, fair from 3.200 s``."""
    rows = trace.tracks[is_among(trace.tracks["name"], "Thermal state")].dropna(subset="value")
    rows = rows[(rows["value"] != rows["value"].shift()).to_numpy(bool)]
    parts: list[str] = []
    for row in rows.head(_MOST_EVENTS).to_dict("records"):
        name = _THERMAL.get(int(row["value"]), "unknown")
        parts.append(f"{name} from {row['time_ns'] / 1e9:.3f} s" if parts else name)
    return f"thermal state {', '.join(parts)}" if parts else ""


def _accelerator_fact(trace: Trace) -> str:
    """Return ``Neural Accelerators: utilization 76 % on average, 98 % at most (whole device)``."""
    parts = []
    for name, rows in trace.tracks.groupby("name", observed=True, sort=True) if len(trace.tracks) else ():
        values = rows["value"].dropna()
        if str(name).startswith(_ACCELERATORS) and len(values):
            what = str(name).removeprefix(_ACCELERATORS)
            parts.append(f"{what} {values.mean():.0f} % on average, {values.max():.0f} % at most")
    return (
        f"Neural Accelerators: {'; '.join(parts)} (of the whole device, a part of the GPU)" if parts else ""
    )


def _sample_fact(trace: Trace) -> str:
    if not trace.samples_source:
        return "none in this input"
    stacks = trace.samples["stack_id"]
    null = trace.count_samples((stacks < 0).to_numpy(bool))
    unique = stacks[stacks >= 0].nunique()
    if not trace.has_timeline:
        stacks_shown = plural(unique, "stack")
        fact = f"{trace.count_samples():,} of {_sampled_threads(trace)}, without times, {stacks_shown}"
    else:
        weight = format_weight(int(trace.weights.sum()), trace.weight_unit)
        fact = f"{trace.count_samples():,} from {trace.samples_source}, {weight}, {plural(unique, 'stack')}"
    return f"{fact}, {null:,} without a stack" if null else fact


def _sampled_threads(trace: Trace) -> str:
    if trace.info.kind == MICROSTACKSHOTS:
        return "threads that are not separated"
    has_samples = np.zeros(len(trace.threads) + 1, bool)
    has_samples[trace.samples["thread_id"].to_numpy(np.int64)[trace.sample_counts > 0]] = True
    has_samples[-1] = False
    return plural(int(WholeThreads(trace.threads).mark_first_rows(has_samples).sum()), "thread")
