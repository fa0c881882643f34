"""The chip of a Mac by its model identifier, and what is known about the power rails of some chips."""

from __future__ import annotations

import re

from tracekit.frozen import frozen
from tracekit.model.power_rails import ANE_RAIL

_CHIPS = {
    "M1": "MacBookAir10,1 MacBookPro17,1 Macmini9,1 iMac21,1 iMac21,2",
    "M1 Pro": "MacBookPro18,1 MacBookPro18,3",
    "M1 Max": "MacBookPro18,2 MacBookPro18,4 Mac13,1",
    "M1 Ultra": "Mac13,2",
    "M2": "Mac14,2 Mac14,3 Mac14,7 Mac14,15",
    "M2 Pro": "Mac14,9 Mac14,10 Mac14,12",
    "M2 Max": "Mac14,5 Mac14,6 Mac14,13",
    "M2 Ultra": "Mac14,8 Mac14,14",
}
"""Identifiers as Apple's support pages list them; later chips by their family only."""
_CHIP_OF_MODEL = {model: chip for chip, models in _CHIPS.items() for model in models.split()}
_FAMILIES = {"Mac15": "M3", "Mac16": "M4", "Mac17": "M5"}
INTEL = "Intel"
_INTEL = re.compile(r"(?:MacBook|MacBookAir|MacBookPro|Macmini|iMac|iMacPro|MacPro|Xserve)\d+,\d+\Z")
_DARWIN = re.compile(r"\d{2}(?=[A-Z])")


@frozen
class RailFact:
    """A rail of a chip that is known to read zero, or to be absent, whatever the engine does.

    ``chip`` is a chip, or a family ("M4" is also an M4 Pro); ``since`` is the first macOS, 0 for any.
    """

    name: str
    rail: str
    chip: str
    since: int = 0


RAIL_FACTS = (
    RailFact("intel", ANE_RAIL, INTEL),
    RailFact("no-channel-m2-pro", ANE_RAIL, "M2 Pro"),
    RailFact("frozen-m4", ANE_RAIL, "M4"),
    RailFact("zero-m5", ANE_RAIL, "M5", since=27),
)
"""docs/evidence.md has the source of each."""


def identify_chip(model: str, reported_name: str = "") -> str:
    """Return ``M2 Pro`` for a model identifier, the family alone after M2; "" where it is unknown."""
    if reported_name:
        return reported_name.removeprefix("Apple ").strip()
    if model in _CHIP_OF_MODEL:
        return _CHIP_OF_MODEL[model]
    family = _FAMILIES.get(model.partition(",")[0], "")
    return family or (INTEL if _INTEL.match(model) else "")


def identify_macos(build: str) -> int:
    """Return the macOS of a build, 14 for 23B81; 0 where it is unknown."""
    darwin = _DARWIN.match(build)
    if darwin is None:
        return 0
    number = int(darwin[0])
    return number + 1 if number >= 25 else number - 9 if number >= 20 else 0


def find_rail_fact(rail: str, chip: str, macos: int) -> RailFact | None:
    """Return what is known about a rail of a chip; a fact about later systems needs the system."""
    for fact in RAIL_FACTS:
        is_chip = chip == fact.chip or chip.startswith(f"{fact.chip} ")
        if fact.rail == rail and is_chip and macos >= fact.since:
            return fact
    return None
