"""Values of JSON that may be of another type than expected: each is taken as its type, or as nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracekit.mlmodels.plans.plan import MAX_PLANNED_OPERATIONS
from tracekit.mlmodels.protobuf_wire import DamagedModelError


def read_object(value: object) -> dict[str, Any]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def read_text(value: object) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def read_texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def iter_objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list of operations. Raises ``DamagedModelError`` where it is too long."""
    items = value if isinstance(value, list) else []
    if len(items) > MAX_PLANNED_OPERATIONS:
        raise DamagedModelError(f"holds more than {MAX_PLANNED_OPERATIONS:,} operations")
    yield from (item for item in items if isinstance(item, dict))
