"""The findings of a lint in SARIF 2.1.0, which code hosts and editors read.

The form is OASIS's: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tracekit
from tracekit.mlmodels.rules.lint import LintResult, MatchPlace, RuleFinding
from tracekit.mlmodels.rules.rule import Effect
from tracekit.report.models.rule_words import (
    EFFECT_WORDS,
    describe_evidence,
    describe_sources,
    describe_target,
)
from tracekit.text import escape_json, printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SOURCE = re.compile(r"(.+):(\d{1,9})")


def to_sarif(*results: LintResult) -> str:
    """Return a log with one run for each model, and a result for each place.

    A rule has the evidence that is about its model, so models share no run. The runs have categories of their
    own, without which GitHub refuses several runs of one tool (https://github.blog/changelog/
    2024-05-06-code-scanning-will-stop-combining-runs-from-a-single-upload).
    """
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_build_run(result) for result in results]}
    return escape_json(json.dumps(log, indent=1, ensure_ascii=False)) + "\n"


def _build_run(result: LintResult) -> dict[str, Any]:
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "tracekit",
                "semanticVersion": tracekit.__version__,
                "rules": [_build_rule(finding) for finding in result.findings],
            }
        },
        "automationDetails": {"id": f"{_make_uri(result.model.path)}/"},
        "columnKind": "unicodeCodePoints",
        "results": [
            _build_result(result.model.path, finding, index, place)
            for index, finding in enumerate(result.findings)
            for place in finding.places
        ],
    }
    if target := describe_target(result.target):
        run["properties"] = {"target": target}
    return run


def _build_rule(finding: RuleFinding) -> dict[str, Any]:
    """Return a rule with the evidence that is about this model; evidence of other routes is not."""
    rule, claims = finding.rule, finding.claims
    evidence = [f"{describe_evidence(claim)}. {describe_sources(claim)}" for claim in claims]
    against = [f"Against it: {text}" for claim in claims for text in claim.contradicted_by]
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": "\n".join([*filter(None, (rule.fix,)), *evidence, *against])},
        "defaultConfiguration": {"level": _get_level(finding.effect)},
    }


def _get_level(effect: Effect) -> str:
    return "note" if effect in ("slower", "information") else "warning"


def _build_result(path: Path, finding: RuleFinding, index: int, place: MatchPlace) -> dict[str, Any]:
    name = "/".join(filter(None, (place.path, place.name)))
    matched = f": {place.evidence}" if place.evidence else ""
    text = f"{finding.rule.title} ({EFFECT_WORDS[finding.effect]}). {place.role} {name}{matched}"
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": _get_level(finding.effect),
        "message": {"text": printable(text)},
        "locations": _build_locations(path, name, place),
    }


def _build_locations(path: Path, name: str, place: MatchPlace) -> Sequence[dict[str, Any]]:
    """Return the model, with the name within it, and the line that the operation was made from, if stated."""
    logical = {"fullyQualifiedName": printable(name), "kind": place.role}
    locations: list[dict[str, Any]] = [
        {
            "physicalLocation": {"artifactLocation": {"uri": _make_uri(path)}},
            "logicalLocations": [logical],
        }
    ]
    match = _SOURCE.fullmatch(place.source)
    if match and int(match[2]):
        region = {"startLine": int(match[2])}
        artifact = {"uri": _make_uri(Path(match[1]))}
        locations.append({"physicalLocation": {"artifactLocation": artifact, "region": region}})
    return locations


def _make_uri(path: Path) -> str:
    text = path.as_posix().encode("utf-8", "surrogateescape")
    return f"file://{quote(text)}" if path.is_absolute() else quote(text)
