"""The words that plans have for engines → ``Engine``; a word that is not listed is not guessed."""

from __future__ import annotations

from collections.abc import Iterable

from tracekit.model.vocabulary import Engine

_ENGINES = {
    # MLComputePlan's devices, as Core ML, coremltools and tools on top of them spell them:
    # https://developer.apple.com/documentation/coreml/mlcomputedevice,
    # coremltools 9.0 models/compute_device.py.
    "cpu": Engine.CPU,
    "gpu": Engine.GPU,
    "ane": Engine.ANE,
    "ne": Engine.ANE,
    "neuralengine": Engine.ANE,
    "mlcpucomputedevice": Engine.CPU,
    "mlgpucomputedevice": Engine.GPU,
    "mlneuralenginecomputedevice": Engine.ANE,
    # Backends of analytics.mil. On an M4 with macOS 27, MLComputePlan prefers the CPU exactly where one of
    # the first two is selected: github.com/751K/Apple-Neural-Engine-Microarchitecture-Study-M6. The third
    # has the CPU in its name; "jit_call" has not, and is not listed.
    "bnns": Engine.CPU,
    "classiccpu": Engine.CPU,
    "e5minimalcpu": Engine.CPU,
    "mpsgraph": Engine.GPU,
}
"""By the word in small letters and digits alone: ``mps_graph``, ``Neural Engine``."""


def find_engine(word: str) -> Engine | None:
    """Return the engine that a plan's word stands for, or None."""
    return _ENGINES.get("".join(character for character in word.lower() if character.isalnum()))


def find_engines(words: Iterable[str]) -> frozenset[Engine]:
    """Return the engines that words stand for, without the words that stand for none."""
    return frozenset(engine for word in words if (engine := find_engine(word)) is not None)
