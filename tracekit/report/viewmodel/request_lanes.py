"""The lanes of requests to language models: their phases, and each token below its phase."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis.generation.generations import Generations
from tracekit.analysis.generation.phases import PHASES_OF_REQUEST, GenerationPhase
from tracekit.analysis.generation.tokens import name_engine_bits
from tracekit.model.columns import IntArray
from tracekit.report.wording.generation import format_rate
from tracekit.text import plural


def iter_request_lanes(generations: Generations, most_rows: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a lane per model: its name, and rows with start_ns, end_ns and name, in order of their start."""
    for model, requests in generations.requests_by_model.items():
        rows = [
            _list_phases(generations, requests, most_rows),
            _list_tokens(generations, requests, most_rows),
        ]
        frame = pd.concat(rows, ignore_index=True).sort_values("start_ns", kind="stable").head(most_rows)
        if len(frame):
            yield f"Requests to {model}" if model else "Requests", frame


def _list_phases(generations: Generations, requests: IntArray, most_rows: int) -> pd.DataFrame:
    phases = generations.phases
    rows = np.concatenate([generations.phase_rows[phase][requests] for phase in PHASES_OF_REQUEST])
    chosen = _select_earliest(rows[rows >= 0], phases.start_ns, most_rows)
    names = [
        _name_phase(generations, int(phases.request[row]), PHASES_OF_REQUEST[phases.phase[row]])
        for row in chosen.tolist()
    ]
    return pd.DataFrame({"start_ns": phases.start_ns[chosen], "end_ns": phases.end_ns[chosen], "name": names})


def _select_earliest(rows: IntArray, starts: IntArray, count: int) -> IntArray:
    """Return those of some rows that begin first, in their order."""
    earliest: IntArray = rows[np.argsort(starts[rows], kind="stable")[:count]]
    return earliest


def _name_phase(generations: Generations, request: int, phase: GenerationPhase) -> str:
    title = f"{phase} of request {request + 1:,}"
    if phase is GenerationPhase.DECODE:
        tokens = plural(int(generations.decode_tokens[request]), "token")
        return f"{title}: {tokens}, {format_rate(float(generations.rates[request]))} per second"
    prompt = int(generations.requests.prompt_tokens[request])
    return f"{title}: {plural(prompt, 'token')}" if prompt >= 0 else title


def _list_tokens(generations: Generations, requests: IntArray, most_rows: int) -> pd.DataFrame:
    tokens = generations.tokens
    starts = tokens.time_ns - tokens.length_ns
    chosen = _select_earliest(generations.list_decode_tokens(requests), starts, most_rows)
    names = [
        f"token {number:,}{f' · {engines}' if engines else ''}"
        for number, engines in zip(
            tokens.number[chosen].tolist(),
            map(name_engine_bits, tokens.engines[chosen].tolist()),
            strict=True,
        )
    ]
    return pd.DataFrame({"start_ns": starts[chosen], "end_ns": tokens.time_ns[chosen], "name": names})
