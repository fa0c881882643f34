"""Callbacks of the compare page."""

from __future__ import annotations

from typing import Any

import dash
from dash import ALL, Input, Output, State, ctx

from tracekit_dashboard.callbacks import polls
from tracekit_dashboard.callbacks.trace import clear_problem, was_pressed
from tracekit_dashboard.error_responses import format_sentence
from tracekit_dashboard.errors import Conflict, NotFound
from tracekit_dashboard.jobs.queue import JobStatus, QueueFull
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import compare
from tracekit_dashboard.pages.components import Node
from tracekit_dashboard.pages.frame import build_not_found


def register(app: dash.Dash, library: Library) -> None:
    """Follow the progress of a comparison, and handle the page's buttons."""
    polls.retry_lost_requests(app, "compare")

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Input("compare-poll", "n_intervals"),
        State("address", "pathname"),
        prevent_initial_call=True,
        running=polls.disable_while_running("compare"),
    )
    def follow(_ticks: int | None, path: str) -> Node:
        match path.strip("/").split("/"):
            case ["compare", base, new]:
                return build_page(library, base, new)
        return build_not_found("There is no comparison at this address.")

    @app.callback(
        Output("page", "children", allow_duplicate=True),
        Input({"page": "compare", "act": ALL, "base": ALL, "new": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def on_action(_clicks: list[int]) -> Any:
        if not was_pressed():
            return dash.no_update
        clear_problem()
        button = ctx.triggered_id
        actions = {"cancel": library.comparisons.cancel, "again": library.comparisons.retry}
        if action := actions.get(button["act"]):
            action(button["base"], button["new"])
        return build_page(library, button["base"], button["new"])


def build_page(library: Library, base_id: str, new_id: str) -> Node:
    """Return the page of a comparison in its present state, and begin the comparison if necessary."""
    try:
        base, new = library.open_recording(base_id), library.open_recording(new_id)
    except NotFound:
        return build_not_found("One of these recordings is not in the library, or was removed.")
    if base_id == new_id:
        return compare.build_same_page(base)
    if not (compare.is_fit(base) and compare.is_fit(new)):
        return compare.build_unfit_page(base, new)
    try:
        status = library.comparisons.find_or_begin(base_id, new_id)
    except (Conflict, NotFound, QueueFull) as error:
        status = JobStatus("failed", message=format_sentence(error))
    if status.state == "done":
        return compare.build_ready_page(base, new)
    show = compare.build_busy_page if status.state in ("waiting", "running") else compare.build_ended_page
    return show(base, new, status)
