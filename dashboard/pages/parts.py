"""What several pages are made of."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from dashboard.library.catalog import Recording
from dashboard.pages import words

Node = Any
"""A Dash component, a text, a list of them, or None."""


def aria(**names: str) -> Any:
    """Return attributes for assistive technology: ``**aria(label="…")``."""
    return {f"aria-{name}": value for name, value in names.items()}


LOST_MS = 8_000
"""How long a question to the server may take before it is asked anew."""


def poll(page: str, interval_ms: int) -> list[Node]:
    """Return what asks the server at every tick; its callback is made with ``callbacks.polls``."""
    return [
        dcc.Interval(id=poll_id(page), interval=interval_ms),
        dcc.Interval(id=lost_id(page), interval=LOST_MS, disabled=True),
    ]


def poll_id(page: str) -> str:
    """Return the id of what ticks."""
    return f"{page}-poll"


def lost_id(page: str) -> str:
    """Return the id of what ticks while an answer is awaited."""
    return f"{page}-lost"


def act(text: str, what: str, recording: Recording, page: str) -> Node:
    """Return a button that does something to a recording; the callbacks of its page find it by its id."""
    return html.Button(
        text,
        id={"page": page, "act": what, "recording": recording.id},
        type="button",
        n_clicks=0,
        **aria(label=f"{text}: {words.shown(recording.name)}"),
    )


def tags(recording: Recording) -> list[Node]:
    """Return the tags that somebody gave to a recording."""
    return [html.Span(words.shown(tag), className="tag") for tag in recording.tags]


def progress_bar(recording: Recording, width: str = "") -> Node:
    """Return how far the reading is; a bar without an end where that is not known."""
    known: Any = {} if recording.progress is None else {"value": str(recording.progress), "max": "1"}
    return html.Progress(className=width, **known, **aria(label=f"Progress of {words.shown(recording.name)}"))
