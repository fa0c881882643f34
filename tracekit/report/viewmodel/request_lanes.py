"""The lanes of requests to language models: their phases, and each token below its phase."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis.generation.generations import Generations
from tracekit.analysis.generation.phases import PHASES_OF_REQUEST, GenerationPhase
from tracekit.analysis.generation.tokens import name_engine_bits
from tracekit.report.wording.generation import format_rate
from tracekit.text import plural


def iter_request_lanes(generations: Generations, most_rows: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a lane per model: its name, and rows with start_ns, end_ns and name, in order of their start."""
    models = generations.models
    for model in dict.fromkeys(models.tolist()):
        rows = [_list_phases(generations, str(model)), _list_tokens(generations, str(model))]
        frame = pd.concat(rows, ignore_index=True).sort_values("start_ns", kind="stable").head(most_rows)
        if len(frame):
            yield f"Requests to {model}" if model else "Requests", frame


def _list_phases(generations: Generations, model: str) -> pd.DataFrame:
    phases = generations.phases
    chosen = np.flatnonzero(generations.models[phases.request] == model)
    names = [
        _name_phase(generations, int(phases.request[row]), PHASES_OF_REQUEST[phases.phase[row]])
        for row in chosen.tolist()
    ]
    return pd.DataFrame({"start_ns": phases.start_ns[chosen], "end_ns": phases.end_ns[chosen], "name": names})


def _name_phase(generations: Generations, request: int, phase: GenerationPhase) -> str:
    title = f"{phase} of request {request + 1:,}"
    if phase is GenerationPhase.DECODE:
        tokens = plural(int(generations.decode_tokens[request]), "token")
        return f"{title}: {tokens}, {format_rate(float(generations.rates[request]))} per second"
    prompt = int(generations.requests.prompt_tokens[request])
    return f"{title}: {plural(prompt, 'token')}" if prompt >= 0 else title


def _list_tokens(generations: Generations, model: str) -> pd.DataFrame:
    tokens = generations.tokens
    chosen = np.flatnonzero((generations.models[tokens.request] == model) & ~tokens.is_first)
    names = [
        f"token {number:,}{f' · {engines}' if engines else ''}"
        for number, engines in zip(
            tokens.number[chosen].tolist(),
            map(name_engine_bits, tokens.engines[chosen].tolist()),
            strict=True,
        )
    ]
    ends = tokens.time_ns[chosen]
    return pd.DataFrame({"start_ns": ends - tokens.length_ns[chosen], "end_ns": ends, "name": names})
