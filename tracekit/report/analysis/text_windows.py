"""The windows of an analysis as text: one line each, why, how long, per model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracekit.analysis.engines.attribution import Share, SharesByWindow
from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.analysis.verdicts import Verdict
from tracekit.analysis.windows.window import GIVEN_SOURCES, Window, numbered_windows
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Engine
from tracekit.report import wording
from tracekit.text import align, clip, format_ms, format_thread, printable, wrap

_LABEL_WIDTH = 44
_THREAD_WIDTH = 28


def windows_text(analysis: Analysis, most: int) -> str:
    """Return the table of windows, at most ``most`` of them, and their lengths."""
    if not len(analysis.window_rows):
        return ""
    shown = list(zip(numbered_windows(analysis.window_rows.head(most)), analysis.verdicts, strict=False))
    shares = SharesByWindow(analysis.attribution_rows)
    rows = analysis.attribution_rows
    busy = rows[(rows["window_id"] >= 0).to_numpy(bool) & (rows["busy_ns"].fillna(0) > 0).to_numpy(bool)]
    worked = {*analysis.measured.engines, *busy["engine"].astype("str").unique()}
    measured = [engine for engine in SERVING if engine in worked]
    firsts = analysis.window_rows["first"].tolist()
    is_sampled = bool(analysis.trace.samples_source)
    waits = _waiting_header(analysis)
    sources = set(analysis.window_rows["source"].unique())
    runtimes = RUNTIMES if sources.issuperset(RUNTIMES) else {}
    letters: dict[str, str] = {}
    lines_of = []
    for (number, window), verdict in shown:
        letter = letters.setdefault(wording.verdict_reason(verdict), _letter(len(letters)))
        window_shares = shares.get(number, [])
        lines_of.append(
            [
                f"{number}{'*' if firsts[number] else ''}",
                *_times(window, verdict),
                *(_busy(window_shares, engine, window, analysis.measured.engines) for engine in measured),
                *([_waiting(window_shares)] if waits else []),
                *(_counts(window_shares) if is_sampled else []),
                *([runtimes.get(window.source, "")] if runtimes else []),
                clip(printable(window.label), _LABEL_WIDTH),
                _thread_name(analysis.trace, window),
                letter,
            ]
        )
    timed = [f"{engine} busy" for engine in measured]
    counts = [str(engine) for engine in SERVING] if is_sampled else []
    runtime = ["runtime"] if runtimes else []
    header = ["window", "start", "length", "verdict", *timed, *waits, *counts, *runtime]
    header += ["call", "thread", "why"]
    right = [name not in ("verdict", "runtime", "call", "thread", "why") for name in header]
    lines = [wrap(_title(analysis, bool(measured)), "")]
    lines += align(header, lines_of, right, "  ").splitlines()
    left = len(analysis.window_rows) - len(shown)
    if left:
        lines.append(f"  … and {left:,} more: see --max-windows or --format json")
    if any(firsts[: len(shown)]):
        lines.append("  * the first of its model or entry point, which may be cold")
    lines += [wrap(f"{letter:<3}{printable(reason)}", "  ") for reason, letter in letters.items()]
    return "\n".join([*lines, *_lengths(analysis)])


def _letter(number: int) -> str:
    """Return a, b, … z, aa, ab, …"""
    head = _letter(number // 26 - 1) if number >= 26 else ""
    return head + chr(ord("a") + number % 26)


def _thread_name(trace: Trace, window: Window) -> str:
    if window.thread_id < 0:
        return "all" if window.source in GIVEN_SOURCES else "not known"
    thread = trace.threads.iloc[window.thread_id]
    return clip(printable(format_thread(thread["name"], thread["tid"])), _THREAD_WIDTH)


def _times(window: Window, verdict: Verdict) -> list[str]:
    length = f"{(window.end_ns - window.start_ns) / 1e6:,.3f} ms"
    return [f"{window.start_ns / 1e6:,.3f} ms", length, verdict.verdict]


def _busy(shares: Sequence[Share], engine: Engine, window: Window, zeros: frozenset[Engine]) -> str:
    busy = sum(share.busy_ns or 0 for share in shares if share.engine is engine and share.is_inference)
    if not busy:
        return "0" if engine in zeros else ""
    share = 100 * busy / (window.end_ns - window.start_ns)
    return f"{busy / 1e6:,.2f} ms {f'{share:.0f}' if share >= 1 else '<1':>3} %"


def _waiting(shares: Sequence[Share]) -> str:
    waits = [
        f"{share.engine} {share.waiting_ns / 1e6:,.1f}"
        for share in shares
        if share.waiting_ns and share.engine is not Engine.RUNTIME
    ]
    return f"{', '.join(waits)} ms" if waits else ""


def _waiting_header(analysis: Analysis) -> list[str]:
    """Return the heading of the waiting column with its basis; nothing where no thread waited."""
    rows = analysis.attribution_rows
    rows = rows[
        (rows["window_id"] >= 0) & (rows["waiting_ns"].fillna(0) > 0) & (rows["engine"] != Engine.RUNTIME)
    ]
    bases = rows["waiting_basis"].astype("str").unique().tolist()
    return [f"waiting ({', '.join(sorted(bases))})"] if bases else []


def _counts(shares: Sequence[Share]) -> list[str]:
    return [
        f"{sum(s.samples for s in shares if s.engine is engine and s.is_inference):,}" for engine in SERVING
    ]


def _title(analysis: Analysis, measured: bool) -> str:
    basis = ", ".join(analysis.window_rows["basis"].unique())
    source = wording.window_sources(analysis.window_rows["source"].astype("str").unique().tolist())
    busy = "busy is measured; " if measured else ""
    is_sampled = bool(analysis.trace.samples_source)
    samples = "ANE, GPU and CPU count host samples" if is_sampled else "no host samples in this input"
    return f"Windows (from {source}; edges {basis}; {busy}{samples})"


def _lengths(analysis: Analysis) -> Iterator[str]:
    """Calls have lengths worth a line each model; one window, or the user's own, have not."""
    summary = analysis.summary
    if (
        analysis.window_rows["source"].isin(GIVEN_SOURCES).any()
        or summary.windows < 2
        or summary.p50_ns is None
    ):
        return
    if len(summary.models) > 1:
        rows = [_model_row(name, durations) for name, durations in summary.models.items()]
        header = ["model", "windows", "first", "warm p50", "p90", "p99", "verdicts"]
        yield "  lengths per model"
        yield align(header, rows, [False, True, True, True, True, True, False], "    ")
        return
    inferred = (analysis.window_rows["source"] == "stacks").all()
    what = "length of windows, each one inference or several" if inferred else "length of windows"
    if analysis.window_rows["source"].isin(ANE_TABLES).any():
        what = "length of windows, those of the ANE from its first to its last interval"
    first = f"first {(summary.first_ns or 0) / 1e6:.3f} ms"
    spread = (
        f"p50 {format_ms(summary.p50_ns)}, p90 {format_ms(summary.p90_ns)}, p99 {format_ms(summary.p99_ns)}"
    )
    yield f"  {what}: {first}, {spread}"
    if summary.warm_p50_ns is not None:
        warm = f"p50 {format_ms(summary.warm_p50_ns)}, p90 {format_ms(summary.warm_p90_ns)}"
        yield f"  without the first: {warm}, p99 {format_ms(summary.warm_p99_ns)}"


def _model_row(name: str, durations: Durations) -> list[str]:
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in durations.verdicts.items())
    warm = (durations.warm_p50_ns, durations.warm_p90_ns, durations.warm_p99_ns)
    return [
        clip(printable(name), _LABEL_WIDTH),
        f"{durations.windows:,}",
        format_ms(durations.first_ns),
        *map(format_ms, warm),
        verdicts,
    ]
