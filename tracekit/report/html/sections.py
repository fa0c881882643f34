"""The sections of the report as they stand in the markup: pictures and tables that need no JavaScript."""

from __future__ import annotations

from collections.abc import Callable

from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import GIVEN_LENGTHS, lengths_are_given, numbered_windows
from tracekit.model.vocabulary import SERVING
from tracekit.report.analysis.text import recording_facts
from tracekit.report.html.elements import Html, join, table, tag
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.viewmodel.heaviest import HeavyStack, heaviest_stacks
from tracekit.report.viewmodel.view import Extras, counter_table, engine_rows, window_sums
from tracekit.text import clip

MOST_WINDOWS = 60
_LABEL_WIDTH = 60
_SHOWN_STACKS = 8
_SECOND_NS, _MINUTE_NS = 1_000_000_000, 60_000_000_000


def section(one: tuple[str, str, Content], analysis: Analysis, extras: Extras) -> Html:
    """Return a section with its heading; the page's script finds it by its id."""
    name, heading, content = one
    inside = content(analysis, extras)
    return tag(
        "section",
        tag("h2", heading, id=f"{name}-heading"),
        inside,
        id=name,
        aria_labelledby=f"{name}-heading",
    )


Content = Callable[[Analysis, Extras], Html]


def _verdict(analysis: Analysis, _extras: Extras) -> Html:
    return tag("p", analysis.summary.sentence)


def _evidence(analysis: Analysis, _extras: Extras) -> Html:
    spoken = [one for one in analysis.evidence if one.state != "absent"]
    absent = [one for one in analysis.evidence if one.state == "absent"]
    rows = [
        [
            one.source,
            tag("span", one.state, class_=f"state-{one.state}"),
            f"{one.rows:,}" if one.rows else "",
            one.scope,
            one.shows,
            one.remark,
        ]
        for one in (*spoken, *absent)
    ]
    header = ["table", "state", "rows", "scope", "what it can show", "here"]
    note = "Zero rows never prove that an engine was not used; an absent table proves nothing at all."
    return join([table(header, rows, [False, False, True, False, False, False], "Evidence"), tag("p", note)])


def _timeline(analysis: Analysis, _extras: Extras) -> Html:
    return tag("figure", to_svg(timeline_picture(analysis)), id="timeline-static")


def _windows(analysis: Analysis, _extras: Extras) -> Html:
    windows = numbered_windows(analysis.window_rows)
    if not windows:
        return tag("p", "No window was found: no inference that could be told apart.")
    sums = window_sums(analysis)
    firsts = analysis.window_rows["first"].tolist()
    rows = []
    for at, ((number, window), verdict) in enumerate(zip(windows, analysis.verdicts, strict=True)):
        if at == MOST_WINDOWS:
            break
        length = window.end_ns - window.start_ns
        rows.append(
            [
                f"{number}{'*' if firsts[at] else ''}",
                _ms(window.start_ns),
                _ms(length),
                _badge(verdict.verdict),
                *(_busy(float(busy[at]), length) for busy in sums.busy.values()),
                *(f"{int(sums.samples[str(engine)][at]):,}" for engine in SERVING),
                clip(window.model or window.label, _LABEL_WIDTH),
                verdict.why,
            ]
        )
    busy = [f"{engine} busy (measured)" for engine in sums.busy]
    header = ["window", "start", "length", "verdict", *busy, *map(str, SERVING), "model or call", "why"]
    numbers = [True, True, True, False, *(True for _ in busy), True, True, True, False, False]
    sources = ", ".join(analysis.window_rows["source"].astype("str").unique())
    bases = ", ".join(analysis.window_rows["basis"].astype("str").unique())
    about = (
        f"From {sources}; edges {bases}. ANE, GPU and CPU count host samples. * is the first of its model."
    )
    left = len(windows) - len(rows)
    more = (
        tag("p", f"… and {left:,} more, which the table on the screen and the JSON have.") if left else None
    )
    return tag("div", tag("p", about), table(header, rows, numbers, "Windows"), more, id="windows-static")


def _engines(analysis: Analysis, _extras: Extras) -> Html:
    unit = analysis.trace.weight_unit
    rows = [
        [
            _badge(one["engine"]),
            "not measured" if one["busy_ns"] is None else _duration(one["busy_ns"]),
            f"{one['samples']:,}",
            _duration(one["weight"]) if unit == "ns" else f"{one['weight']:,}",
            ", ".join(f"{phase} {count:,}" for phase, count in one["phases"].items()),
            one["meaning"],
        ]
        for one in engine_rows(analysis)
    ]
    header = [
        "engine",
        "busy (measured)",
        "samples",
        "host time" if unit == "ns" else unit,
        "phases",
        "meaning",
    ]
    note = (
        "The whole run, whatever is selected. Host samples say who called or ran an engine on the CPU, not"
        " how long it worked."
    )
    return join([table(header, rows, [False, True, True, True, False, False], "Engines"), tag("p", note)])


def _latency(analysis: Analysis, _extras: Extras) -> Html:
    summary = analysis.summary
    models = {"all windows": summary, **(summary.models if len(summary.models) > 1 else {})}
    rows = [
        [
            name,
            f"{one.windows:,}",
            *map(
                _duration,
                (one.first_ns, one.p50_ns, one.p90_ns, one.p99_ns, one.warm_p50_ns, one.warm_p90_ns),
            ),
        ]
        for name, one in models.items()
        if one.p50_ns is not None
    ]
    header = ["of", "windows", "first", "p50", "p90", "p99", "warm p50", "warm p90"]
    if not rows:
        return tag("p", "No window has a length to speak of.")
    about = "All windows of the run, whatever is selected; first is the first window alone."
    given = tag("p", GIVEN_LENGTHS) if lengths_are_given(analysis.window_rows) else None
    return join([tag("p", about), given, table(header, rows, [False, *([True] * 7)], "Latency")])


def _flame(_analysis: Analysis, _extras: Extras) -> Html:
    return tag("p", "The flame graph needs JavaScript.", class_="no-script")


def _stacks(analysis: Analysis, _extras: Extras) -> Html:
    unit = analysis.trace.weight_unit
    found = heaviest_stacks(analysis)[:_SHOWN_STACKS]
    if not found:
        return tag("p", "No sample has a stack.")
    return tag("ol", *(tag("li", _stack(one, unit)) for one in found), class_="stacks")


def _stack(stack: HeavyStack, unit: str) -> Html:
    weight = _duration(stack.weight) if unit == "ns" else f"{stack.weight:,.0f} {unit}"
    phase = f", {stack.phase}" if stack.phase else ""
    rule = f"; rule {stack.rule}" if stack.rule else ""
    samples = f"{stack.samples:,} sample{'' if stack.samples == 1 else 's'}"
    frames = [
        tag(
            "li",
            tag("mark", symbol) if at == stack.deciding else symbol,
            tag("small", f" {binary}") if binary else None,
            tag("small", " ← decides") if at == stack.deciding else None,
        )
        for at, (symbol, binary) in enumerate(stack.frames)
    ]
    if stack.above:
        frames.insert(0, tag("li", f"… {stack.above:,} more"))
    if stack.below:
        frames.append(tag("li", f"… {stack.below:,} more"))
    head = tag("summary", _badge(stack.engine), f" {weight}, {samples}{phase}{rule}")
    return tag("details", head, tag("ol", *frames, class_="frames"))


def _counters(analysis: Analysis, _extras: Extras) -> Html:
    found = counter_table(analysis)
    if found is None:
        return tag("p", "No hardware counters were recorded.")
    rows = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in found["rows"]]
    numbers = [False, *([True] * (len(found["columns"]) - 2)), False]
    return join([table(found["columns"], rows, numbers, "Counters"), tag("p", found["note"])])


def _recording(analysis: Analysis, extras: Extras) -> Html:
    facts = [item for name, text in recording_facts(analysis) for item in (tag("dt", name), tag("dd", text))]
    commands = [tag("h3", "Commands"), *(tag("pre", command) for command in extras.commands)]
    return tag("div", tag("dl", *facts), *(commands if extras.commands else []))


def _issues(analysis: Analysis, _extras: Extras) -> Html:
    if not analysis.issues:
        return tag("p", "Nothing to report.")
    items = [
        tag(
            "li",
            tag("strong", issue.severity),
            f" {issue.message}",
            f" ({issue.count:,})" if issue.count > 1 else None,
        )
        for issue in analysis.issues
    ]
    return tag("ul", *items)


def _badge(engine: str) -> Html:
    return tag("span", engine, class_=f"engine engine-{engine.lower()}")


def _busy(busy_ns: float, length_ns: int) -> str:
    if busy_ns != busy_ns:  # noqa: PLR0124 - not a number: nothing tells
        return ""
    return f"{_ms(busy_ns)} ({100 * busy_ns / max(length_ns, 1):.0f} %)" if busy_ns else "0"


def _duration(length_ns: float | None) -> str:
    """Return a length; from a second on, as the bars below the table write it."""
    if length_ns is None or length_ns < _SECOND_NS:
        return _ms(length_ns)
    if length_ns < _MINUTE_NS:
        return f"{_three_digits(length_ns / _SECOND_NS)} s"
    minutes, rest = divmod(length_ns, _MINUTE_NS)
    return f"{minutes:.0f} min {_three_digits(rest / _SECOND_NS)} s"


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}"


def _ms(time_ns: float | None) -> str:
    return "" if time_ns is None else f"{time_ns / 1e6:,.3f} ms"


SECTIONS: tuple[tuple[str, str, Content], ...] = (
    ("verdict", "Verdict", _verdict),
    ("timeline", "Timeline", _timeline),
    ("windows", "Windows", _windows),
    ("engines", "Engines", _engines),
    ("latency", "Latency", _latency),
    ("flame", "Flame graph", _flame),
    ("stacks", "Heaviest stacks", _stacks),
    ("counters", "Counters", _counters),
    ("evidence", "Evidence", _evidence),
    ("recording", "Recording", _recording),
    ("issues", "To know", _issues),
)
"""Id, heading and content, in the order of the page."""
