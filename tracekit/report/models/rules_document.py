"""The rules as a document and as data: those about models, and those about stacks of recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from tracekit.analysis.classification.rule_set import load_rules
from tracekit.analysis.classification.rules import Rule as StackRule
from tracekit.errors import UsageError
from tracekit.mlmodels.rules import ModelRule
from tracekit.mlmodels.rules import load_rules as load_model_rules
from tracekit.report.document.blocks import Block, Column, Fact, Facts, Paragraph, Section, Table
from tracekit.report.models.rule_words import (
    EFFECT_WORDS,
    build_claim,
    describe_evidence,
    describe_match,
    describe_sources,
    find_effect,
)
from tracekit.text import UNAVAILABLE, clip, escape_json, printable

SCHEMA = "tracekit-rules/1"
_NAME_WIDTH = 60


def build_rules(name: str = "") -> list[Section]:
    """Return a section for each kind of rules, or the one of the rule ``name``. Raises ``UsageError``."""
    if name:
        return build_rule_sections(_require_name(name))
    return [
        Section("models", "Rules about models", (_list_model_rules(load_model_rules()),)),
        Section("stacks", "Rules about stacks", (_list_stack_rules(load_rules().rules),)),
    ]


def build_rule_sections(name: str) -> list[Section]:
    """Return what is stated about the rule of an id; none where no rule has it."""
    models, stacks = _find_rules(name)
    return [*map(_build_model_rule, models), *map(_build_stack_rule, stacks)]


def to_json(name: str = "") -> str:
    """Return the rules as data, or the rule ``name``. Raises ``UsageError``."""
    models, stacks = _find_rules(_require_name(name) if name else "")
    document = {
        "schema": SCHEMA,
        "models": [_build_model_entry(rule) for rule in models],
        "stacks": [_build_stack_entry(rule) for rule in stacks],
    }
    return escape_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _find_rules(name: str) -> tuple[Sequence[ModelRule], Sequence[StackRule]]:
    """Return the rules about models and about stacks: all, or those whose id is ``name``, in any case."""
    models, stacks = load_model_rules(), load_rules().rules
    if not name:
        return models, stacks
    wanted = name.lower()
    return (
        [rule for rule in models if rule.id.lower() == wanted],
        [rule for rule in stacks if rule.id.lower() == wanted],
    )


def _require_name(name: str) -> str:
    ids = [rule.id for rule in load_model_rules()] + [rule.id for rule in load_rules().rules]
    if name.lower() not in (rule_id.lower() for rule_id in ids):
        close = get_close_matches(name.upper(), ids, 3) or get_close_matches(name.lower(), ids, 3)
        advice = f"Similar names: {', '.join(close)}." if close else "tracekit rules lists them."
        raise UsageError(f"No rule has the name '{clip(printable(name), _NAME_WIDTH)}'. {advice}")
    return name


# Models -----------------------------------------------------------------------------------------------------


def _list_model_rules(rules: Sequence[ModelRule]) -> Table:
    rows = []
    for rule in rules:
        effect = find_effect(rule)
        routes = dict.fromkeys(claim.route for claim in rule.claims)
        is_checked = any(claim.is_checked and claim.route != "direct compile" for claim in rule.claims)
        rows.append(
            (
                rule.id,
                rule.title,
                EFFECT_WORDS[effect] if effect else "",
                ", ".join(routes),
                "yes" if is_checked else "no",
            )
        )
    return _make_table(("rule", "title", "effect", "route", "checked"), rows)


def _build_model_rule(rule: ModelRule) -> Section:
    """Return everything about a rule about models."""
    blocks: list[Block] = [Paragraph(rule.explanation)]
    if rule.unchecked:
        blocks.append(Paragraph(f"No model file shows it: {rule.unchecked}."))
    blocks.append(Facts(tuple(_list_facts(rule))))
    return Section(rule.id, f"{rule.id} {rule.title}", tuple(blocks))


def _list_facts(rule: ModelRule) -> Iterator[Fact]:
    for claim in rule.claims:
        yield Fact("Effect", f"{EFFECT_WORDS[claim.effect]} ({claim.route})")
        if claim.is_checked:
            forms = f"{' or '.join(claim.forms)}: " if claim.forms else ""
            yield Fact("Checked on", f"{forms}{describe_match(claim)}")
        yield Fact("Evidence", describe_evidence(claim))
        yield Fact("Source", describe_sources(claim))
        yield from (Fact("Against it", text) for text in claim.contradicted_by)
    if rule.fix:
        yield Fact("To do", rule.fix)
    if rule.messages:
        yield Fact("Messages", ", ".join(rule.messages))


def _build_model_entry(rule: ModelRule) -> dict[str, Any]:
    claims = [
        {
            **build_claim(claim),
            "subject": claim.subject,
            "kinds": list(claim.kinds),
            "except_kinds": list(claim.no_kinds),
            "units": list(claim.units),
            "conditions": [{"test": item.test, **item.parameters} for item in claim.conditions],
        }
        for claim in rule.claims
    ]
    return {
        "id": rule.id,
        "title": rule.title,
        "explanation": rule.explanation,
        "fix": rule.fix or None,
        "unchecked": rule.unchecked or None,
        "messages": list(rule.messages),
        "claims": claims,
    }


# Stacks -----------------------------------------------------------------------------------------------------


def _list_stack_rules(rules: Sequence[StackRule]) -> Table:
    rows = [(rule.id, rule.means, str(rule.engine), rule.strength, rule.confidence) for rule in rules]
    return _make_table(("rule", "meaning", "engine", "strength", "confidence"), rows)


def _make_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose first and third columns are whole in narrow lines, and its second is clipped."""
    columns = zip(header, zip(*rows, strict=True), strict=True)
    return Table(
        tuple(
            Column(name, texts, rank=max(0, index - 2), is_clipped=index == 1)
            for index, (name, texts) in enumerate(columns)
        )
    )


def _build_stack_rule(rule: StackRule) -> Section:
    texts = {
        "Engine": f"{rule.engine}, {rule.strength}" + (f", phase {rule.phase}" if rule.phase else ""),
        "Binary": ", ".join(rule.binary),
        "Symbol": rule.symbol,
        "Thread": rule.thread,
        "Confidence": f"{rule.confidence}: {_CONFIDENCE[rule.confidence]}" if rule.confidence else "",
        "Seen on": rule.seen,
        "Source": rule.source,
        "Example": f"{rule.example.symbol or rule.example.thread or UNAVAILABLE}" if rule.example else "",
    }
    facts = tuple(Fact(name, text) for name, text in texts.items() if text)
    return Section(rule.id, rule.id, (Paragraph(_make_meaning(rule.means)), Facts(facts)))


_CONFIDENCE = {
    "A": "seen in a real stack",
    "B": "stated by a source that names its method",
    "C": "an inference",
}


def _make_meaning(means: str) -> str:
    return f"{means[:1].upper()}{means[1:].rstrip('.')}." if means else "A rule about frames."


def _build_stack_entry(rule: StackRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "engine": str(rule.engine),
        "strength": rule.strength,
        "phase": str(rule.phase) if rule.phase else None,
        "binary": list(rule.binary),
        "symbol": rule.symbol or None,
        "thread": rule.thread or None,
        "means": rule.means or None,
        "seen": rule.seen or None,
        "confidence": rule.confidence or None,
        "source": rule.source or None,
    }
