"""The heaviest stacks in the report's markup, for readers without JavaScript."""

from __future__ import annotations

from tracekit.analysis.result import Analysis
from tracekit.report.html.elements import Html, badge, tag
from tracekit.report.viewmodel.heaviest import HeavyStack, heaviest_stacks
from tracekit.text import format_rounded, plural

_SHOWN_STACKS = 8


def stacks_html(analysis: Analysis) -> Html:
    """Return the heaviest stacks of the run, each folded, with the deciding frame marked."""
    unit = analysis.trace.weight_unit
    stacks = heaviest_stacks(analysis)[:_SHOWN_STACKS]
    if not stacks:
        return tag("p", "No sample has a stack.")
    return tag("ol", *(tag("li", _stack(stack, unit)) for stack in stacks), class_="stacks")


def _stack(stack: HeavyStack, unit: str) -> Html:
    weight = f"{format_rounded(stack.weight)}, " if unit == "ns" else f"{stack.weight:,.0f} {unit}, "
    weight = "" if unit == "samples" else weight
    phase = f", {stack.phase}" if stack.phase else ""
    rule = f"; rule {stack.rule}" if stack.rule else ""
    samples = plural(stack.samples, "sample")
    frames = [
        tag(
            "li",
            tag("mark", symbol) if index == stack.deciding else symbol,
            tag("small", f" {binary}") if binary else None,
            tag("small", " ← decides") if index == stack.deciding else None,
        )
        for index, (symbol, binary) in enumerate(stack.frames)
    ]
    if stack.above:
        frames.insert(0, tag("li", f"… {stack.above:,} more"))
    if stack.below:
        frames.append(tag("li", f"… {stack.below:,} more"))
    head = tag("summary", badge(stack.engine), f" {weight}{samples}{phase}{rule}")
    return tag("details", head, tag("ol", *frames, class_="frames"))
