"""What to record: which template and instruments, from what this Xcode offers."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tracekit.errors import UsageError, XctraceError
from tracekit.xctrace.version import Version

Preset: TypeAlias = Literal["counters", "coreml", "minimal"]
PRESETS: tuple[Preset, ...] = ("counters", "coreml", "minimal")

_COUNTERS = ("Counters", "CPU Counters")
"""The template's name in Xcode up to 15, and later; the instrument has the same names."""
_ALWAYS = {
    "Time Profiler": "samples with stacks: who called which engine, and what ran on the CPU",
    "Core ML": "predictions, loading and compiling, model by model",
    "Neural Engine": "when the Neural Engine was at work (system-wide)",
    "GPU": "when the GPU was at work, and for which process",
    "os_signpost": "your app's own intervals, for --window-signpost",
    "Points of Interest": "your app's points of interest",
}
_WHY = {**_ALWAYS, **dict.fromkeys(_COUNTERS, "the CPU's counters: cycles, instructions, bottlenecks")}
_MINIMAL = ("Time Profiler",)
_SIMULATOR = (
    "A simulator runs models on this Mac's CPU and GPU: its recording says nothing about a device's engines."
)
_HOLDS = {
    # Decoded from the templates of an Xcode 27 beta (sforteln/xctrace-query-mcp-server).
    # That earlier ones hold the same is assumed: an instrument that comes twice records everything twice.
    "CPU Counters": ("CPU Counters", "Points of Interest", "Thread Activity", "Time Profiler"),
    "Counters": ("Counters", "Points of Interest"),  # a guess: no such template was at hand
    "Core ML": ("Core ML", "GPU", "Metal Application", "Neural Engine", "Time Profiler"),
    "Time Profiler": ("Hangs", "Points of Interest", "Thermal State", "Time Profiler"),
}


@dataclass(frozen=True)
class InstrumentCatalog:
    """What this Xcode has: names of templates and instruments."""

    templates: tuple[str, ...]
    instruments: tuple[str, ...]


@dataclass(frozen=True)
class InstrumentPlan:
    """The template (None: instruments alone, which xctrace calls Blank), the instruments beside it, and why.

    ``reasons`` are (name, why) in the order of the command line; ``notes`` say what is left out, and why.
    """

    template: str | None
    instruments: tuple[str, ...]
    reasons: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def for_simulator(self, template_hang: str) -> InstrumentPlan:
        """Return the plan with what a simulator's recording cannot show among its notes."""
        notes = [*self.notes, _SIMULATOR]
        if self.template and template_hang:
            notes.append(f"{template_hang}: --instrument is safer than --template here.")
        return replace(self, notes=tuple(notes))

    def options(self) -> list[str]:
        """Return the words of xctrace's command line."""
        words = ["--template", self.template] if self.template else []
        return words + [word for name in self.instruments for word in ("--instrument", name)]


def make_plan(
    offer: InstrumentCatalog,
    preset: Preset | None = None,
    template: str | None = None,
    instruments: Sequence[str] = (),
    *,
    no_template: str = "",
) -> InstrumentPlan:
    """Choose from ``offer``: a preset ("counters" by default), or exactly what is named.

    ``instruments`` come on top of a preset or a template that is named, and stand alone without either.
    ``no_template`` is the reason, if any, why a preset must do without a template. Raises ``UsageError`` for
    a name that this Xcode does not know, ``XctraceError`` if it has nothing that a preset needs.
    """
    if preset and template is not None:
        raise UsageError("Give --preset or --template, not both: a preset chooses the template.")
    if template is not None:
        _require_template(template, offer)
    for name in instruments:
        _require(name, offer.instruments, "instrument")
    if template is not None or (instruments and not preset):
        named = (template, *instruments)
        return InstrumentPlan(template, _once(instruments), tuple((one, "asked for") for one in named if one))
    return _with(_preset(preset or "counters", offer, no_template), instruments)


def template_hang(version: Version) -> str:
    """Say why a simulator should not be recorded with a template, "" where nothing speaks against it.

    From Xcode 26.4 on such recordings hung when they were saved (software-mansion/argent#330, #350); whether
    a later 27 mends it is not known.
    """
    return (
        f"recording a simulator with a template can hang in {version.xcode}" if version.since("17E") else ""
    )


def _preset(preset: Preset, offer: InstrumentCatalog, no_template: str) -> InstrumentPlan:
    wanted = list(_MINIMAL if preset == "minimal" else _ALWAYS)
    notes = []
    base = {"minimal": ("Time Profiler",), "coreml": ("Core ML",), "counters": (*_COUNTERS, "Core ML")}[
        preset
    ]
    template = next((name for name in base if name in offer.templates), None)
    if preset == "counters":
        counters = next((name for name in _COUNTERS if name in offer.instruments), None)
        if counters is None and (template not in _COUNTERS or no_template):
            lack = (
                "Counters instrument beside its template"
                if template in _COUNTERS
                else "Counters template or instrument"
            )
            notes.append(f"This Xcode has no {lack}: no CPU counters.")
        elif template not in _COUNTERS or no_template:
            wanted.insert(0, counters or "")
    if template and no_template:
        notes.append(f"The template {template} is not used, only its instruments: {no_template}.")
        template = None
    elif template is None and preset != "minimal":
        notes.append(f"This Xcode has no template {' or '.join(base)}: instruments alone.")
    held = _HOLDS.get(template or "", ())
    missing = [name for name in wanted if name and name not in offer.instruments and name not in held]
    notes += [
        f"This Xcode has no instrument {name}: without it nothing tells {_WHY[name]}." for name in missing
    ]
    instruments = tuple(one for one in wanted if one and one not in held and one not in missing)
    if template is None and not instruments:
        raise XctraceError(
            "This Xcode offers none of the instruments that tracekit records with. tracekit doctor says what"
            " it has; --template and --instrument choose others."
        )
    reasons = [(template, _template_reason(template))] if template else []
    return InstrumentPlan(
        template, instruments, (*reasons, *((one, _WHY[one]) for one in instruments)), tuple(notes)
    )


def _template_reason(template: str) -> str:
    held = [name for name in _HOLDS[template] if name in _WHY]
    return f"holds {', '.join(held)}: {_WHY[template]}"


def _with(plan: InstrumentPlan, instruments: Sequence[str]) -> InstrumentPlan:
    held = _HOLDS.get(plan.template or "", ())
    more = tuple(one for one in _once(instruments) if one not in plan.instruments and one not in held)
    reasons = (*plan.reasons, *((one, "asked for") for one in more))
    return InstrumentPlan(plan.template, (*plan.instruments, *more), reasons, plan.notes)


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _require_template(name: str, offer: InstrumentCatalog) -> None:
    """Take a template by its name, or a file of one."""
    if name.endswith(".tracetemplate") or "/" in name:
        if not os.path.exists(name):  # noqa: PTH110 - pathlib raises for a name that is too long
            raise UsageError(f"--template {name}: there is no such file.")
        return
    _require(name, offer.templates, "template")


def _require(name: str, offered: Sequence[str], what: str) -> None:
    if name in offered or not offered:  # a list that xctrace does not give cannot be held against a name
        return
    close = difflib.get_close_matches(name, offered, n=3, cutoff=0.5)
    folded = [one for one in offered if one.casefold() == name.casefold()]
    meant = f" Did you mean {' or '.join(folded or close)}?" if folded or close else ""
    hint = ""
    if what == "template" and name == "Core ML":
        hint = " Xcode 27 has the instrument only: --preset coreml takes what there is."
    raise UsageError(
        f"This Xcode has no {what} called '{name}'.{meant}{hint} All of them: xcrun xctrace list {what}s"
    )
