"""The JSON schema of ``tracekit.toml``, from which editors complete and check it."""

from __future__ import annotations

from typing import Any

from tracekit.cli.check_config import TABLES

EXAMPLES = {
    "check.require": (
        "ANE share >= 80%",
        "ANE used share == 100% in MODEL",
        "warm p90 <= 8ms",
        "warm max <= 16.7ms in MODEL",
        "calls >= 100",
        "load <= 200ms",
        "ANE energy per call <= 5mJ",
        "thermal <= fair",
        "errors == 0",
        "no finding fell-back",
    ),
    "check.forbid": ("CPU execute in MODEL", "GPU execute", "compile > 0ms"),
    "check.plan.require": ("ANE regions >= 1", "ops off ANE <= 3", "cost on ANE >= 90%", "failures == 0"),
    "check.plan.forbid": ("kind gather on CPU",),
}
"""Requirements to begin with; any other of docs/check.md is valid as well."""
_MEANINGS = {
    "check": "Requirements on recordings: tracekit check.",
    "check.plan": "Requirements on plans: tracekit check plan.",
    "require": "What must hold.",
    "forbid": "What must not happen.",
}


def build_config_schema() -> dict[str, Any]:
    """Return the schema; it accepts the tables and keys that ``read_config`` does."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "tracekit-requirements/1",
        "title": "tracekit.toml: requirements of a project",
        "type": "object",
        "additionalProperties": False,
        "properties": {"check": _build_table("check")},
    }


def _build_table(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": _MEANINGS[name],
        "additionalProperties": False,
        "properties": {
            key: _build_table(f"{name}.{key}")
            if f"{name}.{key}" in TABLES
            else {
                "type": "array",
                "description": _MEANINGS[key],
                "items": {
                    "type": "string",
                    "anyOf": [{"enum": list(EXAMPLES[f"{name}.{key}"])}, {"minLength": 1}],
                },
            }
            for key in TABLES[name]
        },
    }
