"""A table's attributes as an export's table of contents writes them: ``codes='"0x1,0x25"' target="ALL"``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Strings are quoted and keywords are not; in a bundle both are strings. By the tables of contents of exports.
_QUOTED = frozenset({"codes", "dynamic-tracing-enabled-subsystems", "pmc-events", "pmi-event", "subsystem"})
_QUOTED_AS_LIST = frozenset({"category"})


def written_attributes(attributes: Mapping[Any, Any]) -> dict[str, str]:
    """Return attributes as text; those without a value are left out."""
    return {str(key): _written(str(key), value) for key, value in attributes.items() if value is not None}


def _written(key: str, value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    quoted = key in _QUOTED or (key in _QUOTED_AS_LIST and isinstance(value, list))
    return " ".join(f'"{one}"' if quoted and isinstance(one, str) else _plain(one) for one in values)


def _plain(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
