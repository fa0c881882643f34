"""Meaning of Instruments tables, which ``meanings.toml`` lists."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import tomli


def meaning_of(schema: str) -> str:
    """Return the schema's meaning as a sentence; "" if it is not known."""
    return _load_meanings().get(schema, "")


@cache
def _load_meanings() -> dict[str, str]:
    return tomli.loads(files("tracekit.report.tables").joinpath("meanings.toml").read_text("utf-8"))
