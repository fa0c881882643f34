"""Numbers of checks in words: a value with its unit, its range and its interval."""

from __future__ import annotations

import math

from tracekit.checks.requirements import Kind
from tracekit.checks.results import MetricValue
from tracekit.comparison.cautions import THERMAL
from tracekit.text import format_ms_or_us, format_percent


def describe_range(actual: MetricValue) -> str:
    """Return a value with its interval, or the values that it lies between."""
    assert actual.low is not None
    assert actual.high is not None
    low = value_text(actual.low, actual.kind)
    if actual.low == actual.high:
        return f"{low}{_interval(actual)}"
    return (
        f"at least {low}{_interval(actual)}"
        if math.isinf(actual.high)
        else f"from {low} to {value_text(actual.high, actual.kind)}{_interval(actual)}"
    )


def _interval(actual: MetricValue) -> str:
    """Return ``, 22.000 to 25.900 ms at 95 %``; "" for a number that describes the recording alone."""
    if actual.interval is None:
        return ""
    low, high = actual.interval
    level = f"at {100 * actual.confidence:g} %"
    if math.isinf(high):
        bound = f"{value_text(low, actual.kind)} or more" if low > 0 else "without bounds"
        return f", {bound} {level}"
    lower, upper = (value_text(end, actual.kind) for end in (low, high))
    return f", {lower.removesuffix(_unit(low, high, actual.kind))} to {upper} {level}"


def _unit(low: float, high: float, kind: Kind) -> str:
    """Return the unit that both ends share, with its space."""
    units = {value_text(end, kind).partition(" ")[2] for end in (low, high)}
    return f" {units.pop()}" if len(units) == 1 and units != {""} else ""


def value_text(value: float, kind: Kind) -> str:
    """Return a value with its unit."""
    if kind == "time":
        return format_ms_or_us(value, 3)
    if kind == "energy":
        return f"{value:,.3f} mJ"
    if kind == "share":
        return format_percent(value, 1)
    if kind == "rate":
        return f"{value:,.1f} tokens/s"
    return THERMAL[int(value)] if kind == "thermal" else f"{value:,g}"
