"""The JSON schemas beside the documentation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

_DOCS = Path(__file__).resolve().parents[1]


def list_schemas() -> str:
    """Return a row for each schema, with what prints such a document and what it promises."""
    lines = ["| schema | printed by | promise |", "|---|---|---|"]
    for path in sorted(_DOCS.glob("*.schema.json")):
        document = json.loads(path.read_text("utf-8"))
        name, _, printed = document["title"].partition(": ")
        command = printed.removeprefix("what ").removesuffix(" prints").removesuffix(" print")
        lines.append(f"| [{name}](../{path.name}) | {command} | {document.get('description', '')} |")
    return "\n".join(lines)


PARTS: Mapping[str, Callable[[], str]] = {"schemas": list_schemas}
