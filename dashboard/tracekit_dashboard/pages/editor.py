"""The form for a recording's name, tags and note."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from tracekit.text import printable
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.library.outside_names import MAX_TAG_CHARACTERS, MAX_TAGS
from tracekit_dashboard.pages.components import Node, build_aria_attributes


def build_editor(recording: Recording) -> Node:
    """Return the form for name, tags and note."""
    name, tags, note = recording.name, ", ".join(recording.tags), recording.note
    initial: Any = {"data-was": json.dumps([name, tags, note])}
    return html.Div(
        [
            html.H3(f"Edit “{printable(recording.name)}”", id="edit-heading"),
            _build_field("Name", dcc.Input(id="edit-name", value=name, type="text", autoFocus=True)),
            _build_field("Tags, separated by commas", dcc.Input(id="edit-tags", value=tags, type="text")),
            _build_field("Note", dcc.Textarea(id="edit-note", value=note, rows=3)),
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
        **build_aria_attributes(labelledby="edit-heading"),
    )


def _build_field(label: str, field: Node) -> Node:
    return html.Label([html.Span(label), field])


def find_problem(recording: Recording, name: str, tags: Sequence[str]) -> str:
    """Return the reason why the typed values cannot be saved, in a sentence; "" if they can."""
    if recording.deleted is not None:
        return "This recording was deleted meanwhile. Restore it first."
    if not name.strip():
        return "A recording needs a name."
    spellings: dict[str, str] = {}
    for tag in tags:
        if len(tag) > MAX_TAG_CHARACTERS:
            return (
                f"A tag has at most {MAX_TAG_CHARACTERS} characters; “{printable(tag[:20])}…” has {len(tag)}."
            )
        first_spelling = spellings.setdefault(tag.casefold(), tag)
        if first_spelling != tag:
            return f"“{printable(first_spelling)}” and “{printable(tag)}” are the same tag: keep one of them."
    if len(tags) > MAX_TAGS:
        return f"A recording has at most {MAX_TAGS} tags; these are {len(tags)}."
    return ""


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags of a line, each once, in their order."""
    return tuple(dict.fromkeys(tag for part in text.split(",") if (tag := part.strip())))
