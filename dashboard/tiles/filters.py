"""Filters of samples, with the grammar and meaning of the page's ``filter.js``.

All terms must match. ``word``, ``"two words"``, ``-word`` for not, ``a,b`` for either, and ``thread:``,
``engine:``, ``phase:``, ``window:``, ``binary:`` for one property. tests/filter_cases.json tests both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.tiles.sample_columns import Bools, Ints, SampleColumns, SampleGroup
from tracekit.model.vocabulary import ENGINES, PHASES
from tracekit.report.viewmodel.tree import ROOT

_KEYS = ("thread", "engine", "phase", "window", "binary")
_BLANK = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""The white space of JavaScript."""
_TERM = re.compile(rf'(-?)(?:([a-z]+):)?((?:"[^"]*"?|[^{_BLANK}"])*)', re.IGNORECASE)
_ALTERNATIVE = re.compile(r'(?:"[^"]*"?|[^,"])+')
_NUMBERS = re.compile(r"([0-9]+)(?:-([0-9]+))?")


@dataclass(frozen=True)
class Term:
    """A term: one of the values must match, or none if it is negated. Values are in lower case.

    The key "" matches threads, symbols and binaries.
    """

    key: str
    values: tuple[str, ...]
    is_negated: bool


def parse_filter(text: str) -> list[Term]:
    """Return a filter's terms; every text is a valid filter."""
    terms = []
    for minus, prefix, body in _TERM.findall(text):
        key = prefix.lower()
        is_key = key in ("", *_KEYS)
        values = _alternatives(body if is_key else f"{prefix}:{body}")
        if values:
            terms.append(Term(key if is_key else "", values, minus == "-"))
    return terms


def _alternatives(text: str) -> tuple[str, ...]:
    parts = (part.replace('"', "").lower() for part in _ALTERNATIVE.findall(text))
    return tuple(part for part in parts if part)


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
    of_time = [term for term in terms if term.key == "window"]
    call_terms = [(_MATCHERS[term.key](samples, term.values), term) for term in terms if term.key != "window"]
    windows = [(_window_edges(samples, term.values), term) for term in of_time]
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


def _window_edges(samples: SampleColumns, values: Sequence[str]) -> Ints:
    """Return alternating starts and ends of the union of windows, selected by number or part of a name."""
    count = len(samples["window_start"])
    named = _with(samples.window_names, values)
    selected = named[samples["window_label"]] | named[samples["window_model"]]
    for value in values:
        if match := _NUMBERS.fullmatch(value):
            first = min(int(match[1]), count)
            selected[first : min(int(match[2] or match[1]), count) + 1] = True
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
