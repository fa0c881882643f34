"""Moments of the wall clock as recordings and texts write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from tracekit.frozen import frozen

_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})[T ](?P<time>\d{2}:\d{2}:\d{2})(?:[.,](?P<fraction>\d{1,9}))?\d*"
    r" ?(?P<zone>Z|[+-]\d{2}:?\d{2})?\Z"
)
_POWERMETRICS = re.compile(
    r"(?:\w{3} )?(?P<date>\w{3} +\d{1,2} \d{2}:\d{2}:\d{2} \d{4})(?: (?P<zone>[+-]\d{4}))?\Z"
)
"""The C locale's form with a zone: ``Tue Nov 28 14:37:01 2023 +0100``."""


@frozen
class Moment:
    """A time of the wall clock.

    ``utc_ns`` counts from 1970 in UTC where the text has a zone, else in the clock of the place.
    ``step_ns`` is the smallest step that the text can express: a second, a millisecond, a nanosecond.
    """

    utc_ns: int
    step_ns: int
    zone_s: int | None

    def with_zone(self, zone_s: int) -> Moment:
        """Return the moment as one of a zone if the text has none."""
        if self.zone_s is not None:
            return self
        return Moment(self.utc_ns - zone_s * 1_000_000_000, self.step_ns, zone_s)


def parse_moment(text: str) -> Moment | None:
    """Return the moment that a text states; None for none, and for one that no calendar has."""
    match = _MOMENT.match(text.strip())
    if match is None:
        return _parse_powermetrics_moment(text.strip())
    fraction = match["fraction"] or ""
    try:
        moment = datetime.fromisoformat(f"{match['date']}T{match['time']}")
    except ValueError:
        return None
    return _build_moment(
        moment, match["zone"], int(fraction.ljust(9, "0")) if fraction else 0, 10 ** (9 - len(fraction))
    )


def _parse_powermetrics_moment(text: str) -> Moment | None:
    match = _POWERMETRICS.match(text)
    if match is None:
        return None
    try:
        moment = datetime.strptime(match["date"], "%b %d %H:%M:%S %Y")
    except ValueError:
        return None
    return _build_moment(moment, match["zone"], 0, 1_000_000_000)


def _build_moment(moment: datetime, zone: str | None, fraction_ns: int, step_ns: int) -> Moment:
    zone_s = _parse_zone_s(zone)
    since = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    utc_s = since.days * 86_400 + since.seconds - (zone_s or 0)
    return Moment(utc_s * 1_000_000_000 + fraction_ns, step_ns, zone_s)


def _parse_zone_s(zone: str | None) -> int | None:
    if not zone:
        return None
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def format_moment(moment: Moment) -> str:
    """Return ``2026-03-05 17:47:20.999 -08:00`` in the moment's own zone."""
    zone = timezone(timedelta(seconds=moment.zone_s or 0))
    seconds, remaining_ns = divmod(moment.utc_ns, 1_000_000_000)
    try:
        local = datetime.fromtimestamp(seconds, zone)
    except (ValueError, OverflowError, OSError):
        return f"{moment.utc_ns} ns since 1970"
    fraction = f".{remaining_ns // 1_000_000:03d}" if moment.step_ns < 1_000_000_000 else ""
    suffix = "" if moment.zone_s is None else f" {local:%z}"
    return f"{local:%Y-%m-%d %H:%M:%S}{fraction}{suffix}"
