"""The library: what was recorded and read before, and the ways to add more."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc, html

from dashboard.library.catalog import Recording
from dashboard.pages import compare, parts, words
from dashboard.pages.parts import Node, aria

POLL_MS = 1_000
_HEADER = ("Recording", "State and verdict", "Device", "Length", "Windows", "Added")


def library_page() -> Node:
    """Return the page without its rows, which callbacks fill in and keep up to date."""
    return html.Div(
        [
            html.Header(html.H1("Recordings")),
            html.Main([_adding(), _listing()], id="library"),
            dcc.Interval(id="library-poll", interval=POLL_MS),
            dcc.Store(id="library-shown"),
            dcc.Store(id="library-tag", data=""),
            dcc.Store(id="library-edited", data=""),
            dcc.Store(id="library-chosen", data=[]),
        ]
    )


def _adding() -> Node:
    return html.Section(
        [
            html.H2("Add a recording", id="add-heading"),
            html.P(
                [
                    "It lies on this machine? ",
                    html.Code("tracekit dashboard MyApp.trace"),
                    " reads it where it is, without a copy. Otherwise drop it here:",
                ]
            ),
            html.Div(id="upload"),
        ],
        **aria(labelledby="add-heading"),
    )


def _listing() -> Node:
    return html.Section(
        [
            html.H2("In the library", id="list-heading"),
            html.Div(
                [
                    html.Label(
                        [
                            html.Span("Search the recordings", className="unseen"),
                            dcc.Input(
                                id="library-search",
                                type="search",
                                placeholder="Search names, verdicts, notes, tags",
                                debounce=0.2,
                                value="",
                            ),
                        ],
                        className="search",
                    ),
                    html.Div(id="library-tags", className="tags", role="group", **aria(label="Tags")),
                    html.Button(
                        "Show deleted",
                        id="library-deleted",
                        type="button",
                        n_clicks=0,
                        **aria(pressed="false"),
                    ),
                ],
                className="controls",
            ),
            html.Div(id="library-notice", role="status"),
            html.Div(id="library-edit"),
            html.Div(id="library-compare", role="status"),
            html.Div(html.P("Loading …", className="note loading"), id="library-rows"),
        ],
        **aria(labelledby="list-heading"),
    )


def rows(
    recordings: Sequence[Recording], *, filtered: bool, deleted: bool, chosen: Sequence[str] = ()
) -> Node:
    """Return the table, ``chosen`` ticked; without recordings, what there is to do about it."""
    if not recordings:
        return _nothing(filtered, deleted)
    names: list[Node] = [
        html.Span("Compare", className="unseen"),
        *_HEADER,
        html.Span("Actions", className="unseen"),
    ]
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in names]))
    body = html.Tbody([_row(one, deleted, one.id in chosen) for one in recordings])
    return html.Div(
        html.Table([html.Caption("Recordings"), head, body]),
        className="table-scroll recordings",
        tabIndex=0,
        role="region",
        **aria(label="Recordings, table"),
    )


def _nothing(filtered: bool, deleted: bool) -> Node:
    if filtered:
        return html.P("No recording fits the search.", className="empty")
    if deleted:
        return html.P("Nothing was deleted.", className="empty")
    told = "No recording yet. What you add above, or open from the terminal, stays here."
    return html.P(told, className="empty")


def _row(recording: Recording, deleted: bool, is_chosen: bool) -> Node:
    name = words.shown(recording.name)
    note = html.Div(words.shown(recording.note), className="note") if recording.note else None
    place = "on this machine" if recording.origin == "file" else "uploaded"
    device: Node = [words.shown(recording.device), html.Div(words.shown(recording.system), className="note")]
    is_ready = recording.state == "ready"
    return html.Tr(
        [
            html.Td(_tick(recording, is_chosen) if compare.is_fit(recording) else None, className="choose"),
            html.Th(
                [
                    name if deleted else html.A(name, href=f"/recordings/{recording.id}"),
                    html.Div(f"{words.size(recording.size_bytes)}, {place}", className="note"),
                    html.Div(parts.tags(recording), className="tags") if recording.tags else None,
                    note,
                ],
                scope="row",
            ),
            html.Td(_state(recording)),
            html.Td(device),
            html.Td(words.duration(recording.duration_ns) if is_ready else "", className="number"),
            html.Td(f"{recording.windows:,}" if is_ready else "", className="number"),
            html.Td(words.when(recording.added), className="number"),
            html.Td(html.Div(_actions(recording, deleted), className="actions")),
        ]
    )


def _tick(recording: Recording, is_chosen: bool) -> Node:
    """Return a checkbox; Dash has none that is a checkbox to assistive technology."""
    name = f"Compare: {words.shown(recording.name)}"
    state = aria(checked=str(is_chosen).lower(), label=name)
    return html.Button(
        id={"choose": recording.id}, type="button", role="checkbox", n_clicks=0, className="tick", **state
    )


def comparison(chosen: Sequence[Recording]) -> Node:
    """Return what can be done with the recordings that were ticked; nothing without any."""
    if not chosen:
        return None
    ordered = compare.in_order(chosen)
    named: list[Node] = [f"“{words.shown(one.name)}”" for one in ordered]
    link: Node
    if len(ordered) == 2:
        told = f"BASE is {named[0]}, the older one; NEW is {named[1]}."
        link = html.A("Compare", href=compare.address(ordered[0].id, ordered[1].id), className="button")
    else:
        told = f"{named[0]} is chosen. " if len(ordered) == 1 else f"{len(ordered)} recordings are chosen. "
        told += "Choose one more to compare." if len(ordered) == 1 else "Two can be compared at a time."
        link = None
    clear = html.Button("Clear", id="library-unchoose", type="button", n_clicks=0)
    return html.Div([html.Span(told), link, clear], className="notice chosen")


def _state(recording: Recording) -> Node:
    if recording.state == "ready":
        verdict = words.shown(recording.verdict)
        return html.Span(verdict, className="clip-lines", title=verdict)
    if words.is_busy(recording):
        return html.Div(
            [parts.progress_bar(recording), html.Div(words.progress(recording), className="note")]
        )
    kind = "problem" if recording.state == "failed" else "note"
    return html.Span(words.shown(recording.message) or words.STATES[recording.state], className=kind)


def _actions(recording: Recording, deleted: bool) -> list[Node]:
    if deleted:
        return [
            _act("Restore", "restore", recording),
            _act("Delete for good", "purge", recording),
        ]
    if words.is_busy(recording):
        return [_act("Cancel", "cancel", recording)]
    again = [] if recording.state == "ready" else [_act("Try again", "retry", recording)]
    return [
        *again,
        _act("Edit", "edit", recording),
        _act("Delete", "delete", recording),
    ]


def _act(text: str, what: str, recording: Recording) -> Node:
    return parts.act(text, what, recording, "library")


def _toggle(text: str, name: str) -> Node:
    return html.Button(text, id=name, type="button", n_clicks=0, **aria(pressed="false"))


def tag_buttons(tags: Sequence[str], chosen: str) -> list[Node]:
    """Return a button for each tag; the chosen one is pressed."""
    return [
        html.Button(
            words.shown(tag),
            id={"tag": tag},
            type="button",
            n_clicks=0,
            className="tag",
            **aria(pressed=str(tag == chosen).lower()),
        )
        for tag in tags
    ]


def deleted_notice(recording: Recording) -> Node:
    """Return what is said after a deletion, with the way back."""
    return html.P(
        [f"Deleted “{words.shown(recording.name)}”. ", _act("Undo", "undo", recording)],
        className="notice",
    )


def editor(recording: Recording) -> Node:
    """Return the form in which name, tags and note are changed."""
    fields = [
        ("edit-name", "Name", recording.name, True),
        ("edit-tags", "Tags, separated by commas", ", ".join(recording.tags), False),
        ("edit-note", "Note", recording.note, False),
    ]
    return html.Div(
        [
            html.H3(f"Edit “{words.shown(recording.name)}”", id="edit-heading"),
            *(
                html.Label([html.Span(label), dcc.Input(id=name, value=value, type="text", autoFocus=first)])
                for name, label, value, first in fields
            ),
            html.Div(
                [
                    html.Button("Save", id="edit-save", type="button", n_clicks=0),
                    html.Button("Close", id="edit-close", type="button", n_clicks=0),
                ],
                className="actions",
            ),
        ],
        className="editor",
        role="group",
        **aria(labelledby="edit-heading"),
    )


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags of a line, each once, in their order."""
    return tuple(dict.fromkeys(tag for part in text.split(",") if (tag := part.strip())))
