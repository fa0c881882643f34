"""The menu of a recording's downloads."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html

from tracekit.text import printable
from tracekit_dashboard.jobs.download_formats import DownloadFormat, list_available
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.pages.components import Node, build_aria_attributes

Process = tuple[int, str]
"""Pid and name."""
_REDACTED = "Without other processes, home folders, users, volumes, the device's name and commands"


def build_menu(recording: Recording, processes: Sequence[Process] = ()) -> Node:
    """Return the menu; a link leads to a file, or to a page with the reason if the file cannot be made.

    With ``processes``, redacting offers a choice of the process to keep.
    """
    return html.Details(
        [
            html.Summary("Download"),
            html.Div(
                [
                    html.Ul(
                        [
                            html.Li(_build_links(recording, file_format, not processes))
                            for file_format in list_available()
                        ]
                    ),
                    _build_redaction_form(recording, processes) if processes else None,
                    html.P("A file of a large recording takes some seconds.", className="note"),
                ],
                className="downloads-body",
            ),
        ],
        className="downloads",
    )


def _build_links(recording: Recording, file_format: DownloadFormat, with_redacted: bool) -> list[Node]:
    address = _build_address(recording, file_format)
    links: list[Node] = [html.A(file_format.title, href=address)]
    if file_format.can_redact and with_redacted:
        label = build_aria_attributes(label=f"{file_format.title}, redacted")
        links += [" · ", html.A("redacted", href=f"{address}?redact=1", title=_REDACTED, **label)]
    return [*links, html.Span(f" – {file_format.purpose}", className="note")]


def _build_redaction_form(recording: Recording, processes: Sequence[Process]) -> Node:
    """Return a form, which needs no script: each button sends the choice to its own address."""
    options = [html.Option(printable(f"{name} ({pid})"), value=str(pid)) for pid, name in processes]
    buttons = [
        html.Button(
            file_format.title,
            name="redact",
            value="1",
            type="submit",
            formAction=_build_address(recording, file_format),
            **build_aria_attributes(label=f"{file_format.title}, redacted"),
        )
        for file_format in list_available()
        if file_format.can_redact
    ]
    return html.Form(
        [
            html.P(
                "Redacted: without other processes, home folders, users, volumes, the device's name and"
                " commands. Nothing was recorded as its target, so choose the process to keep:"
            ),
            html.Div(html.Label(["Process ", html.Select(options, name="process")])),
            html.Div(buttons, className="actions"),
        ],
        method="GET",
        className="redacting",
    )


def _build_address(recording: Recording, file_format: DownloadFormat) -> str:
    return f"/recordings/{recording.id}/download/{file_format.name}"
