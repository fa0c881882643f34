"""A chain of transforms, applied to the call tree of all stacks: the page's ``transform_tree.js`` on arrays.

Each step says for every node where it goes: to itself if it stays, into the node above it that takes its
place, or out. Then siblings of one function become one node, depth by depth::

    main ─ a ─ b        charge a:      main ─ b
         └ b                     (a goes into main; both b have one caller and become one)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dashboard.tiles.chain import Step, function_key, library_key
from dashboard.tiles.sample_columns import Bools, Ints, SampleColumns
from tracekit.analysis.call_tree import ROOT
from tracekit.report.viewmodel.tree import CUT_OFF, SYSTEM

DROPPED = -2
LESS = "(less)"
_HIDDEN = "(only hidden frames)"
_MOST_LIBRARIES = 200
_MIX = 2_654_435_761
_WORD = (1 << 32) - 1


@dataclass(frozen=True)
class Functions:
    """Functions by number, each with the row of its library and its key; after ``own`` ones, added ones."""

    own: int
    symbols: tuple[str, ...]
    libraries: tuple[str, ...]
    library: Ints
    keys: Ints

    def texts(self, function: int) -> tuple[str, str]:
        """Return symbol and library of a function."""
        return self.symbols[function], self.libraries[int(self.library[function])]

    def added(self, texts: Sequence[tuple[str, str]]) -> tuple[Functions, list[int]]:
        """Return the functions with those of these symbols and libraries, and their numbers."""
        numbers = {
            (symbol, self.libraries[row]): self.own + index
            for index, (symbol, row) in enumerate(
                zip(self.symbols[self.own :], self.library[self.own :].tolist(), strict=True)
            )
        }
        new = [text for text in dict.fromkeys(texts) if text not in numbers]
        numbers |= {text: len(self.symbols) + index for index, text in enumerate(new)}
        rows = {name: row for row, name in enumerate(self.libraries)}
        for _, name in new:
            rows.setdefault(name, len(rows))
        functions = Functions(
            self.own,
            (*self.symbols, *(symbol for symbol, _ in new)),
            tuple(rows),
            np.append(self.library, np.array([rows[name] for _, name in new], np.int64)),
            np.append(self.keys, np.array([function_key(*text) for text in new], np.int64)),
        )
        return functions, [numbers[text] for text in texts]


@dataclass(frozen=True)
class TransformedTree:
    """A call tree, nodes depth by depth from each of ``levels`` to the next.

    ``place`` is the node of each node of the recording's tree, ``DROPPED`` if its samples are. ``names`` has
    for each step the name of its function or library, "" for none, and None if the recording has no such.
    """

    parent: Ints
    function: Ints
    flags: Ints
    levels: tuple[int, ...]
    functions: Functions
    place: Ints
    names: tuple[str | None, ...] = ()

    @property
    def nbytes(self) -> int:
        """The size in memory, roughly."""
        return 8 * (3 * len(self.parent) + len(self.place) + 20 * len(self.functions.symbols))


@dataclass(frozen=True)
class _Plan:
    """Where nodes go: ``into`` is a node at or above each, ``ROOT`` for nothing above, or ``DROPPED``."""

    into: Ints
    above: Ints | None = None
    function: Ints | None = None
    functions: Functions | None = None
    drops_leaf: Bools | None = None


def recorded(samples: SampleColumns) -> TransformedTree:
    """Return the recording's call tree as it is, each node in its place."""
    row = samples["text_of"].tolist()
    binary = samples["function_binary"].tolist()
    texts = [
        (samples.symbols[index], samples.binaries[binary[index]]) if index >= 0 else (LESS, "")
        for index in row
    ]
    rows = {name: index for index, name in enumerate(dict.fromkeys(name for _, name in texts))}
    functions = Functions(
        len(texts),
        tuple(symbol for symbol, _ in texts),
        tuple(rows),
        np.array([rows[name] for _, name in texts], np.int64),
        np.array([function_key(*text) for text in texts], np.int64),
    )
    functions, _ = functions.added([(LESS, "")])
    parent, function, flags = (
        samples[f"tree_{name}"].astype(np.int64) for name in ("parent", "function", "flags")
    )
    return TransformedTree(parent, function, flags, (), functions, np.arange(len(parent)))


def after(tree: TransformedTree, step: Step) -> TransformedTree:
    """Return the tree after one more step."""
    name: str | None = ""
    subject = 0
    if step.key is not None:
        subject, name = _subject(tree, step)
    if name is None:
        return replace(tree, names=(*tree.names, None))
    result = _rebuilt(tree, _PLANS[step.kind](tree, subject, step.path or 0))
    place = np.where(tree.place >= 0, np.append(result.place, 0)[np.maximum(tree.place, ROOT)], tree.place)
    return replace(result, place=place, names=(*tree.names, name))


def _subject(tree: TransformedTree, step: Step) -> tuple[int, str | None]:
    """Return the number of the step's function or library and its name, None for a name that is not there."""
    functions = tree.functions
    if step.is_of_library:
        used = np.unique(functions.library).tolist()
        rows = [row for row in used if library_key(functions.libraries[row]) == step.key]
        return (rows[0], functions.libraries[rows[0]]) if rows else (0, None)
    found = np.flatnonzero(functions.keys == step.key)
    return (int(found[0]), functions.symbols[int(found[0])]) if len(found) else (0, None)


def _focus(tree: TransformedTree, subject: int, _path: int) -> _Plan:
    return _only_inside(tree, tree.function == subject)


def _subtree(tree: TransformedTree, subject: int, path: int) -> _Plan:
    return _only_inside(tree, (_path_keys(tree) == path) & (tree.function == subject))


def _only_inside(tree: TransformedTree, top: Bools) -> _Plan:
    inside = _below(tree.parent, top)
    above = np.where((tree.parent >= 0) & inside[tree.parent], tree.parent, ROOT)
    return _Plan(np.where(inside, np.arange(len(inside)), DROPPED), above)


def _self(tree: TransformedTree, subject: int, _path: int) -> _Plan:
    return _Plan(np.arange(len(tree.parent)), drops_leaf=tree.function != subject)


def _drop(tree: TransformedTree, subject: int, _path: int) -> _Plan:
    inside = _below(tree.parent, tree.function == subject)
    return _Plan(np.where(inside, DROPPED, np.arange(len(inside))))


def _charge(tree: TransformedTree, subject: int, _path: int) -> _Plan:
    return _without(tree, tree.function == subject)


def _charge_library(tree: TransformedTree, subject: int, _path: int) -> _Plan:
    return _without(tree, tree.functions.library[tree.function] == subject)


def _system(tree: TransformedTree, _subject: int, _path: int) -> _Plan:
    return _without(tree, (tree.flags & SYSTEM) != 0)


def _without(tree: TransformedTree, gone: Bools) -> _Plan:
    gone = gone & ((tree.flags & CUT_OFF) == 0)
    return _Plan(np.where(gone, tree.parent, np.arange(len(gone))))


def _flat(tree: TransformedTree, _subject: int, _path: int) -> _Plan:
    repeats = (tree.parent >= 0) & (tree.function[tree.parent] == tree.function)
    return _Plan(np.where(repeats, tree.parent, np.arange(len(repeats))))


def _recursion(tree: TransformedTree, subject: int, _path: int) -> _Plan:
    nodes = np.arange(len(tree.parent))
    # The outermost call of the function at or above each node: each round looks twice as far up.
    first = np.append(np.where(tree.function == subject, nodes, ROOT), ROOT)
    ancestor = np.append(tree.parent, ROOT)
    while (ancestor >= 0).any():
        first = np.where(first[ancestor] >= 0, first[ancestor], first)
        ancestor = ancestor[ancestor]
    return _Plan(np.where(tree.function == subject, first[:-1], nodes))


def _collapse_library(tree: TransformedTree, subject: int, _path: int) -> _Plan:
    inside = tree.functions.library[tree.function] == subject
    name = tree.functions.libraries[subject]
    functions, (number,) = tree.functions.added([(f"({name})", name)])
    repeats = inside & (tree.parent >= 0) & inside[tree.parent]
    into = np.where(repeats, tree.parent, np.arange(len(inside)))
    return _Plan(into, function=np.where(inside, number, tree.function), functions=functions)


_PLANS: dict[str, Callable[[TransformedTree, int, int], _Plan]] = {
    "focus": _focus,
    "subtree": _subtree,
    "self": _self,
    "drop": _drop,
    "charge": _charge,
    "charge-lib": _charge_library,
    "collapse-lib": _collapse_library,
    "recursion": _recursion,
    "flat": _flat,
    "system": _system,
}


def _below(parent: Ints, top: Bools) -> Bools:
    """Mark the marked nodes and those below them."""
    inside: Bools = np.append(top, False)
    ancestor = np.append(parent, ROOT)
    while (ancestor >= 0).any():
        inside |= inside[ancestor]
        ancestor = ancestor[ancestor]
    return inside[:-1]


def _depths(parent: Ints) -> Ints:
    """Return the number of nodes above each."""
    depth = np.append((parent >= 0).astype(np.int64), 0)
    ancestor = np.append(parent, ROOT)
    while (ancestor >= 0).any():
        depth += depth[ancestor]
        ancestor = ancestor[ancestor]
    return depth[:-1]


def _by_level(parent: Ints) -> list[Ints]:
    """Return the nodes of each depth."""
    depth = _depths(parent)
    order = np.argsort(depth, kind="stable")
    borders = np.searchsorted(depth[order], np.arange(int(depth.max(initial=-1)) + 2))
    return [order[start:end] for start, end in pairwise(borders.tolist())]


def _path_keys(tree: TransformedTree) -> Ints:
    """Return the key of the path to each node, as ``pathKey`` of the page computes it."""
    function = tree.functions.keys.astype(np.uint64)[tree.function]
    keys = np.zeros(len(tree.parent) + 1, np.uint64)  # the last entry is above roots
    for nodes in _by_level(tree.parent):
        above = keys[tree.parent[nodes]]
        keys[nodes] = ((above + np.uint64(1)) * np.uint64(_MIX) & np.uint64(_WORD)) ^ function[nodes]
    return keys[:-1].astype(np.int64)


def _rebuilt(tree: TransformedTree, plan: _Plan) -> TransformedTree:
    """Return the tree of the nodes that stay; ``place`` is that of each node of ``tree``."""
    count = len(tree.parent)
    # Nodes go into nodes that go into others: followed twice as far each round. Two more entries stand for
    # ``ROOT`` and ``DROPPED``.
    into = np.concatenate([np.where(plan.into >= 0, plan.into, count - 1 - plan.into), [count, count + 1]])
    while (into[into] != into).any():
        into = into[into]
    stays = into[:count] == np.arange(count)
    number = np.append(np.cumsum(stays) - 1, [ROOT, DROPPED])
    above = (tree.parent if plan.above is None else plan.above)[stays]
    parent = np.where(above >= 0, number[into[above]], ROOT)
    function = (tree.function if plan.function is None else plan.function)[stays]
    place = number[into[:count]]
    parent, function, functions, place = _with_hidden(
        tree, parent, function, plan.functions or tree.functions, place
    )
    added = np.zeros(len(parent) - int(stays.sum()), np.int64)
    result = _merged(parent, function, np.append(tree.flags[stays], added), functions)
    place = np.where(place >= 0, np.append(result.place, 0)[np.maximum(place, ROOT)], place)
    if plan.drops_leaf is not None:
        place = np.where(plan.drops_leaf, DROPPED, place)
    return replace(result, place=place)


def _with_hidden(
    tree: TransformedTree, parent: Ints, function: Ints, functions: Functions, place: Ints
) -> tuple[Ints, Ints, Functions, Ints]:
    """Give what has no caller left a place below one root, by library."""
    hidden = place == ROOT
    if not hidden.any():
        return parent, function, functions, place
    root = len(parent)
    library = tree.functions.library[tree.function]
    first_at = np.unique(library[hidden], return_index=True)
    listed = first_at[0][np.argsort(first_at[1])][:_MOST_LIBRARIES]
    names = [tree.functions.libraries[row] for row in listed.tolist()]
    functions, numbers = functions.added([(_HIDDEN, ""), *((f"({name})", name) for name in names)])
    node_of = np.full(len(tree.functions.libraries), root, np.int64)
    node_of[listed] = root + 1 + np.arange(len(listed))
    return (
        np.concatenate([parent, [ROOT], np.full(len(listed), root)]),
        np.concatenate([function, np.array(numbers, np.int64)]),
        functions,
        np.where(hidden, node_of[library], place),
    )


def _merged(parent: Ints, function: Ints, flags: Ints, functions: Functions) -> TransformedTree:
    """Return the tree in which siblings of one function are one node; ``place`` is where each node went."""
    number = np.full(len(parent) + 1, ROOT, np.int64)
    parts: list[tuple[Ints, Ints, Ints]] = []
    borders = [0]
    for nodes in _by_level(parent):
        key = (number[parent[nodes]] + 1) * len(functions.symbols) + function[nodes]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        chosen = nodes[first]
        parts.append((number[parent[chosen]], function[chosen], flags[chosen]))
        number[nodes] = borders[-1] + inverse
        borders.append(borders[-1] + len(first))
    empty = np.zeros(0, np.int64)
    return TransformedTree(
        np.concatenate([empty, *(part[0] for part in parts)]),
        np.concatenate([empty, *(part[1] for part in parts)]),
        np.concatenate([empty, *(part[2] for part in parts)]),
        tuple(borders),
        functions,
        number[:-1],
    )
