"""The parts of the documentation that are made from tracekit's own registries, by name.

A page holds a part as an empty block: three backticks, ``{generated} NAME``, three backticks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from docs.generators import columns, commands, exit_codes, fleet, grammars, recipes, rules, schemas, untested

PARTS: Mapping[str, Callable[[], str]] = {
    **columns.PARTS,
    **commands.PARTS,
    **exit_codes.PARTS,
    **fleet.PARTS,
    **grammars.PARTS,
    **recipes.PARTS,
    **rules.PARTS,
    **schemas.PARTS,
    **untested.PARTS,
}
_PART = re.compile(r"^```\{generated\} (\S+)\n```$", re.MULTILINE)


def fill_parts(text: str) -> str:
    """Return a page with its parts written out."""
    return _PART.sub(lambda part: PARTS[part[1]](), text)


def has_parts(text: str) -> bool:
    """Return True if a page has a part to be written out."""
    return _PART.search(text) is not None
