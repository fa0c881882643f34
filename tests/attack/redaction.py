"""Search for private names that redaction leaves in an output.

    python tests/attack/redaction.py [--cases 10000] [--seed 0] [--all-outputs]

Each case is a small recording with random users, a device and other processes, whose names are planted in random
spellings in every column of text and every composite cell. It is redacted, and its pack, in every fourth case some
of its other outputs (with ``--all-outputs``: always each) are decoded and searched. Prints each find with the number of its case, which
``--seed N --cases 1`` repeats, and ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from attack.leaks import leaks  # noqa: E402
from attack.outputs import OUTPUTS, analysis_of, cells_text, pack_text, tables_text  # noqa: E402
from attack.planting import Planter, planted  # noqa: E402
from attack.private_names import random_secrets  # noqa: E402
from tracekit.redact.redacted_source import hide_private_cells, redact_source  # noqa: E402

_OUTPUTS, _CASES_PER_OUTPUTS = 4, 4


@dataclass(frozen=True)
class Case:
    """A redacted recording: how many names were planted, and the (output, name) of each that is left."""

    planted: int
    finds: tuple[tuple[str, str], ...]


def case(seed: int, all_outputs: bool = False) -> Case:
    """Return what becomes of the recording with this number."""
    dice = random.Random(seed)
    secrets = random_secrets(dice)
    plant = Planter(dice, secrets)
    source = redact_source(hide_private_cells(planted(dice, secrets, plant))[0], "SampleApp")
    texts = {"pack": pack_text(source), "cells": cells_text(source)}
    if all_outputs or seed % _CASES_PER_OUTPUTS == 0:
        texts["tables"] = tables_text(source)
        analysis = analysis_of(source)
        for name in OUTPUTS if all_outputs else dice.sample(sorted(OUTPUTS), _OUTPUTS):
            texts[name] = OUTPUTS[name](analysis)
    names = secrets.everything()
    return Case(
        plant.count, tuple((output, name) for output, text in texts.items() for name in leaks(text, names))
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    parser.add_argument(
        "--all-outputs", action="store_true", help="write and search every output of each case"
    )
    options = parser.parse_args()
    started, names, finds, cases = time.monotonic(), 0, 0, 0
    for seed in range(options.seed, options.seed + options.cases):
        if time.monotonic() > started + options.seconds:
            break
        cases += 1
        result = case(seed, options.all_outputs)
        names, finds = names + result.planted, finds + len(result.finds)
        for output, name in result.finds:
            print(f"case {seed}: {output} shows {name!r}", flush=True)
    seconds = round(time.monotonic() - started, 1)
    print(
        json.dumps(
            {"cases": cases, "planned": options.cases, "planted": names, "finds": finds, "seconds": seconds}
        )
    )
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
