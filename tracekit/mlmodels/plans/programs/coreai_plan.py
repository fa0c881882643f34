"""Write where Core AI anticipates that each operation of a model will run. Made by ``tracekit plan``.

    pip install coreai-torch                   (0.4.3 or later; macOS 27)
    USE_OS_COREAI=1 python coreai_plan.py Model.aimodel neural_engine > plan.json 2> specialization.txt
    tracekit plan plan.json
    tracekit plan specialization.txt

The second argument is one of neural_engine (the default), gpu, cpu: the unit to prefer. The second file has
what was refused, and why, where this model was not specialized before.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from coreai.authoring import AIModelAsset
from coreai.runtime import ComputeUnitKind, SpecializationOptions
from coreai_torch.debugging.compute_plan import ComputePlan


async def make_plan(path: Path, unit: str) -> dict[str, Any]:
    """Return the plan of a model for the unit to prefer."""
    kinds = {
        "neural_engine": ComputeUnitKind.neural_engine,
        "gpu": ComputeUnitKind.gpu,
        "cpu": ComputeUnitKind.cpu,
    }
    if unit not in kinds:
        sys.exit(f"{unit} is none of {', '.join(kinds)}.")
    options = SpecializationOptions.from_preferred_compute_unit_kind(kinds[unit]())
    program = AIModelAsset.load(path).program
    plan = await ComputePlan.from_program(program, options)
    document: dict[str, Any] = plan.to_dict(program)
    return document


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    unit = sys.argv[2] if len(sys.argv) == 3 else "neural_engine"
    json.dump(asyncio.run(make_plan(Path(sys.argv[1]), unit)), sys.stdout, indent=1)
