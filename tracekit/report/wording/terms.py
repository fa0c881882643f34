"""Words that outputs use everywhere: how a number is known, and the engines of samples and calls."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tracekit.model.vocabulary import Basis, Engine

BASIS_MEANINGS: Mapping[Basis, str] = MappingProxyType(
    {
        Basis.MEASURED: (
            "An interval or a count that the system reported, in a row of a table. Its edges are those of "
            "the row. It can include work of other processes where the table names none."
        ),
        Basis.SAMPLED: (
            "Samples times the time that each stands for, on the host: which code ran on a CPU. Each edge "
            "may be a sampling period off. A sleeping thread has no samples, so host time is never the time "
            "of the Neural Engine or the GPU."
        ),
        Basis.INFERRED: (
            "Deduced, where no row and no sample shows it: a call from stacks, a wait from the hole between "
            "two samples, a pause between two engines' work. Calls back to back may count as one."
        ),
        Basis.GIVEN: "Stated by you: the edges of a range, or a signpost that you name as the inference.",
    }
)
"""Numbers of two bases are never added up."""

ENGINE_MEANINGS: Mapping[Engine, str] = MappingProxyType(
    {
        Engine.ANE: "Work for an inference on the Neural Engine, or code that hands such work over.",
        Engine.GPU: "Work for an inference on the GPU, or code that hands such work over.",
        Engine.CPU: "An ML engine on the CPU (BNNS, XNNPACK, kernels of Espresso): not any CPU work.",
        Engine.RUNTIME: "Core ML or another ML runtime; the stack does not show which engine it uses.",
        Engine.GRAPHICS: (
            "Metal or its driver, not called by an ML frame: drawing, or compute work of unknown purpose."
        ),
        Engine.OTHER: "No ML frame is on the stack.",
        Engine.UNKNOWN: (
            "Nothing shows an engine. Of a sample: it has no stack, no frame has a symbol, or more than half "
            "of the frames are bare addresses and none decides. Of a call: no row and no sample shows one, "
            "which is not 'no Neural Engine'."
        ),
    }
)
MIXED_MEANING = (
    "Two engines or more were seen at the inference of a call. The numbers show which mattered: no majority "
    "decides."
)
"""Of the verdict ``MIXED``."""
