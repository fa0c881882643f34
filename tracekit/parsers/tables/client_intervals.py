"""Signposts of the Neural Engine's client → intervals, for a recording in which no table measures an engine.

``_ANEF_MODEL_EVALUATE`` lies around a request: its caller waits for a turn, for the engine and for the way
back. ``_ANEF_MODEL_COMPILE`` and ``_ANEF_MODEL_LOAD`` make a program ready (sbryngelson/ane-guide, ch. 33).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tracekit.model.columns import INTERVALS, make_categorical
from tracekit.model.vocabulary import PHASE_CODE, PHASES, SUBSYSTEMS, Engine
from tracekit.parsers.tables.column_values import TextColumn
from tracekit.parsers.tables.log_messages import CLIENT_PHASES


def read_client_intervals(signposts: pd.DataFrame) -> pd.DataFrame:
    """Return the client's intervals among signposts."""
    subsystem = signposts["subsystem"]
    of_frameworks = [word for word in subsystem.cat.categories if word.lower() in SUBSYSTEMS]
    is_client = signposts["name"].isin(CLIENT_PHASES) & subsystem.isin(of_frameworks)
    rows = signposts[(is_client & (signposts["kind"] == "interval")).to_numpy(bool)]
    if rows.empty:
        return INTERVALS.empty()
    count = len(rows)
    nothing = TextColumn.repeat("", count).to_category()
    phase = rows["name"].map({name: PHASE_CODE[phase] for name, phase in CLIENT_PHASES.items()})
    return pd.DataFrame(
        {
            "start_ns": rows["start_ns"].to_numpy(np.int64),
            "end_ns": rows["end_ns"].to_numpy(np.int64),
            "engine": TextColumn.repeat(Engine.ANE, count).to_category(),
            "phase": make_categorical(phase.to_numpy(np.int64), PHASES),
            "label": rows["name"].array,
            "model": nothing,
            "copy": nothing,
            "segment": nothing,
            "channel": nothing,
            "pid": rows["pid"].to_numpy(np.int64),
            "source": rows["source"].array,
            "depth": np.zeros(count, np.int16),
            "command_buffer": np.full(count, -1, np.int64),
        }
    )
