"""The columns of requests to language models, and of their tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.budget.parts import BUDGET_KINDS, EXECUTING, BudgetPart
from tracekit.analysis.generation.tokens import name_engine_bits
from tracekit.analysis.result import Analysis
from tracekit.columns.frame import FrameColumn, FrameColumns, Values
from tracekit.model.columns import BoolArray, IntArray
from tracekit.report.wording.budget import PART_WORDS

_PHASES = ("prefill", "decode")
_TEXT_OR_NULL: Mapping[str, Any] = MappingProxyType({"type": ["string", "null"]})
_EDGES = {"prefill": "from its begin to its first token", "decode": "from its first token to its last"}


class RequestRows:
    """The requests of an analysis, with what their columns are computed from."""

    def __init__(self, analysis: Analysis) -> None:
        self.generations = analysis.generations

    def __len__(self) -> int:
        return 0 if self.generations is None else len(self.generations)

    @property
    def is_interrupted(self) -> BoolArray:
        """Marks the requests that the end of the recording cuts."""
        return np.zeros(0, bool) if self.generations is None else self.generations.requests.is_cut

    def get(self, name: str) -> IntArray:
        """Return a column of the requests' own."""
        if self.generations is None:
            return np.zeros(0, np.int64)
        values: IntArray = getattr(self.generations.requests, name)
        return values

    def compute(self, name: str) -> npt.NDArray[Any]:
        """Return a column that is computed for the requests."""
        if self.generations is None:
            return np.zeros(0, np.int64)
        values: npt.NDArray[Any] = getattr(self.generations, name)
        return values

    def get_phase(self, phase: str, name: str) -> pd.arrays.IntegerArray:
        """Return a time of a phase; missing where its edges are not known."""
        return self._spread(
            phase, None if self.generations is None else getattr(self.generations.phases, name)
        )

    def get_part(self, phase: str, part: BudgetPart) -> pd.arrays.IntegerArray:
        """Return the time of a part in a phase; missing likewise."""
        return self._spread(
            phase, None if self.generations is None else self.generations.phase_budgets.by_part[part]
        )

    def _spread(self, phase: str, values: IntArray | None) -> pd.arrays.IntegerArray:
        spread, is_missing = np.zeros(len(self), np.int64), np.ones(len(self), bool)
        if self.generations is not None and values is not None:
            phases = self.generations.phases
            rows = np.flatnonzero(phases.phase == _PHASES.index(phase))
            spread[phases.request[rows]] = values[rows]
            is_missing[phases.request[rows]] = values[rows] < 0
        return pd.arrays.IntegerArray(spread, is_missing)

    @cached_property
    def growth(self) -> dict[str, list[float | None]]:
        """The slope of each request and the ends of its interval, by name; None where nothing shows it."""
        growth = () if self.generations is None else self.generations.growth
        names = ("slope_ns", "low_ns", "high_ns")
        return {name: [None if entry is None else getattr(entry, name) for entry in growth] for name in names}


def _mark_missing(values: IntArray) -> pd.arrays.IntegerArray:
    """Return numbers with -1 as missing."""
    return pd.arrays.IntegerArray(values.astype(np.int64), values < 0)


_Column: TypeAlias = FrameColumn[RequestRows]


def _make_column(
    type_: str, meaning: str, values: Callable[[RequestRows], Values], basis: str = ""
) -> _Column:
    return FrameColumn(type_, meaning, values, basis, schema=_TEXT_OR_NULL if type_ == "str" else {})


def _make_part_column(phase: str, part: BudgetPart) -> _Column:
    bases = ", ".join(str(kind.basis) for kind in BUDGET_KINDS if kind.part is part and kind.basis)
    meaning = f"its part of the budget of {phase}: {PART_WORDS[part].name}"
    return _make_column("Int64", meaning, lambda rows: rows.get_part(phase, part), bases)


def _make_phase_columns(phase: str) -> Mapping[str, _Column]:
    parts = (*EXECUTING.values(), *(part for part in BudgetPart if part not in EXECUTING.values()))
    return {
        f"{phase}_ns": _make_column(
            "Int64",
            f"the length of {phase}, {_EDGES[phase]}",
            lambda rows: rows.get_phase(phase, "length_ns"),
            "measured",
        ),
        f"{phase}_gap_ns": _make_column(
            "Int64",
            f"time of {phase} in no call of its process; missing where no call of it is seen",
            lambda rows: rows.get_phase(phase, "gap_ns"),
        ),
        f"{phase}_sampling_ns": _make_column(
            "Int64",
            f"time of {phase} in steps of sampling and in no call",
            lambda rows: rows.get_phase(phase, "sampling_ns"),
            "measured",
        ),
        f"{phase}_cache_ns": _make_column(
            "Int64",
            f"time of {phase} in steps of the cache and in no call",
            lambda rows: rows.get_phase(phase, "cache_ns"),
            "measured",
        ),
        **{f"{phase}_{part}_ns": _make_part_column(phase, part) for part in parts},
    }


_GROWTH = "growth of a token's time per 1,000 tokens of context, of tokens on the engines of most"
_REQUESTS: Mapping[str, _Column] = {
    "request": _make_column(
        "int64", "its number, from 1, in order of time", lambda rows: np.arange(1, len(rows) + 1)
    ),
    "model": _make_column(
        "str",
        "the model, by its signposts or the only one that its process calls; missing where several may be",
        lambda rows: [name or None for name in rows.compute("models").tolist()],
    ),
    "pid": _make_column(
        "Int64", "the process; missing where it is not known", lambda rows: _mark_missing(rows.get("pid"))
    ),
    "start_ns": _make_column(
        "int64", "the begin of its prefill", lambda rows: rows.get("start_ns"), "measured"
    ),
    "end_ns": _make_column("int64", "the end of its last step", lambda rows: rows.get("end_ns"), "measured"),
    "prompt_tokens": _make_column(
        "Int64",
        "the tokens of its prompt, cached ones included",
        lambda rows: _mark_missing(rows.get("prompt_tokens")),
    ),
    "tokens": _make_column(
        "Int64",
        "the tokens that it made; missing where they may be another's",
        lambda rows: _mark_missing(rows.compute("token_counts")),
    ),
    "first_token_ns": _make_column(
        "Int64",
        "the time to the first token",
        lambda rows: _mark_missing(rows.compute("first_token_ns")),
        "measured",
    ),
    "prefill_tokens_per_second": _make_column(
        "Float64",
        "`prompt_tokens` per second of the time to the first token",
        lambda rows: pd.array(rows.compute("prefill_rates"), "Float64"),
        "measured",
    ),
    "tokens_per_second": _make_column(
        "Float64",
        "the tokens after the first per second of decode; missing for a single token",
        lambda rows: pd.array(rows.compute("rates"), "Float64"),
        "measured",
    ),
    "growth_ns": _make_column("Float64", _GROWTH, lambda rows: rows.growth["slope_ns"], "measured"),
    "growth_low_ns": _make_column(
        "Float64", "the low end of its 95 % interval", lambda rows: rows.growth["low_ns"]
    ),
    "growth_high_ns": _make_column("Float64", "the high end", lambda rows: rows.growth["high_ns"]),
    "is_interrupted": _make_column(
        "bool", "the end of the recording cuts it", lambda rows: rows.is_interrupted
    ),
    **{name: column for phase in _PHASES for name, column in _make_phase_columns(phase).items()},
}
REQUEST_COLUMNS: FrameColumns[RequestRows] = FrameColumns(RequestRows, _REQUESTS)


class TokenRows:
    """The tokens of an analysis, with what their columns are computed from."""

    def __init__(self, analysis: Analysis) -> None:
        self.tokens = None if analysis.generations is None else analysis.generations.tokens

    def get(self, name: str) -> IntArray:
        """Return a column of the tokens' own."""
        values: IntArray = np.zeros(0, np.int64) if self.tokens is None else getattr(self.tokens, name)
        return values

    @property
    def engines(self) -> list[str | None]:
        """The engines of each token as ``ANE``, ``ANE, CPU``; None where no call shows them."""
        bits, position = np.unique(self.get("engines"), return_inverse=True)
        names = [name_engine_bits(value) or None for value in bits.tolist()]
        return [names[code] for code in position.tolist()]


TOKEN_COLUMNS: FrameColumns[TokenRows] = FrameColumns(
    TokenRows,
    {
        "request": FrameColumn("int64", "the request's number", lambda rows: rows.get("request") + 1),
        "token": FrameColumn(
            "int64",
            "the number of the last token that arrived at that moment, from 1",
            lambda rows: rows.get("number"),
        ),
        "tokens": FrameColumn(
            "int64",
            "how many arrived at that moment: several with speculative decoding",
            lambda rows: rows.get("count"),
        ),
        "phase": FrameColumn(
            "str",
            "prefill for the first token of a request, else decode",
            lambda rows: np.where(rows.get("is_first").astype(bool), *_PHASES).tolist(),
        ),
        "time_ns": FrameColumn("int64", "when it was there", lambda rows: rows.get("time_ns"), "measured"),
        "length_ns": FrameColumn(
            "int64",
            "the time since the arrival before; of the first token since the request began",
            lambda rows: rows.get("length_ns"),
            "measured",
        ),
        "context": FrameColumn(
            "Int64",
            "the tokens before it, prompt and answer together; missing where the prompt's are not known",
            lambda rows: _mark_missing(rows.get("context")),
        ),
        "engines": FrameColumn(
            "str",
            "the engines that served the calls of its time, of models called for half of the tokens or more;"
            " missing where no call shows any, and of requests at once",
            lambda rows: rows.engines,
            schema=_TEXT_OR_NULL,
        ),
    },
)
