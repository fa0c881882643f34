"""Arrivals → tokens: their lengths, the context before them, and the engines of the calls that made them."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.engines.codes import group_codes, sum_before
from tracekit.analysis.generation.marked_requests import MarkedRequests, find_latest
from tracekit.analysis.generation.metadata import UNKNOWN
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray
from tracekit.model.vocabulary import SERVING

_CALLED_OFTEN = 2
"""A model is the request's if it is called in 1/2 of its decode tokens or more."""


@frozen(eq=False)
class CallColumns:
    """The calls of a run: parallel arrays, in the order of its windows.

    ``served`` has the bit ``1 << n`` for the engine ``SERVING[n]``, ``model`` is a position in ``names``, -1
    for a range that is no call.
    """

    start_ns: IntArray
    end_ns: IntArray
    pid: IntArray
    served: IntArray
    model: IntArray
    names: tuple[str, ...]


@frozen(eq=False)
class TokenCalls:
    """The calls in the time of tokens: parallel arrays of rows of windows and of tokens."""

    row: IntArray
    token: IntArray


@frozen(eq=False)
class Tokens:
    """The arrivals of tokens: parallel arrays, by request and time.

    ``number`` is that of the last token that arrived, from 1, ``length_ns`` the time since the arrival
    before, of the first one since the request began. ``context`` is the number of tokens before those that
    arrived, ``UNKNOWN`` without the length of the prompt. ``engines`` has the bit ``1 << n`` for
    ``SERVING[n]``; 0 where no call shows them. ``is_first`` marks the first of each request, which prefill
    made. ``called`` are the calls of each.
    """

    request: IntArray
    number: IntArray
    count: IntArray
    time_ns: IntArray
    length_ns: IntArray
    context: IntArray
    engines: IntArray
    is_first: BoolArray
    called: TokenCalls

    def __len__(self) -> int:
        return len(self.request)


def build_tokens(requests: MarkedRequests, calls: CallColumns) -> Tokens:
    """Return the tokens of requests; of requests at once in a process, no call shows whose it is."""
    arrivals = requests.arrivals
    request, time_ns, count = arrivals.request, arrivals.time_ns, arrivals.count
    is_first = np.append(True, request[1:] != request[:-1])[: len(request)]
    begins = np.where(is_first, requests.start_ns[request], np.append(0, time_ns[:-1])[: len(request)])
    number = _sum_in_groups(count, is_first)
    prompt = requests.prompt_tokens[request]
    context = np.where(prompt < 0, UNKNOWN, prompt + number - count)
    clear = np.flatnonzero(~requests.overlaps[request])
    called = _find_calls(requests.pid[request[clear]], begins[clear], time_ns[clear], request[clear], calls)
    called = TokenCalls(called.row, clear[called.token])
    engines = np.zeros(len(request), np.int64)
    served_bits = calls.served[called.row]
    for bit in range(len(SERVING)):
        engines[called.token[(served_bits >> bit & 1) > 0]] |= 1 << bit
    return Tokens(request, number, count, time_ns, time_ns - begins, context, engines, is_first, called)


def _sum_in_groups(amounts: IntArray, is_first: BoolArray) -> IntArray:
    """Return the running sum of amounts, which begins again where a group does."""
    totals = sum_before(amounts)
    begins = np.maximum.accumulate(np.where(is_first, totals[:-1], 0))
    sums: IntArray = totals[1:] - begins
    return sums


def _find_calls(
    pid: IntArray, begins: IntArray, ends: IntArray, request: IntArray, calls: CallColumns
) -> TokenCalls:
    """Return the calls whose middle is in each of some disjoint spans of processes."""
    if not len(calls.pid) or not len(pid):
        return TokenCalls(np.zeros(0, np.int64), np.zeros(0, np.int64))
    middles = (calls.start_ns + calls.end_ns) // 2
    group = group_codes(np.concatenate([pid, calls.pid]))
    token = find_latest(group[: len(pid)], begins, group[len(pid) :], middles)
    is_in_token = (token >= 0) & (middles < ends[token])
    rows, token = np.flatnonzero(is_in_token), token[is_in_token]
    is_own = _mark_called_often(request, token, calls.model[rows])
    return TokenCalls(rows[is_own], token[is_own])


def _mark_called_often(request: IntArray, token: IntArray, model: IntArray) -> BoolArray:
    """Mark the calls of models that are called for many of a request's tokens: others run beside it."""
    if not len(token):
        return np.zeros(0, bool)
    key = group_codes(request[token], model)
    pairs = np.unique(key * len(request) + token)
    with_call = np.bincount(pairs // len(request))
    of_key = np.zeros(len(with_call), np.int64)
    of_key[key] = request[token]
    tokens = np.bincount(request)
    is_often = (_CALLED_OFTEN * with_call >= tokens[of_key]) & (model.max(initial=-1) >= 0)
    marked: BoolArray = is_often[key] & (model >= 0)
    return marked


def name_engine_bits(bits: int) -> str:
    """Return the engines of ``Tokens.engines`` by name: ``ANE, CPU``."""
    return ", ".join(str(engine) for bit, engine in enumerate(SERVING) if bits >> bit & 1)
