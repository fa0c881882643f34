"""Components of several pages, and the texts in them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dash import dcc, html

from tracekit.text import printable
from tracekit_dashboard.library.catalog import Recording

Node = Any
"""A Dash component, a text, a list of them, or None."""

STATES = {
    "waiting": "waiting",
    "reading": "being read",
    "ready": "ready",
    "failed": "could not be read",
    "cancelled": "cancelled",
}
"""The states of a recording, as pages show them."""


def build_aria_attributes(**names: str) -> Any:
    """Return attributes for assistive technology: ``**build_aria_attributes(label="…")``."""
    return {f"aria-{name}": value for name, value in names.items()}


def build_data_attributes(**values: str) -> Any:
    """Return attributes that the page's scripts read: ``**build_data_attributes(hint="…")``."""
    return {f"data-{name}": value for name, value in values.items()}


LOST_MS = 8_000
"""The time after which a request without a response is sent again."""


def build_poll_timers(page: str, interval_ms: int) -> list[Node]:
    """Return the timers that poll the server; ``callbacks.polls`` has the parts of their callback."""
    return [
        dcc.Interval(id=get_poll_id(page), interval=interval_ms),
        dcc.Interval(id=get_lost_id(page), interval=LOST_MS, disabled=True),
    ]


def get_poll_id(page: str) -> str:
    """Return the id of the polling timer."""
    return f"{page}-poll"


def get_lost_id(page: str) -> str:
    """Return the id of the timer that runs while a response is awaited."""
    return f"{page}-lost"


def build_action_button(text: str, action: str, recording: Recording, page: str) -> Node:
    """Return a button for an action on a recording; its id carries the action to the page's callback."""
    return html.Button(
        text,
        id={"page": page, "act": action, "recording": recording.id},
        type="button",
        n_clicks=0,
        **build_aria_attributes(label=f"{text}: {printable(recording.name)}"),
    )


def build_tags(recording: Recording) -> list[Node]:
    """Return the tags of a recording."""
    return [html.Span(printable(tag), className="tag") for tag in recording.tags]


def build_progress_bar(recording: Recording, width: str = "") -> Node:
    """Return a progress bar of the reading; indeterminate if the progress is unknown."""
    value: Any = {} if recording.progress is None else {"value": str(recording.progress), "max": "1"}
    return html.Progress(
        className=width, **value, **build_aria_attributes(label=f"Progress of {printable(recording.name)}")
    )


def format_minute(moment: datetime) -> str:
    """Return a moment to the minute, in the time zone of this machine."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def describe_progress(recording: Recording) -> str:
    """Return the present stage of a recording with its progress."""
    share = "" if recording.progress is None else f", {100 * recording.progress:.0f} %"
    return f"{recording.stage or STATES[recording.state]}{share}"


def is_busy(recording: Recording) -> bool:
    """Return True while a recording waits or is being read."""
    return recording.state in {"waiting", "reading"}
