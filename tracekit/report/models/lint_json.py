"""The findings of a lint as data: ``tracekit lint --format json``."""

from __future__ import annotations

import json
from typing import Any

from tracekit.mlmodels.rules.lint import LintResult, MatchPlace, RuleFinding
from tracekit.report.models.rule_words import build_claim
from tracekit.text import escape_json

SCHEMA = "tracekit-lint/1"


def to_json(result: LintResult) -> str:
    """Return the document: every place of every rule."""
    target = result.target
    document = {
        "schema": SCHEMA,
        "model": result.model.path.name,
        "form": result.model.form,
        "version": result.model.version,
        "target": {
            "chip": target.chip or None,
            "system": target.system or None,
            "system_version": ".".join(map(str, target.version)) or None,
            "units": target.units or None,
        },
        "routes": list(result.routes),
        "operations": result.operations,
        "rules": result.rules,
        "findings": [_build_finding(finding) for finding in result.findings],
        "left_out": list(result.left_out),
        "unknown_kinds": dict(result.unknown),
        "limits": list(result.model.limits),
    }
    return escape_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _build_finding(finding: RuleFinding) -> dict[str, Any]:
    rule = finding.rule
    return {
        "rule": rule.id,
        "title": rule.title,
        "effect": finding.effect,
        "explanation": rule.explanation,
        "fix": rule.fix or None,
        "claims": [build_claim(claim) for claim in finding.claims],
        "places": [_build_place(place) for place in finding.places],
    }


def _build_place(place: MatchPlace) -> dict[str, Any]:
    return {
        "role": place.role,
        "name": place.name,
        "kind": place.kind or None,
        "path": place.path or None,
        "position": place.position,
        "source": place.source or None,
        "matched": place.evidence or None,
        "follows_from": place.upstream or None,
    }
