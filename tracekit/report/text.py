"""The analysis as a page of text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tracekit.analysis.attribution import OUTSIDE, Share, shares_by_window
from tracekit.analysis.result import Analysis
from tracekit.analysis.selection import Selection
from tracekit.analysis.verdicts import SERVING, Verdict
from tracekit.analysis.windows.window import Window, numbered_windows
from tracekit.engines import ENGINES, Engine
from tracekit.export.text import align, clip, printable
from tracekit.model import Trace, WeightUnit

MAX_WINDOWS = 40
_WIDTH = 100
_LABEL_WIDTH = 44
_THREAD_WIDTH = 28
_MARK = {"info": "-", "warning": "!", "error": "!!"}


def to_text(analysis: Analysis, max_windows: int = MAX_WINDOWS) -> str:
    """Return the summary; at most ``max_windows`` windows are listed, and what is left out is said."""
    sections = [
        _wrapped(analysis.summary.sentence, ""),
        _windows(analysis, max_windows),
        _engines(analysis),
        _evidence(analysis),
        _issues(analysis),
        _recording(analysis),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _recording(analysis: Analysis) -> str:
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
    }
    lines = [f"  {name:<9} {printable(text)}" for name, text in facts.items() if text]
    if not trace.has_toc:
        lines.append("  No table of contents was given: device, template and duration are not known.")
    return "\n".join(["Recording", *lines])


def _selected(selection: Selection) -> str:
    parts = []
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


def _sample_fact(trace: Trace) -> str:
    weight = format_weight(int(trace.weights.sum()), trace.weight_unit)
    stacks = trace.samples["stack_id"]
    null = int((stacks < 0).sum())
    unique = stacks[stacks >= 0].nunique()
    fact = f"{len(trace.samples):,} from {trace.samples_source}, {weight}, {unique:,} stacks"
    return f"{fact}, {null:,} without a stack" if null else fact


def format_weight(weight: int, unit: WeightUnit) -> str:
    """Return a weight as host time in ms, or as a count of what was sampled."""
    return f"{weight / 1e6:,.1f} ms host time" if unit == "ns" else f"{weight:,} {unit}"


def _engines(analysis: Analysis) -> str:
    shares = shares_by_window(analysis.totals).get(OUTSIDE, [])
    unit = analysis.trace.weight_unit
    rows = []
    for engine in ENGINES:
        own = [share for share in shares if share.engine is engine]
        if own:
            rows.append([str(engine), *_numbers(own, unit), _phases(own), _meaning(engine)])
    if not rows:
        return ""
    header = ["engine", "samples", "host time" if unit == "ns" else unit, "phases", ""]
    table = align(header, rows, [False, True, True, False, False], "  ")
    return f"Engines (host samples: who called or ran an engine on the CPU, not how long it worked)\n{table}"


def _numbers(shares: Sequence[Share], unit: WeightUnit) -> list[str]:
    weight = sum(share.weight for share in shares)
    samples = sum(share.samples for share in shares)
    return [f"{samples:,}", f"{weight / 1e6:,.1f} ms" if unit == "ns" else f"{weight:,}"]


def _phases(shares: Sequence[Share]) -> str:
    """Return ``dispatch 12, wait 6``; work without a phase shows only beside work that has one."""
    if all(share.phase is None for share in shares):
        return ""
    ordered = sorted(shares, key=lambda share: (share.phase is None, -share.samples))
    return ", ".join(f"{share.phase or 'other'} {share.samples:,}" for share in ordered)


def _meaning(engine: Engine) -> str:
    return {
        Engine.CPU: "an ML engine on the CPU",
        Engine.RUNTIME: "an ML runtime, engine not visible",
        Engine.GRAPHICS: "Metal without an ML caller",
        Engine.OTHER: "no ML frame on the stack",
        Engine.UNKNOWN: "no stack, or no symbols to go by",
    }.get(engine, "")


def _windows(analysis: Analysis, most: int) -> str:
    if not len(analysis.windows):
        return ""
    shown = list(zip(numbered_windows(analysis.windows.head(most)), analysis.verdicts, strict=False))
    shares = shares_by_window(analysis.attribution)
    letters: dict[str, str] = {}
    rows = []
    for (number, window), verdict in shown:
        letter = letters.setdefault(verdict.reason, _letter(len(letters)))
        thread = _thread_name(analysis.trace, window.thread_id)
        rows.append([*_window_row(shares.get(number, []), number, window, verdict), thread, letter])
    engines = [str(engine) for engine in SERVING]
    header = ["window", "start", "length", "verdict", *engines, "call", "thread", "why"]
    lines = [_windows_title(analysis)]
    right = [name not in ("verdict", "call", "thread", "why") for name in header]
    lines += align(header, rows, right, "  ").splitlines()
    left = len(analysis.windows) - len(shown)
    if left:
        lines.append(f"  … and {left:,} more: see --max-windows or --format json")
    lines += [_wrapped(f"{letter:<3}{printable(reason)}", "  ") for reason, letter in letters.items()]
    return "\n".join([*lines, *_lengths(analysis)])


def _letter(number: int) -> str:
    """Return a, b, … z, aa, ab, …"""
    head = _letter(number // 26 - 1) if number >= 26 else ""
    return head + chr(ord("a") + number % 26)


def _thread_name(trace: Trace, thread_id: int) -> str:
    if thread_id < 0:
        return "all"
    thread = trace.threads.iloc[thread_id]
    return clip(printable(f"{thread['name']} (0x{thread['tid']:x})"), _THREAD_WIDTH)


def _window_row(shares: Sequence[Share], number: int, window: Window, verdict: Verdict) -> list[str]:
    counts = [sum(s.samples for s in shares if s.engine is engine and s.is_inference) for engine in SERVING]
    return [
        str(number),
        f"{window.start_ns / 1e6:,.3f} ms",
        f"{(window.end_ns - window.start_ns) / 1e6:,.3f} ms",
        verdict.verdict,
        *(f"{count:,}" for count in counts),
        clip(printable(window.label), _LABEL_WIDTH),
    ]


def _windows_title(analysis: Analysis) -> str:
    basis = ", ".join(analysis.windows["basis"].unique())
    source = ", ".join(analysis.windows["source"].unique())
    return f"Windows (from {source}; {basis}; ANE, GPU and CPU count host samples)"


def _lengths(analysis: Analysis) -> Iterator[str]:
    """Windows that were inferred have lengths worth a line; one window, or the user's own, have not."""
    summary = analysis.summary
    inferred = (analysis.windows["source"] == "stacks").all()
    if not inferred or summary.windows < 2 or summary.p50_ns is None or summary.p90_ns is None:
        return
    first = f"first {(summary.first_ns or 0) / 1e6:.3f} ms"
    spread = f"p50 {summary.p50_ns / 1e6:.3f} ms, p90 {summary.p90_ns / 1e6:.3f} ms"
    yield f"  length of windows, each one inference or several: {first}, {spread}"


def _evidence(analysis: Analysis) -> str:
    """List what spoke; tables that could not speak go into one line per reason."""
    lines = ["Evidence"]
    silent: dict[str, list[str]] = {}
    for one in analysis.evidence:
        if one.state == "absent":
            silent.setdefault(one.remark, []).append(printable(one.source))
        else:
            state = f"{one.rows:,} rows" if one.state == "rows" else "empty"
            lines.append(
                _wrapped(f"{printable(one.source)}: {state}, {one.remark}; it shows {one.shows}", "  ")
            )
    lines += [_wrapped(f"{remark}: {', '.join(sources)}", "  ") for remark, sources in silent.items()]
    return "\n".join(lines)


def _issues(analysis: Analysis) -> str:
    if not analysis.issues:
        return ""
    lines = [
        _wrapped(f"{_MARK[issue.severity]} {printable(issue.message)} [{issue.code}]", "  ")
        for issue in analysis.issues
    ]
    return "\n".join(["To know", *lines])


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
