"""The data of the rules: what is claimed about which operations, on which chips, by whom."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from tracekit.mlmodels.rules.predicates import PREDICATES

Route: TypeAlias = Literal["Core ML", "Core AI", "direct compile"]
"""The ways on which a model reaches the Neural Engine. A fact of one route is no fact of another."""

Effect: TypeAlias = Literal["graph-leaves", "leaves", "wrong-numbers", "fails", "slower", "information"]
Grade: TypeAlias = Literal["stated", "measured", "single source", "unverified"]
Subject: TypeAlias = Literal["operation", "feature", "function", "model", "setting"]


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """A predicate, by its subject and name, with its parameters."""

    subject: Subject
    test: str
    parameters: Mapping[str, Any]

    def check(self, *subject: object) -> str | None:
        """Return what matched, in words, or None."""
        return PREDICATES[self.subject][self.test](*subject, **self.parameters)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a rule: its conditions, which hold together, and how far its evidence reaches.

    ``forms`` are the forms of models that it is about, ``kinds`` the kinds of operations (none: all but
    ``no_kinds``).
    ``chips`` and ``systems`` are those that it was measured on or stated for; none means that it is stated
    for all, or that its source names none: ``scope`` puts it in words. ``units`` are the compute units that
    it is about (none: all that use the Neural Engine). ``contradicted_by`` is evidence to the contrary.
    """

    route: Route
    effect: Effect
    grades: tuple[Grade, ...]
    scope: str
    sources: tuple[str, ...]
    forms: tuple[str, ...] = ()
    subject: Subject = "operation"
    kinds: tuple[str, ...] = ()
    no_kinds: tuple[str, ...] = ()
    conditions: tuple[RuleCondition, ...] = ()
    chips: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()
    is_checked: bool = True


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A model in a few lines, and the subjects in it that the rule matches: outputs, features, ``model``.

    ``mil`` are statements of MIL text, whatever the form of the model.
    """

    mil: str
    matches: tuple[str, ...]
    form: str = "ML Program"
    route: Route | None = None
    inputs: tuple[Mapping[str, object], ...] = ()
    outputs: tuple[Mapping[str, object], ...] = ()
    states: tuple[Mapping[str, object], ...] = ()
    weight_bytes: int = 0
    chip: str = ""
    units: str = ""


@dataclass(frozen=True)
class ModelRule:
    """A rule; the keys of the files in ``data`` with the same meaning.

    ``unchecked`` is the reason why no model file can show it; empty for a rule that is checked. ``messages``
    are patterns of the messages by which a runtime gives this rule as its reason.
    """

    id: str
    title: str
    explanation: str
    fix: str = ""
    claims: tuple[Claim, ...] = ()
    unchecked: str = ""
    messages: tuple[str, ...] = ()
    examples: tuple[RuleExample, ...] = field(default=(), repr=False)

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of ``messages``."""
        return tuple(re.compile(message) for message in self.messages)
