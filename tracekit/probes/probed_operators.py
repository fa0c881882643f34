"""The operations that a probe can be about: their parameters, and how a rule states them.

Kinds and parameters are those of ML Programs, as coremltools documents them
(https://apple.github.io/coremltools/source/coremltools.converters.mil.mil.ops.defs.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a question. ``numbers`` is the operation's own that has it.

    ``numbers`` is empty where the shape of the weights has it. Values are from 1 to ``most``.
    """

    default: int
    most: int
    numbers: str = ""
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """An operation by its kind in an ML Program. ``note`` is what a reader of a result must know."""

    name: str
    kind: str
    parameters: Mapping[str, Parameter] = field(default_factory=lambda: MappingProxyType({}))
    note: str = ""


_KERNEL = Parameter(2, 64, "kernel_sizes")
_STRIDE = Parameter(1, 16, "strides")

OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        operator.name: operator
        for operator in (
            Operator(
                "conv",
                "conv",
                {
                    "kernel": Parameter(3, 64),
                    "stride": _STRIDE,
                    "dilation": Parameter(1, 64, "dilations"),
                },
            ),
            Operator("max_pool", "max_pool", {"kernel": _KERNEL, "stride": _STRIDE}),
            Operator("avg_pool", "avg_pool", {"kernel": _KERNEL, "stride": _STRIDE}),
            Operator(
                "upsample_nearest",
                "upsample_nearest_neighbor",
                {"scale": Parameter(2, 8, "scale_factor_height", 0)},
            ),
            Operator(
                "upsample_bilinear", "upsample_bilinear", {"scale": Parameter(2, 8, "scale_factor_height", 0)}
            ),
            *(
                Operator(kind, kind)
                for kind in ("cos", "erf", "exp", "gelu", "relu", "sigmoid", "sin", "sqrt", "tanh")
            ),
            Operator("softmax", "softmax", note="along the channels"),
            Operator("cumsum", "cumsum", note="along the width"),
            Operator("layer_norm", "layer_norm", note="along the width"),
            Operator("instance_norm", "instance_norm"),
            Operator("transpose", "transpose", note="swaps height and width"),
            Operator("gather", "gather", note="of rows, by constant indices"),
            Operator("gather_runtime", "gather", note="of rows, by indices that are an input"),
            Operator("mul_channel", "mul", note="by a constant per channel"),
        )
    }
)
