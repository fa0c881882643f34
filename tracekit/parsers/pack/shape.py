"""The manifest's objects, read field by field: whatever has another shape is damage, never a traceback."""

from __future__ import annotations

import json
import re
from typing import Any

from tracekit.parsers.pack.layout import MANIFEST, DamagedPackError

_MOST_WORD = 2**64
_HALF_CHARACTER = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")


def parse_json(member: str, data: bytes) -> Any:
    """Return what a member of JSON holds; raise ``DamagedPackError`` for anything else."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedPackError(member, "is not the JSON that it should be") from error
    if _HALF_CHARACTER.search(text):
        raise DamagedPackError(member, "holds half a character")
    return value


class Node:
    """One object of the manifest; ``place`` says where it stands."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise DamagedPackError(MANIFEST, f"has no object where {place} should be")
        self._fields = value
        self.place = place

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def text(self, name: str) -> str:
        """Return a field of text."""
        value = self._fields.get(name)
        return value if isinstance(value, str) else self._wrong(name)

    def whole(self, name: str, most: int = _MOST_WORD - 1) -> int:
        """Return a field that holds an integer from 0 to ``most``."""
        value = self._fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            self._wrong(name)
        return int(self._fields[name])

    def whole_or_none(self, name: str, most: int) -> int | None:
        """Return such an integer, or None for null."""
        return None if self._fields.get(name, ...) is None else self.whole(name, most)

    def flag(self, name: str) -> bool:
        """Return a field that is true or false."""
        value = self._fields.get(name)
        return value if isinstance(value, bool) else self._wrong(name)

    def node(self, name: str) -> Node:
        """Return a field that is an object."""
        return Node(self._fields.get(name), f"{self.place}.{name}")

    def nodes(self, name: str) -> list[Node]:
        """Return a field that is a list of objects."""
        return [Node(one, f"{self.place}.{name}[{at}]") for at, one in enumerate(self._list(name))]

    def wholes(self, name: str, most: int) -> list[int]:
        """Return a field that is a list of such integers as ``whole`` returns."""
        return [Node({"": one}, f"{self.place}.{name}").whole("", most) for one in self._list(name)]

    def texts(self, name: str) -> dict[str, str]:
        """Return a field that is an object of texts."""
        node = self.node(name)
        return {key: node.text(key) for key in node._fields}

    def _list(self, name: str) -> list[Any]:
        value = self._fields.get(name)
        return value if isinstance(value, list) else self._wrong(name)

    def _wrong(self, name: str) -> Any:
        raise DamagedPackError(MANIFEST, f"has no valid {self.place}.{name}")
