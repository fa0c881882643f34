"""Operations of one plan matched with those of another by the graph: names may differ between conversions.

An operation is described by its kind together with all that it is computed from (``above``), and with all
that is computed from it (``below``)::

    base   a ─► b ─► c ─► d          above: a, b match            (the operation in between changes c and d)
    new    a ─► b ─► x ─► c ─► d     below: c, d match            (and it changes a and b)

Where only one operation on each side has a description, the two match; matched ones are then landmarks,
which describe their neighbours whatever lies behind them, until no further one matches. Two descriptions
that disagree, as in a row of equal layers of which one is missing, leave operations ambiguous, unless names
decide. An operation of a kind that the other side has none left of is taken out of the graph, which joins
its neighbours. The cost grows with the number of operations and edges.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from tracekit.mlmodels.plans.plan import PlannedOperation

Evidence: TypeAlias = Literal["graph", "order", "names"]
"""What operations are matched by: values between them, without these their order, without kinds names."""
_Graphs: TypeAlias = "tuple[_PlanGraph, _PlanGraph]"

_MAX_ROUNDS = 12
_MOST_MORE_EDGES = 8
"""Of an operation whose producers were taken out: edges shall not grow with the square of operations."""
_RADIUS = 2
"""Steps to the neighbours that describe an operation between two changes."""


@dataclass(frozen=True)
class Matching:
    """Positions of matched operations, and of those that more than one operation may match."""

    pairs: tuple[tuple[int, int], ...]
    ambiguous_base: tuple[int, ...] = ()
    ambiguous_new: tuple[int, ...] = ()


def match_operations(base: Sequence[PlannedOperation], new: Sequence[PlannedOperation]) -> Matching:
    """Match the operations of two functions, each in the order of its plan, without constants."""
    graphs = _build_graphs(base, new, choose_evidence(base, new))
    matched: dict[int, int] = {}
    for _ in range(_MAX_ROUNDS):
        candidates = _Counterparts(*graphs)
        candidates.add_all(_describe_by_cones(graphs, matched))
        pairs = candidates.select()
        if not pairs:
            candidates.add_all(_describe_by_neighbours(graphs, matched))
            pairs = candidates.select()
        matched |= pairs
        graphs[0].unmatched.difference_update(pairs)
        graphs[1].unmatched.difference_update(pairs.values())
        if not pairs and not _bypass_kinds_of_one_side(*graphs):
            break
    return Matching(
        tuple(sorted(matched.items())),
        graphs[0].list_ambiguous(candidates.contested_base),
        graphs[1].list_ambiguous(candidates.contested_new),
    )


def choose_evidence(base: Sequence[PlannedOperation], new: Sequence[PlannedOperation]) -> Evidence:
    """Return what both sides have to match operations by."""
    sides = (base, new)
    if not all(any(operation.kind for operation in side) for side in sides):
        return "names"
    return "graph" if all(any(operation.inputs for operation in side) for side in sides) else "order"


# The graph --------------------------------------------------------------------------------------------------


class _PlanGraph:
    """Operations by position: labels, names, the producers of their inputs, and consumers with the input.

    ``unmatched`` are those that can still be matched.
    """

    def __init__(self, labels: list[str], names: list[str], producers: list[list[int]]) -> None:
        self.labels = labels
        self.names = names
        self.unmatched = {position for position, label in enumerate(labels) if label}
        self.set_producers(producers)

    def set_producers(self, producers: list[list[int]]) -> None:
        """Set the edges, each from an earlier operation to a later one."""
        self.producers = producers
        self.consumers: list[list[tuple[int, int]]] = [[] for _ in producers]
        for consumer, sources in enumerate(producers):
            for number, producer in enumerate(sources):
                self.consumers[producer].append((number, consumer))

    def list_ambiguous(self, contested: set[int]) -> tuple[int, ...]:
        """Return the contested ones among the unmatched operations, and those that nothing describes."""
        without_label = {position for position, label in enumerate(self.labels) if not label}
        return tuple(sorted((contested & self.unmatched) | without_label))

    def bypass(self, labels: set[str]) -> bool:
        """Join the neighbours of unmatched operations with these labels; return False without any."""
        skipped = {position for position in self.unmatched if self.labels[position] in labels}
        self.unmatched -= skipped
        producers: list[list[int]] = []
        for sources in self.producers:
            joined = (
                source
                for producer in sources
                for source in (producers[producer] if producer in skipped else (producer,))
            )
            producers.append([*islice(joined, len(sources) + _MOST_MORE_EDGES)])
        for position in skipped:
            producers[position] = []
        self.set_producers(producers)
        return bool(skipped)


def _bypass_kinds_of_one_side(base: _PlanGraph, new: _PlanGraph) -> bool:
    """Take out operations that match none, because the other side has none of their kind left."""
    labels = [{graph.labels[position] for position in graph.unmatched} for graph in (base, new)]
    changes = [base.bypass(labels[0] - labels[1]), new.bypass(labels[1] - labels[0])]
    return any(changes)


def _build_graphs(
    base: Sequence[PlannedOperation], new: Sequence[PlannedOperation], evidence: Evidence
) -> _Graphs:
    """Build both graphs in the same way; by their order, operations are a chain."""
    sides = (base, new)
    if evidence == "graph":
        edges = [_list_producers(side) for side in sides]
    else:
        is_chain = evidence == "order"
        edges = [[[row - 1] if row and is_chain else [] for row in range(len(side))] for side in sides]
    graphs = [
        _PlanGraph(
            [_label(operation, evidence) for operation in side],
            [operation.name for operation in side],
            producers,
        )
        for side, producers in zip(sides, edges, strict=True)
    ]
    return graphs[0], graphs[1]


def _list_producers(operations: Sequence[PlannedOperation]) -> list[list[int]]:
    """Return the earlier operations that each one takes a value from, in the order of its inputs.

    Inputs of the function and constants are left out: not every form of a plan has them.
    """
    positions: dict[str, int] = {}
    producers = []
    for position, operation in enumerate(operations):
        producers.append([positions[name] for name in operation.inputs if name in positions])
        positions.update(dict.fromkeys(operation.outputs, position))
    return producers


def _label(operation: PlannedOperation, evidence: Evidence) -> str:
    """Return the kind without its operator set; without kinds, the source and a name that is no number."""
    if evidence != "names":
        return operation.kind.rpartition(".")[2]
    name = "" if operation.name.isdecimal() else operation.name
    return " ".join(filter(None, (operation.source, name)))


# Descriptions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Description:
    """A number for each operation of either side, equal for equal descriptions; None where it is too weak."""

    base: list[int | None]
    new: list[int | None]


_Numbers: TypeAlias = dict[Hashable, int]
"""Numbers of descriptions: ``numbers.setdefault(description, len(numbers))`` finds or adds one."""


def _describe_by_cones(graphs: _Graphs, matched: dict[int, int]) -> Iterator[_Description]:
    """Yield the descriptions above and below together, above, and below."""
    numbers: _Numbers = {}
    sides = list(zip(graphs, _mark_landmarks(matched), strict=True))
    above = [_describe_above(graph, marks, numbers) for graph, marks in sides]
    below = [_describe_below(graph, marks, numbers) for graph, marks in sides]
    whole: list[list[int | None]] = [
        [numbers.setdefault(("whole", *pair), len(numbers)) for pair in zip(*side, strict=True)]
        for side in zip(above, below, strict=True)
    ]
    yield _Description(*whole)
    yield _Description(*_without_weak(above, [graph.producers for graph in graphs]))
    yield _Description(*_without_weak(below, [graph.consumers for graph in graphs]))


def _describe_by_neighbours(graphs: _Graphs, matched: dict[int, int]) -> Iterator[_Description]:
    numbers: _Numbers = {}
    near: list[list[int | None]] = [
        [*_describe_near(graph, marks, numbers)]
        for graph, marks in zip(graphs, _mark_landmarks(matched), strict=True)
    ]
    yield _Description(*near)


def _mark_landmarks(matched: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the number of each matched operation, by its position on either side."""
    return {base: base for base in matched}, {new: base for base, new in matched.items()}


def _without_weak(
    descriptions: Sequence[Sequence[int]], edges: Sequence[Sequence[Sequence[object]]]
) -> Iterator[list[int | None]]:
    """Leave out operations that have no edge, unless there is one such operation on each side.

    Of these the description holds nothing but the kind.
    """
    has_one = all(sum(not edge for edge in side) == 1 for side in edges)
    for numbers, side in zip(descriptions, edges, strict=True):
        yield [number if edge or has_one else None for number, edge in zip(numbers, side, strict=True)]


def _describe_above(graph: _PlanGraph, marks: dict[int, int], numbers: _Numbers) -> list[int]:
    described: list[int] = []
    for position, (label, producers) in enumerate(zip(graph.labels, graph.producers, strict=True)):
        description: Hashable = (
            ("mark", marks[position])
            if position in marks
            else ("above", label, tuple(described[producer] for producer in producers))
        )
        described.append(numbers.setdefault(description, len(numbers)))
    return described


def _describe_below(graph: _PlanGraph, marks: dict[int, int], numbers: _Numbers) -> list[int]:
    described = [0] * len(graph.labels)
    for position in range(len(described) - 1, -1, -1):
        description: Hashable = (
            ("mark", marks[position])
            if position in marks
            else ("below", graph.labels[position], _list_uses(graph, position, described))
        )
        described[position] = numbers.setdefault(description, len(numbers))
    return described


def _describe_near(graph: _PlanGraph, marks: dict[int, int], numbers: _Numbers) -> list[int]:
    """Describe operations by their neighbours within a few steps, as Weisfeiler and Lehman do."""
    described: list[int] = []
    for position, label in enumerate(graph.labels):
        description: Hashable = ("mark", marks[position]) if position in marks else ("kind", label)
        described.append(numbers.setdefault(description, len(numbers)))
    for _ in range(_RADIUS):
        wider = []
        for position, producers in enumerate(graph.producers):
            inputs = tuple(described[producer] for producer in producers)
            description = ("near", described[position], inputs, _list_uses(graph, position, described))
            wider.append(numbers.setdefault(description, len(numbers)))
        described = wider
    return described


def _list_uses(graph: _PlanGraph, position: int, described: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the descriptions of the consumers, each with the number of its input, in any fixed order."""
    uses = [(number, described[consumer]) for number, consumer in graph.consumers[position]]
    return tuple(sorted(uses) if len(uses) > 1 else uses)


# Candidates -------------------------------------------------------------------------------------------------


class _Counterparts:
    """Pairs that descriptions suggest among the operations that are not matched yet."""

    def __init__(self, base: _PlanGraph, new: _PlanGraph) -> None:
        self._base, self._new = base, new
        self._by_base: dict[int, set[int]] = {}
        self._by_new: dict[int, set[int]] = {}
        self.contested_base: set[int] = set()
        self.contested_new: set[int] = set()
        """Operations that share a description with several of the other side, or with different ones."""

    def add_all(self, descriptions: Iterable[_Description]) -> None:
        """Add the pairs of several descriptions."""
        for description in descriptions:
            self._add(description)

    def _add(self, description: _Description) -> None:
        """Add the pairs that are alone with a description on both sides, or alone with it and their name."""
        base = _group(self._base.unmatched, description.base)
        new = _group(self._new.unmatched, description.new)
        for number in base.keys() & new.keys():
            here, there = base[number], new[number]
            self.contested_base.update(here)
            self.contested_new.update(there)
            if len(here) == len(there) == 1:
                self._add_pair(here[0], there[0])
                continue
            by_name = _find_unique(here, self._base.names), _find_unique(there, self._new.names)
            for name in by_name[0].keys() & by_name[1].keys():
                self._add_pair(by_name[0][name], by_name[1][name])

    def select(self) -> dict[int, int]:
        """Return the pairs that no other pair contradicts, or whose names decide."""
        selected = {}
        for base, candidates in self._by_base.items():
            if new := self._choose(base, candidates):
                selected[base] = new[0]
        return selected

    def _choose(self, base: int, candidates: set[int]) -> list[int]:
        """Return the candidate in a list, which is empty where none is certain."""
        (new,) = candidates if len(candidates) == 1 else (None,)
        if new is not None and len(self._by_new[new]) == 1:
            return [new]
        name = self._base.names[base]
        return [
            candidate
            for candidate in candidates
            if name
            and self._new.names[candidate] == name
            and sum(self._new.names[other] == name for other in candidates) == 1
            and sum(self._base.names[rival] == name for rival in self._by_new[candidate]) == 1
        ]

    def _add_pair(self, base: int, new: int) -> None:
        self._by_base.setdefault(base, set()).add(new)
        self._by_new.setdefault(new, set()).add(base)


def _group(positions: Iterable[int], numbers: Sequence[int | None]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for position in positions:
        number = numbers[position]
        if number is not None:
            groups.setdefault(number, []).append(position)
    return groups


def _find_unique(positions: Iterable[int], names: Sequence[str]) -> dict[str, int]:
    """Return the positions by name, of names that one of them has."""
    groups: dict[str, list[int]] = {}
    for position in positions:
        groups.setdefault(names[position], []).append(position)
    return {name: group[0] for name, group in groups.items() if name and len(group) == 1}
