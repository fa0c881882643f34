"""``Comparison``: the differences between two sides of analysed runs, from which every output is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tracekit.analysis.budget.parts import BudgetPart
from tracekit.analysis.findings.answer import Answer
from tracekit.analysis.findings.finding import Finding
from tracekit.analysis.findings.kind import Kind
from tracekit.comparison.estimates import POWER, Estimate, Tested
from tracekit.comparison.grid import Grid
from tracekit.comparison.quantities import Unit
from tracekit.comparison.samples import SampleShare
from tracekit.model.trace import TraceInfo
from tracekit.statistics.share_intervals import LEVEL
from tracekit.text import plural, printable

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis

Judgement: TypeAlias = Literal[
    "higher",
    "lower",
    "higher in these recordings",
    "lower in these recordings",
    "within the noise",
    "too few to tell",
    "on a grid",
    "spread not given",
    "not tested",
    "not measurable",
]
GroupKind: TypeAlias = Literal["all", "kind", "model"]
Change: TypeAlias = Literal["appeared", "vanished", "grew", "shrank"]
FindingTrend: TypeAlias = Literal[
    "appeared", "vanished", "grew", "shrank", "on one side", "on both sides", "not comparable"
]


MIN_CHANGE = 0.01
"""The smallest change of a length (of a share of late calls, in points / 100) that counts as one."""


@dataclass(frozen=True)
class RunDescription:
    """One run of a side: where and how it was recorded, as far as that could explain a difference."""

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
    answer: Answer


@dataclass(frozen=True)
class Side:
    """The runs of one side, and the number of windows per verdict."""

    runs: tuple[RunDescription, ...]
    windows: int
    verdicts: dict[str, int]


@dataclass(frozen=True)
class Caution:
    """A condition that may explain a difference, or that limits the comparison.

    The keys of ``facts`` belong to the code; ``report.comparison.cautions`` has a sentence for each.
    """

    code: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """One side of a row; where it is not measurable, None and the reason in ``missing``.

    ``count`` of ``total`` windows (or runs) show it. A share is of all windows: with windows of unknown
    engine it lies between ``value`` and ``most``. ``runs`` has the value of each run that has one; with
    several,
    ``value`` is their mean (of times, the geometric mean).
    """

    value: float | None
    count: int
    total: int
    basis: str = ""
    missing: str = ""
    most: float | None = None
    runs: tuple[float, ...] = ()

    @property
    def spread(self) -> float | None:
        """The standard deviation of the runs' values as a fraction of their mean; None for fewer than two."""
        if len(self.runs) < 2 or not self.value:
            return None
        return stdev(self.runs) / abs(fmean(self.runs))

    @property
    def is_partial(self) -> bool:
        """True where only some of the windows have a number, and the others may have any."""
        return self.value is not None and self.most is None and self.count < self.total

    @property
    def highest(self) -> float:
        """The most that the number can be."""
        return (self.value or 0.0) if self.most is None else self.most


@dataclass(frozen=True)
class Difference:
    """One number on both sides; ``difference`` is new minus base, in ``unit``.

    ``low`` and ``high`` are the interval of the difference at ``level``; None where there are too few values,
    where lengths are on a grid, or where a side has no number. ``relative_low`` and ``relative_high`` are the
    same as fractions of the base. ``tested`` is the variation that the interval covers; ``estimate`` is None
    for shares of windows.
    """

    metric: str
    unit: Unit
    base: Value
    new: Value
    difference: float | None
    low: float | None
    high: float | None
    judgement: Judgement
    relative_low: float | None = None
    relative_high: float | None = None
    tested: Tested | None = None
    level: float = LEVEL
    estimate: Estimate | None = field(default=None, repr=False)

    @property
    def smallest(self) -> float | None:
        """The change that four of five such comparisons would show: a fraction of the base for times."""
        if self.estimate is not None:
            return self.estimate.compute_smallest(self.level)
        if self.low is None or self.high is None:
            return None
        quantile = NormalDist().inv_cdf((1 + self.level) / 2)
        return (self.high - self.low) / 2 * (quantile + NormalDist().inv_cdf(POWER)) / quantile

    @property
    def drift(self) -> float | None:
        """The change of both sides over runs in turn, as a fraction, where it is taken out; else None."""
        return None if self.estimate is None else self.estimate.drift

    @property
    def ratio(self) -> float | None:
        """The difference as a fraction of the base."""
        if self.difference is None or not self.base.value:
            return None
        return self.difference / self.base.value


@dataclass(frozen=True)
class Group:
    """The rows of all windows, of one kind of windows (``source`` and ``name``), or of one model.

    ``also`` lists the groups (kind, name, source) of exactly the same windows, which are not repeated.
    ``grid`` is that of its lengths, if they are on one.
    """

    kind: GroupKind
    name: str
    source: str
    base_windows: int
    new_windows: int
    rows: tuple[Difference, ...]
    also: tuple[tuple[GroupKind, str, str], ...] = ()
    grid: Grid | None = None

    @property
    def names(self) -> list[tuple[GroupKind, str]]:
        """Kind and name of the group and of those with exactly its windows."""
        return [(self.kind, self.name), *((kind, name) for kind, name, _ in self.also)]

    @property
    def also_names(self) -> tuple[str, ...]:
        """The distinct names in ``also``."""
        return tuple(dict.fromkeys(name for _, name, _ in self.also))

    def row(self, metric: str) -> Difference | None:
        """Return the row of a metric."""
        return next((row for row in self.rows if row.metric == metric), None)


@dataclass(frozen=True)
class FunctionChange:
    """The change of a function's sampled weight per window, by the engine that its samples work for.

    The function is the frame that decided the engine, else the leaf; the windows are those of ``model``, of
    all for "".
    """

    binary: str
    symbol: str
    engine: str
    change: Change
    row: Difference
    model: str = ""


@dataclass(frozen=True)
class FindingSide:
    """A finding on one side: ``found`` is the number of its ``runs`` that have it.

    ``unseen`` runs could not show it, ``reason`` is the first one's. ``lost_ns`` is the time lost per call of
    the model (per run where it is lost once) in each run that has the finding; empty where one does not
    carry it.
    """

    runs: int
    found: int
    unseen: int = 0
    reason: str = ""
    lost_ns: tuple[float, ...] = ()


@dataclass(frozen=True)
class FindingChange:
    """A finding, by kind and model, on both sides; ``finding`` is one of NEW's, else of BASE's.

    It appeared or vanished where an exact test of the runs that have it shows that; otherwise it is "on one
    side", or "on both sides". It grew where each run of NEW lost more time per call than any run of BASE, and
    the runs are too many for chance. ``recording`` is the one that has ``finding``.
    """

    kind: Kind[Any]
    model: str
    change: FindingTrend
    base: FindingSide
    new: FindingSide
    finding: Finding[Any]
    recording: TraceInfo


@dataclass(frozen=True)
class ModelLengths:
    """The rows that decide whether the calls of a model are slower or faster; "" are all calls.

    They are p50, p90 and mean; of lengths on a grid, the calls above a tick and the mean. ``energy`` has the
    energy of a call on each rail that both sides have, tested together with the lengths; ``engines`` are the
    shares of the calls by engine.
    """

    model: str
    rows: tuple[Difference, ...]
    energy: tuple[Difference, ...] = ()
    grid: Grid | None = None
    engines: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class FirstSentence:
    """The two claims of a comparison's first sentence, tested together at 5 %.

    ``lengths`` has the models that both sides have: their lengths are tested together at 4 % with their
    energy, the shares of their engines have intervals that leave 1 % for all of them together. ``left_out``
    are models that one side alone has, and "" for windows without one: the claims are about the windows of
    the others. ``untested_models`` are shared as well, and have fewer calls than those that are tested.
    """

    lengths: tuple[ModelLengths, ...] = ()
    left_out: tuple[str, ...] = ()
    untested_models: int = 0


@dataclass(frozen=True)
class PartChange:
    """One part of the calls of a model on both sides: its mean per call, and the difference."""

    part: BudgetPart
    row: Difference


@dataclass(frozen=True)
class ModelParts:
    """The parts of the calls of a model after its first, the one that grew most first.

    ``whole`` is the mean length, to which the parts sum on each side. The intervals of the parts, at
    ``level``, hold together at 95 %. ``missing`` is the reason where the parts cannot be compared.
    """

    model: str
    whole: Difference
    parts: tuple[PartChange, ...] = ()
    level: float = 0.95
    missing: str = ""


@dataclass(frozen=True)
class OneSided:
    """A kind of windows, or a model, that exists on one side only; ``rows`` are its p50 and shares there."""

    kind: GroupKind
    name: str
    source: str
    side: Literal["base", "new"]
    windows: int
    rows: tuple[Difference, ...] = ()


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two sides of analysed runs and their differences; ``groups`` begins with all windows.

    ``functions`` are those that changed, the largest change first: of all that were compared, at most 5 % of
    these are expected to be wrong. ``largest_functions`` are the largest other differences, not shown to be
    more than chance; ``functions_missing`` is the reason where functions cannot be compared, and
    ``functions_compared`` their number. ``run_noise`` is the given spread between runs by percentile,
    ``noise_runs`` the number of recordings that show it, ``noise_builds`` the number of their builds (0 where
    these were not given), ``session_noise`` the given spread between sessions, ``min_change`` the smallest
    change of a length that the first sentence reports as one.
    ``findings`` are those of either side, what appeared first; ``parts`` are those of the calls of each model
    that both sides have.
    ``without_times`` names the sides, BASE or NEW, whose samples have no times; where both have none,
    ``samples`` are the shares of samples.
    ``groups_left_out`` counts the smallest groups, beyond the number that is compared. ``base_analysis`` and
    ``new_analysis`` are each side's first recording.
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
    first_sentence: FirstSentence = FirstSentence()
    parts: tuple[ModelParts, ...] = ()
    findings: tuple[FindingChange, ...] = ()
    largest_functions: tuple[FunctionChange, ...] = ()
    functions_compared: int = 0
    run_noise: Mapping[str, float] = field(default_factory=dict)
    noise_runs: int = 0
    noise_builds: int = 0
    session_noise: float | None = None
    min_change: float = MIN_CHANGE
    without_times: tuple[str, ...] = ()
    samples: tuple[SampleShare, ...] = ()
    base_analysis: Analysis = field(compare=False, kw_only=True)
    new_analysis: Analysis = field(compare=False, kw_only=True)

    __hash__ = None  # type: ignore[assignment] # dictionaries can be changed in place

    def __repr__(self) -> str:
        sides = [
            f"{plural(side.windows, 'call')} of {printable(side.runs[0].name)}"
            + (f" and {len(side.runs) - 1} more" if len(side.runs) > 1 else "")
            for side in (self.base, self.new)
        ]
        return f"<Comparison: {' against '.join(sides)}>"

    def rows(self, group: Group) -> Iterator[Difference]:
        """Yield a group's rows; for the group of all windows, those of whole runs as well."""
        yield from group.rows
        if group.kind == "all":
            yield from self.preparing
