"""The parser of ``tracekit check plan``; docs/check.md has the grammar."""

from __future__ import annotations

from dataclasses import replace

from tracekit.checks.expression import ExpressionParser
from tracekit.checks.plans.plan_requirements import (
    PlanCondition,
    PlanMetric,
    PlanRequirement,
    RequiredPlacement,
    Side,
)
from tracekit.checks.requirements import ENGINE_NAMES
from tracekit.checks.tokenizer import Tokenizer
from tracekit.errors import UsageError
from tracekit.model.vocabulary import Engine

_QUANTITIES = ("regions", "segments", "transitions", "ops", "cost", "failures", "op", "kind", *ENGINE_NAMES)
_SIDES: tuple[Side, ...] = ("on", "off")


def parse_plan_requirement(text: str, forbids: bool = False, origin: str = "") -> PlanRequirement:
    """Return the requirement. Raises ``UsageError`` that points at the column of a mistake."""
    example = "kind gather on CPU" if forbids else "ops off ANE <= 3"
    parser = _PlanParser(Tokenizer(text, origin or ("--forbid" if forbids else "--require"), example))
    rule = parser.parse_forbidden() if forbids else parser.parse_required()
    return PlanRequirement(text.strip(), forbids, rule)


class _PlanParser(ExpressionParser):
    scope_names = "a function"

    # forbidden = engine [scope] | requirement

    def parse_forbidden(self) -> PlanCondition | RequiredPlacement:
        tokens = self._tokens
        start = tokens.position
        if engine := tokens.take_if(*ENGINE_NAMES):
            if tokens.ended or tokens.peek().lower() == "in":
                return RequiredPlacement("all", "", Engine(engine), self._parse_end(self._parse_scope()))
            tokens.position = start
        return self.parse_required()

    # requirement = ("op" | "kind") name "on" engine [scope] | metric [scope] comparison value [scope]

    def parse_required(self) -> PlanCondition | RequiredPlacement:
        tokens = self._tokens
        if selection := tokens.take_if("op", "kind"):
            name = tokens.take_name(f"the name is missing after '{selection}'.")
            if not tokens.take_if("on"):
                raise tokens.make_error("'on' and an engine are expected here, such as 'on ANE'.")
            engine = self._parse_engine()
            scope = self._parse_end(self._parse_scope())
            return RequiredPlacement("op" if selection == "op" else "kind", name, engine, scope)
        start = tokens.next_position()
        metric = self._parse_metric()
        scope = self._parse_scope()
        if tokens.ended:
            raise tokens.make_error("a comparison is missing here, such as '<= 3'.")
        operator = self._parse_operator()
        metric, value = self._parse_value(metric)
        scope = self._parse_end(scope)
        if scope and metric.quantity == "failures":
            raise tokens.make_error("'failures' applies to the whole plan: remove 'in'.", start)
        return PlanCondition(metric, operator, value, scope)

    # metric = [engine] ("regions" | "segments") | "transitions" | "ops" [side engine | "without" "engine"]
    #        | "cost" side engine | "failures"

    def _parse_metric(self) -> PlanMetric:
        tokens = self._tokens
        position = tokens.next_position()
        engine = tokens.take_if(*ENGINE_NAMES)
        if tokens.take_if("segments"):
            return PlanMetric("segments", Engine(engine) if engine else None)
        if tokens.take_if("regions"):
            return PlanMetric("regions", Engine(engine) if engine else None)
        if engine:
            raise self._make_unknown_error(f"metric of {engine}", ("regions", "segments"))
        if tokens.take_if("transitions", "hand-offs", "hand-overs"):
            return PlanMetric("transitions")
        if tokens.take_if("failures"):
            return PlanMetric("failures")
        if tokens.take_if("cost"):
            return PlanMetric("cost", side=self._parse_side(), engine=self._parse_engine(), is_share=True)
        if not tokens.take_if("ops", "operations"):
            tokens.position = position
            raise self._make_unknown_error("metric of a plan", _QUANTITIES)
        if tokens.take_if("without"):
            if not tokens.take_if("engine"):
                raise tokens.make_error("'engine' is missing after 'without'.")
            return PlanMetric("ops without engine")
        if tokens.peek().lower() in _SIDES:
            return PlanMetric("ops", side=self._parse_side(), engine=self._parse_engine())
        return PlanMetric("ops")

    def _parse_side(self) -> Side:
        side = self._tokens.take_if(*_SIDES)
        if not side:
            raise self._tokens.make_error("'on' or 'off' and an engine are expected here.")
        return "on" if side == "on" else "off"

    def _parse_engine(self) -> Engine:
        if engine := self._tokens.take_if(*ENGINE_NAMES):
            return Engine(engine)
        raise self._make_unknown_error("engine of a plan", ENGINE_NAMES)

    def _make_unknown_error(self, category: str, valid: tuple[str, ...]) -> UsageError:
        position = self._tokens.next_position()
        if word := self._tokens.take_word():
            return self._tokens.make_unknown_error(category, word, valid, position)
        return self._tokens.make_error(f"a {category} is expected here: {', '.join(valid)}.", position)

    # value = number | number "%"

    def _parse_value(self, metric: PlanMetric) -> tuple[PlanMetric, float]:
        """Return the metric with the limit: with ``%``, operations on an engine are a share."""
        tokens = self._tokens
        position = tokens.next_position()
        number = self._parse_number()
        end = tokens.position
        if metric.is_share:
            return metric, self._parse_share(number, position)
        if metric.quantity == "ops" and metric.side and tokens.take_sign() == "%":
            tokens.position = end
            return replace(metric, is_share=True), self._parse_share(number, position)
        if tokens.next_position() < len(tokens.text) and tokens.peek().lower() != "in":
            raise tokens.make_error(f"'{metric.name}' is a count and takes no unit.")
        return metric, float(number)
