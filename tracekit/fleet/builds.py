"""The order of an app's builds: by their labels, as people number them.

Dates do not decide: an old build is recorded again for a comparison, and a date may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_PARTS = re.compile(r"(\d+)")
BuildKey = tuple[tuple[int, int, str], ...]


def build_key(build: str) -> BuildKey:
    """Return the key that sorts builds: numbers within a label by their value, ``9`` before ``10``."""
    parts = (part for part in _PARTS.split(build) if part)
    # A label that ends is before one that goes on with a number, and after one that goes on with a text such
    # as "-beta": 1.2-beta, 1.2, 1.2.1.
    keys = [_number_key(part) if part.isdecimal() else _text_key(part) for part in parts]
    return (*keys, (1, 0, ""))


def _number_key(digits: str) -> tuple[int, int, str]:
    significant = digits.lstrip("0")  # and no int: a label may have any number of digits
    return (2, len(significant), significant)


def _text_key(text: str) -> tuple[int, int, str]:
    return (2, -1, text) if text.startswith(".") else (0, 0, text)


def build_order(builds: Iterable[str]) -> list[str]:
    """Return the distinct builds in their order; the empty label, of no build, is left out."""
    return sorted(set(builds) - {""}, key=build_key)
