"""The engines over the whole run, submissions to the Neural Engine, and counters by engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracekit.analysis.engines.totals import EngineTotals, count_samples_by_phase
from tracekit.analysis.result import Analysis
from tracekit.model.issue_codes import COUNTERS, SAMPLES, Part, Reach
from tracekit.model.trace import Trace
from tracekit.model.vocabulary import Engine, Phase
from tracekit.report import wording
from tracekit.report.analysis.extent import Extent
from tracekit.report.document.blocks import Block, Column, Marks, Paragraph, Section, Table
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.report.viewmodel.run_tables import MEANINGS, counter_table
from tracekit.text import format_rounded, join_words

_MOST_EVENTS = 8
_NOT_MEASURED = "not measured"
_UNMEASURABLE = "–"
_ONLY_SAMPLED = (Engine.OTHER, Engine.UNKNOWN)


def build_engines(analysis: Analysis, _extent: Extent, notes: Footnotes) -> Section:
    """Return the engines over the whole run: the measured time, host samples, and what was prepared."""
    totals = [entry for entry in analysis.engine_totals if entry.is_seen]
    if not totals:
        reason = "No work of an engine was measured or sampled."
        if analysis.requests.requests:
            reason += " The log shows requests to the Neural Engine, not how long it worked."
        return Section("engines", "Engines", (Paragraph(reason),), is_empty=True)
    columns = [Column("engine", [str(entry.engine) for entry in totals], "engine")]
    if analysis.trace.has_timeline:  # otherwise nothing is measured
        marks = _mark_engines(notes, Part.BUSY, totals)
        columns.append(Column("busy (measured)", list(map(_format_busy, totals)), "number", marks))
    if analysis.trace.samples_source:
        columns += _list_sample_columns(analysis, totals, notes)
    columns.append(Column("meaning", [MEANINGS[entry.engine] for entry in totals], rank=1))
    blocks: list[Block] = [Table(tuple(columns))]
    if analysis.trace.has_timeline and (
        only_sampled := [entry.engine for entry in totals if entry.engine in _ONLY_SAMPLED]
    ):
        names = join_words(only_sampled)
        blocks.append(Paragraph(f"{_UNMEASURABLE}: only samples show {names}, which no table measures."))
    # The threads of a trace without times have a row for each phase.
    blocks += [] if analysis.thread_work is not None else _describe_preparing(analysis)
    return Section("engines", "Engines", tuple(blocks), _describe_basis(analysis))


def _mark_engines(notes: Footnotes, part: Part, totals: Sequence[EngineTotals], *head: Reach) -> Marks:
    """Return the marks of a column: those of ``head``, and of each engine in its row."""
    marks: dict[object, Marks] = {None: notes.marks(*head)}
    marks |= {row: notes.marks(Reach(part, entry.engine)) for row, entry in enumerate(totals)}
    return Marks({row: mark.numbers.get(None, []) for row, mark in marks.items()})


def _format_busy(totals: EngineTotals) -> str:
    if totals.engine in _ONLY_SAMPLED:
        return _UNMEASURABLE
    return _NOT_MEASURED if totals.busy_ns is None else format_rounded(totals.busy_ns)


def _list_sample_columns(
    analysis: Analysis, totals: Sequence[EngineTotals], notes: Footnotes
) -> Iterator[Column]:
    unit = analysis.trace.weight_unit
    marks = _mark_engines(notes, Part.SAMPLES, totals, SAMPLES)
    noun = "hits" if unit == "hits" else "samples"
    yield Column(noun, [f"{entry.samples:,}" for entry in totals], "number", marks)
    if unit == "ns":
        yield Column("host time", [format_rounded(entry.weight) for entry in totals], "number")
    elif unit not in ("samples", "hits"):
        yield Column(unit, [f"{entry.weight:,}" for entry in totals], "number")
    if any(phases := list(map(_count_phases, totals))):
        yield Column("phases", phases, rank=2)


def _count_phases(totals: EngineTotals) -> str:
    """Return ``dispatch 12, wait 6``; work without a phase is listed with work that has one."""
    samples = count_samples_by_phase(totals)
    if not any(samples):
        return ""
    ordered = sorted(samples.items(), key=lambda entry: (entry[0] is None, -entry[1]))
    return ", ".join(f"{phase or 'other'} {count:,}" for phase, count in ordered)


def _describe_basis(analysis: Analysis) -> str:
    scope = "" if analysis.selection.thread is None else " and all threads"
    work = analysis.thread_work
    if not analysis.trace.samples_source:
        basis = "no host samples in this input"
    elif work is not None and work.noun == "hit":
        basis = "calls of functions with a breakpoint, not how long an engine worked"
    elif work is not None and work.counts_waiting:
        basis = "samples of all threads, waiting ones as well; not how long an engine worked"
    else:
        basis = (
            "host samples: code that called an engine or ran one on the CPU, not how long the engine worked"
        )
    return f"the whole run{scope}; {basis}"


def _describe_preparing(analysis: Analysis) -> list[Block]:
    """Return the time of compiling and loading, which counts towards no inference."""
    parts = []
    for phase in (Phase.COMPILE, Phase.LOAD):
        shares = [
            share for totals in analysis.engine_totals for share in totals.phases if share.phase is phase
        ]
        parts += [
            f"{share.engine} {phase} {format_rounded(share.busy_ns)} (measured)"
            for share in shares
            if share.busy_ns
        ]
        if samples := sum(share.samples for share in shares):
            parts.append(f"{samples:,} host samples of {phase}")
    return (
        [Paragraph(f"Compile and load, counted apart from inferences: {', '.join(parts)}.")] if parts else []
    )


def build_submissions(analysis: Analysis, _extent: Extent, _notes: Footnotes) -> Section:
    """Return how many submissions one inference makes, per model."""
    heading, models = "Neural Engine submissions", analysis.submission_summary
    if not models:
        reason = "No submission to the Neural Engine can be counted per inference in this recording."
        return Section("submissions", heading, (Paragraph(reason),), is_empty=True)
    numbers = ("inferences", "longest", "gaps", "covered")
    table = Table.from_rows(wording.SUBMISSION_HEADER, wording.submission_rows(models), numbers)
    blocks: list[Block] = [Paragraph(wording.SUBMISSIONS_ABOUT), table]
    blocks += map(Paragraph, wording.submission_notes(models, analysis.call_numbers))
    return Section("submissions", heading, tuple(blocks), about="per inference, measured")


def build_counters(analysis: Analysis, _extent: Extent, notes: Footnotes) -> Section:
    """Return the sums of hardware counters by engine, and of metrics, over the whole run."""
    counters, metrics = counter_table(analysis), _sum_metrics(analysis.trace)
    if counters is None and not metrics:
        reason = "This input has no hardware counters."
        return Section("counters", "Counters", (Paragraph(reason),), is_empty=True)
    blocks: list[Block] = []
    if counters is not None:
        names = counters["columns"]
        rows = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in counters["rows"]]
        blocks = [Table.from_rows(names, rows, names[1:-1]), Paragraph(counters["note"])]
    blocks += [Paragraph(metrics)] if metrics else []
    return Section("counters", "Counters", tuple(blocks), mark=notes.marks(COUNTERS).head)


def _sum_metrics(trace: Trace) -> str:
    """Sum the metrics of a guided counting mode over all threads that were selected."""
    sums = trace.metrics.groupby("name", observed=True, sort=True)["value"].sum()
    texts = [f"{name} {value:,.4g}" for name, value in sums.items()]
    if not texts:
        return ""
    more = f", … and {len(texts) - _MOST_EVENTS} more" if len(texts) > _MOST_EVENTS else ""
    metrics = ", ".join(texts[:_MOST_EVENTS]) + more
    return f"Metrics (sums over the whole run; per call in the JSON output): {metrics}."
