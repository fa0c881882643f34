"""The order of an app's builds, as a history has it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VERSION = re.compile(r"[vV]?(\d{1,18}(?:[._-]\d{1,18}){0,7})(?: ?\((\d{1,18})\))?", re.ASCII)
_SEPARATOR = re.compile(r"[._-]")

VERSION_ORDER = "version"
TIME_ORDER = "time"


def parse_version(build: str) -> tuple[int, ...] | None:
    """Return the numbers of a build such as 424, 1.10.2, v3.0 or 2.1 (77); None for any other text."""
    match = _VERSION.fullmatch(build.strip())
    if match is None:
        return None
    # A number in parentheses counts after those before it, however many these are.
    numbers = [int(part) for part in _SEPARATOR.split(match[1])]
    return (*numbers, *[0] * (8 - len(numbers)), int(match[2] or 0))


def order_builds(first_recorded: Mapping[str, int | None]) -> tuple[list[str], str, list[str]]:
    """Return the builds of an app in their order, the order's name, and the builds without a place.

    Builds that are all versions are ordered by their numbers. Otherwise each stands where its first recording
    was made; builds of which no recording has a time have no place.
    """
    versions = {build: parse_version(build) for build in first_recorded}
    if all(version is not None for version in versions.values()):
        return sorted(first_recorded, key=lambda build: (versions[build] or (), build)), VERSION_ORDER, []
    timed = {build: time for build, time in first_recorded.items() if time is not None}
    timed_builds = sorted(timed, key=lambda build: (timed[build], build))
    return timed_builds, TIME_ORDER, sorted(set(first_recorded) - set(timed))
