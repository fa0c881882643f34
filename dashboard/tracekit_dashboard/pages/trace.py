"""The page of a recording: being read, ready, failed or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from tracekit.text import format_duration, format_size, printable
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.pages.components import (
    Node,
    build_action_button,
    build_aria_attributes,
    build_poll_timers,
    build_progress_bar,
    build_tags,
    describe_progress,
    format_minute,
)
from tracekit_dashboard.pages.downloads import Process, build_menu

POLL_MS = 500


def build_ready_page(
    recording: Recording, processes: Sequence[Process] = (), awaited: str = "", problem: str = ""
) -> Node:
    """Return the page of an analysed recording, whose sections trace.js fetches and draws.

    ``processes`` are those to choose from before redacting. ``awaited`` is the id of a variant that is being
    made, ``problem`` a sentence about the address.
    """
    attributes: Any = {"data-recording": recording.id, "data-awaited": awaited}
    return html.Div(
        [
            html.Header(
                [
                    *_build_heading(recording),
                    html.Div(id="options"),
                    html.Div(id="toolbar"),
                    build_menu(recording, processes),
                ]
            ),
            html.P(printable(problem), className="problem", role="alert") if problem else None,
            html.Div(
                _build_remarks(recording),
                id="headline",
                role="region",
                **build_aria_attributes(label="Headline"),
            ),
            html.Main(id="bench"),
            html.Div(id="status", role="status", **build_aria_attributes(live="polite")),
        ],
        id="trace",
        className="workbench",
        **attributes,
    )


def build_busy_page(recording: Recording) -> Node:
    """Return the page of a recording that waits or is being read; the browser polls its progress."""
    hint = "You may close this page: the work goes on, and the recording stays in the library."
    return _build_state_page(
        recording,
        html.Div(build_progress(recording), id="trace-progress"),
        html.P(hint, className="note"),
        html.P(build_action_button("Cancel", "cancel", recording, "trace")),
        *build_poll_timers("trace", POLL_MS),
    )


def build_progress(recording: Recording) -> list[Node]:
    """Return the progress of the reading."""
    is_waiting = recording.state == "waiting"
    activity = (
        "Waiting for its turn" if is_waiting else f"Reading the recording: {describe_progress(recording)}"
    )
    return [html.P(html.Strong(activity)), build_progress_bar(recording, "wide")]


def build_failed_page(recording: Recording, awaited: str = "", problem: str = "") -> Node:
    """Return the page of a recording that could not be read, or whose reading was cancelled.

    ``awaited`` and ``problem`` are those of ``build_ready_page``.
    """
    if recording.state == "cancelled":
        sentence = "Reading this recording was cancelled."
    else:
        sentence = printable(recording.message) or "This recording could not be read."
    return _build_state_page(
        recording,
        html.P(sentence, className="problem" if recording.state == "failed" else None, role="status"),
        html.P(printable(problem), className="problem", role="alert") if problem else None,
        html.Div(id="awaited", **_build_awaited_attributes(recording.id, awaited)) if awaited else None,
        html.P(
            [
                build_action_button("Try again", "retry", recording, "trace"),
                " ",
                _build_upload_link(recording),
                " ",
                html.A("All recordings", href="/"),
            ]
        ),
    )


def _build_awaited_attributes(recording_id: str, variant: str) -> Any:
    return {"data-recording": recording_id, "data-awaited": variant}


def _build_upload_link(recording: Recording) -> Node:
    """Return a link for adding further files to a recording that could not be read."""
    if recording.state != "failed":
        return None
    return html.A("Add other files", href="/#upload", className="button")


def build_deleted_page(recording: Recording) -> Node:
    """Return the page of a deleted recording that can still be restored."""
    return _build_state_page(
        recording,
        html.P("This recording was deleted. It can still be restored.", role="status"),
        html.P(
            [
                build_action_button("Restore", "restore", recording, "trace"),
                " ",
                html.A("All recordings", href="/"),
            ]
        ),
    )


def format_facts(recording: Recording) -> str:
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


def _build_heading(recording: Recording) -> list[Node]:
    facts = format_facts(recording)
    return [
        html.H1(printable(recording.name), title=f"{printable(recording.name)} · {facts}"),
        html.P(
            [facts, *(part for tag in build_tags(recording) for part in (" ", tag))],
            className="note facts",
            title=facts,
        ),
    ]


def _build_remarks(recording: Recording) -> list[Node]:
    """Return the visitor's note and the message of the reading, which unfold with the headline."""
    texts = [recording.note, recording.message]
    return [html.P(printable(text), className="note remark") for text in texts if text]


def _build_state_page(recording: Recording, *children: Node) -> Node:
    return html.Div(
        [
            html.Header([html.H1(printable(recording.name)), _build_size_line(recording)]),
            html.Main(html.Section(list(children), **build_aria_attributes(label="State"))),
        ]
    )


def _build_size_line(recording: Recording) -> Node:
    text = f"{format_size(recording.size_bytes)}, added {format_minute(recording.added)}"
    return html.P(text, className="note")
