"""The sentences of a comparison's cautions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from tracekit.comparison.cautions import MIXED_WINDOWS, REPEATED
from tracekit.comparison.result import Caution
from tracekit.comparison.turns import NOT_IN_TURN, ORDER_UNKNOWN, SESSION_NOISE
from tracekit.text import plural

_FIELDS = {
    "device": "devices",
    "os": "systems",
    "template": "templates",
    "instruments": "versions of Instruments",
    "process": "processes",
    "samples-source": "tables of samples",
    "period": "sampling periods",
    "selection": "selections",
    "thermal": "thermal states",
    "window-sources": "sources of calls",
}


def caution_text(caution: Caution) -> str:
    """Return the sentence of a caution, without a capital and a full stop."""
    facts = caution.facts
    if caution.code in _SENTENCES:
        return _SENTENCES[caution.code](facts)
    relation, _, field = caution.code.partition("-")
    if relation == "different":
        return f"different {_FIELDS[field]}: {_listed(facts['base'])} in BASE, {_listed(facts['new'])} in NEW"
    return f"the runs of a side have different {_FIELDS[field]}: {_listed(facts['values'])}"


def _repeated(facts: Mapping[str, object]) -> str:
    counts = facts["counts"]
    assert isinstance(counts, Mapping)
    sides = " and ".join(f"{side} ({count} times)" if count > 1 else side for side, count in counts.items())
    return (
        f"the same recording is given twice or more: {facts['name']}, run {facts['run']}, in {sides};"
        " a copy is not a second run; on a side it counts once, and both sides share its chance"
    )


def _not_in_turn(facts: Mapping[str, object]) -> str:
    hours = float(str(facts["gap_s"])) / 3600
    gap = plural(round(hours), "hour") if hours >= 1.5 else plural(max(1, round(60 * hours)), "minute")
    return (
        f"the sides were recorded {gap} apart, one after the other, {facts['first']} first: what else changed"
        " in between may explain a difference; record BASE and NEW in turn (record --interleave), or give the"
        " spread between sessions (--session-noise)"
    )


def _session_noise(facts: Mapping[str, object]) -> str:
    given = facts.get("session_noise")
    source = (
        f"given, not measured: {100 * float(str(given)):g} % of each number (of shares, as many points)"
        if given is not None
        else f"that of {facts['sessions']} sessions of the recordings for the noise"
    )
    return (
        "BASE and NEW are not shown to have been recorded in turn; the spread between sessions is"
        f" {source}; functions and findings are tested without it"
    )


def _describe_given_noise(spreads: Mapping[str, float]) -> str:
    """Return the given spread between runs, and what has none."""
    parts = [
        f"{100 * spread:g} % of the {name}"
        + (" and of means (of shares, as many points)" if name == "p50" else "")
        for name, spread in sorted(spreads.items())
    ]
    return (
        f"the spread between runs is given, not measured: {', '.join(parts)}. Other percentiles have another"
        " spread, and are not tested without it (--run-noise p90=PERCENT)"
    )


def _of_builds(builds: object) -> str:
    """Return ``of 3 builds, …`` for recordings in groups: one build may be faster than another."""
    if not builds:
        return ""
    return " of one build" if builds == 1 else f" of {builds} builds, around the mean of each build"


def _listed(values: object) -> str:
    assert isinstance(values, Iterable)
    texts = list(map(str, values))
    # The value of one run may itself be a list, such as "coreml-os-signpost, stacks".
    return ("; " if any(", " in text for text in texts) else " and ").join(texts)


_SENTENCES: dict[str, Callable[[Mapping[str, object]], str]] = {
    MIXED_WINDOWS: lambda _: (
        "BASE and NEW have different models or kinds of calls, and the numbers of all calls mix them:"
        " compare the models and kinds that both have"
    ),
    REPEATED: _repeated,
    NOT_IN_TURN: _not_in_turn,
    ORDER_UNKNOWN: lambda _: (
        "the recordings do not show whether BASE and NEW were recorded in turn: if not, what else changed in"
        " between may explain a difference"
    ),
    SESSION_NOISE: _session_noise,
    "hot": lambda facts: (
        f"the thermal state was {_listed(facts['states'])} while recording, which slows the device down"
    ),
    "one-run": lambda _: (
        "each side has one run: the intervals cover how calls vary within these recordings, not how much runs"
        " of the same program differ. Record five runs per side, alternating BASE and NEW, or give the spread"
        " between runs (--run-noise, --noise-from)"
    ),
    "one-run-on-one-side": lambda facts: (
        f"{facts['side']} has one run: the spread between runs is taken from the other side alone, and"
        " assumed to be the same"
    ),
    "two-runs": lambda _: (
        "a side has two runs, which show little of the spread between runs: intervals are wide for that"
        " reason; record five per side"
    ),
    "given-noise": lambda facts: _describe_given_noise(cast("Mapping[str, float]", facts["run_noise"])),
    "noise-recordings": lambda facts: (
        f"the spread between runs is taken from the runs of both sides and {facts['count']} more recordings"
        f"{_of_builds(facts['builds'])}, and assumed to be the same in all of them"
    ),
    "different-verdict-bases": lambda facts: (
        f"verdicts are {_listed(facts['base'])} in BASE, {_listed(facts['new'])} in NEW: a share counts"
        " calls by verdict, and samples can miss work that a table shows"
    ),
}
