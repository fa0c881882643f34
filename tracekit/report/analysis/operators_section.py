"""The operations of models whose file or plan was given: what was anticipated, what was observed, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracekit.analysis.model_join.joined_model import JoinedModel, JoinedSegment
from tracekit.analysis.result import Analysis
from tracekit.model.vocabulary import Engine
from tracekit.report.analysis.extent import Extent
from tracekit.report.analysis.operator_strip import build_strip
from tracekit.report.document.blocks import Block, Column, ColumnKind, Item, Items, Paragraph, Section, Table
from tracekit.report.viewmodel.limits import Footnotes
from tracekit.report.wording.joins import describe_join, describe_limits, describe_reason
from tracekit.text import clip, format_rounded, printable

_NOT_STATED, _NOT_SHOWN = "not stated", "not shown"
_NAME_WIDTH = 40
_WHY_WIDTH = 120
_COLUMNS: tuple[tuple[str, ColumnKind, int], ...] = (
    ("operation", "text", 0),
    ("anticipated", "engine", 0),
    ("observed", "engine", 0),
    ("agreement", "text", 2),
    ("why", "text", 0),
    ("line", "text", 1),
    ("work", "number", 0),
    ("gap", "number", 0),
)
_REGION_HEADER = ("region", "anticipated", "observed", "agreement", "calls", "work", "gap")
_NUMBERS = ("work", "gap", "calls")
_GAP_NOTE = (
    "work: per call, of all operations of the segment, in the row of its first. gap: from the end of the"
    " piece on the Neural Engine before it to the start of the next, so work and hand-over together (median,"
    " measured)."
)


def build_operators(analysis: Analysis, extent: Extent, _notes: Footnotes) -> Section:
    """Return the operations of each model: the strip, the table of those off the engine, and the limits."""
    blocks = [block for model in analysis.joined_models for block in _describe_model(analysis, model, extent)]
    about = "anticipated: by the plan; observed: in the calls of this recording"
    has_plan = any(model.plan_file for model in analysis.joined_models)
    heading = f"Operations {'off' if has_plan else 'that may leave'} the Neural Engine"
    return Section("operators", heading, tuple(blocks), about=about if has_plan else "by rules alone")


def _describe_model(analysis: Analysis, model: JoinedModel, extent: Extent) -> Iterator[Block]:
    yield Paragraph(describe_join(model))
    starts = analysis.window_rows["start_ns"]
    strip = build_strip(model, int(starts.iloc[model.typical_call]))
    if strip is not None and "no-plan" not in model.limits:
        yield strip
    table = _build_table(model, extent.most_operations)
    if table is not None:
        yield table
        if any(segment.gap_ns is not None for segment in model.segments):
            yield Paragraph(_GAP_NOTE)
    limits = list(describe_limits(model))
    if limits:
        yield Items(tuple(map(Item, limits)))


def _build_table(model: JoinedModel, limit: int) -> Table | None:
    """Return the operations off the engine, the regions of a plan without operations, or what rules state."""
    if "regions-only" in model.limits:
        rows = [_describe_region(segment) for segment in model.segments[:limit]]
        return Table.from_rows(_REGION_HEADER, rows, _NUMBERS)
    if "no-plan" in model.limits:
        return _build_rules_table(model, limit)
    leaving = model.list_leaving()
    if not leaving:
        return None
    caption = f"The first {limit:,} of {len(leaving):,}" if len(leaving) > limit else ""
    columns = tuple(_list_columns(model, leaving[:limit]))
    return Table(columns, caption, _narrow(columns, caption))


def _build_rules_table(model: JoinedModel, limit: int) -> Table | None:
    """Return the operations that rules are about; None without any."""
    by_rules = [position for position, operation in enumerate(model.operations) if operation.reasons]
    if not by_rules:
        return None
    names, reasons, lines = zip(
        *(_describe_by_rule(model, position) for position in by_rules[:limit]), strict=True
    )
    columns = (Column("operation", names), Column("why", reasons, is_clipped=True))
    return Table((*columns, Column("line", lines)) if any(lines) else columns)


def _list_columns(model: JoinedModel, leaving: Sequence[int]) -> Iterator[Column]:
    """Yield the columns of a table of operations, without those that are empty."""
    columns = zip(*(_describe_operation(model, position) for position in leaving), strict=True)
    for (name, kind, rank), texts in zip(_COLUMNS, columns, strict=True):
        is_missing = not {_NOT_STATED, _NOT_SHOWN}.isdisjoint(texts)
        if any(texts):
            yield Column(name, texts, "text" if is_missing else kind, rank=rank, is_clipped=name == "why")


def _narrow(columns: Sequence[Column], caption: str) -> Table:
    """Return the table for narrow lines: both engines in one column, and no work beside the gap."""
    by_name = {column.name: column for column in columns}
    pairs = zip(by_name["anticipated"].texts, by_name["observed"].texts, strict=True)
    engines = Column("engines", [f"{anticipated}, {observed}" for anticipated, observed in pairs])
    gaps = [by_name["gap"]] if "gap" in by_name else []
    parts = [caption, "engines: anticipated, observed"]
    return Table((by_name["operation"], engines, by_name["why"], *gaps), f"{'; '.join(filter(None, parts))}.")


def _describe_operation(model: JoinedModel, position: int) -> list[str]:
    operation = model.operations[position]
    segment = model.segments[operation.segment]
    is_first = position == segment.first
    return [
        _name_operation(model, position),
        _name_engine(operation.anticipated, _NOT_STATED),
        _name_engine(segment.observed, _NOT_SHOWN),
        _describe_agreement(segment),
        clip(printable(describe_reason(model, position)), _WHY_WIDTH),
        clip(printable(operation.source), _NAME_WIDTH),
        _format_work(segment) if is_first else "",
        format_rounded(segment.gap_ns) if is_first else "",
    ]


def _describe_by_rule(model: JoinedModel, position: int) -> list[str]:
    why = clip(printable(describe_reason(model, position)), _WHY_WIDTH)
    source = clip(printable(model.operations[position].source), _NAME_WIDTH)
    return [_name_operation(model, position), why, source]


def _describe_region(segment: JoinedSegment) -> list[str]:
    return [
        clip(printable(segment.name), _NAME_WIDTH),
        _name_engine(segment.anticipated, _NOT_STATED),
        _name_engine(segment.observed, _NOT_SHOWN),
        _describe_agreement(segment),
        f"{segment.calls:,}",
        _format_work(segment),
        format_rounded(segment.gap_ns),
    ]


def _name_operation(model: JoinedModel, position: int) -> str:
    operation = model.operations[position]
    kind = f" ({operation.kind})" if operation.name and operation.kind != operation.name else ""
    return clip(printable(f"{operation.name or operation.kind}{kind}"), _NAME_WIDTH)


def _name_engine(engine: Engine | None, missing: str) -> str:
    return missing if engine is None else str(engine)


def _describe_agreement(segment: JoinedSegment) -> str:
    """Return the agreement, with the calls that show it where not all of them do."""
    if 0 < segment.agreeing < segment.calls:
        return f"{segment.agreement} in {segment.agreeing:,} of {segment.calls:,} calls"
    return str(segment.agreement)


def _format_work(segment: JoinedSegment) -> str:
    if segment.work_ns is None or segment.basis is None:
        return ""
    return f"{format_rounded(segment.work_ns)} ({segment.basis})"
