"""The files of rules in ``data``: TOML → ``ModelRule``, checked as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NoReturn, get_args

import tomli

from tracekit.errors import InputError
from tracekit.mlmodels.rules.predicates import PREDICATES
from tracekit.mlmodels.rules.rule import (
    Claim,
    Effect,
    Grade,
    ModelRule,
    Route,
    RuleCondition,
    RuleExample,
    Subject,
)

FILES = ("data_types", "shapes", "operators", "convolution", "weights", "settings")
"""The files of ``data`` without their extension, in the order in which rules are listed."""

_DATA = Path(__file__).with_name("data")
_VALUES: dict[str, tuple[str, ...]] = {
    "route": get_args(Route),
    "effect": get_args(Effect),
    "grades": get_args(Grade),
    "subject": get_args(Subject),
}


@cache
def load_rules() -> tuple[ModelRule, ...]:
    """Return the rules about models."""
    return tuple(rule for name in FILES for rule in read_rules_file(_DATA / f"{name}.toml"))


@cache
def _load_sources() -> Mapping[str, str]:
    return tomli.loads((_DATA / "sources.toml").read_text("utf-8"))


def read_rules_file(path: Path) -> list[ModelRule]:
    """Read a file of rules. Raises ``InputError`` with the rule and the mistake."""
    try:
        document = tomli.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(str(path), f"is not valid TOML: {error}.") from error
    return [
        _RulesReader(path, str(entry.get("id", "without an id"))).read_rule(entry)
        for entry in document["rule"]
    ]


class _RulesReader:
    """Turns the tables of one rule into its data; keys and values that mean nothing are mistakes."""

    def __init__(self, path: Path, rule: str) -> None:
        self._path = path
        self._rule = rule

    def fail(self, problem: str) -> NoReturn:
        raise InputError(str(self._path), f"rule {self._rule}: {problem}.")

    def read_rule(self, entry: Mapping[str, Any]) -> ModelRule:
        values = dict(entry)
        claims = tuple(self._read_claim(claim) for claim in values.pop("claim", ()))
        examples = tuple(self._build(RuleExample, example) for example in values.pop("example", ()))
        rule: ModelRule = self._build(ModelRule, {**values, "claims": claims, "examples": examples})
        is_checked = any(claim.is_checked for claim in claims)
        if is_checked == bool(rule.unchecked):
            self.fail("needs either a claim that is checked or a reason in 'unchecked'")
        return rule

    def _read_claim(self, entry: Mapping[str, Any]) -> Claim:
        for key, allowed in _VALUES.items():
            given = entry.get(key, ())
            for value in [given] if isinstance(given, str) else given:
                if value not in allowed:
                    self.fail(f"{value!r} is no {key}: {', '.join(allowed)}")
        subject = entry.get("subject", "operation")
        conditions = tuple(self._read_condition(subject, item) for item in entry.get("conditions", ()))
        cited = {
            "sources": [self._cite(key) for key in entry.get("sources", ())],
            "contradicted_by": [self._cite_statement(text) for text in entry.get("contradicted_by", ())],
        }
        claim: Claim = self._build(Claim, {**entry, **cited, "conditions": conditions})
        is_open = not claim.kinds and not claim.conditions and claim.subject != "setting"
        if claim.is_checked and is_open:
            self.fail("has a claim about everything: it needs kinds or conditions")
        return claim

    def _read_condition(self, subject: Subject, entry: Mapping[str, Any]) -> RuleCondition:
        parameters = {key: _freeze(value) for key, value in entry.items() if key != "test"}
        test = str(entry.get("test", ""))
        if test not in PREDICATES[subject]:
            self.fail(f"has a condition whose 'test' is none of {', '.join(PREDICATES[subject])}")
        declared = signature(PREDICATES[subject][test]).parameters.values()
        keys = {item.name: item for item in declared if item.kind is Parameter.KEYWORD_ONLY}
        if unknown := [key for key in parameters if key not in keys]:
            self.fail(f"has the condition {test!r} with the unknown key {unknown[0]!r}")
        missing = [
            key for key, item in keys.items() if item.default is Parameter.empty and key not in parameters
        ]
        if missing:
            self.fail(f"has the condition {test!r} without {missing[0]!r}")
        return RuleCondition(subject, test, parameters)

    def _cite(self, key: str) -> str:
        citation = _load_sources().get(key)
        if citation is None:
            self.fail(f"cites {key!r}, which sources.toml does not have")
        return citation

    def _cite_statement(self, text: str) -> str:
        """Return ``key: statement`` as the statement with its source behind it; other texts as they are."""
        key, colon, statement = text.partition(": ")
        source = _load_sources().get(key) if colon else None
        return f"{statement} ({source})" if source else text

    def _build(self, kind: Callable[..., Any], values: Mapping[str, Any]) -> Any:
        declared = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
        if unknown := [key for key in values if key not in declared]:
            self.fail(f"has the unknown key {unknown[0]!r}")
        for name, item in declared.items():
            if item.default is MISSING and item.default_factory is MISSING and name not in values:
                self.fail(f"lacks {name!r}")
        return kind(**{key: _freeze(value) for key, value in values.items()})


def _freeze(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_freeze(item) for item in value)
    return value
