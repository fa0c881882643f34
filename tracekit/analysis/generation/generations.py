"""``Generations``: the requests to language models of a run, with their phases and tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.engines.codes import group_codes, group_positions
from tracekit.analysis.engines.ranges import list_positions
from tracekit.analysis.generation.growth import FEWEST_TOKENS, Growth, fit_growth
from tracekit.analysis.generation.marked_requests import MarkedRequests, find_requests
from tracekit.analysis.generation.metadata import UNKNOWN
from tracekit.analysis.generation.phase_budgets import PhaseBudgets, sum_budgets
from tracekit.analysis.generation.phases import (
    PHASES_OF_REQUEST,
    GenerationPhase,
    Phases,
    build_phases,
)
from tracekit.analysis.generation.role_spans import RoleSpans, read_role_spans
from tracekit.analysis.generation.span_rules import BUILT_IN, SpanRole
from tracekit.analysis.generation.tokens import CallColumns, Tokens, build_tokens
from tracekit.analysis.run import AnalyzedRun
from tracekit.model.columns import BoolArray, IntArray

FloatArray = npt.NDArray[np.float64]


class Generations:
    """Requests in order of their start; ``tokens`` are their arrivals.

    Numbers of requests are arrays with an entry per request, ``UNKNOWN`` or NaN where nothing shows them.
    """

    def __init__(self, analysis: AnalyzedRun, calls: CallColumns) -> None:
        self._analysis, self._calls = analysis, calls
        self.spans: RoleSpans = read_role_spans(analysis.trace, (*analysis.span_rules, *BUILT_IN))
        self.requests: MarkedRequests = find_requests(self.spans)
        self.tokens: Tokens = build_tokens(self.requests, calls)

    def __len__(self) -> int:
        return len(self.requests)

    @cached_property
    def models(self) -> npt.NDArray[np.object_]:
        """The model of each request: as signposts name it, or the only one that is called; "" for none."""
        names = self.requests.model.copy()
        nameless = np.flatnonzero(names == "")
        pids = self.requests.pid[nameless]
        codes = group_codes(pids)
        by_process = {
            int(pids[rows[0]]): nameless[rows]
            for rows in group_positions(codes, int(codes.max(initial=-1)) + 1)
        }
        count = np.zeros(len(self), np.int64)
        for name, calls in self._group_calls():
            rows = by_process.get(int(self._calls.pid[calls[0]]), nameless[:0])
            rows = rows[self._has_inside(rows, calls)]
            names[rows] = name
            count[rows] += 1
        names[nameless[count[nameless] > 1]] = ""
        return names

    def _group_calls(self) -> Iterator[tuple[str, IntArray]]:
        """Yield the calls of each name in each process, in order of their start."""
        calls = self._calls
        names, code_of_model = np.unique(np.array(calls.names, object), return_inverse=True)
        rows = np.flatnonzero(calls.model >= 0)
        rows = rows[np.argsort(calls.start_ns[rows], kind="stable")]
        of_call = code_of_model[calls.model[rows]]
        codes = group_codes(calls.pid[rows], of_call)
        for members in group_positions(codes, int(codes.max(initial=-1)) + 1):
            yield names[of_call[members[0]]], rows[members]

    def _has_inside(self, requests: IntArray, calls: IntArray) -> BoolArray:
        """Mark the requests in whose time any of some calls, in order of their start, lies as a whole."""
        ends = self._calls.end_ns[calls]
        least_end = np.append(np.minimum.accumulate(ends[::-1])[::-1], np.iinfo(np.int64).max)
        following = np.searchsorted(self._calls.start_ns[calls], self.requests.start_ns[requests])
        marked: BoolArray = least_end[following] <= self.requests.end_ns[requests]
        return marked

    @cached_property
    def token_counts(self) -> IntArray:
        """The tokens that each request made; ``UNKNOWN`` where they may be another's."""
        counts = np.zeros(len(self), np.int64)
        np.add.at(counts, self.tokens.request, self.tokens.count)
        return np.where(self.requests.is_mixed, UNKNOWN, counts)

    @cached_property
    def first_ns(self) -> IntArray:
        """When the first token of each request was there."""
        times = np.full(len(self), UNKNOWN, np.int64)
        times[self.tokens.request[self.tokens.is_first]] = self.tokens.time_ns[self.tokens.is_first]
        return times

    @cached_property
    def last_ns(self) -> IntArray:
        """When the last token of each request was there."""
        times = np.full(len(self), UNKNOWN, np.int64)
        np.maximum.at(times, self.tokens.request, self.tokens.time_ns)
        return times

    @cached_property
    def first_token_ns(self) -> IntArray:
        """The time to the first token of each request."""
        return np.where(self.first_ns == UNKNOWN, UNKNOWN, self.first_ns - self.requests.start_ns)

    @cached_property
    def decode_ns(self) -> IntArray:
        """The time from the first token of each request to its last."""
        return np.where(self.first_ns == UNKNOWN, UNKNOWN, self.last_ns - self.first_ns)

    @cached_property
    def decode_tokens(self) -> IntArray:
        """The tokens of each request after those that prefill made."""
        counts = np.zeros(len(self), np.int64)
        later = ~self.tokens.is_first
        np.add.at(counts, self.tokens.request[later], self.tokens.count[later])
        return np.where(self.requests.is_mixed, UNKNOWN, counts)

    @cached_property
    def rates(self) -> FloatArray:
        """The tokens per second of each request in decode; NaN for fewer than two arrivals."""
        return _divide(self.decode_tokens, self.decode_ns)

    @cached_property
    def prefill_rates(self) -> FloatArray:
        """The tokens of each prompt per second of prefill."""
        return _divide(self.requests.prompt_tokens, self.first_token_ns)

    @cached_property
    def phases(self) -> Phases:
        """The phases of the requests whose tokens are known."""
        known = np.flatnonzero(self.first_ns != UNKNOWN)
        decoded = known[self.decode_ns[known] > 0]
        request = np.concatenate([known, decoded])
        phase = np.repeat(np.arange(len(PHASES_OF_REQUEST)), [len(known), len(decoded)])
        edges = (
            np.concatenate([self.requests.start_ns[known], self.first_ns[decoded]]),
            np.concatenate([self.first_ns[known], self.last_ns[decoded]]),
        )
        inner = self.spans.select(SpanRole.SAMPLING), self.spans.select(SpanRole.CACHE)
        return build_phases(self._analysis, request, phase, self.requests.pid[request], edges, inner)

    @cached_property
    def phase_budgets(self) -> PhaseBudgets:
        """The parts of each of ``phases``."""
        return sum_budgets(self._analysis, self.phases, self.requests.overlaps[self.phases.request])

    @cached_property
    def phase_rows(self) -> Mapping[GenerationPhase, IntArray]:
        """The position of each request in ``phases``, by phase; -1 where its edges are not known."""
        rows = {}
        for code, phase in enumerate(PHASES_OF_REQUEST):
            of_phase = np.flatnonzero(self.phases.phase == code)
            rows[phase] = np.full(len(self), -1, np.int64)
            rows[phase][self.phases.request[of_phase]] = of_phase
        return rows

    @property
    def decode_rows(self) -> IntArray:
        """The position of the decode of each request in ``phases``, -1 likewise."""
        return self.phase_rows[GenerationPhase.DECODE]

    @cached_property
    def requests_by_model(self) -> Mapping[str, IntArray]:
        """The requests to each model, in order of its first one."""
        codes, names = pd.factorize(self.models)
        return dict(zip(names.tolist(), group_positions(codes, len(names)), strict=True))

    @cached_property
    def growth(self) -> tuple[Growth | None, ...]:
        """How the time of each request's tokens grows with its context, of those on the engines of most."""
        low, high = self._edges_of_tokens
        many = np.flatnonzero(high - low > FEWEST_TOKENS).tolist()
        trends = {request: self._fit_growth(np.array([request])) for request in many}
        return tuple(trends.get(request) for request in range(len(self)))

    def _fit_growth(self, request: IntArray) -> Growth | None:
        rows = self.list_decode_tokens(request)
        engines = self.tokens.engines[rows]
        rows = rows[engines == np.bincount(engines).argmax()]
        rows = rows[self.tokens.context[rows] != UNKNOWN]
        return fit_growth(self.tokens.context[rows], self.tokens.length_ns[rows] // self.tokens.count[rows])

    @cached_property
    def _edges_of_tokens(self) -> tuple[IntArray, IntArray]:
        """The rows of ``tokens`` at which each request begins and ends."""
        edges = np.searchsorted(self.tokens.request, np.arange(len(self) + 1))
        return edges[:-1], edges[1:]

    def list_decode_tokens(self, requests: IntArray) -> IntArray:
        """Return the rows of the tokens of some requests after each one's first."""
        low, high = (edges[requests] for edges in self._edges_of_tokens)
        return list_positions(np.minimum(low + 1, high), high)

    @property
    def is_complete(self) -> BoolArray:
        """Mask of the requests that neither edge of the recording cuts, and whose tokens are their own."""
        return ~(self.requests.is_cut | self.requests.is_mixed)


def _divide(amounts: IntArray, lengths_ns: IntArray) -> FloatArray:
    is_known = (amounts > 0) & (lengths_ns > 0)
    rates: FloatArray = np.where(is_known, amounts * 1e9 / np.where(is_known, lengths_ns, 1), np.nan)
    return rates
