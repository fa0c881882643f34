"""The parser of ``tracekit check`` and ``compare --fail-on``; docs/check.md has the grammar.

A recursive-descent parser: one method per rule of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from tracekit.analysis.findings.find import KINDS
from tracekit.checks.expression import ExpressionParser
from tracekit.checks.request_parser import take_phase, take_request_metric
from tracekit.checks.requirements import (
    ENGINE_NAMES,
    Absence,
    ChangeRule,
    Condition,
    EnginePresence,
    Metric,
    Requirement,
    choose_default_statistic,
)
from tracekit.checks.tokenizer import Tokenizer
from tracekit.comparison.cautions import THERMAL
from tracekit.comparison.metrics import (
    INCOMPLETE,
    LATE,
    MEDIANS,
    REQUEST_LENGTH,
    RESPONSE_RATE,
    list_all_names,
)
from tracekit.comparison.observations import SUBMISSION_COUNTS
from tracekit.model.issue_codes import ISSUE_CODES
from tracekit.model.power_rails import RAILS
from tracekit.model.vocabulary import Phase

_VERDICTS = (*ENGINE_NAMES, "MIXED", "UNKNOWN")
_STATISTICS = ("mean", "max", "min")
_PERCENTILE = re.compile(r"p(\d{1,3}(?:\.\d{1,3})?)", re.IGNORECASE | re.ASCII)
_UNITS: Mapping[str, int] = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_UNITS_OF_ENERGY: Mapping[str, int] = {"mJ": 1, "J": 10**3}
_SEVERITIES = ("error", "warning", "info")
_OF_RUN = ("load", "compile", "thermal", "issues", "errors", "warnings")
_METRIC_WORDS = (
    *("p50", "p90", "p99", "first", "warm", *_STATISTICS, "length", "hand-offs", "calls"),
    *("submissions", "segments", "tokens per second", "time to first token", "no finding"),
    *(RESPONSE_RATE, REQUEST_LENGTH, INCOMPLETE),
    *(*_OF_RUN, *_VERDICTS, "RUNTIME"),
)
_PHASES = tuple(str(phase) for phase in Phase)


def parse_requirement(text: str, forbids: bool = False, origin: str = "") -> Requirement:
    """Return the requirement. Raises ``UsageError`` that points at the column of a mistake."""
    example = "CPU execute in MyModel" if forbids else "p90 <= 8ms"
    tokens = Tokenizer(text, origin or ("--forbid" if forbids else "--require"), example)
    parser = _RecordingParser(tokens)
    rule = parser.parse_forbidden() if forbids else parser.parse_required()
    return Requirement(text.strip(), forbids, rule)


def parse_change(text: str, origin: str = "--fail-on") -> ChangeRule:
    """Return the change (``p90 > +10%``). Raises ``UsageError`` that points at the column of a mistake."""
    return _RecordingParser(Tokenizer(text, origin, "p90 > +10%"), list_all_names()).parse_change(
        text.strip()
    )


class _RecordingParser(ExpressionParser):
    def __init__(self, tokens: Tokenizer, metric_words: Sequence[str] = _METRIC_WORDS) -> None:
        super().__init__(tokens)
        self._metric_words = metric_words

    # requirement = "no" "finding" [severity | kind] [scope] | metric [scope] comparison value [scope]

    def parse_required(self) -> Condition | Absence:
        return self._parse_absence() if self._tokens.take_if("no") else self.parse_condition()

    def _parse_absence(self) -> Absence:
        tokens = self._tokens
        if not tokens.take_if("finding", "findings"):
            raise tokens.make_error("'finding' is expected after 'no', such as 'no finding fell-back'.")
        position = tokens.next_position()
        severity = tokens.take_if(*_SEVERITIES)
        kind = "" if severity or tokens.peek().lower() == "in" else tokens.take_if(*KINDS)
        if not severity and not kind and tokens.peek().lower() not in ("", "in"):
            advice = "tracekit analyze shows the kind of each finding in brackets."
            raise tokens.make_unknown_error(
                "kind of finding", tokens.take_word(), (*_SEVERITIES, *KINDS), position, advice
            )
        scope = self._parse_end(self._parse_scope())
        if scope and kind and KINDS[kind].about != "calls":
            raise tokens.make_error(f"'{kind}' is about the whole recording: remove 'in'.", position)
        return Absence(kind, severity, scope)

    def parse_condition(self) -> Condition:
        start = self._tokens.position
        metric = take_phase(self._tokens, self._parse_metric())
        scope = self._parse_scope()
        if self._tokens.ended:
            raise self._tokens.make_error("a comparison is missing here, such as '<= 8ms'.")
        operator = self._parse_operator()
        value = self._parse_value(metric)
        metric = take_phase(self._tokens, metric)
        scope = self._parse_end(scope)
        if scope and metric.quantity in ("thermal", "issues"):
            raise self._tokens.make_error(
                f"'{metric.name}' applies to the whole recording: remove 'in'.", start
            )
        return Condition(metric, operator, value, scope)

    # forbidden = engine [phase] [scope] | requirement

    def parse_forbidden(self) -> Condition | EnginePresence:
        tokens = self._tokens
        start = tokens.position
        engine = tokens.take_if(*ENGINE_NAMES)
        following = tokens.peek()
        # "share", "busy" and the like begin a condition; "in" is a scope, or else a phase must follow.
        if not engine or following.lower() in ("share", "used", "busy", "waiting", "samples"):
            tokens.position = start
            return self.parse_condition()
        phase = None
        if following and following.lower() != "in":
            position = tokens.next_position()
            name = tokens.take_if(*_PHASES)
            if not name:
                raise tokens.make_unknown_error("phase", tokens.take_word(), _PHASES, position)
            phase = Phase(name)
        return EnginePresence(engine, phase, self._parse_end(self._parse_scope()))

    # change = metric [scope] (">" | "<") sign number unit [scope]

    def parse_change(self, text: str) -> ChangeRule:
        tokens = self._tokens
        start = tokens.next_position()
        metric = take_phase(tokens, self._parse_metric())
        # compare has one statistic per engine metric and does not name it: "ANE busy", not "p90 ANE busy".
        name = replace(metric, statistic="").name if metric.engine else metric.name
        name = SUBMISSION_COUNTS.get(name, name)
        if metric.quantity in MEDIANS:
            name = metric.quantity  # of which compare has the median
        implied = not metric.engine or metric.statistic == choose_default_statistic(metric.quantity)
        if not implied or (name not in list_all_names() and metric.quantity != LATE):
            raise tokens.make_unknown_error("metric of compare", metric.name, list_all_names(), start)
        scope = self._parse_scope()
        position = tokens.next_position()
        operator = tokens.take_operator()
        if operator not in ("<", ">"):
            raise tokens.make_error("'>' or '<' is expected here, such as '> +10%'.", position)
        amount, relative = self._parse_amount(metric, operator)
        deadline_ns = metric.limit_ns if metric.quantity == LATE else None
        return ChangeRule(
            text, name, ">" if operator == ">" else "<", amount, relative, self._parse_end(scope), deadline_ns
        )

    def _parse_amount(self, metric: Metric, operator: str) -> tuple[float, bool]:
        tokens = self._tokens
        position = tokens.next_position()
        sign = tokens.take_sign()
        if sign not in ("+", "-"):
            raise tokens.make_error("a change needs a sign: +10% or -10%.", position)
        number = self._parse_number()
        if number and (sign == "+") != (operator == ">"):
            raise tokens.make_error(
                f"'{operator}' needs the sign {'+' if operator == '>' else '-'}.", position
            )
        factor = 1 if sign == "+" else -1
        if metric.kind == "share":
            return factor * self._parse_points(number, position), False
        if tokens.take_sign() == "%":
            if factor < 0 and number >= 100:
                raise tokens.make_error(
                    "a value cannot fall by more than 100%, so this would never fail.", position
                )
            return factor * float(number / 100), True
        if metric.quantity == "energy":
            raise tokens.make_error("energy changes by a percentage: +10%.", position)
        if metric.kind == "time":
            return factor * float(number * self._parse_unit("a percentage, or a time")), False
        return factor * float(number), False

    def _parse_points(self, number: Decimal, position: int) -> float:
        tokens = self._tokens
        if tokens.take_sign() == "%":
            raise tokens.make_error("shares change by points: write '10 points' or 0.1.", position)
        points = tokens.take_if("points", "point", "pts")
        if number >= 100:
            raise tokens.make_error(
                "a share changes by at most 100 points, so this would never fail.", position
            )
        # "-5" without a unit is most likely meant as 5 points, and as a fraction it could never be exceeded.
        if number >= 1 and not points:
            intended = f"'{number.normalize():f} points' or a fraction"
            raise tokens.make_error(f"a share changes by at most 1: write {intended}.", position)
        return float(number / 100 if points else number)

    def _parse_energy(self) -> Metric | None:
        """Read ``ANE energy [per call]``; None for any other metric."""
        tokens = self._tokens
        start = tokens.position
        rail = tokens.take_if(*RAILS)
        if rail and tokens.take_if("energy"):
            if tokens.take_if("per") and not tokens.take_if("call"):
                raise tokens.make_error("'call' is missing after 'per'.")
            return Metric("energy", rail)
        tokens.position = start
        return None

    def _parse_request_metric(self) -> Metric | None:
        """Read a number of requests to language models; None for any other."""
        start = self._tokens.position
        metric = take_request_metric(self._tokens, self._parse_statistic())
        if metric is None:
            self._tokens.position = start
        return metric

    # metric = "calls" [">" time] | "load" | … | ["warm"] [statistic] quantity

    def _parse_metric(self) -> Metric:
        tokens = self._tokens
        position = tokens.next_position()
        if energy := self._parse_energy():
            return energy
        if of_requests := self._parse_request_metric():
            return of_requests
        if tokens.take_if("calls", "windows"):
            limit_ns = self._parse_deadline()
            return Metric("calls") if limit_ns is None else Metric(LATE, limit_ns=limit_ns)
        if quantity := tokens.take_if("load", "compile", "thermal"):
            return Metric(quantity)
        if severity := tokens.take_if("errors", "warnings"):
            return Metric("issues", code=severity.removesuffix("s"))
        if tokens.take_if("issues"):
            return Metric("issues", code=self._parse_code())
        if tokens.take_if("first"):
            return Metric("length", statistic="max", part="first")
        part = tokens.take_if("warm")
        if part and (word := tokens.take_if("first", "calls", "windows", *_OF_RUN)):
            raise tokens.make_error(f"'{word}' cannot be combined with 'warm': remove 'warm'.", position)
        statistic = self._parse_statistic()
        word = tokens.peek()
        quantity, engine = self._parse_quantity(bool(statistic))
        if not quantity:
            if statistic:
                return Metric("length", statistic=statistic, part=part)
            raise self._make_unknown_error(position if not part else tokens.next_position())
        if not statistic and quantity == "length":
            raise tokens.make_error(
                f"'{word}' needs a statistic before it: p50, p90, p99, mean, max or min.", position
            )
        if statistic and quantity in ("share", "used share", "samples share"):
            raise tokens.make_error(
                f"'{engine} {quantity}' is a single number: remove '{statistic}'.", position
            )
        return Metric(quantity, engine, statistic or choose_default_statistic(quantity), part)

    def _parse_deadline(self) -> float | None:
        """Read ``> 16.7ms``; None where no time follows: ``calls > 100`` is a condition."""
        tokens = self._tokens
        start = tokens.position
        if tokens.take_operator() == ">":
            number = tokens.take_number()
            if number is not None and tokens.peek() in _UNITS:
                return float(number * self._parse_unit("a time"))
        tokens.position = start
        return None

    def _parse_statistic(self) -> str:
        tokens = self._tokens
        if statistic := tokens.take_if(*_STATISTICS):
            return statistic
        match = _PERCENTILE.fullmatch(tokens.peek())
        if match is None:
            return ""
        if not 0 < float(match[1]) < 100:
            raise tokens.make_error(
                "a percentile lies above p0 and below p100; the ends are 'min' and 'max'."
            )
        return tokens.take_word().lower()

    def _parse_quantity(self, after_statistic: bool) -> tuple[str, str]:
        tokens = self._tokens
        if tokens.take_if("length", "latency"):
            return "length", ""
        if tokens.take_if("hand-offs", "handoffs"):
            return "hand-offs", ""
        if name := tokens.take_if("submissions", "segments"):
            if tokens.take_if("per") and not tokens.take_if("inference"):
                raise tokens.make_error("'inference' is missing after 'per'.")
            return f"{name} per inference", ""
        engine = tokens.take_if(*_VERDICTS, "RUNTIME")
        if not engine:
            return "", ""
        position = tokens.next_position()
        if engine in _VERDICTS and not after_statistic and tokens.take_if("share"):
            return "share", engine
        if engine in (*ENGINE_NAMES, "RUNTIME") and tokens.take_if("waiting"):
            return "waiting", engine
        if engine in ENGINE_NAMES:
            if tokens.take_if("used"):
                if not tokens.take_if("share"):
                    raise tokens.make_error("'share' is missing after 'used'.")
                return "used share", engine
            if quantity := tokens.take_if("busy", "samples", "share"):
                suffix = " share" if quantity != "share" and tokens.take_if("share") else ""
                return quantity + suffix, engine
        valid = ("busy", "samples", "share", "used", "waiting") if engine in ENGINE_NAMES else ("share",)
        valid = ("waiting",) if engine == "RUNTIME" else valid
        if word := tokens.take_word():
            raise tokens.make_unknown_error(f"metric of {engine}", word, valid, position)
        raise tokens.make_error(f"a metric of {engine} is missing here: {', '.join(valid)}.", position)

    def _parse_code(self) -> str:
        tokens = self._tokens
        if tokens.peek().lower() in ("", "in"):
            return ""
        position = tokens.next_position()
        codes = (*_SEVERITIES, *ISSUE_CODES)
        if code := tokens.take_if(*codes):
            return code
        advice = "tracekit analyze shows the code of each issue in brackets."
        raise tokens.make_unknown_error("issue code", tokens.take_word(), codes, position, advice)

    def _make_unknown_error(self, position: int) -> Exception:
        word = self._tokens.take_word()
        if not word:
            return self._tokens.make_error(
                "a metric is missing here, such as 'p90' or 'ANE share'.", position
            )
        return self._tokens.make_unknown_error("metric", word, self._metric_words, position)

    # value = number unit | number "%" | number | thermal-level

    def _parse_value(self, metric: Metric) -> float:
        tokens = self._tokens
        if metric.kind == "thermal":
            position = tokens.next_position()
            level = tokens.take_if(*THERMAL)
            if not level and not tokens.peek():
                raise tokens.make_error(f"a thermal state is expected here: {', '.join(THERMAL)}.", position)
            if not level:
                raise tokens.make_unknown_error("thermal state", tokens.take_word(), THERMAL, position)
            return float(THERMAL.index(level))
        position = tokens.next_position()
        number = self._parse_number()
        if metric.kind == "share":
            return self._parse_share(number, position)
        if metric.kind == "time":
            return float(number * self._parse_unit("a time"))
        if metric.kind == "energy":
            return float(number * self._parse_unit("an energy", _UNITS_OF_ENERGY))
        if tokens.peek() and tokens.peek().lower() != "in":
            noun = "rate" if metric.kind == "rate" else "count"
            raise tokens.make_error(f"'{metric.name}' is a {noun} and takes no unit.")
        return float(number)

    def _parse_unit(self, expected: str, units: Mapping[str, int] = _UNITS) -> int:
        tokens = self._tokens
        position = tokens.next_position()
        unit = tokens.peek()
        if unit not in units:
            *others, last = (name for name in units if name.isascii())
            listed = f"{', '.join(others)} or {last}"
            raise tokens.make_error(f"{expected} with a unit is expected here: {listed}.", position)
        tokens.take_word()
        return units[unit]
