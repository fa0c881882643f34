"""The analysis as a page of text for a terminal."""

from __future__ import annotations

from tracekit.analysis.engines.counters import ratios
from tracekit.analysis.engines.totals import EngineTotals, samples_by_phase
from tracekit.analysis.result import Analysis
from tracekit.analysis.selection import Selection
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Engine, Phase
from tracekit.report import wording
from tracekit.report.analysis.text_windows import windows_text
from tracekit.report.wording.findings import finding_texts
from tracekit.text import align, format_ms, format_weight, plural, printable, wrap

MAX_WINDOWS = 40
_MOST_EVENTS = 8
_MOST_LOG_LINES = 20
ACCELERATORS = "GPU Neural Accelerators: "
_THERMAL = {0: "nominal", 1: "fair", 2: "serious", 3: "critical"}
_MARK = {"info": "-", "warning": "!", "error": "!!"}


def to_text(analysis: Analysis, max_windows: int = MAX_WINDOWS) -> str:
    """Return the summary; at most ``max_windows`` windows are listed, and the number of the others."""
    sections = [
        wrap(wording.headline(analysis.summary.headline), ""),
        _findings(analysis),
        windows_text(analysis, max_windows),
        _submissions(analysis),
        _engines(analysis),
        _preparing(analysis),
        _log(analysis),
        _counters(analysis),
        _metrics(analysis.trace),
        _evidence(analysis),
        _issues(analysis),
        _recording(analysis),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _findings(analysis: Analysis) -> str:
    """List what happened, with what it costs, how that is known, and the next step."""
    texts = finding_texts(analysis.findings, analysis.trace.info)
    lines = ["Findings (what costs most comes first)"] if texts else []
    for finding, text in zip(analysis.findings, texts, strict=True):
        lines.append(wrap(f"{_MARK[finding.severity]} {text.title} [{finding.kind}]", "  "))
        lines += [wrap(part, "    ") for part in (text.cost, text.detail, text.basis) if part]
        for step in text.next_steps:
            lines.append(wrap(f"→ {step.text}", "    "))
            lines += [f"        {step.command}"] if step.command else []
    return "\n".join(lines)


def _submissions(analysis: Analysis) -> str:
    """List how many submissions one inference makes, per model."""
    models = analysis.submission_summary
    if not models:
        return ""
    rows = [[printable(cell) for cell in row] for row in wording.submission_rows(models)]
    right = [name in ("inferences", "longest", "gaps", "covered") for name in wording.SUBMISSION_HEADER]
    title = f"Neural Engine submissions per inference (measured). {wording.SUBMISSIONS_ABOUT}"
    notes = [wrap(printable(note), "  ") for note in wording.submission_notes(models)]
    return "\n".join([wrap(title, ""), align(wording.SUBMISSION_HEADER, rows, right, "  "), *notes])


def recording_facts(analysis: Analysis) -> list[tuple[str, str]]:
    """Return how, on what and when it was recorded, in words; what is not known is left out."""
    trace = analysis.trace
    info = trace.info
    system = f"{info.platform} {info.os}".strip()
    target = f"{info.process} ({info.pid})" if info.process and info.pid is not None else info.process
    facts = {
        "Input": f"{info.name}, run {info.run}",
        "Recorded": ", ".join(part for part in (info.device or info.model, system, info.start) if part),
        "Target": target,
        "Template": ", ".join(
            part for part in (info.template, info.instruments and f"Instruments {info.instruments}") if part
        ),
        "Duration": f"{info.duration_ns / 1e9:.3f} s" if info.duration_ns else "",
        "Selected": _selected(analysis.selection),
        "Samples": _sample_fact(trace),
        "Cores": _core_fact(trace),
        "Heat": _heat_fact(trace),
        "GPU": _accelerator_fact(trace),
    }
    return [(name, text) for name, text in facts.items() if text]


def _recording(analysis: Analysis) -> str:
    lines = [f"  {name:<9} {printable(text)}" for name, text in recording_facts(analysis)]
    if not analysis.trace.has_toc:
        lines.append("  No table of contents was given: device, template and duration are not known.")
    return "\n".join(["Recording", *lines])


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
    rows = trace.tracks[(trace.tracks["name"] == "Thermal state") & trace.tracks["value"].notna()]
    rows = rows[(rows["value"] != rows["value"].shift()).to_numpy(bool)]
    parts: list[str] = []
    for row in rows.head(_MOST_EVENTS).to_dict("records"):
        name = _THERMAL.get(int(row["value"]), "unknown")
        parts.append(f"{name} from {row['time_ns'] / 1e9:.3f} s" if parts else name)
    return f"thermal state {', '.join(parts)}" if parts else ""


def _accelerator_fact(trace: Trace) -> str:
    """Return ``Neural Accelerators: utilization 76 % on average, 98 % at most (whole device)``."""
    parts = []
    for name, rows in trace.tracks.groupby("name", observed=True, sort=True):
        values = rows["value"].dropna()
        if str(name).startswith(ACCELERATORS) and len(values):
            what = str(name).removeprefix(ACCELERATORS)
            parts.append(f"{what} {values.mean():.0f} % on average, {values.max():.0f} % at most")
    return (
        f"Neural Accelerators: {'; '.join(parts)} (of the whole device, a part of the GPU)" if parts else ""
    )


def _sample_fact(trace: Trace) -> str:
    if not trace.samples_source:
        return "none in this input"
    weight = format_weight(int(trace.weights.sum()), trace.weight_unit)
    stacks = trace.samples["stack_id"]
    null = int((stacks < 0).sum())
    unique = stacks[stacks >= 0].nunique()
    fact = f"{len(trace.samples):,} from {trace.samples_source}, {weight}, {unique:,} stacks"
    return f"{fact}, {null:,} without a stack" if null else fact


def _engines(analysis: Analysis) -> str:
    """List the engines over the whole run: host samples, and the measured time where there is any."""
    unit = analysis.trace.weight_unit
    is_measured = bool(analysis.measured.reported)
    is_sampled = bool(analysis.trace.samples_source)
    rows = []
    for totals in analysis.engine_totals:
        if totals.is_seen:
            busy = [_busy(totals)] if is_measured else []
            weight = format_ms(totals.weight, 1) if unit == "ns" else f"{totals.weight:,}"
            samples = [f"{totals.samples:,}", weight, _phases(totals)] if is_sampled else []
            rows.append([str(totals.engine), *busy, *samples, _meaning(totals.engine)])
    if not rows:
        return ""
    busy_header = ["busy"] if is_measured else []
    samples_header = ["samples", "host time" if unit == "ns" else unit, "phases"] if is_sampled else []
    header = ["engine", *busy_header, *samples_header, ""]
    right = [name in ("busy", "samples", "host time", unit) for name in header]
    table = align(header, rows, right, "  ")
    about = "host samples: who called or ran an engine on the CPU, not how long it worked"
    about = about if is_sampled else "no host samples in this input"
    scope = "" if analysis.selection.thread is None else " and all threads"
    about = f"busy is measured by tables over the whole run{scope}; {about}" if is_measured else about
    return f"{wrap(f'Engines ({about})', '')}\n{table}"


def _busy(totals: EngineTotals) -> str:
    if totals.busy_ns is None:
        return "not measured" if totals.engine in SERVING else ""
    return format_ms(totals.busy_ns, 1)


def _preparing(analysis: Analysis) -> str:
    """Return the time of compiling and loading, which counts towards no inference."""
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
    return wrap(f"Compile and load, counted apart from inferences: {', '.join(parts)}", "") if parts else ""


def _log(analysis: Analysis) -> str:
    """List the requests and refusals in the log."""
    lines = wording.log_lines(analysis.requests)
    left = len(lines) - _MOST_LOG_LINES
    lines = lines[:_MOST_LOG_LINES] + ([f"… and {left:,} more: see --format json"] if left > 0 else [])
    return "\n".join(["Log", *(wrap(printable(line), "  ") for line in lines)]) if lines else ""


def _counters(analysis: Analysis) -> str:
    """Sum the hardware counters of the whole run by engine."""
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
    return f"Counters (sums over samples, by the engine that their stacks show)\n{table}"


def _metrics(trace: Trace) -> str:
    """Sum the metrics of a guided counting mode over all threads that were selected."""
    sums = trace.metrics.groupby("name", observed=True, sort=True)["value"].sum()
    listed_sums = [f"{printable(str(name))} {value:,.4g}" for name, value in sums.items()]
    more = f", … and {len(listed_sums) - _MOST_EVENTS} more" if len(listed_sums) > _MOST_EVENTS else ""
    listed = ", ".join(listed_sums[:_MOST_EVENTS]) + more
    return (
        wrap(f"Metrics (sums over the whole run; per window in the JSON): {listed}", "")
        if listed_sums
        else ""
    )


def _phases(totals: EngineTotals) -> str:
    """Return ``dispatch 12, wait 6``; work without a phase shows only beside work that has one."""
    samples = samples_by_phase(totals)
    if not any(samples):
        return ""
    ordered = sorted(samples.items(), key=lambda entry: (entry[0] is None, -entry[1]))
    return ", ".join(f"{phase or 'other'} {count:,}" for phase, count in ordered)


def _meaning(engine: Engine) -> str:
    return {
        Engine.CPU: "an ML engine on the CPU",
        Engine.RUNTIME: "an ML runtime, engine not visible",
        Engine.GRAPHICS: "Metal without an ML caller",
        Engine.OTHER: "no ML frame on the stack",
        Engine.UNKNOWN: "no stack, or no symbols to go by",
    }.get(engine, "")


def _evidence(analysis: Analysis) -> str:
    """List the tables with their use; absent tables share one line per reason."""
    lines = ["Evidence"]
    absent: dict[str, list[str]] = {}
    for row in analysis.evidence:
        remark = wording.remark(row)
        if row.state == "absent":
            absent.setdefault(remark, []).append(printable(row.source))
        else:
            state = plural(row.rows, "row") if row.state == "rows" else "empty"
            text = f"{printable(row.source)}: {state}, {remark}; it shows {wording.shows(row)}"
            lines.append(wrap(text, "  "))
    lines += [wrap(f"{remark}: {', '.join(sources)}", "  ") for remark, sources in absent.items()]
    return "\n".join(lines)


def _issues(analysis: Analysis) -> str:
    if not analysis.diagnostics:
        return ""
    lines = [
        wrap(f"{_MARK[issue.severity]} {printable(issue.message)} [{issue.code}]", "  ")
        for issue in wording.issues(analysis.diagnostics)
    ]
    return "\n".join(["Limits of this recording", *lines])
