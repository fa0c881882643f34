"""Arrivals → tokens: their lengths, the context before them, and the engines of the calls that made them."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.engines.codes import group_codes, sum_before
from tracekit.analysis.findings.calls import Calls
from tracekit.analysis.generation.marked_requests import MarkedRequests, find_latest
from tracekit.analysis.generation.role_spans import UNKNOWN
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING

_CALLED_OFTEN = 2
"""A model is the request's if it is called in 1/2 of its decode tokens or more."""


@frozen(eq=False)
class Tokens:
    """The arrivals of tokens: parallel arrays, by request and time.

    ``number`` is that of the last token that arrived, from 1, ``length_ns`` the time since the arrival
    before, of the first one since the request began. ``context`` is the number of tokens before those that
    arrived, ``UNKNOWN`` without the length of the prompt. ``engines`` has the bit ``1 << n`` for
    ``SERVING[n]``; 0 where no call shows them. ``is_first`` marks the first of each request, which prefill
    made.
    """

    request: IntArray
    number: IntArray
    count: IntArray
    time_ns: IntArray
    length_ns: IntArray
    context: IntArray
    engines: IntArray
    is_first: BoolArray

    def __len__(self) -> int:
        return len(self.request)


def build_tokens(requests: MarkedRequests, calls: Calls) -> Tokens:
    """Return the tokens of requests; of requests at once in a process, no call shows whose it is."""
    arrivals = requests.arrivals
    request, time_ns, count = arrivals.request, arrivals.time_ns, arrivals.count
    is_first = np.append(True, request[1:] != request[:-1])[: len(request)]
    begins = np.where(is_first, requests.start_ns[request], np.append(0, time_ns[:-1])[: len(request)])
    number = _sum_in_groups(count, is_first)
    prompt = requests.prompt_tokens[request]
    context = np.where(prompt < 0, UNKNOWN, prompt + number - count)
    engines = np.zeros(len(request), np.int64)
    clear = np.flatnonzero(~requests.overlaps[request])
    engines[clear] = _find_engines(
        requests.pid[request[clear]], begins[clear], time_ns[clear], request[clear], calls
    )
    return Tokens(request, number, count, time_ns, time_ns - begins, context, engines, is_first)


def _sum_in_groups(amounts: IntArray, is_first: BoolArray) -> IntArray:
    """Return the running sum of amounts, which begins again where a group does."""
    totals = sum_before(amounts)
    begins = np.maximum.accumulate(np.where(is_first, totals[:-1], 0))
    sums: IntArray = totals[1:] - begins
    return sums


def _find_engines(
    pid: IntArray, begins: IntArray, ends: IntArray, request: IntArray, calls: Calls
) -> IntArray:
    """Return the engines of the calls in the middle of which each of some disjoint spans of processes is."""
    engines = np.zeros(len(pid), np.int64)
    if not calls.is_timed or not len(pid):
        return engines
    middles = (calls.starts + calls.ends) // 2
    of_call = calls.analysis.window_rows["pid"].to_numpy(np.int64)
    group = group_codes(np.concatenate([pid, of_call]))
    token = find_latest(group[: len(pid)], begins, group[len(pid) :], middles)
    is_inside = (token >= 0) & (middles < ends[token])
    rows, token = np.flatnonzero(is_inside), token[is_inside]
    is_own = _mark_called_often(request, token, calls.model_of[rows])
    rows, token = rows[is_own], token[is_own]
    served_bits = calls.served[rows]
    for bit in range(len(SERVING)):
        engines[token[(served_bits >> bit & 1) > 0]] |= 1 << bit
    return engines


def _mark_called_often(request: IntArray, token: IntArray, model: IntArray) -> BoolArray:
    """Mark the calls of models that are called for many of a request's tokens: others run beside it."""
    if not len(token):
        return np.zeros(0, bool)
    key = group_codes(request[token], model)
    pairs = np.unique(np.stack([key, token]), axis=1)
    with_call = np.bincount(pairs[0])
    of_key = np.zeros(len(with_call), np.int64)
    of_key[key] = request[token]
    tokens = np.bincount(request)
    is_often = (_CALLED_OFTEN * with_call >= tokens[of_key]) & (model.max(initial=-1) >= 0)
    marked: BoolArray = is_often[key] & (model >= 0)
    return marked


def name_engine_bits(bits: int) -> str:
    """Return the engines of ``Tokens.engines`` by name: ``ANE, CPU``."""
    return ", ".join(str(engine) for bit, engine in enumerate(SERVING) if bits >> bit & 1)
