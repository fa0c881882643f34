"""Rules about models in words: effects, evidence, scope, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.mlmodels.rules.rule import Claim, Effect, Grade, ModelRule, RuleCondition
from tracekit.mlmodels.rules.rule_target import RuleTarget
from tracekit.text import join_words

EFFECT_WORDS: Mapping[Effect, str] = {
    "wrong-numbers": "wrong numbers",
    "fails": "fails",
    "graph-leaves": "the whole graph leaves",
    "leaves": "leaves the engine",
    "slower": "slower, or more parts",
    "information": "information",
}
"""Effects in the words of headings and tables."""

_GRADE_WORDS: Mapping[Grade, str] = {
    "stated": "stated by Apple",
    "measured": "measured",
    "single source": "one weak source",
    "unverified": "unverified",
}


def describe_evidence(claim: Claim) -> str:
    """Return how a claim is known, of which route, and how far it reaches."""
    grades = join_words([_GRADE_WORDS[grade] for grade in claim.grades])
    return f"{grades} ({claim.route}): {claim.scope}"


def describe_sources(claim: Claim) -> str:
    """Return where the evidence stands."""
    return ", ".join(claim.sources)


def describe_target(target: RuleTarget) -> str:
    """Return what rules were narrowed to, or an empty text."""
    version = ".".join(map(str, target.version))
    units = f"compute units {target.units}" if target.units else ""
    parts = (target.chip, " ".join(filter(None, (target.system, version))), units)
    return ", ".join(filter(None, parts))


def describe_condition(condition: RuleCondition) -> str:
    """Return a condition as it stands in the files of rules."""
    parameters = ", ".join(f"{name} = {_spell(value)}" for name, value in condition.parameters.items())
    return f"{condition.test} ({parameters})" if parameters else condition.test


def _spell(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_spell, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def describe_match(claim: Claim) -> str:
    """Return what a claim is checked on: forms of models, kinds of operations and conditions."""
    parts = []
    if claim.subject != "operation":
        parts.append({"feature": "inputs, outputs and states"}.get(claim.subject, f"the {claim.subject}"))
    if claim.kinds:
        parts.append(", ".join(claim.kinds))
    elif claim.subject == "operation" and claim.is_checked:
        parts.append("any operation")
    if claim.no_kinds:
        parts.append(f"not {', '.join(claim.no_kinds)}")
    parts += map(describe_condition, claim.conditions)
    if claim.units:
        parts.append(f"compute units {' or '.join(claim.units)}")
    if claim.subject == "setting" and claim.chips:
        parts.append(f"chip {' or '.join(claim.chips)}")
    return "; ".join(parts)


def find_effect(rule: ModelRule) -> Effect | None:
    """Return the gravest effect of a rule; None for a reason in plans, which has none of its own."""
    return min((claim.effect for claim in rule.claims), key=list(EFFECT_WORDS).index, default=None)


def build_claim(claim: Claim) -> dict[str, Any]:
    """Return a claim as data."""
    return {
        "route": claim.route,
        "effect": claim.effect,
        "grades": list(claim.grades),
        "scope": claim.scope,
        "forms": list(claim.forms),
        "chips": list(claim.chips),
        "systems": list(claim.systems),
        "sources": list(claim.sources),
        "contradicted_by": list(claim.contradicted_by),
        "is_checked": claim.is_checked,
    }
