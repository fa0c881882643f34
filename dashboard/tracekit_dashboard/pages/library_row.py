"""A recording's row in the library: its name, state and figures, and what can be done with it."""

from __future__ import annotations

from typing import Any

from dash import html

from tracekit.text import format_duration, format_size, printable
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.pages import compare, components
from tracekit_dashboard.pages.components import (
    STATES,
    Node,
    build_aria_attributes,
    describe_progress,
    format_minute,
    is_busy,
)
from tracekit_dashboard.pages.engine_bar import build_engine_bar

AGAIN_HINT = "An analysis that was dropped is made again when its recording is opened."
_PLACES = {"file": "on this machine", "upload": "uploaded"}
_LONGEST_REASON = 140


def build_row(recording: Recording, deleted: bool, is_recorded: bool, original: str = "") -> Node:
    """Return a recording's row. Of one that was recorded on the page there is no other copy.

    ``original`` is the name of an earlier copy in the library.
    """
    name = printable(recording.name)
    is_ready = recording.state == "ready"
    return html.Tr(
        [
            html.Td(_build_checkbox(recording) if compare.is_fit(recording) else None, className="choose"),
            html.Th(
                [
                    name if deleted else html.A(name, href=f"/recordings/{recording.id}"),
                    *_build_remarks(recording, is_recorded, original),
                ],
                scope="row",
                title=name,
            ),
            html.Td(printable(recording.app), className="app-name"),
            html.Td(_build_state(recording), className="state"),
            _build_device_cell(recording),
            _build_number_cell(
                "Length", format_duration(recording.duration_ns) if is_ready and recording.duration_ns else ""
            ),
            _build_number_cell("Calls", f"{recording.windows:,}" if is_ready and recording.windows else ""),
            _build_number_cell("Recorded", format_minute(recording.recorded) if recording.recorded else ""),
            _build_number_cell("Added", format_minute(recording.added)),
            html.Td(html.Div(_build_actions(recording, deleted, is_recorded), className="actions")),
        ],
        key=recording.id,
    )


def _build_remarks(recording: Recording, is_recorded: bool, original: str) -> list[Node]:
    """Return what stands behind a recording's name: tags, note, an earlier copy, and its sizes."""
    place = "recorded here" if is_recorded else _PLACES[recording.origin]
    sizes = f"{format_size(recording.size_bytes)}, {place}{_describe_stored_size(recording)}"
    copy = f"The same recording as “{printable(original)}”" if original else ""
    texts = ((printable(recording.note), "note"), (copy, "note copy-of"), (sizes, "note"))
    tags = [html.Span(components.build_tags(recording), className="tags")] if recording.tags else []
    return [*tags, *(html.Span(text, className=kind, title=text) for text, kind in texts if text)]


def _build_device_cell(recording: Recording) -> Node:
    device, system = printable(recording.device), printable(recording.system)
    return html.Td(
        [device, html.Span(system, className="note")], className="device", title=f"{device} {system}"
    )


def _build_number_cell(label: str, text: str) -> Node:
    """Return a cell with its own label, shown where the table is narrow and has no header."""
    attributes: Any = {"data-label": label}
    return html.Td(text, className="number", **attributes)


def _build_checkbox(recording: Recording) -> Node:
    """Return a checkbox, which library.js ticks; Dash's own is no checkbox to assistive technology."""
    name = build_aria_attributes(label=f"Compare: {printable(recording.name)}")
    return html.Button(id={"choose": recording.id}, type="button", role="checkbox", className="tick", **name)


def _build_state(recording: Recording) -> Node:
    if recording.state == "ready":
        verdict = printable(recording.verdict)
        return [build_engine_bar(recording), html.Span(verdict, title=verdict)]
    if is_busy(recording):
        progress = html.Span(describe_progress(recording), className="note")
        return [components.build_progress_bar(recording), progress]
    kind = "problem" if recording.state == "failed" else "note"
    return _shorten_reason(printable(recording.message) or STATES[recording.state], kind)


def _shorten_reason(reason: str, kind: str) -> Node:
    """Return a reason; of a long one its beginning, and all of it on demand."""
    if len(reason) <= _LONGEST_REASON:
        return html.Span(reason, className=kind)
    beginning = f"{reason[:_LONGEST_REASON].rsplit(' ', 1)[0]} …"
    return html.Details([html.Summary(beginning, className=kind), html.P(reason, className=kind)])


def _build_actions(recording: Recording, deleted: bool, is_recorded: bool) -> list[Node]:
    if deleted:
        for_good = _build_action_button("Delete for good", "purge", recording)
        for_good.title = _explain_loss(recording, is_recorded)
        return [_build_action_button("Restore", "restore", recording), for_good]
    if is_busy(recording):
        return [_build_action_button("Cancel", "cancel", recording)]
    retry_buttons = (
        [] if recording.state == "ready" else [_build_action_button("Try again", "retry", recording)]
    )
    drop = [] if recording.state != "ready" or recording.is_dropped else [_build_drop_button(recording)]
    name = build_aria_attributes(label=f"Actions: {printable(recording.name)}")
    entries = [
        _build_action_button("Edit", "edit", recording),
        *drop,
        _build_action_button("Delete", "delete", recording),
    ]
    menu = html.Details(
        [html.Summary("⋯", **name), html.Div(entries, className="entries")], className="row-menu"
    )
    return [*retry_buttons, menu]


def _describe_stored_size(recording: Recording) -> str:
    """Return the size of a recording's analysis on the disk, with a separator before it."""
    if recording.is_dropped:
        return "; analysis dropped"
    return f"; analysis {format_size(recording.results_bytes)}" if recording.results_bytes else ""


def _build_drop_button(recording: Recording) -> Node:
    button = _build_action_button("Drop analysis", "drop", recording)
    button.title = AGAIN_HINT
    return button


def _explain_loss(recording: Recording, is_recorded: bool) -> str:
    """Return the consequence of deleting a recording for good; library.js shows it for confirmation."""
    name = printable(recording.name)
    if is_recorded:
        return f"“{name}” was recorded here: the recording itself is removed, and there is no other copy."
    if recording.origin == "upload":
        return f"The upload “{name}” and its analysis are removed."
    return f"The analysis of “{name}” is removed. The file itself stays in its place."


def _build_action_button(text: str, action: str, recording: Recording) -> Node:
    return components.build_action_button(text, action, recording, "library")
