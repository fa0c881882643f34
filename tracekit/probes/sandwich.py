"""Probes → ``.mlpackage`` files, made with Apple's coremltools on any system (the extra ``probe``).

A sandwich is convolution, ReLU, convolution, ReLU, the operation, and the same four again. On an M4 the
runtime moved work to the Neural Engine only where that saved time: a segment between others had to save about
0.4 ms, which two convolutions of 1.2 GFLOP each do by far, by an estimate (0.1 ms of CPU for 75 MFLOP; the
study 751K of 482 models on macOS 27.0.1). All convolutions have the same weights, so a package stays small.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tracekit
from tracekit.errors import UsageError
from tracekit.installation import format_install_command
from tracekit.probes.probe_manifest import FILE_NAME, ProbeManifest, format_manifest
from tracekit.probes.probe_question import KERNEL_OF_SANDWICH, Probe
from tracekit.probes.probed_operators import OPERATORS
from tracekit.probes.runner import PROGRAM_NAME, read_program

_METADATA_KEY = "tracekit.probe"
_SEED = 37
_CONVOLUTIONS = 2
"""On each side of the operation."""


def write_probes(folder: Path, probes: Sequence[Probe], settings: Sequence[str], calls: int) -> ProbeManifest:
    """Write the packages of probes into a new folder, with their manifest and the program that calls them.

    Raises ``UsageError`` for a folder that exists, and without coremltools.
    """
    coremltools = _import_coremltools()
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise UsageError(f"{folder} exists already: probes are written into a new folder.") from error
    hashes = {}
    for probe in probes:
        package = folder / f"{probe.name}.mlpackage"
        _convert(coremltools, probe).save(str(package))
        hashes[probe.name] = _hash_package(package)
    versions = {"tracekit": tracekit.__version__, "coremltools": str(coremltools.__version__)}
    manifest = ProbeManifest(tuple(probes), tuple(settings), calls, hashes, versions)
    (folder / PROGRAM_NAME).write_text(read_program(), encoding="utf-8")
    # Last: a folder with a manifest is whole.
    (folder / FILE_NAME).write_text(format_manifest(manifest), encoding="utf-8")
    return manifest


def _import_coremltools() -> Any:
    # It reports each library of macOS that is missing elsewhere, and draws progress bars.
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    os.environ.setdefault("TQDM_DISABLE", "1")
    try:
        import coremltools
    except ImportError as error:
        raise UsageError(
            "Probes are made with coremltools, which is not installed."
            f" Install it with: {format_install_command('probe')}"
        ) from error
    return coremltools


def _hash_package(package: Path) -> str:
    """Return the SHA-256 of the files of a package, in the order of their paths."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(package).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _convert(coremltools: Any, probe: Probe) -> Any:
    """Return the model of a probe; no pass changes the operations, so that the file asks what was asked."""
    model = coremltools.convert(
        _build_program(coremltools, probe),
        convert_to="mlprogram",
        minimum_deployment_target=coremltools.target.iOS16,
        compute_precision=coremltools.precision.FLOAT32,  # types are as written
        pass_pipeline=coremltools.PassPipeline.EMPTY,
        skip_model_load=True,
    )
    model.user_defined_metadata[_METADATA_KEY] = probe.name
    model.short_description = f"tracekit probe {probe.name}"
    return model


def _build_program(coremltools: Any, probe: Probe) -> Any:
    from coremltools.converters.mil import Builder
    from coremltools.converters.mil.mil import types

    channels, height, width = probe.shape
    sides = _Sides(Builder, channels)
    inputs = [Builder.TensorSpec(shape=(1, channels, height, width), dtype=types.fp16)]

    def build(x: Any) -> Any:
        value = sides.add(x, "before")
        if not probe.is_control:
            value = _add_operation(Builder, probe, value, None)
        return sides.add(value, "after")

    def build_with_indices(x: Any, indices: Any) -> Any:
        value = _add_operation(Builder, probe, sides.add(x, "before"), indices)
        return sides.add(value, "after")

    has_indices = probe.operator == "gather_runtime"
    if has_indices:
        inputs.append(Builder.TensorSpec(shape=(height,), dtype=types.int32))
    make = Builder.program(input_specs=inputs, opset_version=coremltools.target.iOS16)
    return make(build_with_indices if has_indices else build)


class _Sides:
    """The convolutions on both sides of an operation, which share one constant."""

    def __init__(self, builder: Any, channels: int) -> None:
        import numpy as np

        shape = (channels, channels, KERNEL_OF_SANDWICH, KERNEL_OF_SANDWICH)
        numbers = np.random.default_rng(_SEED).standard_normal(shape)
        scale = (2 / (channels * KERNEL_OF_SANDWICH**2)) ** 0.5  # of He et al.: values keep their size
        self._builder = builder
        self._numbers = (numbers * scale).astype(np.float16)
        self._weight: Any = None

    def add(self, value: Any, side: str) -> Any:
        if self._weight is None:
            self._weight = self._builder.const(val=self._numbers, name="weight")
        for number in range(_CONVOLUTIONS):
            name = f"{side}_{number}"
            value = self._builder.conv(x=value, weight=self._weight, pad_type="same", name=f"{name}_conv")
            value = self._builder.relu(x=value, name=f"{name}_relu")
        return value


# Operations -------------------------------------------------------------------------------------------------


def _add_operation(builder: Any, probe: Probe, value: Any, indices: Any) -> Any:
    """Add the operation in question, between casts where it is of another data type than the sandwich."""
    if probe.dtype != "fp16":
        value = builder.cast(x=value, dtype=probe.dtype, name="question_cast")
    value = _add_plain(builder, probe, value, indices)
    if probe.dtype != "fp16":
        value = builder.cast(x=value, dtype="fp16", name="answer_cast")
    return value


def _add_plain(builder: Any, probe: Probe, value: Any, indices: Any) -> Any:
    import numpy as np

    kind = OPERATORS[probe.operator].kind
    dtype = {"fp16": np.float16, "fp32": np.float32}[probe.dtype]
    more: dict[str, Any] = {"name": "question"}
    channels, height = probe.shape[0], probe.shape[1]
    numbers = probe.parameters
    match probe.operator:
        case "conv":
            weight = np.full((channels, channels, numbers["kernel"], numbers["kernel"]), 1e-3, dtype)
            more |= {
                "weight": weight,
                "pad_type": "same",
                "strides": [numbers["stride"]] * 2,
                "dilations": [numbers["dilation"]] * 2,
            }
        case "max_pool" | "avg_pool":
            more |= {
                "kernel_sizes": [numbers["kernel"]] * 2,
                "strides": [numbers["stride"]] * 2,
                "pad_type": "same",
            }
        case "upsample_nearest":
            more |= {"scale_factor_height": numbers["scale"], "scale_factor_width": numbers["scale"]}
        case "upsample_bilinear":
            more |= {
                "scale_factor_height": numbers["scale"],
                "scale_factor_width": numbers["scale"],
                "align_corners": False,
            }
        case "softmax":
            more |= {"axis": 1}
        case "cumsum":
            more |= {"axis": 3, "exclusive": False, "reverse": False}
        case "layer_norm":
            more |= {"axes": [3]}
        case "gelu":
            more |= {"mode": "EXACT"}
        case "transpose":
            more |= {"perm": [0, 1, 3, 2]}
        case "gather":
            more |= {"indices": np.arange(height - 1, -1, -1, dtype=np.int32), "axis": 2}
        case "gather_runtime":
            more |= {"indices": indices, "axis": 2}
        case "mul_channel":
            more |= {"y": np.full((1, channels, 1, 1), 0.5, dtype)}
    return getattr(builder, kind)(x=value, **more)
