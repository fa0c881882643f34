"""The tables that the numbers rest on, the log, the power, and the binaries without symbols."""

from __future__ import annotations

from tracekit.analysis.availability import Evidence
from tracekit.analysis.result import Analysis
from tracekit.model.issue_codes import LOG
from tracekit.report import wording
from tracekit.report.analysis.extent import Extent
from tracekit.report.analysis.limits import add_notes
from tracekit.report.document.blocks import Block, Item, Items, Paragraph, Section, Table, count_note
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.text import plural

_PROVES_NOTHING = (
    "Zero rows never prove that an engine was not used; an absent table proves nothing at all. The recording"
    " may have further tables: tracekit tables lists and writes all of them; the dashboard opens them."
)
_HEADER = ("table", "rows", "scope", "in this recording", "can show")


def build_evidence(analysis: Analysis, extent: Extent, notes: Footnotes) -> Section:
    """Return the tables that can show engines, each with its use, or their names; and what else was read."""
    blocks: list[Block] = [_list_names(analysis)]
    if extent.is_verbose:
        rows = sorted(analysis.evidence, key=lambda row: row.state == "absent")
        table = Table.from_rows(_HEADER, map(_describe_table, rows), ("rows",), is_wordy=True)
        blocks = [table, Paragraph(_PROVES_NOTHING), *_list_symbols(analysis)]
    if "log" not in extent.left_out or analysis.trace.is_of_text:
        blocks += _list_log(analysis, extent, notes)
    if power := wording.power_lines(analysis.power):
        blocks.append(Section("power", "Power and energy", (Items(tuple(map(Item, power))),)))
    blocks += _list_holders(analysis)
    return Section("evidence", "Evidence", tuple(blocks))


def _describe_table(row: Evidence) -> tuple[str, ...]:
    return row.source, _count_rows(row), row.scope, wording.remark(row), f"it shows {wording.shows(row)}"


def _count_rows(row: Evidence) -> str:
    return plural(row.rows, "row") if row.state == "rows" else row.state


def _list_names(analysis: Analysis) -> Paragraph:
    """Return the tables that there are with their rows, and the number of the others."""
    present = [row for row in analysis.evidence if row.state != "absent"]
    tables = ", ".join(f"{row.source} ({_count_rows(row)})" for row in present)
    absent = len(analysis.evidence) - len(present)
    more = f"; absent: {plural(absent, 'other table')} that can show engines" if absent else ""
    return Paragraph(f"{tables or 'none'}{more}")


def _list_symbols(analysis: Analysis) -> list[Block]:
    binaries = analysis.binaries_without_symbols
    if not binaries:
        return []
    numbers = ("addresses", "samples")
    table = Table.from_rows(wording.SYMBOLS_HEADER, wording.symbols_rows(binaries), numbers)
    notes = map(Paragraph, wording.symbols_notes(binaries))
    return [Section("binaries", "Binaries without symbols", (table, *notes))]


def _list_holders(analysis: Analysis) -> list[Block]:
    """Return the processes that held memory on the Neural Engine, where somebody looked."""
    holders = analysis.engine_holders
    if holders is None:
        return []
    # Few recordings have these samples: the others do not import their words.
    from tracekit.report.wording.holders import HOLDERS_HEADER, holder_notes, holder_rows

    notes = map(Paragraph, holder_notes(holders))
    header = HOLDERS_HEADER if holders.calls else HOLDERS_HEADER[:-1]
    rows = [row[: len(header)] for row in holder_rows(holders)]
    table = [Table.from_rows(header, rows, header[1:])] if rows else []
    return [Section("holders", "Held on the Neural Engine", (*table, *notes))]


def _list_log(analysis: Analysis, extent: Extent, notes: Footnotes) -> list[Block]:
    """Return the requests and refusals in the log."""
    lines = wording.log_lines(analysis.requests)
    if not lines:
        return []
    items = [Item(line) for line in lines[: extent.most_log_lines]]
    remaining = len(lines) - len(items)
    items += [Item(count_note(remaining))] if remaining else []
    section = Section("log", "Log", (Items(tuple(items)),), mark=notes.marks(LOG).head)
    return [add_notes(section, notes, extent.has_explanations)]
