"""The chip, the system and the setting that rules are narrowed to; chips and compilers' names for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracekit.errors import UsageError
from tracekit.mlmodels.rules.rule import Claim
from tracekit.text import clip, printable

UNITS = ("all", "cpuAndNeuralEngine", "cpuAndGPU", "cpuOnly")
"""``MLComputeUnits`` in the spelling of Swift."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip, the names of its Neural Engine in compilers and plans, and where these were read.

    ``family`` is the name that claims have for it. Names that were read on no device are not listed.
    """

    name: str
    family: str
    architectures: tuple[str, ...] = ()
    source: str = ""
    has_engine: bool = True


_NAMING = "751K/Apple-Neural-Engine-Microarchitecture-Study-M6:notes/ane_naming.md"
_LEDGER = "4rg0naut/silicon-ledger-public"

CHIPS = (
    Chip("M1", "M1", ("h13g",), "freedomtan/coreml_modelc_profling (a folder of plans)"),
    Chip("M2", "M2", ("h14g",), f"{_NAMING} (read on an iPad)"),
    Chip("M3", "M3"),
    Chip("M4", "M4", ("h16g",), f"{_NAMING} (read on a Mac)"),
    Chip("M5", "M5", ("h17",), f"{_NAMING} (read in the I/O registry)"),
    Chip("M5 Max", "M5", ("h17c",), f"{_LEDGER} (a plan on disk)"),
    Chip("M6", "M6", ("h18g",), f"{_NAMING} (read in the I/O registry)"),
    Chip("A12", "A12"),
    Chip("A13", "A13"),
    Chip("A14", "A14"),
    Chip("A15", "A15"),
    Chip("A16", "A16"),
    Chip("A17 Pro", "A17"),
    Chip("A18", "A18"),
    Chip("A18 Pro", "A18", ("h17",), f"{_NAMING} (read on an iPhone)"),
    Chip("A19", "A19"),
    Chip("A19 Pro", "A19"),
    Chip("A20", "A20"),
    Chip("A11", "A11", has_engine=False),
    Chip("A10", "A10", has_engine=False),
    Chip("Intel", "Intel", has_engine=False),
)
"""The chips that can be named. Most of the A series, of Pro, Max and Ultra, were read on no device."""

_VARIANT = re.compile(r"\s*(?:pro|max|ultra)$", re.IGNORECASE)
_SYSTEM = re.compile(
    r"(macos|ios|ipados|tvos|visionos|watchos)\s*[-_]?\s*(\d+(?:\.\d+){0,2})?", re.IGNORECASE
)
_SYSTEM_NAMES = {name.lower(): name for name in ("macOS", "iOS", "iPadOS", "tvOS", "visionOS", "watchOS")}


@dataclass(frozen=True, slots=True)
class RuleTarget:
    """The chip, system and setting of rules; an empty text narrows nothing. ``chip`` is a family: ``A17``."""

    chip: str = ""
    system: str = ""
    version: tuple[int, ...] = ()
    units: str = ""

    def fits(self, claim: Claim) -> bool:
        """Return whether a claim is about this chip, this system and this setting."""
        return self._fits_chip(claim) and self._fits_system(claim) and self._fits_units(claim)

    def _fits_chip(self, claim: Claim) -> bool:
        return not self.chip or not claim.chips or self.chip in claim.chips

    def _fits_system(self, claim: Claim) -> bool:
        if not self.system or not claim.systems:
            return True
        return any(self._covers(*_parse_system(system)) for system in claim.systems)

    def _covers(self, system: str, version: tuple[int, ...]) -> bool:
        """Return whether a claim's system is this one, as far as both state their version."""
        pairs = zip(self.version, version, strict=False)
        return system == self.system and all(ours == theirs for ours, theirs in pairs)

    def _fits_units(self, claim: Claim) -> bool:
        if claim.units:
            return self.units in claim.units
        return self.uses_engine

    @property
    def uses_engine(self) -> bool:
        """True unless the compute units leave the Neural Engine out."""
        return self.units not in ("cpuAndGPU", "cpuOnly")


def make_target(chip: str = "", system: str = "", units: str = "") -> RuleTarget:
    """Return the target that texts name: ``M4`` or ``h16g``, ``macOS27``, ``all``. Raises ``UsageError``."""
    if units and units not in UNITS:
        raise UsageError(f"{units!r} names no compute units. They are {', '.join(UNITS)}.")
    name, version = _parse_system(system) if system else ("", ())
    return RuleTarget(_find_family(chip) if chip else "", name, version, units)


def _find_family(name: str) -> str:
    """Return the family of a chip by its name or by a compiler's name of its engine."""
    wanted = " ".join(name.split()).lower()
    family = _VARIANT.sub("", wanted)
    named = [chip for chip in CHIPS if wanted in (chip.name.lower(), *chip.architectures)]
    named = named or [chip for chip in CHIPS if family == chip.family.lower()]
    families = list(dict.fromkeys(chip.family for chip in named))
    if len(families) == 1:
        return families[0]
    if families:
        raise UsageError(
            f"{printable(name)} is the name of several engines. Name the chip: {', '.join(families)}."
        )
    names = ", ".join(chip.name for chip in CHIPS)
    architectures = ", ".join(
        f"{architecture} ({chip.name})" for chip in CHIPS for architecture in chip.architectures
    )
    raise UsageError(
        f"'{clip(printable(name), 40)}' names no chip.",
        f"Chips: {names}.",
        f"Names of compilers: {architectures}.",
    )


def _parse_system(text: str) -> tuple[str, tuple[int, ...]]:
    match = _SYSTEM.fullmatch(text.strip())
    if match is None:
        shown_text = clip(printable(text), 40)
        raise UsageError(f"{shown_text!r} names no system. Write it as macOS27, macOS 26.6 or iOS 18.")
    version = tuple(int(part) for part in match[2].split(".")) if match[2] else ()
    return _SYSTEM_NAMES[match[1].lower()], version
