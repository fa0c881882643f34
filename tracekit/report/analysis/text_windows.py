"""The calls of an analysis as text: one line each, why, how long, per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.analysis.engines.attribution import Share, SharesByWindow
from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.analysis.windows.window import GIVEN_SOURCES, Window, numbered_windows
from tracekit.model.issue_codes import CALLS, LENGTHS
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Engine
from tracekit.report import wording
from tracekit.report.analysis.lengths import lengths_of_groups
from tracekit.report.analysis.text_layout import (
    Column,
    TextLayout,
    clip_name,
    note_lines,
    table_text,
    width_of,
)
from tracekit.report.viewmodel.limits import Footnotes, Marks, window_marks
from tracekit.text import clip, format_ms, format_thread, printable

_LABEL_WIDTH = 44
_THREAD_WIDTH = 28
_SHORT_NS = 1_000_000
"""Lengths below this need three digits."""


@dataclass(frozen=True)
class _Rows:
    """The calls that are listed, each with its verdict and its shares of the engines."""

    calls: wording.CallNames
    windows: Sequence[tuple[int, Window]]
    verdicts: Sequence[str]
    shares: Sequence[Sequence[Share]]
    letters: Sequence[str]
    measured: Sequence[Engine]
    """The engines that have a measured busy time in any window."""
    zeros: frozenset[Engine]
    """The engines whose table shows that they did nothing, where it has no row."""
    contested: Sequence[Mapping[Engine, int]]
    """For each window, the work of engines that may be its own or another owner's."""


def windows_text(analysis: Analysis, layout: TextLayout, notes: Footnotes) -> str:
    """Return the table of calls, and why; the first of them, and the number of the others."""
    if not len(analysis.window_rows):
        return ""
    reasons: dict[str, str] = {}
    rows = _rows(analysis, layout.most_windows, reasons)
    whole = _all_columns(analysis, rows, notes)
    is_whole = layout.is_verbose or width_of(whole, "  ") <= layout.width
    if is_whole:
        table = table_text(whole, "  ")
    else:
        table = table_text(_few_columns(analysis, rows, notes), "  ", layout.width)
    lines = [layout.paragraph(_title(analysis, rows, is_whole)), table]
    left = len(analysis.window_rows) - len(rows.windows)
    if left:
        lines.append(f"  … and {left:,} more: see --max-windows, -v or --format json")
    if analysis.window_rows["first"].head(len(rows.windows)).any():
        lines.append("  * the first of its model or entry point, which may be cold")
    lines += [layout.paragraph(f"{letter:<3}{printable(reason)}", "  ") for reason, letter in reasons.items()]
    return "\n".join([*lines, *note_lines(notes.notes(), layout)])


def _rows(analysis: Analysis, most: int, reasons: dict[str, str]) -> _Rows:
    """Return the first windows; ``reasons`` get a letter each."""
    windows = numbered_windows(analysis.window_rows.head(most))
    verdicts = analysis.verdicts.block(0, len(windows))
    shares = SharesByWindow(analysis.attribution_rows)
    rows = analysis.attribution_rows
    busy = rows[(rows["window_id"] >= 0).to_numpy(bool) & (rows["busy_ns"].fillna(0) > 0).to_numpy(bool)]
    worked = {*analysis.measured.engines, *busy["engine"].astype("str").unique()}
    letters = [
        reasons.setdefault(reason, _letter(len(reasons)))
        for reason in wording.verdict_reasons(verdicts).to_pylist()
    ]
    return _Rows(
        wording.call_names(analysis),
        windows,
        verdicts.names,
        [shares.get(number, []) for number, _ in windows],
        letters,
        [engine for engine in SERVING if engine in worked],
        analysis.measured.engines,
        [
            {work.engine: int(work.contested_ns[row]) for work in verdicts.works if work.contested_ns[row]}
            for row in range(len(windows))
        ],
    )


def _all_columns(analysis: Analysis, rows: _Rows, notes: Footnotes) -> list[Column]:
    marks = window_marks(notes, len(rows.windows), map(str, rows.measured))
    runtimes = RUNTIMES if set(analysis.window_rows["source"].unique()).issuperset(RUNTIMES) else {}
    columns = [
        Column(_name_header(rows), _names(rows)),
        Column(f"{rows.calls.noun}{marks.number.head}", _numbers(analysis, rows, marks.number), True),
        Column("start", [format_ms(window.start_ns) for _, window in rows.windows], True),
        Column(f"length{marks.length.head}", _lengths(rows, 3, marks.length), True),
        Column(f"verdict{marks.verdict.head}", _verdicts(rows, marks.verdict)),
    ]
    for engine in rows.measured:
        mark = marks.busy[str(engine)]
        cells = [
            f"{_busy(shares, engine, window, rows.zeros)}{mark.of(number)}"
            for shares, (number, window) in zip(rows.shares, rows.windows, strict=True)
        ]
        columns.append(Column(f"{engine} busy{mark.head}", cells, True))
    waits = _waiting_header(analysis)
    if waits:
        columns.append(Column(waits, list(map(_waiting, rows.shares)), True))
    if analysis.trace.samples_source:
        columns += [
            Column(str(engine), [f"{_count(shares, engine):,}" for shares in rows.shares], True)
            for engine in SERVING
        ]
    if runtimes:
        columns.append(Column("runtime", [runtimes.get(window.source, "") for _, window in rows.windows]))
    return [
        *columns,
        *_copies(rows),
        *_labels(rows),
        Column("thread", [_thread_name(analysis.trace, window) for _, window in rows.windows]),
        Column("why", rows.letters),
    ]


def _few_columns(analysis: Analysis, rows: _Rows, notes: Footnotes) -> list[Column]:
    """Return the columns that fit a narrow terminal: one for the engines' work, and fewer digits."""
    marks = window_marks(notes, len(rows.windows), [""] if rows.measured else [])
    digits = digits_of([window.end_ns - window.start_ns for _, window in rows.windows])
    columns = [
        Column(_name_header(rows), _names(rows), is_clipped=True),
        Column(f"{rows.calls.noun}{marks.number.head}", _numbers(analysis, rows, marks.number), True),
        Column("start", [format_ms(window.start_ns, digits) for _, window in rows.windows], True, rank=1),
        Column(f"length{marks.length.head}", _lengths(rows, digits, marks.length), True),
        Column(f"verdict{marks.verdict.head}", _verdicts(rows, marks.verdict)),
    ]
    if rows.measured:
        mark = marks.busy[""]
        cells = [
            f"{_busy_shares(shares, contested, window, rows)}{mark.of(number)}"
            for shares, contested, (number, window) in zip(
                rows.shares, rows.contested, rows.windows, strict=True
            )
        ]
        columns.append(Column(f"busy{mark.head}", cells))
    elif analysis.trace.samples_source:
        columns.append(Column("samples", list(map(_counts, rows.shares))))
    return [*columns, *_copies(rows), *_labels(rows), Column("why", rows.letters)]


def digits_of(lengths_ns: Sequence[int]) -> int:
    """Return the decimals that milliseconds of these lengths need."""
    return 3 if min(lengths_ns, default=0) < _SHORT_NS else 1


def _letter(number: int) -> str:
    """Return a, b, … z, aa, ab, …"""
    head = _letter(number // 26 - 1) if number >= 26 else ""
    return head + chr(ord("a") + number % 26)


def _numbers(analysis: Analysis, rows: _Rows, marks: Marks) -> list[str]:
    firsts = analysis.window_rows["first"].tolist()
    numbers = rows.calls.numbers
    return [
        f"{numbers[row]:,}{'*' if firsts[row] else ''}{marks.of(row)}" if numbers[row] else marks.of(row)
        for row, _ in rows.windows
    ]


def _lengths(rows: _Rows, digits: int, marks: Marks) -> list[str]:
    return [
        f"{format_ms(window.end_ns - window.start_ns, digits)}{marks.of(number)}"
        for number, window in rows.windows
    ]


def _verdicts(rows: _Rows, marks: Marks) -> list[str]:
    return [
        f"{verdict}{marks.of(number)}"
        for verdict, (number, _) in zip(rows.verdicts, rows.windows, strict=True)
    ]


def _name_header(rows: _Rows) -> str:
    """Return the heading of the names: a model's, or a function's, a signpost's and a range's."""
    return "model" if all(window.model for _, window in rows.windows) else "name"


def _names(rows: _Rows) -> list[str]:
    return [clip_name(printable(rows.calls.name(row)), _LABEL_WIDTH) for row, _ in rows.windows]


def _copies(rows: _Rows) -> list[Column]:
    """Return the loaded copy of each call, if a model has several."""
    copies = [window.copy for _, window in rows.windows]
    named = {(window.model, window.copy) for _, window in rows.windows if window.copy}
    is_several = len(named) > len({model for model, _ in named})
    texts = [clip(printable(copy), _LABEL_WIDTH) for copy in copies]
    return [Column("copy", texts, rank=2)] if is_several else []


def _labels(rows: _Rows) -> list[Column]:
    """Return the column of the calls' own names, such as functions of a model, where they have any."""
    if all(window.label == (window.model or window.label) for _, window in rows.windows):
        return []
    labels = [clip(printable(window.label), _LABEL_WIDTH) for _, window in rows.windows]
    return [Column("label", labels, rank=2)]


def _thread_name(trace: Trace, window: Window) -> str:
    if window.thread_id < 0:
        return "all" if window.source in GIVEN_SOURCES else "not known"
    thread = trace.threads.iloc[window.thread_id]
    return clip(printable(format_thread(thread["name"], thread["tid"])), _THREAD_WIDTH)


def _busy_ns(shares: Sequence[Share], engine: Engine) -> int:
    return sum(share.busy_ns or 0 for share in shares if share.engine is engine and share.is_inference)


def _busy(shares: Sequence[Share], engine: Engine, window: Window, zeros: frozenset[Engine]) -> str:
    busy_ns = _busy_ns(shares, engine)
    if not busy_ns:
        return "0" if engine in zeros else ""
    return f"{busy_ns / 1e6:,.2f} ms {_percent(busy_ns, window):>3} %"


def _percent(busy_ns: int, window: Window) -> str:
    percent = 100 * busy_ns / (window.end_ns - window.start_ns)
    return f"{percent:.0f}" if percent >= 1 else "<1"


def _busy_shares(
    shares: Sequence[Share], contested: Mapping[Engine, int], window: Window, rows: _Rows
) -> str:
    """Return ``ANE 61 %, CPU 12 %``; ``ANE 0`` where only tables without a row in the window measured.

    Work that may be another owner's makes a range: ``ANE 33-100 %``.
    """
    times = {engine: _busy_ns(shares, engine) for engine in SERVING if engine in {*rows.measured, *contested}}
    parts = []
    for engine, busy_ns in times.items():
        most_ns = busy_ns + contested.get(engine, 0)
        least, most = (_percent(amount, window) if amount else "0" for amount in (busy_ns, most_ns))
        if most_ns:
            parts.append(f"{engine} {least if least == most else f'{least}-{most}'} %")
    return ", ".join(parts or [f"{engine} 0" for engine in rows.measured if engine in rows.zeros])


def _waiting(shares: Sequence[Share]) -> str:
    waits = [
        f"{share.engine} {share.waiting_ns / 1e6:,.1f}"
        for share in shares
        if share.waiting_ns and share.engine is not Engine.RUNTIME
    ]
    return f"{', '.join(waits)} ms" if waits else ""


def _waiting_header(analysis: Analysis) -> str:
    """Return the heading of the waiting column with its basis; nothing where no thread waited."""
    rows = analysis.attribution_rows
    rows = rows[
        (rows["window_id"] >= 0) & (rows["waiting_ns"].fillna(0) > 0) & (rows["engine"] != Engine.RUNTIME)
    ]
    bases = rows["waiting_basis"].astype("str").unique().tolist()
    return f"waiting ({', '.join(sorted(bases))})" if bases else ""


def _count(shares: Sequence[Share], engine: Engine) -> int:
    return sum(share.samples for share in shares if share.engine is engine and share.is_inference)


def _counts(shares: Sequence[Share]) -> str:
    """Return ``ANE 72, CPU 3``."""
    counts = {engine: _count(shares, engine) for engine in SERVING}
    return ", ".join(f"{engine} {count:,}" for engine, count in counts.items() if count) or "0"


def _title(analysis: Analysis, rows: _Rows, is_whole: bool) -> str:
    basis = ", ".join(analysis.window_rows["basis"].unique())
    source = wording.window_sources(analysis.window_rows["source"].astype("str").unique().tolist())
    busy = ""
    if rows.measured:
        busy = "busy is measured; " if is_whole else "busy: measured, in % of the length"
    is_sampled = bool(analysis.trace.samples_source)
    samples = "ANE, GPU and CPU count host samples" if is_sampled else "no host samples in this input"
    if not is_whole:
        samples = "" if busy else samples.replace("ANE, GPU and CPU count", "samples:")
    source = "" if source == "run" else f"from {source}; "
    return f"{rows.calls.heading} ({source}edges {basis}; {busy}{samples})"


def lengths_text(analysis: Analysis, layout: TextLayout, notes: Footnotes) -> str:
    """Return the lengths of calls, a line for each model; a single call, or the user's ranges, have none."""
    summary = analysis.summary
    sources = analysis.window_rows["source"]
    if sources.isin(GIVEN_SOURCES).any() or summary.windows < 2 or summary.p50_ns is None:
        return ""
    groups = lengths_of_groups(analysis)
    lines = _model_lengths(groups, layout, notes) if groups else _single_lengths(analysis, layout, notes)
    return "\n".join([*lines, *note_lines(notes.notes(), layout)])


def _single_lengths(analysis: Analysis, layout: TextLayout, notes: Footnotes) -> list[str]:
    summary, sources = analysis.summary, analysis.window_rows["source"]
    subject = "Lengths of calls"
    if (sources == "stacks").all():
        subject = "Lengths of calls, each one inference or several"
    elif sources.isin(ANE_TABLES).any():
        subject = "Lengths of calls, those of the ANE from its first to its last interval"
    mark = notes.marks(CALLS, LENGTHS).head
    digits = 3 if layout.is_verbose else digits_of([round(summary.p50_ns or 0)])

    def times(**lengths_ns: float | None) -> str:
        return ", ".join(f"{name} {format_ms(length, digits)}" for name, length in lengths_ns.items())

    spread = times(first=summary.first_ns or 0, p50=summary.p50_ns, p90=summary.p90_ns, p99=summary.p99_ns)
    lines = [layout.paragraph(f"{subject}{mark}: {spread}")]
    if summary.warm_p50_ns is not None:
        warm = times(p50=summary.warm_p50_ns, p90=summary.warm_p90_ns, p99=summary.warm_p99_ns)
        lines.append(layout.paragraph(f"without the first: {warm}", "  "))
    return lines


def _model_lengths(models: dict[str, Durations], layout: TextLayout, notes: Footnotes) -> list[str]:
    marks = notes.model_marks(CALLS, LENGTHS, models=models)
    lengths_ns = [round(durations.p50_ns or 0) for durations in models.values()]
    digits = 3 if layout.is_verbose else digits_of(lengths_ns)
    shown = list(models.items())

    def times(name: str) -> list[str]:
        return [format_ms(getattr(durations, name), digits) for _, durations in shown]

    columns = [
        Column(
            "model",
            [clip(printable(name), _LABEL_WIDTH) + marks.of(name) for name, _ in shown],
            is_clipped=True,
        ),
        Column("calls", [f"{durations.windows:,}" for _, durations in shown], True),
        Column("first", times("first_ns"), True),
        Column("warm p50", times("warm_p50_ns"), True),
        Column("p90", times("warm_p90_ns"), True),
        Column("p99", times("warm_p99_ns"), True, rank=1),
        Column("verdicts", [_verdict_counts(durations) for _, durations in shown]),
    ]
    width = None if layout.is_verbose else layout.width
    return [f"Lengths per model{marks.head}", table_text(columns, "  ", width)]


def _verdict_counts(durations: Durations) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in durations.verdicts.items())
