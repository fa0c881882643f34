"""The menu of what can be downloaded of a recording."""

from __future__ import annotations

from dash import html

from dashboard.library.catalog import Recording
from dashboard.library.formats import Format, available
from dashboard.pages.parts import Node, aria

_REDACTED = "Without other processes, home folders, the device's name and commands"


def menu(recording: Recording) -> Node:
    """Return the menu; the links lead to answers that are saved, and to a page when one cannot be made."""
    return html.Details(
        [
            html.Summary("Download"),
            html.Ul([html.Li(_links(recording, one)) for one in available()]),
            html.P("Making one takes some seconds for a large recording.", className="note"),
        ],
        className="downloads",
    )


def _links(recording: Recording, what: Format) -> list[Node]:
    address = f"/recordings/{recording.id}/download/{what.name}"
    links: list[Node] = [html.A(what.title, href=address)]
    if what.can_redact:
        label = aria(label=f"{what.title}, redacted")
        links += [" · ", html.A("redacted", href=f"{address}?redact=1", title=_REDACTED, **label)]
    return [*links, html.Span(f" – {what.purpose}", className="note")]
