"""``Comparison``: everything that two sides say of each other, from which every output is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tracekit.comparison.observations import Unit

Judgement: TypeAlias = Literal["higher", "lower", "within the noise", "too few to tell", "not measurable"]
GroupKind: TypeAlias = Literal["all", "kind", "model"]
Change: TypeAlias = Literal["appeared", "vanished", "grew", "shrank"]


@dataclass(frozen=True)
class Recorded:
    """One run of a side: where it comes from, and what could explain a difference."""

    name: str
    run: int
    process: str
    device: str
    os: str
    template: str
    instruments: str
    samples_source: str
    period_ns: int | None
    selection: str
    thermal: str
    windows: int
    window_sources: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Side:
    """The runs of one side, and how their windows' verdicts add up."""

    runs: tuple[Recorded, ...]
    windows: int
    verdicts: dict[str, int]


@dataclass(frozen=True)
class Caution:
    """Something that may explain a difference, or that limits what the comparison can say."""

    code: str
    message: str


@dataclass(frozen=True)
class Value:
    """One side of a row: None where it is not measurable, and then why.

    ``count`` windows (or runs) of the ``total`` that there are show it. A share is of all windows, so with
    windows that tell no engine it lies from ``value`` to ``most``.
    """

    value: float | None
    count: int
    total: int
    basis: str = ""
    missing: str = ""
    most: float | None = None

    @property
    def is_partial(self) -> bool:
        """True where the number is of some of the windows, and the others may have any."""
        return self.value is not None and self.most is None and self.count < self.total

    @property
    def highest(self) -> float:
        """The most that the number can be."""
        return (self.value or 0.0) if self.most is None else self.most


@dataclass(frozen=True)
class Difference:
    """One number on both sides; ``difference`` is new minus base, in ``unit``.

    ``low`` and ``high`` are the 95 % interval of the difference; None where there are too few to tell, or
    where a side shows nothing.
    """

    metric: str
    unit: Unit
    base: Value
    new: Value
    difference: float | None
    low: float | None
    high: float | None
    judgement: Judgement

    @property
    def ratio(self) -> float | None:
        """The difference as a part of the base."""
        if self.difference is None or not self.base.value:
            return None
        return self.difference / self.base.value


@dataclass(frozen=True)
class Group:
    """The rows of all windows, of one kind of windows (``source`` and ``name``), or of one model.

    ``also`` are the groups (kind, name, source) of the very same windows, which are not repeated.
    """

    kind: GroupKind
    name: str
    source: str
    base_windows: int
    new_windows: int
    rows: tuple[Difference, ...]
    also: tuple[tuple[GroupKind, str, str], ...] = ()

    @property
    def also_names(self) -> tuple[str, ...]:
        """The names that ``also`` has, once each."""
        return tuple(dict.fromkeys(name for _, name, _ in self.also))

    def row(self, metric: str) -> Difference | None:
        """Return the row of a metric."""
        return next((row for row in self.rows if row.metric == metric), None)


@dataclass(frozen=True)
class FunctionChange:
    """The sampled weight per window of a function, by the engine that its samples work for.

    The function is the frame that decided the engine, else the leaf.
    """

    binary: str
    symbol: str
    engine: str
    change: Change
    row: Difference


@dataclass(frozen=True)
class OneSided:
    """A kind of windows, or a model, that only one side has."""

    kind: GroupKind
    name: str
    source: str
    side: Literal["base", "new"]
    windows: int


@dataclass(frozen=True)
class Comparison:
    """Two sides of analysed runs and their differences; ``groups`` begins with all windows.

    ``functions`` are those that changed beyond the noise, the largest change first; ``functions_missing``
    says why they cannot be compared. ``groups_left_out`` counts small groups beyond a sensible number.
    """

    base: Side
    new: Side
    cautions: tuple[Caution, ...]
    groups: tuple[Group, ...]
    preparing: tuple[Difference, ...]
    functions: tuple[FunctionChange, ...]
    one_sided: tuple[OneSided, ...] = ()
    functions_missing: str = ""
    groups_left_out: int = 0

    def rows(self, group: Group) -> Iterator[Difference]:
        """Yield a group's rows, with those of whole runs where the group is all windows."""
        yield from group.rows
        if group.kind == "all":
            yield from self.preparing
