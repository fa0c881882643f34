"""The form for a recording's name, tags and note."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from dashboard.library.catalog import Recording
from dashboard.library.names import LONGEST_TAG, MOST_TAGS
from dashboard.pages.components import Node, aria
from tracekit.text import printable


def editor(recording: Recording) -> Node:
    """Return the form for name, tags and note."""
    name, tags, note = recording.name, ", ".join(recording.tags), recording.note
    initial: Any = {"data-was": json.dumps([name, tags, note])}
    return html.Div(
        [
            html.H3(f"Edit “{printable(recording.name)}”", id="edit-heading"),
            _field("Name", dcc.Input(id="edit-name", value=name, type="text", autoFocus=True)),
            _field("Tags, separated by commas", dcc.Input(id="edit-tags", value=tags, type="text")),
            _field("Note", dcc.Textarea(id="edit-note", value=note, rows=3)),
            html.P(id="edit-problem", className="problem", role="alert"),
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
        **initial,
        **aria(labelledby="edit-heading"),
    )


def _field(label: str, field: Node) -> Node:
    return html.Label([html.Span(label), field])


def problem_of(recording: Recording, name: str, tags: Sequence[str]) -> str:
    """Return the reason why the typed values cannot be saved, in a sentence; "" if they can."""
    if recording.deleted is not None:
        return "This recording was deleted meanwhile. Restore it first."
    if not name.strip():
        return "A recording needs a name."
    spellings: dict[str, str] = {}
    for tag in tags:
        if len(tag) > LONGEST_TAG:
            return f"A tag has at most {LONGEST_TAG} characters; “{printable(tag[:20])}…” has {len(tag)}."
        same = spellings.setdefault(tag.casefold(), tag)
        if same != tag:
            return f"“{printable(same)}” and “{printable(tag)}” are the same tag: keep one of them."
    if len(tags) > MOST_TAGS:
        return f"A recording has at most {MOST_TAGS} tags; these are {len(tags)}."
    return ""


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags of a line, each once, in their order."""
    return tuple(dict.fromkeys(tag for part in text.split(",") if (tag := part.strip())))
