"""Times and sizes on the command line: 500ms, 10s, 5m, 1h; 500MB, 2GB.

Callbacks of click options, apart from ``record`` so that its file holds the command alone.
"""

from __future__ import annotations

import re
from decimal import Decimal

import click

_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)\Z", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_DEADLINE = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)\Z", re.ASCII)
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(KB|MB|GB|TB)\Z", re.ASCII | re.IGNORECASE)
_BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MAX_SECONDS = 7 * 24 * 3600
_MAX_BYTES = 10**18


def parse_seconds(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """Return a time in seconds; at least a millisecond, at most a week."""
    if value is None:
        return None
    match = _TIME.match(value)
    duration = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0.001 <= duration <= _MAX_SECONDS:
        raise click.BadParameter(f"'{value}' is not a time such as 500ms, 10s, 5m or 1h (at most a week).")
    return duration


def parse_deadlines(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[float, ...]:
    """Return times in nanoseconds, at most a week each."""
    return tuple(map(_parse_deadline, values))


def _parse_deadline(value: str) -> float:
    match = _DEADLINE.match(value)
    deadline_ns = Decimal(match[1]) * _NANOSECONDS[match[2]] if match else Decimal(0)
    if not 0 < deadline_ns <= _MAX_SECONDS * 10**9:
        raise click.BadParameter(f"'{value}' is not a time such as 16.7ms or 500us.")
    return float(deadline_ns)


def parse_size_bytes(_context: click.Context, _option: click.Parameter, value: str) -> int:
    """Return a size in bytes."""
    match = _SIZE.match(value)
    if match is None:
        raise click.BadParameter(f"'{value}' is not a size such as 500MB or 2GB.")
    size = float(match[1]) * _BYTES[match[2].upper()]
    if size > _MAX_BYTES:
        raise click.BadParameter(f"'{value}' is more than any disk has.")
    return int(size)
