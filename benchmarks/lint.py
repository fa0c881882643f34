"""Measure holding a model of 10,000 operations against the rules.

    python benchmarks/lint.py [--out FILE.json]

Prints CPU seconds of ``lint_model`` (the model is in memory, the rules are read) for a transformer, for a
chain in which each operation matches the rule of the one before it, for one value that all operations take,
and for operations that match no rule. Fails above a second.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tracekit.mlmodels import Function, MLModel, Operation, Value, ValueType
from tracekit.mlmodels.rules import load_rules
from tracekit.mlmodels.rules.lint import lint_model
from tracekit.mlmodels.rules.rule_target import make_target

OPERATIONS = 10_000
LIMIT_SECONDS = 1.0
BLOCK = [
    "linear",
    "linear",
    "linear",
    "matmul",
    "add",
    "softmax",
    "matmul",
    "linear",
    "add",
    "mul",
    "reduce_mean",
    "add",
    "rsqrt",
    "mul",
    "linear",
    "gelu",
    "linear",
    "cast",
    "gather",
    "layer_norm",
]
FP16, FP32 = ValueType("fp16", (1, 64, 512)), ValueType("fp32", (1, 64, 512))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    out = parser.parse_args().out
    load_rules()
    makers: dict[str, Callable[[int], Operation]] = {
        "a transformer": lambda i: operation(BLOCK[i % len(BLOCK)], i, FP16, (i - 1, max(0, i - 7))),
        "one chain in fp32": lambda i: operation("add", i, FP32, (i - 1, i - 1)),
        "one value for all": lambda i: operation("mul", i, FP16, (0, 0)),
        "no matches": lambda i: operation("relu", i, FP16, (i - 1,)),
    }
    figures = {name: measure(make) for name, make in makers.items()}
    for name, seconds in figures.items():
        print(f"{name:<20} {seconds:.3f} s for {OPERATIONS:,} operations")
    if out is not None:
        out.write_text(json.dumps(figures, indent=1) + "\n")
    if max(figures.values()) > LIMIT_SECONDS:
        sys.exit(f"more than {LIMIT_SECONDS} s")


def operation(kind: str, index: int, value_type: ValueType, inputs: tuple[int, ...]) -> Operation:
    """Return an operation that makes the value ``index`` of others."""
    names = tuple((parameter, f"v{value}") for parameter, value in zip("xy", inputs, strict=False))
    return Operation(kind, f"op{index}", names, (Value(f"v{index}", value_type),))


def measure(make: Callable[[int], Operation]) -> float:
    """Return the CPU seconds of a lint."""
    operations = tuple(make(index) for index in range(1, OPERATIONS + 1))
    function = Function("main", (Value("v0", FP16),), (f"v{OPERATIONS}",), operations)
    model = MLModel(Path("Model.mlpackage"), "ML Program", "specification 9", functions=(function,))
    start = time.process_time()
    lint_model(model, make_target("M4", "macOS 27"))
    return time.process_time() - start


if __name__ == "__main__":
    main()
