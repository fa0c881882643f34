"""The results of probes as data: ``tracekit probe read --format json``."""

from __future__ import annotations

import json
from typing import Any

from tracekit.probes.probe_reading import ProbeResults, ProbeRow
from tracekit.probes.proposals import ProposedRule, propose_rules
from tracekit.text import escape_json

SCHEMA = "tracekit-probe-results/1"


def to_json(results: ProbeResults) -> str:
    """Return the document: the origin of the recording, a row per probe and setting, the proposals."""
    info = results.info
    document = {
        "schema": SCHEMA,
        "recording": {
            "name": info.name,
            "device": info.device or None,
            "model": info.model or None,
            "platform": info.platform or None,
            "os": info.os or None,
        },
        "is_marked": results.is_marked,
        "probes": [_describe_row(row) for row in results.rows],
        "proposed_rules": [_describe_rule(rule) for rule in propose_rules(results)],
    }
    return escape_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _describe_row(row: ProbeRow) -> dict[str, Any]:
    return {
        "probe": row.probe.name,
        "operator": row.probe.operator,
        "parameters": dict(row.probe.parameters),
        "dtype": row.probe.dtype,
        "shape": list(row.probe.shape),
        "setting": row.setting or None,
        "placement": row.placement,
        "conclusion": row.conclusion,
        "calls": row.calls,
        "engines": list(row.engines),
        "submissions": row.submissions,
        "ANE_busy_ns": row.busy_ns,
        "basis": row.basis,
    }


def _describe_rule(rule: ProposedRule) -> dict[str, Any]:
    return {
        "kind": rule.kind,
        "effect": rule.effect,
        "units": list(rule.settings),
        "scope": rule.scope,
        "conditions": [dict(condition) for condition in rule.conditions],
        "probe": rule.probe.name,
    }
