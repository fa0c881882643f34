"""Rules that a recording of probes proposes, as data in the form of the rules about models.

A proposal states what was seen on one device, with exactly the numbers that were asked: nothing is extended
to other sizes. It becomes a rule when somebody has reviewed it, named its source and given it examples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tracekit.probes.probe_question import Probe
from tracekit.probes.probe_reading import Conclusion, ProbeResults, ProbeRow
from tracekit.probes.probed_operators import OPERATORS
from tracekit.text import printable

Condition: TypeAlias = Mapping[str, Any]

_EFFECTS = {
    Conclusion.STAYS: "information",
    Conclusion.SPLITS: "leaves",
    Conclusion.WHOLE_LEAVES: "graph-leaves",
}


@dataclass(frozen=True, slots=True)
class ProposedRule:
    """A rule: its probe, the settings with which it was seen, and its claim."""

    probe: Probe
    effect: str
    settings: tuple[str, ...]
    scope: str
    conditions: tuple[Condition, ...]

    @property
    def kind(self) -> str:
        """The kind of operation in an ML Program."""
        return OPERATORS[self.probe.operator].kind


def propose_rules(results: ProbeResults) -> list[ProposedRule]:
    """Return a proposal per probe for which all settings that lead to a conclusion lead to the same one."""
    by_probe: dict[str, list[ProbeRow]] = {}
    for row in results.rows:
        if row.conclusion in _EFFECTS:
            by_probe.setdefault(row.probe.name, []).append(row)
    return [
        ProposedRule(
            rows[0].probe,
            _EFFECTS[rows[0].conclusion],
            tuple(row.setting for row in rows if row.setting),
            _describe_scope(results, rows),
            tuple(_iter_conditions(rows[0].probe)),
        )
        for rows in by_probe.values()
        if len({row.conclusion for row in rows}) == 1
    ]


def _describe_scope(results: ProbeResults, rows: list[ProbeRow]) -> str:
    info = results.info
    device = info.model or info.device or "a device that the recording does not name"
    system = f"{info.platform} {info.os}".strip() or "a system that it does not name"
    shape = " × ".join(map(str, rows[0].probe.shape))
    calls = sum(row.calls for row in rows)
    return (
        f"seen in {calls} calls on {printable(device)}, {printable(system)}, between convolutions of {shape}"
    )


def _iter_conditions(probe: Probe) -> Iterator[Condition]:
    """Yield conditions on an operation that hold for what was asked, and for no other number."""
    yield {"test": "output", "dtypes": [probe.dtype]}
    if probe.operator in ("gather", "gather_runtime"):
        yield {"test": "input", "parameter": "indices", "is_constant": probe.operator == "gather"}
    for name, parameter in OPERATORS[probe.operator].parameters.items():
        value = probe.parameters[name]
        if not parameter.numbers:  # the last two dimensions of the weights
            edges = {"above": value - 1, "below": value + 1}
            yield {"test": "dimension", "parameter": "weight", "axes": "height", **edges}
            yield {"test": "dimension", "parameter": "weight", "axes": "width", **edges}
            continue
        index = {} if parameter.index is None else {"index": parameter.index}
        yield {"test": "number", "parameter": parameter.numbers, "one_of": [value], **index}


def format_rules(rules: list[ProposedRule]) -> str:
    """Return the rules as TOML: JSON's texts, numbers and lists are TOML's as well."""
    return "\n".join(_format_rule(rule) for rule in rules)


def _format_rule(rule: ProposedRule) -> str:
    conditions = ",\n".join(f"    {_format_condition(condition)}" for condition in rule.conditions)
    verb = {"information": "stays", "leaves": "splits the model", "graph-leaves": "takes the model along"}
    lines = [
        "[[rule]]",
        f"id = {_format(f'PROBE_{rule.probe.name}')}",
        f"title = {_format(f'{rule.kind} that {verb[rule.effect]}')}",
        f"explanation = {_format('Proposed by a probe; to be reviewed, with a source and examples.')}",
        "",
        "[[rule.claim]]",
        'route = "Core ML"',
        'forms = ["ML Program"]',
        f"effect = {_format(rule.effect)}",
        'grades = ["single source"]',
        f"scope = {_format(rule.scope)}",
        "sources = []",
        f"kinds = [{_format(rule.kind)}]",
        *([f"units = {_format(list(rule.settings))}"] if rule.settings else []),
        f"conditions = [\n{conditions},\n]",
    ]
    return "\n".join(lines) + "\n"


def _format_condition(condition: Condition) -> str:
    pairs = ", ".join(f"{key} = {_format(value)}" for key, value in condition.items())
    return f"{{ {pairs} }}"


def _format(value: Any) -> str:
    # TOML forbids the control character DEL in texts, which JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
