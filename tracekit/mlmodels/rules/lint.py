"""A model held against the rules: what matches where, what was left out, and what the rules do not cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tracekit.errors import UsageError
from tracekit.mlmodels.program import Function, MLModel
from tracekit.mlmodels.rules.graph import Graph, simplify_kind
from tracekit.mlmodels.rules.known_operators import KNOWN_KINDS
from tracekit.mlmodels.rules.match import (
    RuleMatch,
    check_conditions,
    find_route,
    iter_claims,
    match_operations,
)
from tracekit.mlmodels.rules.model_rules_file import load_rules
from tracekit.mlmodels.rules.rule import Claim, Effect, ModelRule, Route
from tracekit.mlmodels.rules.rule_target import RuleTarget

EFFECTS: tuple[Effect, ...] = ("wrong-numbers", "fails", "graph-leaves", "leaves", "slower", "information")
"""The effects, the gravest first."""


@dataclass(frozen=True, slots=True)
class MatchPlace:
    """A match in a model: an operation, an input, output or state, a function, the model, or the setting.

    ``position`` is that in ``Function.operations``. ``path`` names the function, and the stages of a pipeline
    before it, where there are several. ``upstream`` is the name of the operation at the start of a chain of
    the same rule, or empty.
    """

    role: str
    name: str
    evidence: str
    kind: str = ""
    source: str = ""
    position: int | None = None
    path: str = ""
    upstream: str = ""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A rule that the model matches, with the claims that hold and the places."""

    rule: ModelRule
    claims: tuple[Claim, ...]
    places: tuple[MatchPlace, ...]

    @property
    def effect(self) -> Effect:
        """The gravest effect of its claims."""
        return min((claim.effect for claim in self.claims), key=EFFECTS.index)


@dataclass(frozen=True, slots=True)
class LintResult:
    """The findings, the gravest first, and what they do not cover.

    ``left_out`` are the ids of rules that ``target`` left out, ``unknown`` the kinds of operations that no
    rule can be about, with their counts. ``operations`` counts those that were looked at.
    """

    model: MLModel
    target: RuleTarget
    routes: tuple[Route, ...]
    findings: tuple[RuleFinding, ...]
    left_out: tuple[str, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)
    operations: int = 0
    rules: int = 0


def lint_model(
    model: MLModel, target: RuleTarget, select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> LintResult:
    """Return what the rules state about a model.

    ``select`` and ``ignore`` are ids of rules, or their first letters. Raises ``UsageError`` for others.
    """
    chosen = _choose_rules(select, ignore)
    collected: dict[str, tuple[ModelRule, list[Claim], list[MatchPlace]]] = {}
    for rule, claims, place in _iter_matches(model, target, ""):
        if rule.id in chosen:
            entry = collected.setdefault(rule.id, (rule, [], []))
            entry[1].extend(claim for claim in claims if claim not in entry[1])
            entry[2].append(place)
    findings = [
        RuleFinding(rule, tuple(claims), tuple(places)) for rule, claims, places in collected.values()
    ]
    order = [rule.id for rule in load_rules()]
    findings.sort(key=lambda finding: (EFFECTS.index(finding.effect), order.index(finding.rule.id)))
    parts = list(_iter_parts(model))
    applicable = {
        (rule.id, target.fits(claim))
        for part in parts
        for rule, claim in iter_claims(*_describe_form(part))
        if claim.subject != "setting"
    }
    fitting = {rule_id for rule_id, fits in applicable if fits and rule_id in chosen}
    left_out = {rule_id for rule_id, _ in applicable if rule_id in chosen} - fitting
    computing = [
        (part.form, operation) for part in parts for f in part.functions for operation in f.computing()
    ]
    unknown = Counter(operation.kind for form, operation in computing if not _is_known(form, operation.kind))
    return LintResult(
        model,
        target,
        tuple(dict.fromkeys(find_route(part.form) for part in parts)),
        tuple(findings),
        tuple(rule_id for rule_id in order if rule_id in left_out),
        dict(sorted(unknown.items())),
        len(computing),
        len(fitting),
    )


def _choose_rules(select: Sequence[str], ignore: Sequence[str]) -> frozenset[str]:
    ids = [rule.id for rule in load_rules()]
    for prefix in (*select, *ignore):
        if not prefix or not any(rule_id.startswith(prefix.upper()) for rule_id in ids):
            families = ", ".join(dict.fromkeys(rule_id[:2] for rule_id in ids))
            raise UsageError(
                f"{prefix!r} begins the id of no rule. They begin with {families}: tracekit rules"
            )
    return frozenset(
        rule_id
        for rule_id in ids
        if (not select or rule_id.startswith(tuple(prefix.upper() for prefix in select)))
        and not rule_id.startswith(tuple(prefix.upper() for prefix in ignore) or ("-",))
    )


def _iter_parts(model: MLModel) -> Iterator[MLModel]:
    """Iterate over a model and the stages in it."""
    yield model
    for _, stage in model.stages:
        yield from _iter_parts(stage)


def _describe_form(model: MLModel) -> tuple[Route, str]:
    return find_route(model.form), model.form


def _is_known(form: str, kind: str) -> bool:
    return simplify_kind(kind) in KNOWN_KINDS.get(form, frozenset())


def _iter_matches(
    model: MLModel, target: RuleTarget, path: str
) -> Iterator[tuple[ModelRule, Sequence[Claim], MatchPlace]]:
    """Yield each match in a model and its stages."""
    route, form = _describe_form(model)
    claims = [(rule, claim) for rule, claim in iter_claims(route, form) if target.fits(claim)]
    yield from _match_model(model, claims, target, path)
    for function in model.functions:
        name = function.name if len(model.functions) > 1 else ""
        inner = "/".join(part for part in (path, name) if part)
        yield from _match_function(model, function, claims, target, inner)
    for stage_name, stage in model.stages:
        yield from _iter_matches(stage, target, "/".join(part for part in (path, stage_name) if part))


def _match_model(
    model: MLModel, claims: Sequence[tuple[ModelRule, Claim]], target: RuleTarget, path: str
) -> Iterator[tuple[ModelRule, Sequence[Claim], MatchPlace]]:
    features = [
        *(("input", feature) for feature in model.inputs),
        *(("output", feature) for feature in model.outputs),
        *(("state", feature) for feature in model.states),
    ]
    for rule, claim in claims:
        if claim.subject == "setting" and is_named(target, claim):
            yield rule, (claim,), MatchPlace("setting", target.units or target.chip, "", path=path)
        elif claim.subject == "model":
            evidence = check_conditions(claim, model)
            if evidence is not None:
                yield rule, (claim,), MatchPlace("model", model.path.name, evidence, path=path)
        elif claim.subject == "feature":
            for role, feature in features:
                evidence = check_conditions(claim, feature, role)
                if evidence is not None:
                    yield rule, (claim,), MatchPlace(role, feature.name, evidence, path=path)


def is_named(target: RuleTarget, claim: Claim) -> bool:
    """Return whether a claim about a setting is about one that the target names."""
    return bool(claim.units and target.units) or bool(not claim.units and claim.chips and target.chip)


def _match_function(
    model: MLModel,
    function: Function,
    claims: Sequence[tuple[ModelRule, Claim]],
    target: RuleTarget,
    path: str,
) -> Iterator[tuple[ModelRule, Sequence[Claim], MatchPlace]]:
    route, form = _describe_form(model)
    graph = Graph(function, model.weight_folder)
    matches = match_operations(graph, form, route, target)
    for position, operation_matches in matches.items():
        for match in operation_matches:
            yield match.rule, match.claims, _make_place(graph, position, match, path)
    leaving = [position for position, items in matches.items() if any(map(_leaves, items))]
    for rule, claim in claims:
        if claim.subject == "function":
            evidence = check_conditions(claim, graph, leaving)
            if evidence is not None:
                yield rule, (claim,), MatchPlace("function", function.name, evidence, path=path)


def _leaves(match: RuleMatch) -> bool:
    return any(claim.effect in ("leaves", "graph-leaves") for claim in match.claims)


def _make_place(graph: Graph, position: int, match: RuleMatch, path: str) -> MatchPlace:
    operation = graph.operations[position]
    upstream = graph.name_operation(match.upstream) if match.upstream is not None else ""
    return MatchPlace(
        "operation",
        graph.name_operation(position),
        match.evidence,
        operation.kind,
        operation.source,
        position,
        path,
        upstream,
    )
