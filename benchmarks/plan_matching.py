"""Measure matching the operations of two plans.

    python benchmarks/plan_matching.py [--out FILE.json]

Prints CPU seconds for a chain of 20,000 operations with two inserted ones, and for one value that 20,000
operations take. Fails above ``LIMITS_SECONDS``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tracekit.mlmodels.plans import PlannedOperation
from tracekit.mlmodels.plans.operation_matching import match_operations

OPERATIONS = 20_000
LAYER = ["norm", "linear", "sdpa", "linear", "add", "norm", "linear", "gelu", "linear", "add"]
LIMITS_SECONDS = {"chain": 2.0, "many uses": 4.0}


def make_chain(kinds: list[str], prefix: str) -> list[PlannedOperation]:
    """Return operations each of which takes the value of the one before."""
    return [
        PlannedOperation(
            kind,
            f"{prefix}{index}",
            inputs=(f"{prefix}{index - 1}" if index else "image",),
            outputs=(f"{prefix}{index}",),
        )
        for index, kind in enumerate(kinds)
    ]


def make_fan() -> list[PlannedOperation]:
    """Return an operation whose value all others take."""
    uses = (
        PlannedOperation("relu", f"r{index}", inputs=("stem",), outputs=(f"r{index}",))
        for index in range(OPERATIONS)
    )
    return [PlannedOperation("conv", "stem", outputs=("stem",)), *uses]


def main() -> int:
    """Print the measurements; return 1 where one exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    out: Path | None = parser.parse_args().out
    kinds = LAYER * (OPERATIONS // len(LAYER))
    plans = {
        "chain": (
            make_chain(kinds, "a"),
            make_chain([*kinds[:5_005], "cast", *kinds[5_005:], "argmax"], "b"),
        ),
        "many uses": (make_fan(), make_fan()),
    }
    seconds = {}
    for name, (base, new) in plans.items():
        started = time.process_time()
        match_operations(base, new)
        seconds[name] = round(time.process_time() - started, 3)
        print(f"{name}: {seconds[name]:.2f} s of CPU time, at most {LIMITS_SECONDS[name]:.0f}")
    if out is not None:
        out.write_text(json.dumps(seconds, indent=2) + "\n", "utf-8")
    return int(any(seconds[name] > limit for name, limit in LIMITS_SECONDS.items()))


if __name__ == "__main__":
    sys.exit(main())
