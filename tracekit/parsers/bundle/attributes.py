"""A table's attributes as an export's table of contents writes them: ``codes='"0x1,0x25"' target="ALL"``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Strings are quoted and keywords are not, except those with a space in a list; in a bundle both are strings.
# By the tables of contents of exports.
_QUOTED = frozenset({"codes", "dynamic-tracing-enabled-subsystems", "pmc-events", "pmi-event", "subsystem"})


def written_attributes(attributes: Mapping[Any, Any]) -> dict[str, str]:
    """Return attributes as text; those without a value are left out."""
    return {str(key): _written(str(key), value) for key, value in attributes.items() if value is not None}


def _written(key: str, value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_one(one, key in _QUOTED or " " in str(one)) for one in value)
    return _one(value, key in _QUOTED)


def _one(value: Any, quoted: bool) -> str:
    if isinstance(value, str):
        return f'"{value}"' if quoted else value
    return str(int(value)) if isinstance(value, bool) else str(value)
