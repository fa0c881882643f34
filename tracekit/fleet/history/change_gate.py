"""``fleet check``: requirements on the newest build of each app, and on the changes up to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracekit.checks.parser import parse_requirement
from tracekit.checks.requirements import Requirement
from tracekit.checks.results import Outcome
from tracekit.checks.tokenizer import Tokenizer
from tracekit.comparison.observations import is_named
from tracekit.errors import NotMeasurableError, UsageError
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.history.accepted import Accepted, read_accepted, write_accepted
from tracekit.fleet.history.build_series import History, SeriesKey, read_history
from tracekit.fleet.history.build_values import DeviceResult, evaluate_devices, require_supported
from tracekit.fleet.history.open_changes import OpenChange, find_open_changes, identify_change
from tracekit.fleet.history.series_changes import Changes, find_changes
from tracekit.frozen import frozen
from tracekit.text import printable

REGRESSIONS, CHANGES = "regressions", "changes"
_MAX_LISTED_BUILDS = 10


@frozen
class NoChanges:
    """No open change of a kind: for the worse, or any; of one model where a scope is given."""

    text: str
    kind: str
    scope: str = ""


@frozen
class ChangesResult:
    """The outcome of ``NoChanges``: the open changes, and how many series could show none."""

    requirement: NoChanges
    outcome: Outcome
    found: tuple[OpenChange, ...]
    series: int
    without_level: int


@frozen
class Gate:
    """Everything that was checked at ``builds``, the build of each app."""

    builds: dict[str, str]
    history: History
    changes: Changes
    of_changes: tuple[ChangesResult, ...]
    of_devices: tuple[DeviceResult, ...]

    @property
    def absent(self) -> list[SeriesKey]:
        """A series of each model and device that has no value of any metric at the build."""
        points = self.history.points
        last_build = np.array([len(self.history.builds.get(key.app, ())) - 1 for key in self.history.keys])
        series = points["series"].to_numpy(np.int64)
        present = np.unique(series[points["build"].to_numpy(np.int64) == last_build[series]])
        places = {_identify_place(self.history.keys[number]) for number in present}
        keys = {_identify_place(key): key for key in self.history.keys if key.app in self.builds}
        return [key for place, key in sorted(keys.items()) if place not in places]

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcome of each requirement, on each device."""
        return [
            *(result.outcome for result in self.of_changes),
            *(entry.result.outcome for entry in self.of_devices),
        ]


def _identify_place(key: SeriesKey) -> tuple[str, str, str, str]:
    return key.app, key.device, key.device_model, key.model


def parse_gate(text: str) -> NoChanges | Requirement:
    """Return a requirement of ``fleet check``. Raises ``UsageError`` that points at a mistake."""
    tokens = Tokenizer(text, "--require", "no regressions in MyModel")
    if tokens.take_if("no") and (word := tokens.take_if(REGRESSIONS, CHANGES)):
        scope = (
            tokens.take_name("the name of a model or call is missing after 'in'.")
            if tokens.take_if("in")
            else ""
        )
        if not tokens.ended:
            raise tokens.make_error("unexpected text; put a name with spaces in quotes.")
        return NoChanges(text.strip(), word, scope)
    requirement = parse_requirement(text)
    require_supported(requirement)
    return requirement


def check_fleet(
    dataset: Dataset,
    requirements: Sequence[NoChanges | Requirement],
    build: str | None = None,
    confidence: float = 0.95,
) -> Gate:
    """Check the requirements at a build, by default at the newest one of each app."""
    history = read_history(dataset)
    if build is not None:
        _require_build(history, build)
        history = history.cut_at(build)
    builds = {app: names[-1] for app, names in history.builds.items() if names}
    if not builds:
        raise NotMeasurableError(
            f"{printable(str(dataset.path))} has no analyzed recording with a build that has a place in an"
            " order, so nothing can be checked. Give builds as the label 'build', by tracekit fleet run"
            " --labels-from-name, --labels or --label."
        )
    changes = find_changes(history)
    accepted = read_accepted(dataset.path)
    entries = [entry for entry in requirements if isinstance(entry, NoChanges)]
    of_changes = [_judge_changes(history, changes, accepted, entry) for entry in entries]
    of_devices: list[DeviceResult] = []
    for requirement in requirements:
        if isinstance(requirement, Requirement):
            of_devices += evaluate_devices(dataset, builds, requirement, confidence)
    return Gate(builds, history, changes, tuple(of_changes), tuple(of_devices))


def accept_changes(dataset: Dataset, found: Sequence[OpenChange], history: History) -> None:
    """Accept changes as the new level."""
    places = {identify_change(history, entry.change) for entry in found}
    write_accepted(dataset.path, read_accepted(dataset.path) | places)


def _require_build(history: History, build: str) -> None:
    names = sorted({name for builds in history.builds.values() for name in builds})
    if build not in names:
        build_list = ", ".join(names[-_MAX_LISTED_BUILDS:])
        raise UsageError(f"There is no build {build} in the dataset; it has {build_list or 'none'}.")


def _judge_changes(
    history: History, changes: Changes, accepted: frozenset[Accepted], requirement: NoChanges
) -> ChangesResult:
    in_scope = [
        series
        for series, key in enumerate(history.keys)
        if key.app in history.builds and (not requirement.scope or is_named(key.model, requirement.scope))
    ]
    rows = set(in_scope)
    found = [
        entry
        for entry in find_open_changes(history, changes, accepted)
        if entry.change.series in rows and (entry.is_worse or requirement.kind == CHANGES)
    ]
    lacking = sum(changes.states[series].spread != changes.states[series].spread for series in in_scope)
    outcome: Outcome = "failed" if found else "not measurable" if lacking == len(in_scope) else "passed"
    return ChangesResult(requirement, outcome, tuple(found), len(in_scope), lacking)
