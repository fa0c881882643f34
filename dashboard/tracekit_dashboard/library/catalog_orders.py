"""The orders in which the catalog lists recordings: "-added", "name", "by-app:-recorded"."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, func

from tracekit_dashboard.library.catalog_tables import RECORDINGS

_ROW = RECORDINGS.c
_COLUMNS: dict[str, ColumnElement[Any]] = {
    "name": func.casefold(_ROW.name),
    "app": func.casefold(_ROW.app),
    "device": func.casefold(_ROW.device),
    "length": _ROW.duration_ns,
    "calls": _ROW.windows,
    "recorded": _ROW.recorded_us,
    "added": _ROW.added_us,
}
NEWEST = "-added"
BY_APP = "by-app:"
"""Before the name of an order: the recordings of an app follow each other."""


def parse_order(order: str) -> str:
    """Return the name of an order, with "-" for a descending one; the newest first for an unknown one."""
    name = order.removeprefix(BY_APP)
    return name if name.removeprefix("-") in _COLUMNS else NEWEST


def build_order(order: str) -> list[ColumnElement[Any]]:
    """Return what a query sorts by; recordings that are equal in it come with the newest first."""
    name = parse_order(order)
    column = _COLUMNS[name.removeprefix("-")]
    ordered: list[ColumnElement[Any]] = [column.desc() if name.startswith("-") else column.asc()]
    if order.startswith(BY_APP):
        ordered[:0] = [(_ROW.app == "").asc(), _COLUMNS["app"]]  # recordings without an app come last
    return [*ordered, _ROW.added_us.desc(), _ROW.id]
