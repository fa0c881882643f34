"""Purpose of a row of an engine's table, from the words of its label.

Facts and where they are from:

* ``encoder_main__Op0_AneInference``: a published excerpt of ``ane-hw-intervals-internal`` (Xcode 26.6).
* ``<compiledName>_<hash> … Neural Engine Prediction``, ``… Load``, ``… Compile``: published excerpts of
  ``ane-hw-intervals`` (Xcode 27). No export of either table with rows was available.
* ``MPSGraph:0x10f504470 (CommandBuffer: 0xaa130cc9)``: real rows of ``mps-hw-intervals`` (Xcode 16.4).
* ``Prediction``, ``CPU``, ``GPU Request``, ``Prepare GPU Request``: values of ``coreml-os-signpost`` named by
  a public parser; the Neural Engine's are formed alike and have not been seen.
"""

from __future__ import annotations

import re

from tracekit.model.vocabulary import Engine, Phase

Kind = tuple[Engine, Phase | None]

_NEURAL_ENGINE = re.compile(r"Neural Engine (Prediction|Load|Unload|Compile)")
_PROGRAM = re.compile(r"(.*?)(?:_main)?__Op\d+", re.DOTALL)
_COMPILED = re.compile(r"(\S+)_[0-9A-Fa-f]{8,}\s")
_VERSION = re.compile(r"-\d+\Z")
_COMMAND_BUFFER = re.compile(r"CommandBuffer: 0x([0-9A-Fa-f]{1,16})\b")
_ML_MARK = re.compile("MPSGraph|MpsGraph|MPSNDArray|MPSNN|MPSCNN|MPSMatrix|E5RT|Espresso|BNNS")

_PHASE_OF_WORD = {
    "Prediction": Phase.EXECUTE,
    "Load": Phase.LOAD,
    "Unload": Phase.LOAD,
    "Compile": Phase.COMPILE,
}
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
}


def ane_phase(label: str) -> Phase:
    """Return the phase of a Neural Engine row; execution unless the label names another."""
    named = _NEURAL_ENGINE.findall(label)
    if named:
        return _PHASE_OF_WORD[named[-1]]
    if "AneInference" in label or label.endswith("Prediction"):
        return Phase.EXECUTE
    # A model may be called "Load": only the words after the compiled name count.
    name = _COMPILED.match(label)
    return _load_or_compile(label[name.end() :] if name else label) or Phase.EXECUTE


def ane_model(label: str) -> str:
    """Return the name of the compiled model that the label begins with; "" where it has neither form."""
    program = _PROGRAM.match(label)
    if program:
        return program[1]
    compiled = _COMPILED.match(label) if _NEURAL_ENGINE.search(label) else None
    return compiled[1] if compiled else ""


def core_ml_kind(label: str) -> Kind | None:
    """Return the engine and the phase of a ``coreml-os-signpost`` row; None for an unknown label."""
    phase = _load_or_compile(label)
    return _CORE_ML.get(label) or ((Engine.RUNTIME, phase) if phase else None)


def core_ai_kind(category: str) -> Kind | None:
    """Return the engine and the phase of an ``ODIEProfile`` row; None for an unknown category."""
    return _CORE_AI.get(category)


def without_version(model: str) -> str:
    """Return the model without the number that Core ML gives to copies: ``encoder`` for ``encoder-2``."""
    return _VERSION.sub("", model)


def has_ml_mark(label: str) -> bool:
    """Return True if the label of GPU work names a machine learning library."""
    return _ML_MARK.search(label) is not None


def command_buffer(label: str) -> int:
    """Return the command buffer that an MPS label names, -1 for none."""
    match = _COMMAND_BUFFER.search(label)
    return int(match[1], 16) if match else -1


def _load_or_compile(label: str) -> Phase | None:
    for word, phase in (("Compile", Phase.COMPILE), ("Load", Phase.LOAD), ("Unload", Phase.LOAD)):
        if re.search(rf"(?<![A-Za-z]){word}(?![a-z])", label):
            return phase
    return None
