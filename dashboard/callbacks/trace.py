"""What the trace page does while its recording is read."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import dash
from dash import ALL, Input, Output, State, ctx

from dashboard.callbacks import polls
from dashboard.errors import NotFound
from dashboard.library.catalog import Recording
from dashboard.library.library import Library
from dashboard.pages import figures, trace, words
from dashboard.pages.frame import not_found
from dashboard.pages.parts import Node


def register(app: dash.Dash, library: Library) -> None:
    """Follow the reading of a recording, and do what the page's buttons say."""
    polls.ask_again_when_lost(app, "trace")

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Output("trace-progress", "children"),
        Input("trace-poll", "n_intervals"),
        State("address", "pathname"),
        prevent_initial_call=True,
        running=polls.asking("trace"),
    )
    def follow(_ticks: int | None, path: str) -> Any:
        recording_id = path.rpartition("/")[2]
        with suppress(NotFound):
            recording = library.recording(recording_id)
            if recording.deleted is None and words.is_busy(recording):
                return dash.no_update, trace.progress(recording)  # the page stays, and what is pressed on it
        return page(library, recording_id), dash.no_update

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Input({"page": "trace", "act": ALL, "recording": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def do(_clicks: list[int]) -> Any:
        if not was_pressed():
            return dash.no_update
        forget_problem()
        asked = ctx.triggered_id
        perform(library, asked["act"], asked["recording"])
        return page(library, asked["recording"])

    @app.callback(
        Output("figures", "children"),
        Input("figures-show", "n_clicks"),
        State("address", "pathname"),
        prevent_initial_call=True,
    )
    def draw(_clicks: int, path: str) -> Any:
        if not was_pressed():
            return dash.no_update
        analysis = json.loads(library.analysis_path(path.rpartition("/")[2]).read_text("utf-8"))
        return figures.distributions(analysis["windows"])


def was_pressed() -> bool:
    """False where a button merely appeared."""
    return bool(ctx.triggered and ctx.triggered[0]["value"])


def forget_problem() -> None:
    """Take away what went wrong before: somebody tries anew."""
    dash.set_props("problem", {"children": None})


def perform(library: Library, act: str, recording: str) -> None:
    """Do what a button of a recording says."""
    acts = {
        "cancel": library.cancel,
        "retry": library.retry,
        "delete": library.delete,
        "restore": library.restore,
        "undo": library.restore,  # another button on the same page, so another id
        "purge": library.purge,
    }
    if act in acts:
        acts[act](recording)


def page(library: Library, recording_id: str) -> Node:
    """Return the page of a recording in its present state."""
    try:
        recording = library.recording(recording_id)
        return _page(recording, library)
    except NotFound:
        return not_found("This recording is not in the library, or no longer.")


def _page(recording: Recording, library: Library) -> Node:
    if recording.deleted is not None:
        return trace.deleted_page(recording)
    if words.is_busy(recording):
        return trace.busy_page(recording)
    if recording.state != "ready":
        return trace.failed_page(recording)
    return trace.ready_page(recording, library.downloads.processes(recording.id))
