"""Which samples a filter wants: the grammar and the meaning of the page's ``filter.js``.

Terms must all hold. ``word``, ``"two words"``, ``-word`` for not, ``a,b`` for either, and ``thread:``,
``engine:``, ``phase:``, ``window:``, ``binary:`` for where to look. tests/filter_cases.json holds both to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.tiles.columns import Bools, Group, Ints, Samples
from tracekit.model.vocabulary import ENGINES, PHASES

_KEYS = ("thread", "engine", "phase", "window", "binary")
_BLANK = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What JavaScript takes for white space."""
_TERM = re.compile(rf'(-?)(?:([a-z]+):)?((?:"[^"]*"?|[^{_BLANK}"])*)', re.IGNORECASE)
_ALTERNATIVE = re.compile(r'(?:"[^"]*"?|[^,"])+')
_NUMBERS = re.compile(r"([0-9]+)(?:-([0-9]+))?")


@dataclass(frozen=True)
class Term:
    """One of these values is found; or none, where it is negated. Values are in lower case.

    The key "" looks at threads, symbols and binaries.
    """

    key: str
    values: tuple[str, ...]
    is_negated: bool


def parse_filter(text: str) -> list[Term]:
    """Return a filter's terms; there is no text that is none."""
    terms = []
    for minus, prefix, rest in _TERM.findall(text):
        key = prefix.lower()
        known = key in ("", *_KEYS)
        values = _alternatives(rest if known else f"{prefix}:{rest}")
        if values:
            terms.append(Term(key if known else "", values, minus == "-"))
    return terms


def _alternatives(text: str) -> tuple[str, ...]:
    parts = (part.replace('"', "").lower() for part in _ALTERNATIVE.findall(text))
    return tuple(part for part in parts if part)


def row_mask(samples: Samples, terms: Sequence[Term]) -> Bools | None:
    """Return which rows fit, None for all of them where there is no term.

    The work is done for each call, lane and window; rows only look up what was found.
    """
    if not terms:
        return None
    of_time = [term for term in terms if term.key == "window"]
    rest = [(_MATCHERS[term.key](samples, term.values), term) for term in terms if term.key != "window"]
    windows = [(_window_edges(samples, term.values), term) for term in of_time]
    mask = np.zeros(samples.total, np.bool_)
    call = samples["call"]
    for lane, groups in enumerate(samples.groups_of_lanes):
        fits = np.ones(len(samples["call_stack"]), np.bool_)
        for (calls, lanes), term in rest:
            fits &= (calls | lanes[lane]) != term.is_negated
        if not fits.any():
            continue
        for group in groups:
            found = fits[call[group.first : group.end]]
            for edges, term in windows:
                found &= _inside(samples, group, edges) != term.is_negated
            mask[group.first : group.end] = found
    return mask


Matches = tuple[Bools, Bools]
"""For each call and for each lane; a row fits where either does."""


def _match_anything(samples: Samples, values: Sequence[str]) -> Matches:
    binary = _with(samples.binaries, values)[samples["function_binary"]]
    lanes = [_has(lane.label, values) or _has(lane.process, values) for lane in samples.lanes]
    return _calls_with(samples, _with(samples.symbols, values) | binary), np.array(lanes, np.bool_)


def _match_binary(samples: Samples, values: Sequence[str]) -> Matches:
    functions = _with(samples.binaries, values)[samples["function_binary"]]
    return _calls_with(samples, functions), np.zeros(len(samples.lanes), np.bool_)


def _match_thread(samples: Samples, values: Sequence[str]) -> Matches:
    lanes = [
        _has(lane.label, values) or _has(lane.process, values) or lane.tid in values for lane in samples.lanes
    ]
    return np.zeros(len(samples["call_stack"]), np.bool_), np.array(lanes, np.bool_)


def _match_engine(samples: Samples, values: Sequence[str]) -> Matches:
    wanted = np.array([engine.lower().startswith(tuple(values)) for engine in ENGINES])
    return wanted[samples["call_engine"]], np.zeros(len(samples.lanes), np.bool_)


def _match_phase(samples: Samples, values: Sequence[str]) -> Matches:
    wanted = np.array([name.startswith(tuple(values)) for name in (*PHASES, "none")])
    return wanted[samples["call_phase"]], np.zeros(len(samples.lanes), np.bool_)  # -1 is the last


_MATCHERS: dict[str, Callable[[Samples, Sequence[str]], Matches]] = {
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


def _calls_with(samples: Samples, functions: Bools) -> Bools:
    """Return the calls whose stack holds one of these functions."""
    found = np.concatenate([[0], np.cumsum(functions[samples["stack_function"]])])[samples["stack_offset"]]
    there: Bools = np.append(np.diff(found) > 0, False)[samples["call_stack"]]
    return there


def _window_edges(samples: Samples, values: Sequence[str]) -> Ints:
    """Return starts and ends in turn, apart from each other, of windows by number or part of a name."""
    count = len(samples["window_start"])
    named = _with(samples.window_names, values)
    wanted = named[samples["window_label"]] | named[samples["window_model"]]
    for value in values:
        if match := _NUMBERS.fullmatch(value):
            first = min(int(match[1]), count)
            wanted[first : min(int(match[2] or match[1]), count) + 1] = True
    wanted &= samples["window_start"] < samples["window_end"]
    order = np.argsort(samples["window_start"][wanted], kind="stable")
    starts, ends = samples["window_start"][wanted][order], samples["window_end"][wanted][order]
    reach = np.maximum.accumulate(ends)
    begins = np.append(True, starts[1:] > reach[:-1])[: len(starts)]
    return np.stack([starts[begins], reach[np.append(begins[1:], True)[: len(starts)]]], axis=1).reshape(-1)


def _inside(samples: Samples, group: Group, edges: Ints) -> Bools:
    time = samples["time"][group.first : group.end]
    places = np.concatenate([[0], np.searchsorted(time, edges), [len(time)]])
    inside: Bools = np.repeat(np.arange(len(places) - 1) % 2 == 1, np.diff(places))
    return inside
