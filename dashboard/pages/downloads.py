"""The menu of what can be downloaded of a recording."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html

from dashboard.jobs.formats import Format, available
from dashboard.library.catalog import Recording
from dashboard.pages import words
from dashboard.pages.parts import Node, aria

Process = tuple[int, str]
"""Pid and name."""
_REDACTED = "Without other processes, home folders, the device's name and commands"


def menu(recording: Recording, processes: Sequence[Process] = ()) -> Node:
    """Return the menu; the links lead to answers that are saved, and to a page when one cannot be made.

    With ``processes``, the one that is kept when it is redacted is to be chosen among them.
    """
    return html.Details(
        [
            html.Summary("Download"),
            html.Ul([html.Li(_links(recording, one, not processes)) for one in available()]),
            _redacting(recording, processes) if processes else None,
            html.P("Making one takes some seconds for a large recording.", className="note"),
        ],
        className="downloads",
    )


def _links(recording: Recording, what: Format, with_redacted: bool) -> list[Node]:
    address = _address(recording, what)
    links: list[Node] = [html.A(what.title, href=address)]
    if what.can_redact and with_redacted:
        label = aria(label=f"{what.title}, redacted")
        links += [" · ", html.A("redacted", href=f"{address}?redact=1", title=_REDACTED, **label)]
    return [*links, html.Span(f" – {what.purpose}", className="note")]


def _redacting(recording: Recording, processes: Sequence[Process]) -> Node:
    """Return a form, which needs no script: each button sends the choice to its own address."""
    options = [html.Option(words.shown(f"{name} ({pid})"), value=str(pid)) for pid, name in processes]
    buttons = [
        html.Button(
            what.title,
            name="redact",
            value="1",
            type="submit",
            formAction=_address(recording, what),
            **aria(label=f"{what.title}, redacted"),
        )
        for what in available()
        if what.can_redact
    ]
    return html.Form(
        [
            html.P(
                "Redacted: without other processes, home folders, the device's name and commands. All"
                " processes were recorded, so choose the one that is kept:"
            ),
            html.Div(html.Label(["Process ", html.Select(options, name="process")])),
            html.Div(buttons, className="actions"),
        ],
        method="GET",
        className="redacting",
    )


def _address(recording: Recording, what: Format) -> str:
    return f"/recordings/{recording.id}/download/{what.name}"
