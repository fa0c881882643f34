"""The calls of an analysis: a row each, the reasons of the verdicts, and how long calls take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.analysis.windows.window import (
    GIVEN_LENGTHS,
    GIVEN_SOURCES,
    Window,
    lengths_are_given,
    numbered_windows,
)
from tracekit.columns.call_rows import CallRows
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.model.issue_codes import BUSY, CALLS, LENGTHS, VERDICTS, Reach
from tracekit.model.schemas import ANE_TABLES
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import SERVING, Engine
from tracekit.report import wording
from tracekit.report.analysis.extent import Extent
from tracekit.report.analysis.lengths import lengths_of_groups
from tracekit.report.document.blocks import (
    Block,
    Column,
    Item,
    Items,
    Marks,
    Paragraph,
    Section,
    Table,
    count_note,
)
from tracekit.report.viewmodel.equal_calls import fold_equal_calls
from tracekit.report.viewmodel.limits import Footnotes, WindowMarks, window_marks
from tracekit.text import format_ms, format_rounded, format_thread

_LABEL_WIDTH = 44
_BAR_WIDTH = 14
_THREAD_WIDTH = 28
_NOT_MEASURED = "not measured"
_NO_CALLS = "No calls: this recording shows no separate calls of a model."
_COLD = "the first of its model or entry point, which may be cold"


@frozen
class _Calls:
    """The calls of a table, each with its verdict, the letter of its reason, and its engines' numbers."""

    analysis: Analysis
    names: wording.CallNames
    rows: IntArray
    """Of the analysis' windows: the first of equal calls stands for all of them."""
    lasts: IntArray
    """The last of the calls that each row stands for."""
    first: IntArray
    """For every call of the analysis up to the last one listed, the call that stands for it."""
    windows: Sequence[Window]
    verdicts: Sequence[str]
    letters: Sequence[str]
    busy: Mapping[str, npt.NDArray[np.float64]]
    """By engine that a table measured, its work in each call; NaN where it is not known."""
    samples: Mapping[str, IntArray]
    """By engine, its host samples in each call; empty where the input has none: a 0 would be a claim."""
    waiting: Mapping[str, IntArray]
    """By engine, the time in each call in which a thread waited for it."""
    contested: Mapping[str, IntArray]
    """By engine, the work in each call that may be its own or another owner's."""

    def place(self, marks: Marks) -> Marks:
        """Return marks of the analysis' windows as marks of the rows that stand for them."""
        placed: dict[object, list[int]] = {}
        for row, numbers in marks.numbers.items():
            if isinstance(row, int) and row >= len(self.first):
                continue  # of a call that is not listed
            key = int(np.searchsorted(self.rows, self.first[row])) if isinstance(row, int) else None
            known = placed.setdefault(key, [])
            known += [number for number in numbers if number not in known]
        return Marks(placed)


def build_calls(analysis: Analysis, extent: Extent, notes: Footnotes) -> Section:
    """Return the table of calls and the reasons of their verdicts, and the number of the others."""
    count = len(analysis.window_rows)
    if not count:
        return Section("windows", "Calls", (Paragraph(_NO_CALLS),), is_empty=True)
    reasons: dict[str, str] = {}
    calls = _select_calls(analysis, extent, reasons)
    listed = len(calls.first)
    marks = window_marks(notes, count if extent.has_all_calls else listed, calls.busy)
    scale_ns = wording.measure_scale(
        (analysis.window_rows["end_ns"] - analysis.window_rows["start_ns"]).to_numpy()
    )
    blocks: list[Block] = [_build_table(calls, marks, scale_ns, extent.is_verbose)]
    if remaining := count - listed:
        blocks.append(Paragraph(count_note(remaining)))
    legend = [Item(_COLD, "*")] if analysis.window_rows["first"].head(listed).any() else []
    legend += [Item(reason, letter) for reason, letter in reasons.items()]
    blocks += [Items(tuple(legend))] if legend else []
    if analysis.trace.has_timeline:
        signs = wording.explain_bars(analysis, scale_ns, _BAR_WIDTH)
        blocks.append(Paragraph(f"Budget of a call's time, {signs}."))
    about = _describe_basis(calls, has_bars=extent.is_folded and analysis.trace.has_timeline)
    return Section("windows", calls.names.heading, tuple(blocks), about, is_replaced=True)


def _select_calls(analysis: Analysis, extent: Extent, reasons: dict[str, str]) -> _Calls:
    """Return the first calls, equal ones as one if the format folds; ``reasons`` get a letter each."""
    first = fold_equal_calls(analysis) if extent.is_folded else np.arange(len(analysis.window_rows))
    rows = np.unique(first)
    listed = int(rows[extent.most_calls]) if len(rows) > extent.most_calls else len(first)
    rows, first = rows[: extent.most_calls], first[:listed]
    position = np.searchsorted(rows, first)
    lasts = np.zeros(len(rows), np.int64)
    np.maximum.at(lasts, position, np.arange(listed))
    windows = [window for _, window in numbered_windows(analysis.window_rows.iloc[rows])]
    verdicts = analysis.verdicts.block(0, listed)
    texts = wording.verdict_reasons(verdicts).take(rows).to_pylist()
    letters = [reasons.setdefault(reason, _make_letter(len(reasons))) for reason in texts]
    calls = CallRows(analysis, 0, listed)
    reported = [engine for engine in SERVING if engine in analysis.measured.reported]
    sampled = SERVING if analysis.trace.samples_source else ()
    return _Calls(
        analysis,
        wording.call_names(analysis),
        rows,
        lasts,
        first,
        windows,
        [verdicts.names[row] for row in rows.tolist()],
        letters,
        {
            str(engine): calls.sum_busy_ns(engine).to_numpy(np.float64, na_value=np.nan)[rows]
            for engine in reported
        },
        {str(engine): calls.sum_samples(engine, "samples").to_numpy(np.int64)[rows] for engine in sampled},
        {
            str(engine): calls.sum_amounts(engine, "waiting_ns").to_numpy(np.int64, na_value=0)[rows]
            for engine in SERVING
        },
        {str(work.engine): work.contested_ns[rows] for work in verdicts.works},
    )


def _make_letter(number: int) -> str:
    """Return a, b, … z, aa, ab, …"""
    head = _make_letter(number // 26 - 1) if number >= 26 else ""
    return head + chr(ord("a") + number % 26)


def _describe_basis(calls: _Calls, has_bars: bool) -> str:
    """Return the tables that the calls are from, and how their edges and the busy times are known."""
    windows = calls.analysis.window_rows
    source = wording.window_sources(windows["source"].astype("str").unique().tolist())
    parts = [] if source == "run" else [f"from {source}"]
    parts.append(f"edges {', '.join(windows['basis'].unique())}")
    parts += ["busy is measured, with its share of the length"] if calls.busy and not has_bars else []
    parts += [] if calls.analysis.trace.samples_source else ["no host samples in this input"]
    return "; ".join(parts)


def _build_table(calls: _Calls, marks: WindowMarks, scale_ns: int, is_verbose: bool) -> Table:
    """Return the calls with a column for each engine; the narrow table has their budgets instead."""
    windows, rows = calls.windows, calls.rows.tolist()
    name = "model" if all(window.model for window in windows) else "name"
    common = [
        Column(name, list(map(calls.names.name, rows)), is_clipped=True, width=_LABEL_WIDTH),
        Column(calls.names.noun, _format_numbers(calls), "number", calls.place(marks.number)),
        Column("start", [format_ms(window.start_ns) for window in windows], "number", rank=2),
        Column("length", _format_lengths(calls), "number", calls.place(marks.length)),
    ]
    verdict = Column("verdict", calls.verdicts, "engine", calls.place(marks.verdict))
    names = list(_list_names(calls))
    reasons = Column("why", calls.letters)
    threads = [_format_thread_name(calls.analysis.trace, window) for window in windows]
    thread = Column("thread", threads, width=_THREAD_WIDTH)
    signs = _list_differences(calls, wording.sign_differences)
    work = [*_list_bars(calls, marks, scale_ns)] or [*_list_combined_column(calls, marks)]
    narrow = Table((*common, *work, verdict, *names, reasons, *signs))
    differences = _list_differences(calls, wording.explain_differences) if is_verbose else ()
    bars = [replace(column, marks=Marks()) for column in work] if calls.analysis.trace.has_timeline else []
    wide = (
        *common,
        *bars,
        verdict,
        *_list_engine_columns(calls, marks),
        *names,
        thread,
        reasons,
        *differences,
    )
    return Table(wide, "List of calls", narrow)


def _list_bars(calls: _Calls, marks: WindowMarks, scale_ns: int) -> Iterator[Column]:
    """Yield the calls' time budgets as bars of signs on one scale."""
    if calls.analysis.trace.has_timeline:
        bars = [wording.draw_bar(calls.analysis, row, scale_ns, _BAR_WIDTH) for row in calls.rows.tolist()]
        yield Column("budget", bars, marks=calls.place(_join_marks(marks)))


def _join_marks(marks: WindowMarks) -> Marks:
    """Return the marks of the busy times of all engines."""
    numbers: dict[object, dict[int, None]] = {}
    for row, notes in (entry for mark in marks.busy.values() for entry in mark.numbers.items()):
        numbers.setdefault(row, {}).update(dict.fromkeys(notes))
    return Marks({row: list(notes) for row, notes in numbers.items()})


def _list_differences(
    calls: _Calls, explain: Callable[[Analysis, int, int], list[str | None]]
) -> Iterator[Column]:
    """Yield what makes calls differ from the typical one of their model, if any does."""
    texts = explain(calls.analysis, 0, len(calls.first))
    if any(texts):
        yield Column("difference", [texts[row] or "" for row in calls.rows.tolist()])


def _format_numbers(calls: _Calls) -> list[str]:
    """Return ``1*``, and ``1*-3`` for three equal calls."""
    is_first, numbers = calls.analysis.window_rows["first"].tolist(), calls.names.numbers
    texts = []
    for row, last in zip(calls.rows.tolist(), calls.lasts.tolist(), strict=True):
        star, end = "*" if is_first[row] else "", f"-{numbers[last]:,}" if last > row else ""
        texts.append(f"{numbers[row]:,}{star}{end}" if numbers[row] else "")
    return texts


def _format_lengths(calls: _Calls) -> list[str]:
    """Return the length of each call, and the shortest and the longest of equal ones."""
    frame = calls.analysis.window_rows
    lengths = (frame["end_ns"] - frame["start_ns"]).to_numpy(np.int64)[: len(calls.first)]
    position = np.searchsorted(calls.rows, calls.first)
    shortest, longest = lengths[calls.rows].copy(), lengths[calls.rows].copy()
    np.minimum.at(shortest, position, lengths)
    np.maximum.at(longest, position, lengths)
    return [
        format_rounded(low) if low == high else _join_range(format_rounded(low), format_rounded(high))
        for low, high in zip(shortest.tolist(), longest.tolist(), strict=True)
    ]


def _join_range(low: str, high: str) -> str:
    """Return ``16.9-17.9 ms``, or both with their units where these differ."""
    (number, _, unit), (_, _, other_unit) = low.partition(" "), high.partition(" ")
    return f"{number}-{high}" if unit == other_unit else f"{low}-{high}"


def _list_engine_columns(calls: _Calls, marks: WindowMarks) -> Iterator[Column]:
    rows = range(len(calls.windows))
    for engine, mark in marks.busy.items():
        texts = [_format_busy(calls, row, engine) for row in rows]
        yield Column(f"{engine} busy", texts, "number", calls.place(mark))
    if waiting := _describe_waiting(calls.analysis):
        yield Column(waiting, [_format_waiting(calls, row) for row in rows], "number")
    for engine in SERVING if calls.samples else ():
        counts = calls.samples[engine]
        yield Column(f"{engine} samples", [f"{counts[row]:,}" for row in rows], "number")
    if set(calls.analysis.window_rows["source"].unique()).issuperset(RUNTIMES):
        yield Column("runtime", [RUNTIMES.get(window.source, "") for window in calls.windows])


def _list_combined_column(calls: _Calls, marks: WindowMarks) -> Iterator[Column]:
    """Yield one column for the work of all engines."""
    rows = range(len(calls.windows))
    if calls.busy:
        all_marks = calls.place(_join_marks(marks))
        yield Column("busy", [_format_busy_shares(calls, row) for row in rows], marks=all_marks)
    elif calls.samples:
        yield Column("samples", [_format_counts(calls, row) for row in rows])


def _list_names(calls: _Calls) -> Iterator[Column]:
    """Yield the copies that calls ran in, if a model has several, and the calls' own names, if any."""
    windows = calls.windows
    copies = {(window.model, window.copy) for window in windows if window.copy}
    if len(copies) > len({model for model, _ in copies}):
        yield Column("copy", [window.copy for window in windows], rank=1, width=_LABEL_WIDTH)
    if any(window.label != (window.model or window.label) for window in windows):
        yield Column("label", [window.label for window in windows], rank=2, width=_LABEL_WIDTH)


def _format_thread_name(trace: Trace, window: Window) -> str:
    if window.thread_id < 0:
        return "all" if window.source in GIVEN_SOURCES else "not known"
    thread = trace.threads.iloc[window.thread_id]
    return format_thread(thread["name"], thread["tid"])


def _format_busy(calls: _Calls, row: int, engine: str) -> str:
    """Return ``15.7 ms (61 %)``; 0 only where the engine's table shows that it did nothing."""
    busy_ns = calls.busy[engine][row]
    if np.isnan(busy_ns):
        return _NOT_MEASURED
    share = _format_share(calls, row, engine)
    return f"{format_rounded(busy_ns)} ({share} %)" if share != "0" else "0"


def _format_share(calls: _Calls, row: int, engine: str) -> str:
    """Return the percentage of an engine; work that may be another owner's makes a range: ``33-100``."""
    window = calls.windows[row]
    least_ns = np.nan_to_num(calls.busy[engine][row]) if engine in calls.busy else 0.0
    most_ns = least_ns + (calls.contested[engine][row] if engine in calls.contested else 0)
    length_ns = window.end_ns - window.start_ns
    lower, upper = (_format_percent(100 * amount_ns / length_ns) for amount_ns in (least_ns, most_ns))
    return lower if lower == upper else f"{lower}-{upper}"


def _format_percent(percent: float) -> str:
    return f"{percent:.0f}" if percent >= 1 else "<1" if percent else "0"


def _format_busy_shares(calls: _Calls, row: int) -> str:
    """Return ``ANE 61 %, CPU 12 %``; ``ANE 0`` where only tables without a row in the call measured."""
    shares = {engine: _format_share(calls, row, engine) for engine in SERVING}
    parts = [f"{engine} {share} %" for engine, share in shares.items() if share != "0"]
    zeros = [f"{engine} 0" for engine, busy in calls.busy.items() if not np.isnan(busy[row])]
    return ", ".join(parts or zeros) or _NOT_MEASURED


def _format_waiting(calls: _Calls, row: int) -> str:
    waits = {engine: amounts_ns[row] for engine, amounts_ns in calls.waiting.items() if amounts_ns[row]}
    return ", ".join(f"{engine} {format_rounded(wait_ns)}" for engine, wait_ns in waits.items())


def _format_counts(calls: _Calls, row: int) -> str:
    """Return ``ANE 72, CPU 3``."""
    counts = {engine: int(calls.samples[engine][row]) for engine in SERVING}
    return ", ".join(f"{engine} {count:,}" for engine, count in counts.items() if count) or "0"


def _describe_waiting(analysis: Analysis) -> str:
    """Return the heading of the waiting column with its basis; nothing where no thread waited."""
    rows = analysis.attribution_rows
    rows = rows[
        (rows["window_id"] >= 0) & (rows["waiting_ns"].fillna(0) > 0) & (rows["engine"] != Engine.RUNTIME)
    ]
    bases = rows["waiting_basis"].astype("str").unique().tolist()
    return f"waiting ({', '.join(sorted(bases))})" if bases else ""


def build_latency(analysis: Analysis, _extent: Extent, notes: Footnotes) -> Section:
    """Return the lengths of all calls, and of each model's where there are several."""
    noun = wording.noun_of(analysis.window_rows)
    models: dict[str, Durations] = {f"all {noun}s": analysis.summary, **lengths_of_groups(analysis)}
    groups = {name: times for name, times in models.items() if times.p50_ns is not None}
    if not groups:
        reason = (
            "The whole run counts as one call: no call has a length."
            if analysis.summary.windows
            else "No calls."
        )
        return Section("latency", "Latency", (Paragraph(reason),), is_empty=True)
    columns = [
        Column("model", list(groups), is_clipped=True, width=_LABEL_WIDTH),
        Column(
            f"{noun}s",
            [f"{times.windows:,}" for times in groups.values()],
            "number",
            _mark_models(notes, CALLS, groups),
        ),
        *_list_length_columns(groups, _mark_models(notes, LENGTHS, groups)),
        Column("verdicts", _count_verdicts(groups), marks=notes.marks(VERDICTS, BUSY), rank=1),
    ]
    return Section("latency", "Latency", (Table(tuple(columns)),), _describe_lengths(analysis))


def _mark_models(notes: Footnotes, reach: Reach, groups: Mapping[str, Durations]) -> Marks:
    """Return the marks of a table of models by row."""
    numbers = notes.model_marks(reach, models=groups).numbers
    return Marks({row: numbers[name] for row, name in (*enumerate(groups), (None, None)) if name in numbers})


def _count_verdicts(groups: Mapping[str, Durations]) -> list[str]:
    counts = (times.verdicts.items() for times in groups.values())
    return [", ".join(f"{count} {verdict}" for verdict, count in verdicts) for verdicts in counts]


def _list_length_columns(groups: Mapping[str, Durations], marks: Marks) -> Iterator[Column]:
    for field, rank in (("first", 0), ("p50", 0), ("p90", 3), ("p99", 4), ("warm_p50", 0), ("warm_p90", 2)):
        texts = [format_rounded(getattr(times, f"{field}_ns")) for times in groups.values()]
        yield Column(field.replace("_", " "), texts, "number", marks if field == "p50" else Marks(), rank)


def _describe_lengths(analysis: Analysis) -> str:
    sources = analysis.window_rows["source"]
    if lengths_are_given(analysis.window_rows):
        return GIVEN_LENGTHS.removesuffix(".")
    parts = ["all calls of the run; the warm ones are those without each model's first"]
    if (sources == "stacks").all():
        parts.append("each call is one inference or several")
    elif sources.isin(ANE_TABLES).any():
        parts.append("those of the ANE last from its first to its last interval")
    return "; ".join(parts)
