"""The page of a recording: being read, ready, failed or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from dashboard.library.catalog import Recording
from dashboard.pages.components import Node, act, aria, minute_text, poll, progress_bar, progress_text, tags
from dashboard.pages.downloads import Process, menu
from tracekit.text import format_duration, format_size, printable

POLL_MS = 500


def ready_page(
    recording: Recording, processes: Sequence[Process] = (), awaited: str = "", problem: str = ""
) -> Node:
    """Return the page of an analysed recording, whose sections trace.js fetches and draws.

    ``processes`` are those to choose from before redacting. ``awaited`` is the id of a variant that is being
    made, ``problem`` a sentence about the address.
    """
    attributes: Any = {"data-recording": recording.id, "data-awaited": awaited}
    return html.Div(
        [
            html.Header([*_heading(recording), html.Div(id="options"), menu(recording, processes)]),
            html.P(printable(problem), className="problem", role="alert") if problem else None,
            html.Div(id="headline", role="region", **aria(label="Headline")),
            html.Div(id="toolbar"),
            html.Main(id="bench"),
            html.Div(id="status", role="status", **aria(live="polite")),
        ],
        id="trace",
        className="workbench",
        **attributes,
    )


def busy_page(recording: Recording) -> Node:
    """Return the page of a recording that waits or is being read; the browser polls ``progress``."""
    hint = "You may close this page: the work goes on, and the recording stays in the library."
    return _state_page(
        recording,
        html.Div(progress(recording), id="trace-progress"),
        html.P(hint, className="note"),
        html.P(act("Cancel", "cancel", recording, "trace")),
        *poll("trace", POLL_MS),
    )


def progress(recording: Recording) -> list[Node]:
    """Return the progress of the reading."""
    is_waiting = recording.state == "waiting"
    activity = "Waiting for its turn" if is_waiting else f"Reading the recording: {progress_text(recording)}"
    return [html.P(html.Strong(activity)), progress_bar(recording, "wide")]


def failed_page(recording: Recording, awaited: str = "", problem: str = "") -> Node:
    """Return the page of a recording that could not be read, or whose reading was cancelled.

    ``awaited`` and ``problem`` are those of ``ready_page``.
    """
    if recording.state == "cancelled":
        sentence = "Reading this recording was cancelled."
    else:
        sentence = printable(recording.message) or "This recording could not be read."
    return _state_page(
        recording,
        html.P(sentence, className="problem" if recording.state == "failed" else None, role="status"),
        html.P(printable(problem), className="problem", role="alert") if problem else None,
        html.Div(id="awaited", **_awaited(recording.id, awaited)) if awaited else None,
        html.P(
            [
                act("Try again", "retry", recording, "trace"),
                " ",
                _adding(recording),
                " ",
                html.A("All recordings", href="/"),
            ]
        ),
    )


def _awaited(recording_id: str, variant: str) -> Any:
    return {"data-recording": recording_id, "data-awaited": variant}


def _adding(recording: Recording) -> Node:
    """Return a link for adding further files to a recording that could not be read."""
    if recording.state != "failed":
        return None
    return html.A("Add other files", href="/#upload", className="button")


def deleted_page(recording: Recording) -> Node:
    """Return the page of a deleted recording that can still be restored."""
    return _state_page(
        recording,
        html.P("This recording was deleted. It can still be restored.", role="status"),
        html.P([act("Restore", "restore", recording, "trace"), " ", html.A("All recordings", href="/")]),
    )


def facts(recording: Recording) -> str:
    """Return device, system, length and counts in a line."""
    counts = [
        (recording.samples, "samples"),
        (recording.windows, "calls"),
    ]
    parts = [
        printable(recording.device),
        printable(recording.system),
        format_duration(recording.duration_ns) if recording.duration_ns else "",
        *(f"{count:,} {name if count != 1 else name[:-1]}" for count, name in counts if count),
    ]
    return " · ".join(part for part in parts if part)


def _heading(recording: Recording) -> list[Node]:
    return [
        html.H1(printable(recording.name)),
        html.P(
            [facts(recording), *(part for tag in tags(recording) for part in (" ", tag))], className="note"
        ),
        html.P(printable(recording.note), className="note") if recording.note else None,
        html.P(printable(recording.message), className="note") if recording.message else None,
    ]


def _state_page(recording: Recording, *children: Node) -> Node:
    return html.Div(
        [
            html.Header([html.H1(printable(recording.name)), _size(recording)]),
            html.Main(html.Section(list(children), **aria(label="State"))),
        ]
    )


def _size(recording: Recording) -> Node:
    text = f"{format_size(recording.size_bytes)}, added {minute_text(recording.added)}"
    return html.P(text, className="note")
