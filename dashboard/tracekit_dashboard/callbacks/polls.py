"""Polling the server, also after a request without a response; every page's callbacks share it."""

from __future__ import annotations

import dash
from dash import Input, Output

from tracekit_dashboard.pages.components import get_lost_id, get_poll_id


def disable_while_running(page: str) -> list[tuple[Output, bool, bool]]:
    """Return the ``running`` argument of a polling callback: one request at a time.

    Dash drops a response if the same request is sent again meanwhile, with a slow server at every tick.
    """
    return [
        (Output(get_poll_id(page), "disabled"), True, False),
        (Output(get_lost_id(page), "disabled"), False, True),
    ]


def retry_lost_requests(app: dash.Dash, page: str) -> None:
    """Poll again if a response is long overdue: Dash undoes ``running`` only after a response."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        "() => [false, true]",
        Output(get_poll_id(page), "disabled"),
        Output(get_lost_id(page), "disabled"),
        Input(get_lost_id(page), "n_intervals"),
        prevent_initial_call=True,
    )
