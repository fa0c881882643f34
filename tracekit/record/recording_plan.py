"""The template and instruments of a recording, chosen from what this Xcode has."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from tracekit.errors import UsageError, XctraceError
from tracekit.frozen import frozen

Preset: TypeAlias = Literal["counters", "coreml", "coreai", "minimal"]
PRESETS: tuple[Preset, ...] = ("counters", "coreml", "coreai", "minimal")

_COUNTERS = ("Counters", "CPU Counters")
"""The template's name in Xcode up to 15, and later; the instrument has the same names."""
_ENGINE_INSTRUMENTS = {
    "Time Profiler": "samples with stacks: calls into each engine, and work on the CPU",
    "Core ML": "predictions, loading and compiling, by model",
    "Neural Engine": "busy times of the Neural Engine (system-wide)",
    "GPU": "busy times of the GPU, by process",
    "os_signpost": "your app's own intervals, for --window-signpost",
    "Points of Interest": "your app's points of interest",
}
_CORE_AI = "Core AI"
_NEW_INSTRUMENTS = {
    _CORE_AI: "inferences, specialization and loading, by model and function",
    "os_log": "requests to the Neural Engine with their process and status, where the system logs them",
    "Foundation Models": "requests to the language model, with their times and tokens",
    "Metal GPU Counters": "counters of the GPU, those of its Neural Accelerators among them (M5, A19)",
    "Power Profiler": "power, on devices only",
}
_PURPOSES = {
    **_ENGINE_INSTRUMENTS,
    **_NEW_INSTRUMENTS,
    **dict.fromkeys(_COUNTERS, "the CPU's counters: cycles, instructions, bottlenecks"),
}
_PRESET_INSTRUMENTS: dict[Preset, tuple[str, ...]] = {
    "counters": tuple(_ENGINE_INSTRUMENTS),
    "coreml": tuple(_ENGINE_INSTRUMENTS),
    "coreai": (_CORE_AI, *_ENGINE_INSTRUMENTS, "os_log"),
    "minimal": ("Time Profiler",),
}
_PRESET_TEMPLATES: dict[Preset, tuple[str, ...]] = {
    "counters": (*_COUNTERS, "Core ML"),
    "coreml": ("Core ML",),
    "coreai": (_CORE_AI,),
    "minimal": ("Time Profiler",),
}
"""The templates of each preset; the first that this Xcode has is used."""
TEMPLATE_INSTRUMENTS = {
    # Decoded from the templates of an Xcode 27 beta (sforteln/xctrace-query-mcp-server).
    # That earlier ones hold the same is assumed: an instrument that comes twice records everything twice.
    "CPU Counters": ("CPU Counters", "Points of Interest", "Thread Activity", "Time Profiler"),
    "Counters": ("Counters", "Points of Interest"),  # a guess: no such template was available
    "Core ML": ("Core ML", "GPU", "Metal Application", "Neural Engine", "Time Profiler"),
    "Time Profiler": ("Hangs", "Points of Interest", "Thermal State", "Time Profiler"),
    _CORE_AI: (_CORE_AI, "GPU", "Neural Engine", "Time Profiler"),
    "Foundation Models": ("Foundation Models",),
    "CPU Profiler": ("CPU Profiler", "Hangs", "Points of Interest", "Thermal State"),
    "Logging": ("os_log", "os_signpost"),
    "Metal System Trace": (
        "Display",
        "GPU",
        "Hangs",
        "Metal Application",
        "Metal Resource Events",
        "Thermal State",
        "Time Profiler",
    ),
    "Power Profiler": (
        "Location Energy Model",
        "Metal Performance Overview",
        "Network Connections",
        "Power Profiler",
        "Thermal State",
        "Time Profiler",
    ),
    "System Trace": (
        "Hangs",
        "Points of Interest",
        "System Call Trace",
        "System Load",
        "Thermal State",
        "Thread Activity",
        "Time Profiler",
        "Virtual Memory Trace",
    ),
}
_REQUESTED = "requested"
_NEEDS_PRIVILEGE = (
    "In Xcode 27.0.1 the template Core AI recorded nothing without privilege: if it is refused, record as"
    " root (sudo)."
)
"""Published as silicon-ledger EXP-028."""


@frozen
class InstrumentCatalog:
    """Names of the templates and instruments that this Xcode has."""

    templates: tuple[str, ...]
    instruments: tuple[str, ...]


@frozen
class InstrumentPlan:
    """The template and the instruments added to it; None selects the template Blank of xctrace.

    ``reasons`` are pairs (name, reason) in the order of the command line; ``notes`` name what is left out.
    """

    template: str | None
    instruments: tuple[str, ...]
    reasons: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def add_notes(self, *notes: str) -> InstrumentPlan:
        """Return the plan with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def list_recorded_instruments(self) -> frozenset[str] | None:
        """Return all instruments, those of the template too; None where the template's are not known."""
        if self.template and self.template not in TEMPLATE_INSTRUMENTS:
            return None
        return frozenset([*TEMPLATE_INSTRUMENTS.get(self.template or "", ()), *self.instruments])

    def build_options(self) -> list[str]:
        """Return the words of xctrace's command line."""
        words = ["--template", self.template] if self.template else []
        return words + [word for name in self.instruments for word in ("--instrument", name)]


def make_plan(
    catalog: InstrumentCatalog,
    preset: Preset | None = None,
    template: str | None = None,
    instruments: Sequence[str] = (),
) -> InstrumentPlan:
    """Choose from ``catalog``: a preset ("counters" by default), or the named template and instruments.

    ``instruments`` are added to a named preset or template, and stand alone without either. Raises
    ``UsageError`` for a name that this Xcode does not have, ``XctraceError`` if it has nothing that a preset
    needs.
    """
    if preset and template is not None:
        raise UsageError("Give --preset or --template, not both: a preset chooses the template.")
    if template is not None:
        _require_template(template, catalog)
    for name in instruments:
        _require_name(name, catalog.instruments, "instrument")
    if template is not None or (instruments and not preset):
        bundled = TEMPLATE_INSTRUMENTS.get(template or "", ())
        added_instruments = tuple(name for name in _drop_duplicates(instruments) if name not in bundled)
        names = (template, *added_instruments)
        return InstrumentPlan(
            template, added_instruments, tuple((name, _REQUESTED) for name in names if name)
        )
    return _add_instruments(_plan_preset(preset or "counters", catalog), instruments)


def _plan_preset(preset: Preset, catalog: InstrumentCatalog) -> InstrumentPlan:
    template = next((name for name in _PRESET_TEMPLATES[preset] if name in catalog.templates), None)
    notes = []
    requested = _PRESET_INSTRUMENTS[preset]
    if preset in ("counters", "coreml") and _CORE_AI in catalog.templates:
        # Xcode 27: an app may use either runtime, or both.
        requested = tuple(
            name
            for instrument in requested
            for name in ((instrument, _CORE_AI) if instrument == "Core ML" else (instrument,))
        )
    if preset == "counters" and template not in _COUNTERS:
        # Without its template, the instrument alone records counters.
        counters = next((name for name in _COUNTERS if name in catalog.instruments), None)
        if counters:
            requested = (counters, *requested)
        else:
            notes.append("This Xcode has no Counters template or instrument. Not recorded: CPU counters.")
    if template is None and preset != "minimal":
        names = " or ".join(_PRESET_TEMPLATES[preset])
        notes.append(f"This Xcode has no template {names}: the instruments are recorded without one.")

    if template == _CORE_AI:
        notes.append(_NEEDS_PRIVILEGE)
    bundled = TEMPLATE_INSTRUMENTS.get(template or "", ())
    added = [name for name in requested if name not in bundled]
    missing = [name for name in added if name not in catalog.instruments]
    notes += [f"This Xcode has no instrument {name}. Not recorded: {_PURPOSES[name]}." for name in missing]
    instruments = tuple(name for name in added if name not in missing)
    if template is None and not instruments:
        raise XctraceError(
            "This Xcode has none of the instruments that tracekit records with. Run tracekit doctor to see"
            " what it has. --template and --instrument choose others."
        )
    reasons = [(template, _explain_template(template))] if template else []
    reasons += [(name, _PURPOSES[name]) for name in instruments]
    return InstrumentPlan(template, instruments, tuple(reasons), tuple(notes))


def _explain_template(template: str) -> str:
    names = [name for name in TEMPLATE_INSTRUMENTS[template] if name in _PURPOSES]
    return f"holds {', '.join(names)}: {_PURPOSES[template]}"


def _add_instruments(plan: InstrumentPlan, instruments: Sequence[str]) -> InstrumentPlan:
    bundled = TEMPLATE_INSTRUMENTS.get(plan.template or "", ())
    added = [name for name in _drop_duplicates(instruments) if name not in {*plan.instruments, *bundled}]
    reasons = (*plan.reasons, *((name, _REQUESTED) for name in added))
    return InstrumentPlan(plan.template, (*plan.instruments, *added), reasons, plan.notes)


def _drop_duplicates(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _require_template(name: str, catalog: InstrumentCatalog) -> None:
    """Accept a template's name, or the path of a template file."""
    if name.endswith(".tracetemplate") or "/" in name:
        if not os.path.exists(name):  # noqa: PTH110 - pathlib raises for a name that is too long
            raise UsageError(f"--template {name}: there is no such file.")
        return
    _require_name(name, catalog.templates, "template")


def _require_name(name: str, available: Sequence[str], kind: str) -> None:
    if name in available or not available:  # an empty list: xctrace did not list them, and may have the name
        return
    close = difflib.get_close_matches(name, available, n=3, cutoff=0.5)
    same_letters = [candidate for candidate in available if candidate.casefold() == name.casefold()]
    suggestion = f" Did you mean {' or '.join(same_letters or close)}?" if same_letters or close else ""
    hint = ""
    if kind == "template" and name == "Core ML":
        hint = " Xcode 27 has only the instrument: --preset coreml uses it."
    if kind == "template" and name == _CORE_AI:
        hint = " It came with Xcode 27."
    raise UsageError(
        f"This Xcode has no {kind} called '{name}'.{suggestion}{hint} List all: xcrun xctrace list {kind}s"
    )
