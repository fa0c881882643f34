"""The strip of a model's operations: what was anticipated, above the segments of the typical call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tracekit.analysis.model_join.joined_model import JoinedModel, JoinedSegment
from tracekit.model.vocabulary import Engine
from tracekit.report.document.blocks import Strip, StripKind, StripLine, StripPart
from tracekit.report.wording.joins import describe_reason
from tracekit.text import clip, format_rounded, plural

_KINDS = (
    StripKind("Neural Engine", "A", Engine.ANE),
    StripKind("GPU", "G", Engine.GPU),
    StripKind("CPU", "C", Engine.CPU),
    StripKind("not stated or not shown", "?"),
    StripKind("gap", "-", is_gap=True),
)
_UNKNOWN, _GAP = 3, 4
_KIND_OF: dict[Engine | None, int] = {Engine.ANE: 0, Engine.GPU: 1, Engine.CPU: 2}
_MOST_PARTS = 400
"""More operations off the engine than these are drawn as the segments that they make."""
_LONGEST_LABEL = 24


def build_strip(model: JoinedModel, call_start_ns: int) -> Strip | None:
    """Return the operations of a model above its typical call; None for a model without operations.

    The rows of the next table are the operations off the Neural Engine, in the order of the program. The call
    begins at ``call_start_ns``.
    """
    if not model.operations:
        return None
    above, segment_of = _draw_operations(model)
    below, position_of = _draw_call(model, call_start_ns)
    links = tuple(
        (position, position_of[segment])
        for position, segment in enumerate(segment_of)
        if segment in position_of
    )
    name = model.model or "the model"
    operations = f"{plural(len(model.operations), 'operation')} of {name} as anticipated"
    call = ", above the typical call" if position_of else ". No call shows its segments"
    return Strip(
        f"{operations}{call}.",
        _KINDS,
        StripLine("plan", tuple(above)),
        StripLine("call", tuple(below), ("0 ms", format_rounded(model.length_ns))),
        links,
    )


def _draw_operations(model: JoinedModel) -> tuple[list[StripPart], list[int]]:
    """Return the parts of the plan, and the segment of each; an operation off the engine has its own."""
    leaving = model.list_leaving()
    rows = {position: row for row, position in enumerate(leaving)}
    parts: list[StripPart] = []
    segment_of: list[int] = []
    for number, segment in enumerate(model.segments):
        is_apart = segment.first in rows and len(leaving) <= _MOST_PARTS
        step = 1 if is_apart else max(1, segment.end - segment.first)
        for first in range(segment.first, segment.end, step):
            first_row = rows.get(first, 0)
            about = range(first_row, first_row + step if first in rows else first_row)
            parts.append(_draw_run(model, segment, range(first, first + step), about))
            segment_of.append(number)
    return parts, segment_of


def _draw_run(model: JoinedModel, segment: JoinedSegment, run: range, rows: range) -> StripPart:
    """Return the part of some operations of a segment."""
    total = len(model.operations)
    first = model.operations[run.start]
    anticipated = _name_engine(segment.anticipated, "not stated")
    if len(run) == 1:
        name = first.name or first.kind
        text = f"{name} ({first.kind}): {anticipated} anticipated"
        text += f"; {describe_reason(model, run.start)}" if first.reasons else ""
        text += f"; {first.source}" if first.source else ""
        label = clip(name, _LONGEST_LABEL) if rows else ""
    else:
        text = f"operations {run.start + 1:,} to {run.stop:,} of {total:,}: {anticipated} anticipated"
        label = plural(len(run), "operation") if rows else ""
    kind = _KIND_OF.get(segment.anticipated, _UNKNOWN)
    return StripPart(run.start / total, run.stop / total, kind, text, label, rows)


def _draw_call(model: JoinedModel, call_start_ns: int) -> tuple[list[StripPart], dict[int, int]]:
    """Return the parts of the call, and the position of each segment that it shows among them."""
    placed = [
        (number, segment, segment.start_ns, segment.end_ns)
        for number, segment in enumerate(model.segments)
        if segment.start_ns is not None and segment.end_ns is not None
    ]
    placed.sort(key=lambda entry: entry[2])
    parts: list[StripPart] = []
    position_of: dict[int, int] = {}
    length = max(1, model.length_ns)
    gaps = _list_gaps([(start, end) for _, _, start, end in placed])
    for (number, segment, start, end), gap in zip(placed, [*gaps, None], strict=False):
        position_of[number] = len(parts)
        engine = _name_engine(segment.observed, "engine not shown")
        text = f"{engine}, {format_rounded(end - start)}, {_describe_agreement(segment)}"
        parts.append(
            StripPart(
                start / length,
                end / length,
                _KIND_OF.get(segment.observed, _UNKNOWN),
                text,
                range_ns=(call_start_ns + start, call_start_ns + end),
            )
        )
        if gap is not None and gap[1] > gap[0]:
            text = f"gap, {format_rounded(gap[1] - gap[0])}"
            edges = (call_start_ns + gap[0], call_start_ns + gap[1])
            parts.append(StripPart(gap[0] / length, gap[1] / length, _GAP, text, range_ns=edges))
    return parts, position_of


def _list_gaps(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the time between each range and the next."""
    for before, after in pairwise(ranges):
        yield before[1], after[0]


def _name_engine(engine: Engine | None, missing: str) -> str:
    return _KINDS[_KIND_OF[engine]].name if engine in _KIND_OF else missing


def _describe_agreement(segment: JoinedSegment) -> str:
    anticipated = _name_engine(segment.anticipated, "")
    return f"{anticipated} anticipated: {segment.agreement}" if anticipated else "no engine was anticipated"
