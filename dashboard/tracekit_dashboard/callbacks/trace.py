"""Callbacks of the trace page."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import dash
from dash import ALL, Input, Output, State, ctx

from tracekit_dashboard.callbacks import polls
from tracekit_dashboard.callbacks.chosen_analysis import PageAnalysis, choose_analysis, find_shown_analysis
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import trace
from tracekit_dashboard.pages.components import Node, is_busy
from tracekit_dashboard.pages.frame import build_not_found


def register(app: dash.Dash, library: Library) -> None:
    """Follow the reading of a recording, and handle the page's buttons."""
    polls.retry_lost_requests(app, "trace")

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Output("trace-progress", "children"),
        Input("trace-poll", "n_intervals"),
        State("address", "pathname"),
        State("address", "search"),
        prevent_initial_call=True,
        running=polls.disable_while_running("trace"),
    )
    def follow(_ticks: int | None, path: str, query: str | None) -> Any:
        recording_id = path.rpartition("/")[2]
        with suppress(NotFound):
            recording = library.find_recording(recording_id)
            is_shown = _is_ready(library, recording_id, query or "")
            if recording.deleted is None and is_busy(recording) and not is_shown:
                return dash.no_update, trace.build_progress(
                    recording
                )  # the page stays, with its pressed buttons
        return build_page(library, recording_id, query or ""), dash.no_update

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Input({"page": "trace", "act": ALL, "recording": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def on_action(_clicks: list[int]) -> Any:
        if not was_pressed():
            return dash.no_update
        clear_problem()
        button = ctx.triggered_id
        perform(library, button["act"], button["recording"])
        return build_page(library, button["recording"])


def _is_ready(library: Library, recording_id: str, query: str) -> bool:
    """Return True if the address names a ready variant, whatever the state of the default analysis."""
    analysis = find_shown_analysis(library, recording_id, query)
    if analysis == recording_id:
        return False
    with suppress(NotFound):
        return library.find_recording(analysis).state == "ready"
    return False


def was_pressed() -> bool:
    """Return False if the callback runs because a button appeared, True after a press."""
    return bool(ctx.triggered and ctx.triggered[0]["value"])


def clear_problem() -> None:
    """Remove the error of an earlier action from the page."""
    dash.set_props("problem", {"children": None})


def perform(library: Library, action: str, recording: str) -> None:
    """Perform the action of a recording's button."""
    actions = {
        "cancel": library.cancel,
        "retry": library.retry,
        "delete": library.delete,
        "restore": library.restore,
        "undo": library.restore,  # another button on the same page, so another id
        "purge": library.purge,
    }
    if action in actions:
        actions[action](recording)


def build_page(library: Library, recording_id: str, query: str = "") -> Node:
    """Return the page of a recording in its present state, with the analysis that the query names."""
    try:
        return _build_recording_page(library.open_recording(recording_id), library, query)
    except NotFound:
        return build_not_found("This recording is not in the library, or was removed.")


def _build_recording_page(recording: Recording, library: Library, query: str) -> Node:
    if recording.deleted is not None:
        return trace.build_deleted_page(recording)
    if not query and not recording.default_variant:
        choice = PageAnalysis(recording.id)
    else:
        choice = choose_analysis(library, recording.id, query)
    if is_busy(recording) and choice.analysis == recording.id:
        return trace.build_busy_page(recording)
    if choice.analysis != recording.id:
        recording = library.find_recording(choice.analysis)
    if recording.state != "ready":
        return trace.build_failed_page(recording, choice.awaited, choice.problem)
    processes = library.downloads.list_processes(choice.analysis)
    return trace.build_ready_page(recording, processes, choice.awaited, choice.problem)
