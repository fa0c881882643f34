"""Parameters of requests."""

from __future__ import annotations

import re

from flask import request

from tracekit.errors import UsageError

WHOLE = re.compile(r"[0-9]{1,18}")


def parse_whole_number(name: str, default: int | None = None) -> int:
    """Return a whole number of the query; without a default, it must be there. Raises ``UsageError``."""
    text = request.args.get(name, "")
    if not text and default is not None:
        return default
    if not WHOLE.fullmatch(text):
        raise UsageError(f"{name} is a whole number.")
    return int(text)
