"""Rules against a function: which rules match which operations, and why; and a plan's message → its rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from tracekit.mlmodels.program import Function, MLModel
from tracekit.mlmodels.rules.graph import Graph, describe_outputs, simplify_kind
from tracekit.mlmodels.rules.model_rules_file import load_rules
from tracekit.mlmodels.rules.rule import Claim, ModelRule, Route
from tracekit.mlmodels.rules.rule_target import RuleTarget, make_target

CORE_AI_FORM = "Core AI program"


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that an operation matches: the claims that hold, and what matched in words.

    ``upstream`` is the position of the operation at the start of a chain of the same rule, whose result
    reaches this one through operations that match it, too; None for the start itself.
    """

    rule: ModelRule
    claims: tuple[Claim, ...]
    evidence: str
    upstream: int | None = None


def match_rules(
    model: MLModel | Function, *, chip: str = "", os: str = "", route: Route | None = None, form: str = ""
) -> dict[int, tuple[RuleMatch, ...]]:
    """Return the rules that operations match, by their position in ``Function.operations``.

    Of a model, its function ``main`` is matched, or else the first one. ``route`` is by default the one by
    which models of this form run; rules of another route never match. ``form`` is that of a function's model:
    ``ML Program`` unless given. Raises ``UsageError`` for a chip or a system that is none.
    """
    function: Function | None
    folder = None
    if isinstance(model, MLModel):
        form, folder = model.form, model.weight_folder
        functions = list(model.iter_functions())
        function = next((item for item in functions if item.name == "main"), next(iter(functions), None))
    else:
        function = model
    if function is None:
        return {}
    form = form or "ML Program"
    graph = Graph(function, folder)
    return match_operations(graph, form, route or find_route(form), make_target(chip, os))


def find_route(form: str) -> Route:
    """Return the route by which models of a form run."""
    return "Core AI" if form == CORE_AI_FORM else "Core ML"


def match_operations(
    graph: Graph, form: str, route: Route, target: RuleTarget
) -> dict[int, tuple[RuleMatch, ...]]:
    """Return the rules about operations that match, by position."""
    by_kind = _index_claims(route, form, target)
    matches: dict[int, tuple[RuleMatch, ...]] = {}
    for position, operation in enumerate(graph.operations):
        if operation.is_constant or operation.is_part:
            continue
        if operation_matches := _match_operation(graph, position, by_kind):
            matches[position] = operation_matches
    return _link_chains(graph, matches)


def _match_operation(
    graph: Graph, position: int, by_kind: Mapping[str, list[tuple[ModelRule, Claim]]]
) -> tuple[RuleMatch, ...]:
    matches: dict[str, RuleMatch] = {}
    kind = graph.kinds[position]
    general = by_kind.get("", ()) if graph.is_computed(position) else ()
    for rule, claim in (*by_kind.get(kind, ()), *general):
        if kind in claim.no_kinds:
            continue
        evidence = check_conditions(claim, graph, position)
        if evidence is None:
            continue
        earlier = matches.get(rule.id)
        claims = (*earlier.claims, claim) if earlier else (claim,)
        evidence = earlier.evidence if earlier else evidence or describe_outputs(graph, position)
        matches[rule.id] = RuleMatch(rule, claims, evidence)
    return tuple(matches.values())


def check_conditions(claim: Claim, *subject: object) -> str | None:
    """Return what matched all conditions of a claim, in words, or None."""
    parts = []
    for condition in claim.conditions:
        part = condition.check(*subject)
        if part is None:
            return None
        parts.append(part)
    return ", ".join(dict.fromkeys(filter(None, parts)))


@cache
def _index_claims(route: Route, form: str, target: RuleTarget) -> dict[str, list[tuple[ModelRule, Claim]]]:
    """Return the claims about operations by kind; those about any kind under the empty text."""
    index: dict[str, list[tuple[ModelRule, Claim]]] = {}
    for rule, claim in iter_claims(route, form):
        if claim.subject == "operation" and target.fits(claim):
            for kind in claim.kinds or ("",):
                index.setdefault(kind, []).append((rule, claim))
    return index


def iter_claims(route: Route, form: str) -> Iterator[tuple[ModelRule, Claim]]:
    """Iterate over the claims of a route that are checked in models of a form."""
    for rule in load_rules():
        for claim in rule.claims:
            if claim.is_checked and claim.route == route and (not claim.forms or form in claim.forms):
                yield rule, claim


def _link_chains(
    graph: Graph, matches: Mapping[int, tuple[RuleMatch, ...]]
) -> dict[int, tuple[RuleMatch, ...]]:
    """Return the matches with the starts of their chains: that of the first input of the same rule."""
    starts: dict[tuple[int, str], int] = {}
    linked: dict[int, tuple[RuleMatch, ...]] = {}
    for position, operation_matches in matches.items():
        producers = [graph.find_producer(name) for _, name in graph.operations[position].inputs]
        for match in operation_matches:
            earlier = (starts.get((producer, match.rule.id)) for producer in producers)
            starts[position, match.rule.id] = next((s for s in earlier if s is not None), position)
        linked[position] = tuple(
            replace(match, upstream=start)
            if (start := starts[position, match.rule.id]) != position
            else match
            for match in operation_matches
        )
    return linked


def match_message(text: str) -> str | None:
    """Return the id of the rule that a runtime's message gives as its reason, or None.

    An operation that the message names as unsupported has the rule that lists its kind. Of several rules,
    that one counts whose pattern matches most of the message.
    """
    unsupported = _UNSUPPORTED.search(text)
    if unsupported:
        return _find_rule_of_kind(simplify_kind(unsupported[1]))
    matches = [
        (len(match[0]), rule.id)
        for rule in load_rules()
        for pattern in rule.patterns
        if (match := pattern.search(text))
    ]
    return max(matches, key=lambda match: match[0])[1] if matches else None


_UNSUPPORTED = re.compile(r"Unsupported MIL operation\W{0,4}([\w.]+)")


def _find_rule_of_kind(kind: str) -> str | None:
    for rule, claim in iter_claims("Core ML", "ML Program"):
        if kind in claim.kinds and not claim.conditions and claim.effect == "leaves":
            return rule.id
    return None
