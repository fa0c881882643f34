"""The analysis as Markdown for a ticket: the headline, findings, tables, evidence, heaviest stacks."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.analysis.windows.window import GIVEN_LENGTHS, lengths_are_given
from tracekit.model.issue_codes import BUSY, CALLS, LENGTHS, SAMPLES, VERDICTS, Part, Reach
from tracekit.model.trace import Issue
from tracekit.model.vocabulary import Engine
from tracekit.report import wording
from tracekit.report.analysis.lengths import lengths_of_groups
from tracekit.report.analysis.markdown_findings import findings_markdown, limits_markdown
from tracekit.report.analysis.recording_facts import recording_facts
from tracekit.report.markdown_text import plain
from tracekit.report.viewmodel.heaviest import HeavyStack, heaviest_stacks
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.report.viewmodel.run_tables import engine_rows
from tracekit.report.viewmodel.view import Extras
from tracekit.text import clip, format_ms, printable

_MOST_STACKS = 5
_MOST_THREADS = 20
_MOST_FRAMES = 12
_MOST_ISSUES = 10
_WIDTH = 160
_LONGEST = 1_000
_LONGEST_NOTE = 4_000


def to_markdown(analysis: Analysis, extras: Extras | None = None) -> str:
    """Return a text of one or two screens, in the dialect of GitHub: tables, folded details."""
    extras = extras or Extras()
    notes = Footnotes(analysis, with_infos=False)
    parts = [
        f"### {_said(extras.title or analysis.trace.info.name)}",
        f"**{_said(wording.headline(analysis.answer))}**",
        _said(extras.note, _LONGEST_NOTE) if extras.note else "",
        "\n".join(f"- {format_ms(note.time_ns)}: {_said(note.text, _LONGEST_NOTE)}" for note in extras.notes),
        f"<{extras.web_link}>" if extras.web_link else "",
        findings_markdown(analysis.findings, analysis.trace.info),
        _issues(notes.whole),
        _threads(analysis),
        _engines(analysis, notes),
        _latency(analysis, notes),
        _submissions(analysis),
        _evidence(analysis),
        _log(analysis),
        _power(analysis),
        _stacks(analysis),
        _limits(analysis, notes),
        _recording(analysis, extras),
        _redaction(analysis),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _threads(analysis: Analysis) -> str:
    """Return the threads of a trace without times, with what these can show."""
    work = analysis.thread_work
    if work is None or not work.count:
        return ""
    answers = work.answers(_MOST_THREADS)
    names = [name for name in wording.THREADS_HEADER if name not in wording.left_out_columns(work)]
    columns = [wording.THREADS_HEADER.index(name) for name in names]
    rows = [[row[column] for column in columns] for row in wording.thread_rows(answers)]
    numbers = [name in ("samples", "share") for name in names]
    notes = "\n".join(f"- {_said(note)}" for note in wording.threads_notes(work, answers))
    return "\n\n".join(part for part in (_table(names, rows, numbers) if rows else "", notes) if part)


def _table(header: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[bool]) -> str:
    rule = ["--:" if number else "---" for number in numbers]
    lines = [header, rule, *([_said(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _engines(analysis: Analysis, notes: Footnotes) -> str:
    unit, is_sampled = analysis.trace.weight_unit, bool(analysis.trace.samples_source)
    seen = engine_rows(analysis)
    if not seen:
        return ""
    samples_mark = notes.marks(SAMPLES).head
    rows = [
        [
            row["engine"],
            format_ms(row["busy_ns"], 2, missing="not measured")
            + notes.marks(Reach(Part.BUSY, Engine(row["engine"]))).head,
            f"{row['samples']:,}{notes.marks(Reach(Part.SAMPLES, Engine(row['engine']))).head}"
            if is_sampled
            else "none in this input",
            "" if not is_sampled else format_ms(row["weight"], 2) if unit == "ns" else f"{row['weight']:,}",
        ]
        for row in seen
    ]
    header = [
        "engine",
        "busy (measured)",
        f"host samples{plain(samples_mark)}",
        "host time" if unit == "ns" else unit,
    ]
    numbers = [False, True, True, True]
    if not analysis.trace.has_timeline:  # nothing is measured, and the weight is the number of samples
        phases = [", ".join(f"{phase} {count:,}" for phase, count in row["phases"].items()) for row in seen]
        header, numbers = [header[0], header[2], "phases"], [False, True, False]
        rows = [[row[0], row[2], named] for row, named in zip(rows, phases, strict=True)]
    return _with_notes(_table(header, rows, numbers), notes)


def _latency(analysis: Analysis, notes: Footnotes) -> str:
    summary = analysis.summary
    models: dict[str, Durations] = {f"all {wording.noun_of(analysis.window_rows)}s": summary}
    models |= lengths_of_groups(analysis)
    shown = {name: times for name, times in models.items() if times.p50_ns is not None}
    if not shown:
        return ""
    heads = {
        "calls": notes.marks(CALLS).head,
        "p50": notes.marks(LENGTHS).head,
        "verdicts": notes.marks(VERDICTS, BUSY).head,
    }
    rows = [
        [
            name,
            f"{durations.windows:,}",
            *(
                format_ms(time, 2)
                for time in (
                    durations.first_ns,
                    durations.p50_ns,
                    durations.p90_ns,
                    durations.p99_ns,
                    durations.warm_p50_ns,
                )
            ),
            ", ".join(f"{count} {verdict}" for verdict, count in durations.verdicts.items()),
        ]
        for name, durations in shown.items()
    ]
    names = ("", "calls", "first", "p50", "p90", "p99", "warm p50", "verdicts")
    header = [f"{name}{plain(heads.get(name, ''))}" for name in names]
    table = _table(header, rows, [False, True, True, True, True, True, True, False])
    sources = wording.window_sources(analysis.window_rows["source"].astype("str").unique().tolist())
    bases = ", ".join(analysis.window_rows["basis"].astype("str").unique())
    heading = wording.call_names(analysis).heading
    given = f" {GIVEN_LENGTHS}" if lengths_are_given(analysis.window_rows) else ""
    return _with_notes(f"{table}\n\n{heading} from {plain(sources)}; edges {plain(bases)}.{given}", notes)


def _submissions(analysis: Analysis) -> str:
    models = analysis.submission_summary
    if not models:
        return ""
    right = [name not in ("model", "submissions", "segments") for name in wording.SUBMISSION_HEADER]
    table = _table(wording.SUBMISSION_HEADER, wording.submission_rows(models), right)
    notes = "".join(f"\n\n{_said(note)}" for note in wording.submission_notes(models, analysis.call_numbers))
    return f"Neural Engine submissions per inference (measured):\n\n{table}{notes}"


def _evidence(analysis: Analysis) -> str:
    present = [row for row in analysis.evidence if row.state != "absent"]
    tables = [f"`{row.source}` {row.state}" + (f" ({row.rows:,})" if row.rows else "") for row in present]
    absent = len(analysis.evidence) - len(present)
    more = f"; {absent} other tables that can show engines are absent" if absent else ""
    return f"Evidence: {', '.join(tables)}{more}." if tables else ""


def _log(analysis: Analysis) -> str:
    return "\n".join(f"- {_said(line)}" for line in wording.log_lines(analysis.requests)[:_MOST_ISSUES])


def _power(analysis: Analysis) -> str:
    lines = wording.power_lines(analysis.power)
    return "\n".join(["Power and energy:\n", *(f"- {_said(line)}" for line in lines)]) if lines else ""


def _stacks(analysis: Analysis) -> str:
    unit = analysis.trace.weight_unit
    blocks = [_stack(stack, unit) for stack in heaviest_stacks(analysis, _MOST_STACKS)]
    if not blocks:
        return ""
    return "<details><summary>Heaviest stacks</summary>\n\n" + "\n".join(blocks) + "\n</details>"


def _stack(stack: HeavyStack, unit: str) -> str:
    weight = "" if unit == "samples" else f"{stack.weight:,.0f} {unit}, "
    weight = f"{format_ms(stack.weight, 2)}, " if unit == "ns" else weight
    rule = f", rule {_said(stack.rule)}" if stack.rule else ""
    around = min(stack.deciding - _MOST_FRAMES // 2, len(stack.frames) - _MOST_FRAMES)
    first = max(0, around) if stack.deciding >= 0 else 0
    above = stack.above + first
    lines = [f"    … {above} more above"] if above else []
    for position, (symbol, binary) in enumerate(stack.frames[first : first + _MOST_FRAMES], first):
        mark = "  ← decides" if position == stack.deciding else ""
        frame = f"{clip(printable(symbol), _WIDTH)}  {clip(printable(binary), _WIDTH)}{mark}"
        lines.append(f"    {frame}".rstrip())
    left = max(0, len(stack.frames) - first - _MOST_FRAMES) + stack.below
    lines += [f"    … {left} more below"] if left > 0 else []
    phase = f" {stack.phase}" if stack.phase else ""
    noun = "sample" if stack.samples == 1 else "samples"
    return f"{stack.engine}{phase}, {weight}{stack.samples:,} {noun}{rule}:\n\n" + "\n".join(lines) + "\n"


def _limits(analysis: Analysis, notes: Footnotes) -> str:
    """Return the limits that are neither below the headline nor at a number, and what would lift them."""
    parts = (limits_markdown(analysis.findings, analysis.trace.info), _issues(notes.remaining()))
    lines = "\n".join(part for part in parts if part)
    return f"#### Limits of this recording\n\n{lines}" if lines else ""


def _issues(issues: Sequence[Issue]) -> str:
    left = len(issues) - _MOST_ISSUES
    more = [f"- … and {left:,} more"] if left > 0 else []
    lines = [f"- {issue.severity}: {_said(issue.message)}" for issue in issues[:_MOST_ISSUES]]
    return "\n".join(lines + more)


def _with_notes(table: str, notes: Footnotes) -> str:
    """Return a table with the notes of its marks below it."""
    lines = [
        f"- {plain(note.mark)} {note.issue.severity}: {_said(note.issue.message)}" for note in notes.notes()
    ]
    return "\n\n".join(part for part in (table, "\n".join(lines)) if part)


def _recording(analysis: Analysis, extras: Extras) -> str:
    facts = "; ".join(f"{name}: {_said(text)}" for name, text in recording_facts(analysis))
    commands = "".join(f"\n    {clip(printable(command), _LONGEST_NOTE)}" for command in extras.commands)
    return f"{facts}\n{commands}".rstrip()


def _redaction(analysis: Analysis) -> str:
    """Return what was removed from a redacted recording, and what was not."""
    messages = dict.fromkeys(issue.message for issue in analysis.trace.issues if issue.code == "redacted")
    return "\n\n".join(plain(message) for message in messages)


def _said(text: object, longest: int = _LONGEST) -> str:
    return plain(clip(str(text), longest))
