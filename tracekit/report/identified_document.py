"""The detail that an identifier names, as a document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.findings.lengths import compute_typical_length
from tracekit.analysis.result import Analysis
from tracekit.report import wording
from tracekit.report.analysis.extent import VERBOSE_TEXT
from tracekit.report.analysis.finding_entry import describe_finding
from tracekit.report.document.blocks import (
    Block,
    Command,
    Fact,
    Facts,
    Findings,
    Headline,
    Item,
    Items,
    Section,
    Table,
)
from tracekit.report.identifiers import Identified, name_call, write_name
from tracekit.report.recipes.call_answers import answer_slow_call, find_no_typical_call
from tracekit.report.recipes.query import Query
from tracekit.report.source_links import find_source_line, list_mac_commands
from tracekit.report.wording.budget import PART_WORDS
from tracekit.text import (
    format_duration,
    format_ms,
    format_rounded,
    format_shell_command,
    format_thread,
    plural,
)

_MOST_CALLS = 40


def build_identified(analysis: Analysis, identified: Identified, recording: str = "") -> tuple[Section, ...]:
    """Return the document of what an identifier names; commands in it read ``recording``."""
    match identified.kind:
        case "call":
            return _build_call(analysis, identified.position, recording)
        case "finding":
            entry = describe_finding(
                analysis, identified.position, replace(VERBOSE_TEXT, recording=recording)
            )
            return (Section("finding", "Finding", (Findings((entry,)),)),)
        case "limit":
            issue = wording.issues(analysis.diagnostics)[identified.position]
            limits = Items((Item(issue.message, severity=issue.severity),), is_of_limits=True)
            command = Command(f"tracekit explain {issue.code}")
            return (Section("limit", "Limit", (limits, command)),)
        case "model":
            return _build_model(analysis, identified.position)
        case _:
            return _build_table(analysis, identified.position, recording)


def _build_call(analysis: Analysis, row: int, recording: str) -> tuple[Section, ...]:
    window = analysis.window_rows.iloc[row]
    block = analysis.verdicts.block(row, row + 1)
    query = Query(analysis, row)
    threads = analysis.trace.threads
    thread_id = int(window["thread_id"])
    thread = (
        format_thread(str(threads["name"].iloc[thread_id]), int(threads["tid"].iloc[thread_id]))
        if thread_id >= 0
        else "not known"
    )
    source_line = find_source_line(analysis, row)
    facts = Facts(
        (
            Fact("Engine", wording.describe_verdicts(block).to_pylist()[0] or "not known"),
            Fact("Why", wording.verdict_whys(block).to_pylist()[0] or "nothing shows an engine"),
            Fact("Start", format_ms(int(window["start_ns"]))),
            Fact("Length", format_rounded(int(window["end_ns"] - window["start_ns"]))),
            Fact("Thread", thread),
            Fact("Call from", str(window["source"])),
            *((Fact("Source", source_line.describe()),) if source_line is not None else ()),
        )
    )
    title = wording.call_names(analysis).title(row)
    if find_no_typical_call(query) is None and query.calls.is_timed:
        reply = answer_slow_call(query)
        blocks: tuple[Block, ...] = (Headline(reply.sentence), facts, *reply.blocks)
    else:
        blocks = (facts, _list_parts(analysis, row))
    blocks = (*blocks, *list_mac_commands(source_line, recording))
    return (Section("call", f"{title[:1].upper()}{title[1:]}", blocks),)


def _list_parts(analysis: Analysis, row: int) -> Table:
    sums = analysis.budget.sums
    rows = [
        (PART_WORDS[part].name, format_rounded(int(amount_ns)))
        for part, amount_ns in zip(sums.parts, sums.by_part[row].tolist(), strict=True)
        if amount_ns
    ]
    return Table.from_rows(("part", "this call"), rows, numbers={"this call"}, caption="Parts of the call")


def _build_model(analysis: Analysis, position: int) -> tuple[Section, ...]:
    calls = Calls(analysis)
    model, names = analysis.call_models[position], wording.call_names(analysis)
    lengths = calls.lengths[model.rows]
    verdicts = np.asarray(analysis.verdicts.names, object)[model.rows].astype(str)
    kinds, counts = np.unique(verdicts, return_counts=True)
    engines = ", ".join(f"{count:,} × {kind}" for kind, count in zip(kinds, counts, strict=True))
    facts = Facts(
        (
            Fact("Calls", f"{len(model.rows):,}"),
            Fact("Engines", engines),
            Fact("Median length", format_duration(compute_typical_length(calls, model.rows))),
            Fact("Longest", format_duration(int(lengths.max()))),
        )
    )
    starts = calls.starts[model.rows]
    rows = [
        (name_call(analysis, row, names), format_ms(start), format_rounded(length), verdict)
        for row, start, length, verdict in zip(
            model.rows[:_MOST_CALLS].tolist(),
            starts.tolist(),
            lengths.tolist(),
            verdicts.tolist(),
            strict=False,
        )
    ]
    header = ("call", "start", "length", "verdict")
    blocks: list[Block] = [facts, Table.from_rows(header, rows, numbers={"start", "length"}, caption="Calls")]
    if len(model.rows) > _MOST_CALLS:
        blocks.append(Items((Item(f"… and {plural(len(model.rows) - _MOST_CALLS, 'more call')}"),)))
    return (Section("model", write_name(names.names[position]), tuple(blocks)),)


def _build_table(analysis: Analysis, position: int, recording: str) -> tuple[Section, ...]:
    table = analysis.trace.tables[position]
    count = "recorded, and not in this input" if table.row_count is None else f"{table.row_count:,}"
    name = recording or analysis.trace.info.name
    command = format_shell_command(["tracekit", "tables", name, "--schema", table.schema])
    return (Section("table", table.schema, (Facts((Fact("Rows", count),)), Command(command))),)
