"""Filters of samples: the terms that the page's ``filter.js`` parsed, and the rows that they select.

The page parses the text; requests have its terms as JSON. tests/filter_cases.json holds both to the same
rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dashboard.tiles.sample_columns import Bools, Ints, SampleColumns, SampleGroup
from tracekit.analysis.call_tree import ROOT
from tracekit.errors import UsageError
from tracekit.model.vocabulary import ENGINES, PHASES

_MAX_VALUES = 200
_MAX_CHARACTERS = 2_000
_MAX_DOCUMENT = 20_000
_CALL = re.compile(r"([0-9]+(?:-[0-9]+)?)(?: of (.+))?", re.DOTALL)
_OF_TIME = ("call", "window")
"""Keys of calls: by their number in their model; and of windows, by that over the whole recording, from 0."""
_MALFORMED = "A filter is a list of terms as JSON, as the page sends it (docs/formats.md)."


@dataclass(frozen=True)
class Term:
    """A term: one of the values must match, or none if it is negated. Values are in lower case.

    The key "" matches threads, symbols and binaries.
    """

    key: str
    values: tuple[str, ...]
    is_negated: bool


def terms_of(document: str) -> tuple[Term, ...]:
    """Return the terms of a request, which may be forged; raise ``UsageError`` for what no page sends."""
    if len(document) > _MAX_DOCUMENT:
        raise UsageError(f"A filter has no more than {_MAX_CHARACTERS:,} characters.")
    try:
        entries = json.loads(document) if document else []
    except (ValueError, RecursionError):
        raise UsageError(_MALFORMED) from None
    if not isinstance(entries, list):
        raise UsageError(_MALFORMED)
    terms = tuple(map(_term, entries))
    values = [value for term in terms for value in term.values]
    # Each value is looked for in every text of the recording.
    if len(values) > _MAX_VALUES:
        raise UsageError(f"A filter has no more than {_MAX_VALUES} words.")
    if sum(map(len, values)) > _MAX_CHARACTERS:
        raise UsageError(f"A filter has no more than {_MAX_CHARACTERS:,} characters.")
    return terms


def _term(entry: Any) -> Term:
    if not isinstance(entry, list) or len(entry) != 3:
        raise UsageError(_MALFORMED)
    key, values, is_negated = entry
    if not isinstance(values, list) or not values or not isinstance(is_negated, bool):
        raise UsageError(_MALFORMED)
    if not all(isinstance(value, str) and value for value in values):
        raise UsageError(_MALFORMED)
    if not isinstance(key, str) or key not in (*_MATCHERS, *_OF_TIME):
        raise UsageError(f"A filter has the keys {', '.join(filter(None, (*_MATCHERS, *_OF_TIME)))}.")
    return Term(key, tuple(values), is_negated)


def row_mask(samples: SampleColumns, terms: Sequence[Term]) -> Bools | None:
    """Return the rows that match, None for all rows if there is no term.

    Texts are matched once per call, lane and window; rows only look up the results.
    """
    if not terms:
        return None
    # Work by size: texts (thousands) decide calls and lanes; rows (millions) look up their call, lane by
    # lane:
    #   term         calls   1 0 1 1      lane  0     fits = calls | lane
    #   rows of lane: call   2 0 0 3      →     1 1 1 1 …     mask[rows] = fits[call]
    # Windows depend on time and on nothing else, and each group is sorted by time: they cut its rows into
    # runs.
    of_time = [term for term in terms if term.key in _OF_TIME]
    call_terms = [
        (_MATCHERS[term.key](samples, term.values), term) for term in terms if term.key in _MATCHERS
    ]
    windows = [(_window_edges(samples, term), term) for term in of_time]
    mask = np.zeros(samples.total, np.bool_)
    call = samples["call"]
    for lane, groups in enumerate(samples.groups_of_lanes):
        fits = np.ones(len(samples["call_stack"]), np.bool_)
        for (calls, lanes), term in call_terms:
            # ``!= is_negated`` turns the match round where the term is negated.
            fits &= (calls | lanes[lane]) != term.is_negated
        if not fits.any():
            continue
        for group in groups:
            group_mask = fits[call[group.first : group.end]]
            for edges, term in windows:
                group_mask &= _inside(samples, group, edges) != term.is_negated
            mask[group.first : group.end] = group_mask
    return mask


Matches = tuple[Bools, Bools]
"""Matches per call and per lane; a row matches if its call or its lane does."""


def _match_anything(samples: SampleColumns, values: Sequence[str]) -> Matches:
    binary = _with(samples.binaries, values)[samples["function_binary"]]
    lanes = [_has(lane.label, values) or _has(lane.process, values) for lane in samples.lanes]
    return _calls_with(samples, _with(samples.symbols, values) | binary), np.array(lanes, np.bool_)


def _match_binary(samples: SampleColumns, values: Sequence[str]) -> Matches:
    functions = _with(samples.binaries, values)[samples["function_binary"]]
    return _calls_with(samples, functions), np.zeros(len(samples.lanes), np.bool_)


def _match_thread(samples: SampleColumns, values: Sequence[str]) -> Matches:
    lanes = [
        _has(lane.label, values) or _has(lane.process, values) or lane.tid in values for lane in samples.lanes
    ]
    return np.zeros(len(samples["call_stack"]), np.bool_), np.array(lanes, np.bool_)


def _match_engine(samples: SampleColumns, values: Sequence[str]) -> Matches:
    matches = np.array([engine.lower().startswith(tuple(values)) for engine in ENGINES])
    return matches[samples["call_engine"]], np.zeros(len(samples.lanes), np.bool_)


def _match_phase(samples: SampleColumns, values: Sequence[str]) -> Matches:
    matches = np.array([name.startswith(tuple(values)) for name in (*PHASES, "none")])
    return matches[samples["call_phase"]], np.zeros(
        len(samples.lanes), np.bool_
    )  # -1, none, indexes the last


_MATCHERS: dict[str, Callable[[SampleColumns, Sequence[str]], Matches]] = {
    "": _match_anything,
    "thread": _match_thread,
    "engine": _match_engine,
    "phase": _match_phase,
    "binary": _match_binary,
}


def _has(text: str, values: Sequence[str]) -> bool:
    lower = text.lower()
    return any(value in lower for value in values)


def _with(texts: Sequence[str], values: Sequence[str]) -> Bools:
    return np.fromiter((_has(text, values) for text in texts), np.bool_, len(texts))


def _calls_with(samples: SampleColumns, functions: Bools) -> Bools:
    """Return the calls whose stack contains one of these functions."""
    # A node has such a function itself or above it. Each round looks twice as far up as the one before: at
    # the first, at the second, at the fourth ancestor, …; the last entry is the ancestor of roots.
    row = samples["text_of"][samples["tree_function"]]
    has_function: Bools = np.append(np.append(functions, False)[row], False)  # row -1: a cut-off node
    ancestor = np.append(samples["tree_parent"].astype(np.int64), ROOT)
    while (ancestor >= 0).any():
        has_function |= has_function[ancestor]
        ancestor = ancestor[ancestor]
    return has_function[samples.call_node]


def _with_number(samples: SampleColumns, term: Term) -> Bools:
    """Mark the windows whose number a term has: of a call that in its model, "6 of enc"."""
    count = len(samples["window_start"])
    numbers = np.arange(count) if term.key == "window" else samples["window_call"]
    marked = np.zeros(count, np.bool_)
    for value in term.values:
        call = _CALL.fullmatch(value)
        if call is None or (term.key == "window" and call[2] is not None):
            continue
        first, _, last = call[1].partition("-")
        fits = (numbers >= min(int(first), count + 1)) & (numbers <= min(int(last or first), count + 1))
        marked |= fits if call[2] is None else fits & _is_meant(samples, call[2])
    return marked


def _is_meant(samples: SampleColumns, name: str) -> Bools:
    """Mark the windows of a model; of those whose names contain the text, where none is called so."""
    groups = samples["window_group"]
    names = np.array([text.lower() for text in samples.window_names], object)
    is_whole: Bools = (names == name)[groups]
    return is_whole if is_whole.any() else _with(samples.window_names, [name])[groups]


def _window_edges(samples: SampleColumns, term: Term) -> Ints:
    """Return alternating starts and ends of the union of windows, selected by number or part of a name."""
    named = _with(samples.window_names, term.values)
    selected = named[samples["window_label"]] | named[samples["window_model"]] | _with_number(samples, term)
    if term.key == "call":
        selected |= named[samples["window_group"]]
    selected &= samples["window_start"] < samples["window_end"]
    order = np.argsort(samples["window_start"][selected], kind="stable")
    starts, ends = samples["window_start"][selected][order], samples["window_end"][selected][order]
    # A window that starts after the end of all earlier ones begins a new stretch of the union.
    reach = np.maximum.accumulate(ends)
    begins = np.append(True, starts[1:] > reach[:-1])[: len(starts)]
    return np.stack([starts[begins], reach[np.append(begins[1:], True)[: len(starts)]]], axis=1).reshape(-1)


def _inside(samples: SampleColumns, group: SampleGroup, edges: Ints) -> Bools:
    # The edges cut the rows into runs that are outside, inside, outside, … by turns.
    rows = samples.time.count_before(group.first, group.end, edges)
    borders = np.concatenate([[0], rows, [group.end - group.first]])
    inside: Bools = np.repeat(np.arange(len(borders) - 1) % 2 == 1, np.diff(borders))
    return inside
