"""Groups of windows on both sides (all, each kind, each model), and their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tracekit.comparison.metrics import METRICS, GroupSide
from tracekit.comparison.observations import Observations
from tracekit.comparison.result import Group, GroupKind, OneSided
from tracekit.comparison.rows import Sides, iter_group_rows
from tracekit.comparison.run_metrics import iter_energy_rows, iter_request_rows
from tracekit.comparison.sessions import NOTHING_GIVEN, GivenSpread
from tracekit.model.columns import BoolArray

_MOST_GROUPS = 20
_MOST_MODELS = 20
"""Maximum number of models whose parts are compared."""
_OF_ONE_SIDE = [metric for metric in METRICS if metric.name == "p50" or metric.is_share_of_engine]
Runs: TypeAlias = Sequence[Observations]
Key: TypeAlias = tuple[GroupKind, str, str]
ALL: Key = ("all", "", "")


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of both sides, groups of recordings that show the noise, and what the rows are asked for."""

    base: Runs
    new: Runs
    noise: Sequence[Runs] = ()
    spread: GivenSpread = NOTHING_GIVEN
    deadlines_ns: Sequence[float] = ()

    @property
    def sides(self) -> tuple[Runs, Runs]:
        """BASE and NEW."""
        return self.base, self.new

    def select(self, key: Key) -> Sides:
        """Return the windows of a group."""
        base, new, *noise = (_build_side(runs, key) for runs in (self.base, self.new, *self.noise))
        return Sides(base, new, noise, self.spread, self.deadlines_ns)

    def iter_models(self) -> Iterator[tuple[str, Sides]]:
        """Yield the calls of each model that both sides have; without names, all calls are of one."""
        base, new = ({str(name) for run in side for name in run.model} for side in self.sides)
        for name in sorted(base & new)[:_MOST_MODELS]:
            key: Key = ("model", name, "") if name else ALL
            if name or base == new == {""}:
                yield name, self.select(key)


def build_groups(compared: ComparedRuns) -> tuple[tuple[Group, ...], tuple[OneSided, ...], int]:
    """Return the groups that both sides have, those of one side only, and the number of groups left out.

    The groups are all windows, each kind of windows, and each model. Groups of exactly the same windows (such
    as all windows and those of the only model) are merged.
    """
    by_windows: dict[bytes, Group] = {}
    one_sided: list[OneSided] = []
    keys: list[Key] = [ALL, *sorted(_list_keys(compared.base) | _list_keys(compared.new))]
    counts = {key: sum(_build_side(side, key).windows for side in compared.sides) for key in keys}
    largest = sorted(keys[1:], key=lambda key: (-counts[key], key))[:_MOST_GROUPS]
    for key in [keys[0], *sorted(largest)]:
        of_group = compared.select(key)
        pair = of_group.base, of_group.new
        empty = [not side.windows for side in pair]
        if key[0] != "all" and any(empty):
            filled = pair[empty.index(False)]
            rows = tuple(iter_group_rows(of_group, _OF_ONE_SIDE))
            one_sided.append(OneSided(*key, "new" if empty[0] else "base", filled.windows, rows))
            continue
        windows = b"".join(mask.tobytes() + b"|" for side in pair for mask in side.rows)
        if windows in by_windows:
            existing = by_windows[windows]
            by_windows[windows] = replace(existing, also=(*existing.also, key))
        else:
            rows = tuple(iter_group_rows(of_group, of_group.metrics))
            by_windows[windows] = Group(*key, pair[0].windows, pair[1].windows, rows, grid=of_group.grid)
    groups = tuple(_add_requests(_add_energy(group, compared), compared) for group in by_windows.values())
    return groups, tuple(one_sided), len(keys) - 1 - len(largest)


def _add_energy(group: Group, compared: ComparedRuns) -> Group:
    """Return the group with the energy of a call, which is of a model."""
    models = [name for kind, name in group.names if kind == "model"]
    if len(models) != 1:
        return group
    rows = iter_energy_rows(compared.base, compared.new, compared.noise, compared.spread, models[0])
    return replace(group, rows=(*group.rows, *rows))


def _add_requests(group: Group, compared: ComparedRuns) -> Group:
    """Return the group with the numbers of requests to its model; of all calls with those of all requests."""
    models = [name for kind, name in group.names if kind == "model"]
    if len(models) > 1 or (not models and group.kind != "all"):
        return group
    model = models[0] if models else None
    rows = iter_request_rows(compared.base, compared.new, compared.noise, compared.spread, model)
    return replace(group, rows=(*group.rows, *rows))


def _list_keys(side: Runs) -> set[Key]:
    kinds: set[Key] = {
        ("kind", str(label), str(source))
        for run in side
        for label, source in zip(run.label, run.source, strict=True)
    }
    return kinds | {("model", str(model), "") for run in side for model in run.model if model}


def _build_side(runs: Runs, key: Key) -> GroupSide:
    kind, name, source = key
    masks: dict[GroupKind, Callable[[Observations], BoolArray]] = {
        "all": lambda run: np.ones(run.count, bool),
        "kind": lambda run: np.asarray((run.label == name) & (run.source == source), bool),
        "model": lambda run: np.asarray(run.model == name, bool),
    }
    return GroupSide(runs, [masks[kind](run) for run in runs])
