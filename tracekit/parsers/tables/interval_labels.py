"""Kinds of intervals: the engine and the phase of each row of an engine's table, from the words of its label.

Facts and where they are from:

* ``encoder_main__Op0_AneInference``: a published excerpt of ``ane-hw-intervals-internal`` (Xcode 26.6).
* ``<model>[_<UUID>]_<function>__Op<k>_AneInference Prediction|Load|Compile``: published patterns of three
  parsers of ``ane-hw-intervals`` (Xcode 27). ``k`` counts all operations of the program, casts included.
* ``<compiledName>_<hash> … Neural Engine Prediction``, ``… Load``, ``… Compile``, or these words alone:
  published excerpts of the same table. No export of either table with rows was available.
* ``<function>_ANE_region_<i>_<j>``: the Neural Engine's parts of a Core AI model, as its compiler names their
  files and procedures (``mpsx.ane @entry_0_ANE_region_0_0``); not seen in a row of the table.
* ``…__Op<k>_MpsGraphInference``: a public parser finds the GPU's work for Core ML by the model's name and
  this word; that the label is formed like the Neural Engine's is an assumption.
* ``MPSGraph:0x10f504470 (CommandBuffer: 0xaa130cc9)``: real rows of ``mps-hw-intervals`` (Xcode 16.4).
* ``Prediction``, ``CPU``, ``GPU Request``, ``Prepare GPU Request``: values of ``coreml-os-signpost`` named by
  a public parser; the Neural Engine's are formed alike and have not been seen.
* ``Specialization``, ``Load``, ``Setup``, ``Inference`` (Apple's documentation) and the events inside them
  (``Compile Asset``, ``Specialize``, ``Compile segment``, ``Load model::main``, ``Setup for model::main``,
  ``Context.alloc``, ``Run main``, published excerpts): ``ODIEProfile``, Core AI's table.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from tracekit.frozen import compile_later, frozen
from tracekit.model.vocabulary import Engine, Phase

Kind = tuple[Engine, Phase | None]
Form: TypeAlias = Literal["known", "cut off", "unknown"]

_PHASE_OF_WORD = {
    "Prediction": Phase.EXECUTE,
    "Load": Phase.LOAD,
    "Unload": Phase.LOAD,
    "Compile": Phase.COMPILE,
}
_UUID = compile_later(r"(.+)_[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?:_(.*))?", re.DOTALL)
_OPERATION = compile_later(r"(.*)__Op(\d{1,9})(?!\d)(.*)", re.DOTALL)
_GPU_OPERATION = compile_later(r"(.+)__Op\d{1,9}_MpsGraphInference(?![A-Za-z0-9])", re.DOTALL)
_REGION = compile_later(r"_?ANE_region_(\d{1,9}(?:_\d{1,9})?)(?!\d)(.*)", re.DOTALL | re.IGNORECASE)
_REGION_START = compile_later(r"_?ANE_region_(?=\d)", re.IGNORECASE)
_NEURAL_ENGINE = compile_later(r"(.*)(?<![A-Za-z])Neural Engine(.*)", re.DOTALL)
_COMPILED = compile_later(r"(.+?)_[0-9A-Fa-f]{8,}\s", re.DOTALL)
_CUT_MARKER = compile_later(
    r"(?:__O?p?|_ANE_r?e?g?i?o?n?_?|(?<![A-Za-z])Neural(?: E?n?g?i?n?e?)?)\Z", re.IGNORECASE
)
_PROCEDURE = "mpsx.ane @"
_EVENTS = tuple(
    f"{separator}{prefix}{word}"
    for separator in " _"
    for prefix in ("", "Neural Engine ")
    for word in _PHASE_OF_WORD
)
_AFTER_OPERATION = ("_AneInference", *(f"_AneInference{event}" for event in _EVENTS), *_EVENTS)
_AFTER_REGION = ("", *_EVENTS)
_AFTER_NEURAL_ENGINE = tuple(f" {word}" for word in _PHASE_OF_WORD)

_VERSION = compile_later(r"-\d+\Z")
_COMMAND_BUFFER = compile_later(r"CommandBuffer: 0x([0-9A-Fa-f]{1,16})\b")
_ML_MARK = compile_later(
    r"MPSGraph|MpsGraph|MPSNDArray|MPSNN|MPSCNN|MPSMatrix|E5RT|Espresso|BNNS|MTL4MachineLearning"
    r"|MachineLearningCommandEncoder|\b(?:steel|affine|fp_qm|gather_qmm|sdpa)\w*_nax\b"
)

_CORE_ML: dict[str, Kind] = {
    "Prediction": (Engine.RUNTIME, None),
    "CPU": (Engine.CPU, Phase.EXECUTE),
    "GPU Request": (Engine.GPU, Phase.WAIT),
    "Neural Engine Request": (Engine.ANE, Phase.WAIT),
    "ANE Request": (Engine.ANE, Phase.WAIT),
    "Prepare CPU": (Engine.CPU, Phase.DISPATCH),
    "Prepare CPU Request": (Engine.CPU, Phase.DISPATCH),
    "Prepare GPU Request": (Engine.GPU, Phase.DISPATCH),
    "Prepare Neural Engine Request": (Engine.ANE, Phase.DISPATCH),
    "Prepare ANE Request": (Engine.ANE, Phase.DISPATCH),
}
_CORE_AI: dict[str, Kind] = {
    "Inference": (Engine.RUNTIME, None),
    "Setup": (Engine.RUNTIME, Phase.LOAD),
    "Load": (Engine.RUNTIME, Phase.LOAD),
    "Specialization": (Engine.RUNTIME, Phase.COMPILE),
}
_CORE_AI_EVENT = compile_later(r"(?:(Compile|Specialize)|(Load|Setup|Context\.alloc))(?![A-Za-z])")


@frozen
class AneLabel:
    """The content of a Neural Engine label.

    ``model`` is "" where the label names none for certain, ``segment`` where it names no part of the model's
    program. A label that is cut off has no phase: "…AneInference Lo" is a load or not.
    """

    phase: Phase | None
    model: str = ""
    segment: str = ""
    form: Form = "known"


@lru_cache(maxsize=4096)
def parse_ane_label(label: str) -> AneLabel:
    """Return the content of a Neural Engine label; one of unknown form is execution of an unknown model."""
    if not label:
        return AneLabel(Phase.EXECUTE)
    for read in (_parse_operation, _parse_region, _parse_compiled):
        content = read(label)
        if content is not None:
            return content
    if _CUT_MARKER.search(_without_dots(label)):
        return AneLabel(None, form="cut off")
    # A model may be called "Load": only the words after the compiled name count.
    name = _COMPILED.match(label)
    phase = _find_load_or_compile(label[name.end() :] if name else label)
    return AneLabel(phase or Phase.EXECUTE, form="unknown")


def _parse_operation(label: str) -> AneLabel | None:
    """Return the content of ``<model>[_<UUID>]_<function>__Op<k>…``; the last ``__Op`` is the operation's."""
    match = _OPERATION.fullmatch(label)
    if match is None:
        return None
    stem, number, ending = match.groups()
    form = _match_ending(ending, _AFTER_OPERATION)
    model, function = _split_stem(stem)
    if form == "cut off":
        return AneLabel(None, model, form=form)
    if form == "unknown":
        # The ending may number segments, or the model may have such a name: then the label is not an
        # operation.
        return AneLabel(_find_load_or_compile(ending) or Phase.EXECUTE, form=form)
    return AneLabel(_parse_event(ending), model, _format_segment(function, f"Op{int(number)}"))


def _split_stem(stem: str) -> tuple[str, str]:
    """Return the model and the function in the part of a label before ``__Op<k>``."""
    split = _UUID.fullmatch(stem)
    return (split[1], split[2] or "") if split else (stem.removesuffix("_main"), "")


def _parse_region(label: str) -> AneLabel | None:
    """Return the content of ``[<model>_<UUID>_]<function>_ANE_region_<i>[_<j>]…``."""
    starts = [match.start() for match in _REGION_START.finditer(label)]
    match = _REGION.fullmatch(label, starts[-1]) if starts else None
    if match is None:
        return None
    stem, number, ending = label[: starts[-1]].removeprefix(_PROCEDURE), match[1], match[2]
    form = _match_ending(ending, _AFTER_REGION)
    if form == "unknown":
        return None
    split = _UUID.fullmatch(stem)
    model, function = (split[1], split[2] or "") if split else ("", stem)
    if form == "cut off":
        return AneLabel(None, model, form=form)
    numbers = ".".join(str(int(part)) for part in number.split("_"))
    return AneLabel(_parse_event(ending), model, _format_segment(function, f"region {numbers}"))


def _parse_compiled(label: str) -> AneLabel | None:
    """Return the content of ``[<compiledName>_<hash> …] Neural Engine <event>``."""
    match = _NEURAL_ENGINE.fullmatch(label)
    if match is None:
        return None
    form = _match_ending(match[2], _AFTER_NEURAL_ENGINE)
    if form == "unknown":
        return None
    name = _COMPILED.match(label)
    model = name[1] if name else ""
    return AneLabel(_parse_event(match[2]) if form == "known" else None, model, form=form)


def _match_ending(label_end: str, known_endings: tuple[str, ...]) -> Form:
    """Return whether the end of a label is known, cut off or unknown."""
    if label_end in known_endings:
        return "known"
    beginning = _without_dots(label_end)
    return "cut off" if any(ending.startswith(beginning) for ending in known_endings) else "unknown"


def _without_dots(text: str) -> str:
    return text.rstrip("…").removesuffix("...")


def _parse_event(ending: str) -> Phase:
    """Return the phase in a known end of a label; execution is the default."""
    word = re.split("[ _]", ending)[-1]
    return _PHASE_OF_WORD.get(word, Phase.EXECUTE)


def _format_segment(function: str, number: str) -> str:
    return number if function in ("", "main") else f"{function} {number}"


def find_core_ml_kind(label: str) -> Kind | None:
    """Return the engine and the phase of a ``coreml-os-signpost`` row; None for an unknown label."""
    phase = _find_load_or_compile(label)
    return _CORE_ML.get(label) or ((Engine.RUNTIME, phase) if phase else None)


def find_core_ai_kind(category: str) -> Kind | None:
    """Return the engine and the phase of an ``ODIEProfile`` row; None for an unknown category."""
    return _CORE_AI.get(category)


def find_core_ai_phase(event: str) -> Phase | None:
    """Return the phase of an event inside a category, which may compile or load; None for any other."""
    match = _CORE_AI_EVENT.match(event)
    return None if match is None else Phase.COMPILE if match[1] else Phase.LOAD


def without_version(model: str) -> str:
    """Return the model without the number that Core ML gives to copies: ``encoder`` for ``encoder-2``."""
    return _VERSION.sub("", model)


def has_ml_mark(label: str) -> bool:
    """Return True if the label of GPU work names a machine learning library."""
    return _ML_MARK.search(label) is not None


@lru_cache(maxsize=4096)
def parse_gpu_model(label: str) -> str:
    """Return the model that the label of GPU work names, "" for none."""
    match = _GPU_OPERATION.match(label)
    return _split_stem(match[1])[0] if match else ""


def parse_command_buffer(label: str) -> int:
    """Return the command buffer that an MPS label names, -1 for none."""
    match = _COMMAND_BUFFER.search(label)
    return int(match[1], 16) if match else -1


def _find_load_or_compile(label: str) -> Phase | None:
    for word, phase in (("Compile", Phase.COMPILE), ("Load", Phase.LOAD), ("Unload", Phase.LOAD)):
        if re.search(rf"(?<![A-Za-z]){word}(?![a-z])", label):
            return phase
    return None
