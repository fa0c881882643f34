"""Spans → requests: which prefill each span belongs to, and when each token was there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.analysis.engines.codes import group_codes, group_positions, sort_positions
from tracekit.analysis.engines.interval_sets import find_places
from tracekit.analysis.generation.metadata import UNKNOWN
from tracekit.analysis.generation.role_spans import RoleSpans
from tracekit.analysis.generation.span_rules import SpanRole
from tracekit.analysis.windows.window import mark_overlapping
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray

NO_REQUEST = -1
_LARGEST = 2**62


@frozen(eq=False)
class Arrivals:
    """The moments at which a request had further tokens: parallel arrays, by request and time.

    ``count`` is the number of tokens that arrived at that moment: several with speculative decoding.
    """

    request: IntArray
    time_ns: IntArray
    count: IntArray

    def __len__(self) -> int:
        return len(self.request)


@frozen(eq=False)
class MarkedRequests:
    """Requests in order of their start: parallel arrays, ``UNKNOWN`` for what no span shows.

    ``is_mixed`` marks those that share time with another one of their process while nothing shows which token
    is whose; they have no arrivals. ``is_cut`` marks those that the end of the recording cuts. ``overlaps``
    marks all that share time with another one of their process.
    """

    pid: IntArray
    start_ns: IntArray
    end_ns: IntArray
    prompt_tokens: IntArray
    model: npt.NDArray[np.object_]
    is_mixed: BoolArray
    is_cut: BoolArray
    overlaps: BoolArray
    arrivals: Arrivals
    orphans: int
    """Spans of tokens before their process's first prefill: their requests began before the recording."""

    def __len__(self) -> int:
        return len(self.pid)


def find_requests(spans: RoleSpans) -> MarkedRequests:
    """Return the requests that spans mark.

    A span belongs to the latest prefill of its process, or to the latest whose prompt has as many tokens as
    the span's context less its step: so tokens of requests at once are told apart.
    """
    prefills, tokens, texts = (
        spans.select(role) for role in (SpanRole.PREFILL, SpanRole.TOKEN, SpanRole.TEXT)
    )
    of_token = _assign_tokens(prefills, tokens)
    ends = prefills.end_ns.copy()
    has_request = of_token >= 0
    np.maximum.at(ends, of_token[has_request], tokens.end_ns[has_request])
    overlaps = _mark_overlapping(prefills.pid, prefills.start_ns, ends)
    of_text = _assign_texts(prefills, tokens, texts, of_token, overlaps)
    has_text = of_text >= 0
    np.maximum.at(ends, of_text[has_text], texts.start_ns[has_text])
    is_mixed = _mark_mixed(prefills, tokens, of_token, overlaps)
    arrivals = _list_arrivals(prefills, tokens, texts, of_token, of_text, is_mixed)
    is_cut = prefills.is_open.copy()
    is_cut[of_token[has_request & tokens.is_open]] = True
    return MarkedRequests(
        prefills.pid,
        prefills.start_ns,
        ends,
        prefills.tokens,
        _name_models(prefills, spans.select(SpanRole.LOAD)),
        is_mixed,
        is_cut,
        overlaps,
        arrivals,
        int((of_token < 0).sum()),
    )


def find_latest(group: IntArray, times: IntArray, of_group: IntArray, moments: IntArray) -> IntArray:
    """Return for each moment the position of the latest time of its group that is not later; -1 for none."""
    if not len(times) or not len(moments):
        return np.full(len(moments), -1, np.int64)
    low = min(int(times.min()), int(moments.min()))
    width = max(int(times.max()), int(moments.max())) - low + 1
    times, moments = times - low, moments - low
    if (max(int(group.max()), int(of_group.max())) + 1) * width >= _LARGEST:
        # Ranks instead of times, which may not fit 64 bits together with a group.
        ordered = np.sort(np.concatenate([times, moments]))
        width = len(ordered)
        times, moments = np.searchsorted(ordered, times), np.searchsorted(ordered, moments)
    keys = group * width + times
    order = np.argsort(keys, kind="stable")
    position = find_places(keys[order], of_group * width + moments, "right") - 1
    latest = order[np.maximum(position, 0)]
    return np.where((position >= 0) & (group[latest] == of_group), latest, -1)


def _find_latest_of(
    keys: tuple[IntArray, ...], times: IntArray, of_keys: tuple[IntArray, ...], moments: IntArray
) -> IntArray:
    """Return the latest time with the same keys for each moment; -1 for none."""
    group = group_codes(*(np.concatenate(pair) for pair in zip(keys, of_keys, strict=True)))
    return find_latest(group[: len(times)], times, group[len(times) :], moments)


def _assign_tokens(prefills: RoleSpans, tokens: RoleSpans) -> IntArray:
    latest = find_prefills(prefills, tokens.pid, tokens.start_ns)
    prompt = tokens.context - tokens.step
    is_chained = (tokens.context >= 0) & (tokens.step >= 0)
    of_prompt = _find_latest_of(
        (prefills.pid, prefills.tokens), prefills.start_ns, (tokens.pid, prompt), tokens.start_ns
    )
    return np.where(is_chained & (of_prompt >= 0), of_prompt, latest)


def find_prefills(prefills: RoleSpans, pid: IntArray, moments: IntArray) -> IntArray:
    """Return the latest prefill of a process at each moment; -1 before the first."""
    return _find_latest_of((prefills.pid,), prefills.start_ns, (pid,), moments)


def _assign_texts(
    prefills: RoleSpans, tokens: RoleSpans, texts: RoleSpans, of_token: IntArray, overlaps: BoolArray
) -> IntArray:
    """Return the request of each token that becomes text; of requests at once, the one that just made it."""
    latest = find_prefills(prefills, texts.pid, texts.start_ns)
    of_one = np.append(overlaps, False)[latest]
    if not of_one.any():
        return latest
    makers_pid, makers_end, request = (
        np.concatenate(pair)
        for pair in (
            (prefills.pid, tokens.pid),
            (prefills.end_ns, tokens.end_ns),
            (np.arange(len(prefills)), of_token),
        )
    )
    step = np.concatenate([np.zeros(len(prefills), np.int64), tokens.step])
    maker = _find_latest_of((makers_pid, step), makers_end, (texts.pid, texts.step), texts.start_ns)
    return np.where(of_one, np.append(request, NO_REQUEST)[maker], latest)


def _mark_overlapping(pid: IntArray, starts: IntArray, ends: IntArray) -> BoolArray:
    """Mark the requests that share time with another one of their process."""
    marked = np.zeros(len(pid), bool)
    codes = group_codes(pid)
    for rows in group_positions(codes, int(codes.max(initial=-1)) + 1):
        marked[rows] = mark_overlapping(starts[rows], ends[rows])
    return marked


def _mark_mixed(prefills: RoleSpans, tokens: RoleSpans, of_token: IntArray, overlaps: BoolArray) -> BoolArray:
    """Mark the requests whose tokens may be another's."""
    mixed = np.zeros(len(prefills), bool)
    # Requests at once with prompts of one length: no number tells their tokens apart.
    key = group_codes(prefills.pid, prefills.tokens)
    crowded = np.bincount(key[overlaps], minlength=int(key.max(initial=-1)) + 1) > 1
    mixed |= overlaps & crowded[key]
    without_chain = (of_token >= 0) & ((tokens.context < 0) | (tokens.step < 0))
    mixed[of_token[without_chain & np.append(overlaps, False)[of_token]]] = True
    # One request makes one token after another.
    order = sort_positions(of_token + 1, len(prefills) + 1)  # tokens are in order of their start
    request, starts, ends = of_token[order], tokens.start_ns[order], tokens.end_ns[order]
    is_next = (request[1:] == request[:-1]) & (request[1:] >= 0)
    is_wrong = is_next & (starts[1:] < ends[:-1])
    mixed[request[1:][is_wrong]] = True
    # All requests at once with a mixed one may lack its tokens, or have them.
    of_process = np.isin(prefills.pid, prefills.pid[mixed & overlaps])
    return mixed | (of_process & overlaps)


def _list_arrivals(
    prefills: RoleSpans,
    tokens: RoleSpans,
    texts: RoleSpans,
    of_token: IntArray,
    of_text: IntArray,
    is_mixed: BoolArray,
) -> Arrivals:
    """Return when tokens were there: where tokens become text, just before; else at the ends of their spans.

    Apple's package begins a span for a token after the last one, too; no text follows it.
    """
    has_text = np.zeros(len(prefills), bool)
    has_text[of_text[of_text >= 0]] = True
    every = np.arange(len(prefills))
    ends_with_token = ~has_text & ~prefills.is_open & (prefills.yields > 0)
    counts = (of_token >= 0) & ~tokens.is_open & ~np.append(has_text, True)[of_token]
    parts = (
        (every[ends_with_token], prefills.end_ns[ends_with_token], prefills.yields[ends_with_token]),
        (
            of_token[counts],
            tokens.end_ns[counts],
            np.where(tokens.tokens[counts] == UNKNOWN, 1, tokens.tokens[counts]),
        ),
        (of_text[of_text >= 0], texts.start_ns[of_text >= 0], np.ones(int((of_text >= 0).sum()), np.int64)),
    )
    request, time_ns, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    is_clear = ~is_mixed[request] & (count > 0)
    request, time_ns, count = request[is_clear], time_ns[is_clear], count[is_clear]
    order = np.lexsort((time_ns, request))
    return Arrivals(request[order], time_ns[order], count[order])


def _name_models(prefills: RoleSpans, loads: RoleSpans) -> npt.NDArray[np.object_]:
    """Return the model that each prefill names, else the only one that its process loaded."""
    names = prefills.model.copy()
    codes = group_codes(np.concatenate([prefills.pid, loads.pid]))
    for rows in group_positions(codes, int(codes.max(initial=-1)) + 1):
        loaded = {name for name in loads.model[rows[rows >= len(prefills)] - len(prefills)].tolist() if name}
        nameless = rows[rows < len(prefills)]
        nameless = nameless[names[nameless] == ""]
        if len(loaded) == 1:
            names[nameless] = loaded.pop()
    return names
