"""The sections of the report in its markup: pictures and tables that need no JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable, Container

from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import GIVEN_LENGTHS, lengths_are_given, numbered_windows
from tracekit.model.issue_codes import CALLS, COUNTERS, LENGTHS, LOG, RECORDING, SAMPLES, Part, Reach
from tracekit.model.trace import Issue
from tracekit.model.vocabulary import SERVING, Engine
from tracekit.report import wording
from tracekit.report.analysis.lengths import lengths_of_groups
from tracekit.report.analysis.recording_facts import recording_facts
from tracekit.report.html.elements import Html, badge, join, table, tag
from tracekit.report.html.findings import findings_html, limits_html
from tracekit.report.html.stacks import stacks_html
from tracekit.report.html.threads import threads_html
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.viewmodel.limits import Footnotes, window_marks
from tracekit.report.viewmodel.run_tables import counter_table, engine_rows
from tracekit.report.viewmodel.view import Extras
from tracekit.report.viewmodel.window_sums import window_sums
from tracekit.text import clip, format_ms, format_percent, format_rounded

MOST_WINDOWS = 60
_LABEL_WIDTH = 60
_SHOWN_LOG_LINES = 40
_SAMPLES_COUNTED = "The columns ANE, GPU and CPU count host samples."
_NO_SAMPLES = "This input has no host samples."


def sections(analysis: Analysis, extras: Extras, left_out: Container[str] = ()) -> dict[str, Html]:
    """Return the sections of ``SECTIONS`` by id; each limit stands in one of them.

    A trace without times has its threads in the place of what needs times.
    """
    notes = Footnotes(analysis)
    absent = set() if analysis.thread_work is not None else {"threads"}
    if analysis.thread_work is not None or not analysis.trace.has_timeline:
        absent |= _TIMED
    shown = [entry for entry in SECTIONS if entry[0] not in absent and entry[0] not in left_out]
    return {entry[0]: section(entry, analysis, extras, notes) for entry in shown}


def section(
    entry: tuple[str, str, Content], analysis: Analysis, extras: Extras, notes: Footnotes | None = None
) -> Html:
    """Return a section of ``SECTIONS`` with its heading; the page's script finds it by its id."""
    name, heading, content = entry
    is_hidden = name in _OF_SAMPLES and analysis.trace.is_of_text and not len(analysis.trace.samples)
    # A note stands where a number first has its mark: a hidden section takes none from the others.
    notes = Footnotes(analysis) if is_hidden or notes is None else notes
    return tag(
        "section",
        tag("h2", heading, id=f"{name}-heading"),
        content(analysis, extras, notes),
        _note_list(notes),
        id=name,
        aria_labelledby=f"{name}-heading",
        hidden=is_hidden,
    )


Content = Callable[[Analysis, Extras, Footnotes], Html]


def _verdict(analysis: Analysis, _extras: Extras, notes: Footnotes) -> Html:
    limits = [_issue(issue) for issue in notes.whole]
    headline = tag("p", wording.headline(analysis.answer))
    return join([headline, tag("ul", *limits, class_="limits") if limits else None])


def _findings(analysis: Analysis, _extras: Extras, _notes: Footnotes) -> Html:
    return findings_html(analysis.findings, analysis.trace.info)


def _threads(analysis: Analysis, _extras: Extras, _notes: Footnotes) -> Html:
    return threads_html(analysis)


def _evidence(analysis: Analysis, _extras: Extras, notes: Footnotes) -> Html:
    present = [table for table in analysis.evidence if table.state != "absent"]
    absent = [table for table in analysis.evidence if table.state == "absent"]
    rows = [
        [
            evidence.source,
            tag("span", evidence.state, class_=f"state-{evidence.state}"),
            f"{evidence.rows:,}" if evidence.rows else "",
            evidence.scope,
            wording.shows(evidence),
            wording.remark(evidence),
        ]
        for evidence in (*present, *absent)
    ]
    header = ["table", "state", "rows", "scope", "can show", "in this recording"]
    note = join(
        [
            "Zero rows never prove that an engine was not used; an absent table proves nothing at all. The"
            " recording may have further tables: ",
            tag("code", "tracekit tables"),
            " lists and writes all of them; the dashboard opens them.",
        ]
    )
    shown = table(header, rows, [False, False, True, False, False, False], "Evidence")
    log, power = _log(analysis, notes), _power(analysis)
    return join([shown, tag("p", note), _missing_symbols(analysis), log, power])


def _missing_symbols(analysis: Analysis) -> Html | None:
    """Return the binaries without symbols, if there are any."""
    binaries = analysis.binaries_without_symbols
    if not binaries:
        return None
    numeric = [False, False, True, True, False]
    shown = table(wording.SYMBOLS_HEADER, wording.symbols_rows(binaries), numeric, "Binaries without symbols")
    notes = [tag("p", note) for note in wording.symbols_notes(binaries)]
    return join([tag("h3", "Binaries without symbols"), shown, *notes])


def _log(analysis: Analysis, notes: Footnotes) -> Html | None:
    """Return what the log shows about the Neural Engine, if it shows anything."""
    lines = wording.log_lines(analysis.requests)
    if not lines:
        return None
    left = len(lines) - _SHOWN_LOG_LINES
    more = tag("li", f"… and {left:,} more: see the JSON output") if left > 0 else None
    items = [tag("li", line) for line in lines[:_SHOWN_LOG_LINES]]
    return join([tag("h3", f"In the log{notes.marks(LOG).head}"), tag("ul", *items, more)])


def _power(analysis: Analysis) -> Html | None:
    lines = [tag("li", line) for line in wording.power_lines(analysis.power)]
    return join([tag("h3", "Power and energy"), tag("ul", *lines)]) if lines else None


def _timeline(analysis: Analysis, extras: Extras, _notes: Footnotes) -> Html:
    picture = tag("figure", to_svg(timeline_picture(analysis, extras.notes)), id="timeline-static")
    return join([picture, _pinned_notes(extras)])


def _pinned_notes(extras: Extras) -> Html | None:
    """Return the notes with their times, for readers without the interactive part."""
    if not extras.notes:
        return None
    items = [tag("li", tag("strong", format_ms(note.time_ns)), f" {note.text}") for note in extras.notes]
    return tag("div", tag("h3", "Notes"), tag("ul", *items), class_="static-only")


def _windows(analysis: Analysis, _extras: Extras, notes: Footnotes) -> Html:
    windows = numbered_windows(analysis.window_rows.head(MOST_WINDOWS))
    if not windows:
        return tag("p", "No calls: this recording shows no separate calls of a model.")
    sums = window_sums(analysis)
    counted = [str(engine) for engine in SERVING if str(engine) in sums.samples]
    firsts = analysis.window_rows["first"].tolist()
    names = wording.call_names(analysis)
    marks = window_marks(notes, len(analysis.window_rows), sums.busy)
    rows = []
    verdicts = analysis.verdicts.block(0, MOST_WINDOWS)
    whys = wording.verdict_whys(verdicts).to_pylist()
    for index, ((number, window), verdict, why) in enumerate(zip(windows, verdicts.names, whys, strict=True)):
        length = window.end_ns - window.start_ns
        rows.append(
            [
                f"{names.numbers[number]:,}{'*' if firsts[index] else ''}{marks.number.of(number)}",
                clip(names.name(number), _LABEL_WIDTH),
                format_ms(window.start_ns),
                f"{format_rounded(length)}{marks.length.of(number)}",
                join([badge(verdict), marks.verdict.of(number)]),
                *(
                    f"{_busy(float(busy[index]), length)}{marks.busy[engine].of(number)}"
                    for engine, busy in sums.busy.items()
                ),
                *(f"{int(sums.samples[engine][index]):,}" for engine in counted),
                why,
            ]
        )
    busy = [f"{engine} busy (measured){marks.busy[engine].head}" for engine in sums.busy]
    header = [
        f"{names.noun}{marks.number.head}",
        "model" if all(window.model for _, window in windows) else "name",
        "start",
        f"length{marks.length.head}",
        f"verdict{marks.verdict.head}",
        *busy,
        *counted,
        "why",
    ]
    numbers = [True, False, True, True, False, *(True for _ in (*busy, *counted)), False]
    sources = wording.window_sources(analysis.window_rows["source"].astype("str").unique().tolist())
    bases = ", ".join(analysis.window_rows["basis"].astype("str").unique())
    about = (
        f"{names.heading} from {sources}; their edges are {bases}."
        f" {_SAMPLES_COUNTED if counted else _NO_SAMPLES} * marks the first call of a model."
    )
    remaining = len(analysis.window_rows) - len(rows)
    more = (
        tag("p", f"… and {remaining:,} more. The interactive table and the JSON output list all of them.")
        if remaining
        else None
    )
    return tag(
        "div", tag("p", about), table(header, rows, numbers, "List of calls"), more, id="windows-static"
    )


def _engines(analysis: Analysis, _extras: Extras, notes: Footnotes) -> Html:
    unit, is_sampled = analysis.trace.weight_unit, bool(analysis.trace.samples_source)
    samples_mark = notes.marks(SAMPLES).head
    rows = [
        [
            badge(row["engine"]),
            ("not measured" if row["busy_ns"] is None else format_rounded(row["busy_ns"]))
            + notes.marks(Reach(Part.BUSY, Engine(row["engine"]))).head,
            f"{row['samples']:,}{notes.marks(Reach(Part.SAMPLES, Engine(row['engine']))).head}"
            if is_sampled
            else "none in this input",
            _weight(row["weight"], unit) if is_sampled else "",
            ", ".join(f"{phase} {count:,}" for phase, count in row["phases"].items()),
            row["meaning"],
        ]
        for row in engine_rows(analysis)
    ]
    header = [
        "engine",
        "busy (measured)",
        f"samples{samples_mark}",
        "host time" if unit == "ns" else unit,
        "phases",
        "meaning",
    ]
    numbers = [False, True, True, True, False, False]
    if not analysis.trace.has_timeline:  # nothing is measured, and the weight is the number of samples
        header, numbers = [header[0], header[2], *header[4:]], [False, True, False, False]
        rows = [[row[0], row[2], *row[4:]] for row in rows]
    note = (
        "The whole run, independent of the selection. Host samples show which code called an engine, or ran"
        " one on the CPU, not how long the engine worked."
    )
    return join([table(header, rows, numbers, "Engines"), tag("p", note)])


def _weight(weight: float, unit: str) -> str:
    return format_rounded(weight) if unit == "ns" else f"{weight:,.0f}"


def _latency(analysis: Analysis, _extras: Extras, notes: Footnotes) -> Html:
    summary = analysis.summary
    models = {"all calls": summary, **lengths_of_groups(analysis)}
    marks = notes.model_marks(CALLS, LENGTHS, models=summary.models)
    rows = [
        [
            f"{name}{marks.of(name)}",
            f"{times.windows:,}",
            *map(
                format_rounded,
                (
                    times.first_ns,
                    times.p50_ns,
                    times.p90_ns,
                    times.p99_ns,
                    times.warm_p50_ns,
                    times.warm_p90_ns,
                ),
            ),
        ]
        for name, times in models.items()
        if times.p50_ns is not None
    ]
    header = ["of", f"calls{marks.head}", "first", "p50", "p90", "p99", "warm p50", "warm p90"]
    if not rows:
        return tag(
            "p", "The whole run counts as one call: no call has a length." if summary.windows else "No calls."
        )
    about = "All calls of the run, independent of the selection. The column first is the first call alone."
    given = tag("p", GIVEN_LENGTHS) if lengths_are_given(analysis.window_rows) else None
    return join([tag("p", about), given, table(header, rows, [False, *([True] * 7)], "Latency")])


def _submissions(analysis: Analysis, _extras: Extras, _notes: Footnotes) -> Html:
    models = analysis.submission_summary
    if not models:
        return tag("p", "No submission to the Neural Engine can be counted per inference in this recording.")
    right = [name not in ("model", "submissions", "segments") for name in wording.SUBMISSION_HEADER]
    rows = table(
        wording.SUBMISSION_HEADER, wording.submission_rows(models), right, "Submissions per inference"
    )
    about = tag("p", f"Measured. {wording.SUBMISSIONS_ABOUT}")
    return join(
        [about, rows, *(tag("p", note) for note in wording.submission_notes(models, analysis.call_numbers))]
    )


def _call_tree(_analysis: Analysis, _extras: Extras, _notes: Footnotes) -> Html:
    return tag("p", "The call tree needs JavaScript.", class_="no-script")


def _flame(_analysis: Analysis, _extras: Extras, _notes: Footnotes) -> Html:
    return tag("p", "The flame graph needs JavaScript.", class_="no-script")


def _stacks(analysis: Analysis, _extras: Extras, _notes: Footnotes) -> Html:
    return stacks_html(analysis)


def _counters(analysis: Analysis, _extras: Extras, notes: Footnotes) -> Html:
    counters = counter_table(analysis)
    if counters is None:
        return tag("p", "This input has no hardware counters.")
    rows = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in counters["rows"]]
    numbers = [False, *([True] * (len(counters["columns"]) - 2)), False]
    note = f"{counters['note']}{notes.marks(COUNTERS).head}"
    return join([table(counters["columns"], rows, numbers, "Counters"), tag("p", note)])


def _recording(analysis: Analysis, extras: Extras, notes: Footnotes) -> Html:
    marks = {"Recorded": notes.marks(RECORDING).head, "Samples": notes.marks(SAMPLES).head}
    facts = [
        item
        for name, text in recording_facts(analysis)
        for item in (tag("dt", name), tag("dd", f"{text}{marks.get(name, '')}"))
    ]
    commands = [tag("h3", "Commands"), *(tag("pre", command) for command in extras.commands)]
    return tag("div", tag("dl", *facts), *(commands if extras.commands else []))


def _issues(analysis: Analysis, _extras: Extras, notes: Footnotes) -> Html:
    of_recording = limits_html(analysis.findings, analysis.trace.info)
    if not analysis.diagnostics:
        return of_recording or tag("p", "No known limits.")
    items = [_issue(issue) for issue in notes.remaining()]
    listed = tag("ul", *items) if items else tag("p", "Each other limit stands at the number that it limits.")
    return join([of_recording, listed])


def _issue(issue: Issue) -> Html:
    return tag("li", tag("strong", issue.severity), *_issue_text(issue))


def _severity(issue: Issue) -> tuple[str, ...]:
    return () if issue.severity == "info" else (" ", tag("strong", issue.severity))


def _issue_text(issue: Issue) -> tuple[str, ...]:
    count = "" if issue.count < 2 or _contains_count(issue) else f" ({issue.count:,})"
    return f" {issue.message}", count


def _note_list(notes: Footnotes) -> Html | None:
    """Return the notes of the marks in a section."""
    items = [tag("li", note.mark, *_severity(note.issue), *_issue_text(note.issue)) for note in notes.notes()]
    return tag("ul", *items, class_="limits") if items else None


def _contains_count(issue: Issue) -> bool:
    return re.search(rf"(?<![\d,.])({issue.count:,}|{issue.count})(?![\d,]|\.\d)", issue.message) is not None


def _busy(busy_ns: float, length_ns: int) -> str:
    if busy_ns != busy_ns:  # noqa: PLR0124 - NaN: not measured
        return ""
    return f"{format_rounded(busy_ns)} ({format_percent(busy_ns / max(length_ns, 1))})" if busy_ns else "0"


SECTIONS: tuple[tuple[str, str, Content], ...] = (
    ("verdict", "Summary", _verdict),
    ("findings", "Findings", _findings),
    ("threads", "Threads", _threads),
    ("timeline", "Timeline", _timeline),
    ("windows", "Calls", _windows),
    ("engines", "Engines", _engines),
    ("latency", "Latency", _latency),
    ("submissions", "Neural Engine submissions", _submissions),
    ("calltree", "Call tree", _call_tree),
    ("flame", "Flame graph", _flame),
    ("stacks", "Heaviest stacks", _stacks),
    ("counters", "Counters", _counters),
    ("evidence", "Evidence", _evidence),
    ("recording", "Recording", _recording),
    ("issues", "Limits of this recording", _issues),
)
"""Id, heading and content, in the order of the page."""
_TIMED = frozenset({"timeline", "windows", "latency", "submissions", "counters"})
"""Sections that need times."""
_OF_SAMPLES = frozenset(
    {"windows", "engines", "latency", "submissions", "calltree", "flame", "stacks", "counters"}
)
"""Sections of which a log or samples of power have nothing: hidden there, as the page's script fills them."""
