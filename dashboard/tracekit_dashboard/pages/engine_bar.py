"""The engines of a recording's calls, as a bar and in words."""

from __future__ import annotations

import json

from dash import html

from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.pages.components import Node, build_aria_attributes

_VERDICTS = ("ANE", "GPU", "CPU", "MIXED", "RUNTIME")


def build_engine_bar(recording: Recording) -> Node:
    """Return the share of each engine in the calls, as a bar and in words; None without calls."""
    calls = count_calls_by_verdict(recording)
    total = sum(calls.values())
    if not total:
        return None
    parts = [
        html.Span(className=f"engine-{name}", style={"width": f"{100 * count / total:.1f}%"})
        for name, count in calls.items()
    ]
    words = ", ".join(f"{name} {count:,}" for name, count in calls.items())
    bar = html.Span(parts, className="share", **build_aria_attributes(hidden="true"))
    return html.Span([bar, html.Span(words, className="note")], className="engine-bar", title=words)


def count_calls_by_verdict(recording: Recording) -> dict[str, int]:
    """Return how many calls each engine served, in the order of the engines; {} where nothing is known."""
    try:
        counts = json.loads(recording.engines or "{}")
        known = {name: int(counts.pop(name)) for name in _VERDICTS if name in counts}
        return {**known, **({"UNKNOWN": sum(counts.values())} if counts else {})}
    except (ValueError, TypeError, AttributeError):
        return {}
