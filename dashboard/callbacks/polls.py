"""Asking the server again and again, also after a question that got no answer."""

from __future__ import annotations

import dash
from dash import Input, Output

from dashboard.pages.parts import lost_id, poll_id


def asking(page: str) -> list[tuple[Output, bool, bool]]:
    """Return the ``running`` of a callback that hears ``parts.poll(page, …)``: one question at a time.

    Dash drops an answer when the same is asked again meanwhile: with a slow server, at every tick.
    """
    return [
        (Output(poll_id(page), "disabled"), True, False),
        (Output(lost_id(page), "disabled"), False, True),
    ]


def ask_again_when_lost(app: dash.Dash, page: str) -> None:
    """Ask anew when no answer has come for long: Dash undoes ``running`` after an answer only."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        "() => [false, true]",
        Output(poll_id(page), "disabled"),
        Output(lost_id(page), "disabled"),
        Input(lost_id(page), "n_intervals"),
        prevent_initial_call=True,
    )
