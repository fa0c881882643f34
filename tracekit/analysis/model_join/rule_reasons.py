"""Reasons by rules: what is known to keep an operation off the Neural Engine of the recording's chip."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tracekit.analysis.chips import identify_chip
from tracekit.analysis.model_join.joined_model import OperationReason
from tracekit.analysis.model_join.reasons import Reasons
from tracekit.errors import UsageError
from tracekit.mlmodels.program import Function
from tracekit.mlmodels.rules import RuleMatch, match_rules
from tracekit.model.trace import TraceInfo

_LEAVES = ("leaves", "graph-leaves")
_VERSION = re.compile(r"\d+(?:\.\d+){0,2}")


def find_rule_reasons(function: Function, form: str, info: TraceInfo) -> Mapping[int, Reasons]:
    """Return the reasons of rules by position among the operations of a function that compute.

    ``form`` is that of its model. Rules about other chips and systems than the recording's do not count.
    """
    matches = _match_rules(function, form, info)
    computing = (
        position
        for position, operation in enumerate(function.operations)
        if not operation.is_constant and not operation.is_part
    )
    found = {number: _list_reasons(matches.get(position, ())) for number, position in enumerate(computing)}
    return {number: reasons for number, reasons in found.items() if reasons}


def _match_rules(function: Function, form: str, info: TraceInfo) -> Mapping[int, tuple[RuleMatch, ...]]:
    version = _VERSION.match(info.os)
    system = f"{info.platform} {version[0]}" if version and info.platform else ""
    try:
        return match_rules(function, chip=identify_chip(info.model), os=system, form=form)
    except UsageError:
        # The recording's chip or system has no rules of its own: those of any chip are left.
        return match_rules(function, form=form)


def _list_reasons(matches: Sequence[RuleMatch]) -> Reasons:
    return tuple(
        OperationReason(
            f"{match.rule.title} ({match.evidence})" if match.evidence else match.rule.title,
            "rule",
            match.rule.id,
        )
        for match in matches
        if any(claim.effect in _LEAVES for claim in match.claims)
    )
