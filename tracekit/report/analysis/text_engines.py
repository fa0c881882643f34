"""The engines of an analysis over the whole run as text, and the counters by engine."""

from __future__ import annotations

from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.totals import EngineTotals, count_samples_by_phase
from tracekit.analysis.result import Analysis
from tracekit.model.issue_codes import COUNTERS, SAMPLES, Part, Reach
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Engine, Phase
from tracekit.report.analysis.text_layout import Column, TextLayout, note_lines, table_text
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.text import align, format_ms, printable

_MOST_EVENTS = 8


def engines_text(analysis: Analysis, layout: TextLayout, notes: Footnotes) -> str:
    """List the engines over the whole run: host samples, and the measured time where there is any."""
    unit = analysis.trace.weight_unit
    is_measured = bool(analysis.measured.reported)
    is_sampled = bool(analysis.trace.samples_source)
    seen = [totals for totals in analysis.engine_totals if totals.is_seen]
    if not seen:
        return ""
    columns = [Column("engine", [str(totals.engine) for totals in seen])]
    if is_measured:
        columns.append(Column("busy", [_busy(totals, notes) for totals in seen], True))
    if is_sampled:
        weights = [format_ms(totals.weight, 1) if unit == "ns" else f"{totals.weight:,}" for totals in seen]
        head, is_weighted = notes.marks(SAMPLES).head, unit not in ("samples", "hits")
        samples = [
            f"{totals.samples:,}{notes.marks(Reach(Part.SAMPLES, totals.engine)).head}" for totals in seen
        ]
        columns += [
            Column(f"{'hits' if unit == 'hits' else 'samples'}{head}", samples, True),
            *([Column("host time" if unit == "ns" else unit, weights, True)] if is_weighted else []),
        ]
        phases = [_phases(totals) for totals in seen]
        columns += [Column("phases", phases, rank=2)] if any(phases) else []
    columns.append(Column("", [_meaning(totals.engine) for totals in seen], rank=1))
    width = None if layout.is_verbose else layout.width
    table = table_text(columns, "  ", width)
    lines = [layout.paragraph(f"Engines ({_about(analysis, is_measured, is_sampled)})"), table]
    return "\n".join([*lines, *note_lines(notes.notes(), layout)])


def _about(analysis: Analysis, is_measured: bool, is_sampled: bool) -> str:
    about = "host samples: who called or ran an engine on the CPU, not how long it worked"
    about = about if is_sampled else "no host samples in this input"
    if analysis.thread_work is not None and analysis.thread_work.counts_waiting:
        about = "samples of all threads, waiting ones as well; not how long an engine worked"
        if analysis.thread_work.noun == "hit":
            about = "calls of functions with a breakpoint; not how long an engine worked"
    scope = "" if analysis.selection.thread is None else " and all threads"
    return f"busy is measured by tables over the whole run{scope}; {about}" if is_measured else about


def _busy(totals: EngineTotals, notes: Footnotes) -> str:
    if totals.busy_ns is None and totals.engine not in SERVING:
        return ""
    mark = notes.marks(Reach(Part.BUSY, totals.engine)).head
    return f"{format_ms(totals.busy_ns, 1, missing='not measured')}{mark}"


def preparing_text(analysis: Analysis, layout: TextLayout) -> str:
    """Return the time of compiling and loading, which counts towards no inference."""
    if analysis.thread_work is not None:  # its threads have a row for each phase
        return ""
    parts = []
    for phase in (Phase.COMPILE, Phase.LOAD):
        shares = [share for totals in analysis.engine_totals for share in totals.phases]
        shares = [share for share in shares if share.phase is phase]
        parts += [
            f"{share.engine} {phase} {format_ms(share.busy_ns, 1)} (measured)"
            for share in shares
            if share.busy_ns
        ]
        samples = sum(share.samples for share in shares)
        if samples:
            parts.append(f"{samples:,} host samples of {phase}")
    text = f"Compile and load, counted apart from inferences: {', '.join(parts)}"
    return layout.paragraph(text) if parts else ""


def counters_text(analysis: Analysis, layout: TextLayout, notes: Footnotes) -> str:
    """Sum the hardware counters and the metrics of the whole run."""
    parts = [part for part in (_counters(analysis, notes), _metrics(analysis.trace, layout, notes)) if part]
    return "\n".join([*parts, *note_lines(notes.notes(), layout)])


def has_counters(analysis: Analysis) -> bool:
    """Return whether there are counters or metrics to sum."""
    return bool(len(analysis.events) or len(analysis.trace.metrics))


def _counters(analysis: Analysis, notes: Footnotes) -> str:
    events = analysis.events
    if not len(events):
        return ""
    sums = events.groupby(["engine", "event"], observed=True, sort=True)["value"].sum().unstack(fill_value=0)
    names = [str(name) for name in sums.columns][:_MOST_EVENTS]
    rows = []
    for engine, counted in sums.iterrows():
        counts = {str(name): int(value) for name, value in counted.items()}
        quotients = ", ".join(f"{name} {value:.2f}" for name, value in ratios(counts).items())
        rows.append([str(engine), *(f"{counts[name]:,}" for name in names), quotients])
    header = ["engine", *(printable(name) for name in names), ""]
    table = align(header, rows, [False, *([True] * len(names)), False], "  ")
    mark = notes.marks(COUNTERS).head
    return f"Counters{mark} (sums over samples, by the engine that their stacks show)\n{table}"


def _metrics(trace: Trace, layout: TextLayout, notes: Footnotes) -> str:
    """Sum the metrics of a guided counting mode over all threads that were selected."""
    sums = trace.metrics.groupby("name", observed=True, sort=True)["value"].sum()
    listed_sums = [f"{printable(str(name))} {value:,.4g}" for name, value in sums.items()]
    if not listed_sums:
        return ""
    more = f", … and {len(listed_sums) - _MOST_EVENTS} more" if len(listed_sums) > _MOST_EVENTS else ""
    listed = ", ".join(listed_sums[:_MOST_EVENTS]) + more
    mark = notes.marks(COUNTERS).head
    return layout.paragraph(f"Metrics{mark} (sums over the whole run; per window in the JSON): {listed}")


def _phases(totals: EngineTotals) -> str:
    """Return ``dispatch 12, wait 6``; work without a phase shows only beside work that has one."""
    samples = count_samples_by_phase(totals)
    if not any(samples):
        return ""
    ordered = sorted(samples.items(), key=lambda entry: (entry[0] is None, -entry[1]))
    return ", ".join(f"{phase or 'other'} {count:,}" for phase, count in ordered)


def _meaning(engine: Engine) -> str:
    return {
        Engine.CPU: "an ML engine on the CPU",
        Engine.RUNTIME: "ML runtime, engine not visible",
        Engine.GRAPHICS: "Metal without an ML caller",
        Engine.OTHER: "no ML frame on the stack",
        Engine.UNKNOWN: "no whole stack with symbols",
    }.get(engine, "")
