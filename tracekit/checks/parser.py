"""The parser of ``tracekit check`` and ``compare --fail-on``; docs/check.md has the grammar.

A recursive-descent parser: one method per rule of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from tracekit.analysis.findings.recording import RECORDING_KINDS
from tracekit.checks.requirements import (
    ENGINE_NAMES,
    Absence,
    Change,
    Condition,
    Metric,
    Operator,
    Presence,
    Requirement,
    default_statistic,
)
from tracekit.checks.tokenizer import Tokenizer
from tracekit.comparison.cautions import THERMAL
from tracekit.comparison.findings_shown import NEEDS
from tracekit.comparison.metrics import all_names
from tracekit.comparison.observations import SUBMISSION_COUNTS
from tracekit.model.issue_codes import ISSUE_CODES
from tracekit.model.vocabulary import Phase

_VERDICTS = (*ENGINE_NAMES, "MIXED", "UNKNOWN")
_STATISTICS = ("mean", "max", "min")
_PERCENTILE = re.compile(r"p(\d{1,3}(?:\.\d{1,3})?)", re.IGNORECASE | re.ASCII)
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_SEVERITIES = ("error", "warning", "info")
_OF_RUN = ("load", "compile", "thermal", "issues", "errors", "warnings")
_METRIC_WORDS = (
    *("p50", "p90", "p99", "first", "warm", *_STATISTICS, "length", "hand-offs", "calls"),
    *("submissions", "segments", "no finding"),
    *(*_OF_RUN, *_VERDICTS, "RUNTIME"),
)
_PHASES = tuple(str(phase) for phase in Phase)


def parse_requirement(text: str, forbids: bool = False, origin: str = "") -> Requirement:
    """Return the requirement. Raises ``UsageError`` that points at the column of a mistake."""
    example = "CPU execute in MyModel" if forbids else "p90 <= 8ms"
    tokens = Tokenizer(text, origin or ("--forbid" if forbids else "--require"), example)
    parser = _Parser(tokens)
    rule = parser.forbidden() if forbids else parser.required()
    return Requirement(text.strip(), forbids, rule)


def parse_change(text: str, origin: str = "--fail-on") -> Change:
    """Return the change (``p90 > +10%``). Raises ``UsageError`` that points at the column of a mistake."""
    return _Parser(Tokenizer(text, origin, "p90 > +10%"), all_names()).change(text.strip())


class _Parser:
    def __init__(self, tokens: Tokenizer, metric_words: Sequence[str] = _METRIC_WORDS) -> None:
        self._tokens = tokens
        self._metric_words = metric_words

    # requirement = "no" "finding" [severity | kind] [scope] | metric [scope] comparison value [scope]

    def required(self) -> Condition | Absence:
        return self._absence() if self._tokens.accept("no") else self.condition()

    def _absence(self) -> Absence:
        tokens = self._tokens
        if not tokens.accept("finding", "findings"):
            raise tokens.fail("'finding' is expected after 'no', such as 'no finding fell-back'.")
        position = tokens.next_position()
        severity = tokens.accept(*_SEVERITIES)
        kind = "" if severity or tokens.peek().lower() == "in" else tokens.accept(*NEEDS)
        if not severity and not kind and tokens.peek().lower() not in ("", "in"):
            advice = "tracekit analyze shows the kind of each finding in brackets."
            raise tokens.unknown("kind of finding", tokens.word(), (*_SEVERITIES, *NEEDS), position, advice)
        scope = self._end(self._scope())
        if scope and kind in RECORDING_KINDS:
            raise tokens.fail(f"'{kind}' is about the whole recording: remove 'in'.", position)
        return Absence(kind, severity, scope)

    def condition(self) -> Condition:
        start = self._tokens.position
        metric = self._metric()
        scope = self._scope()
        if self._tokens.ended:
            raise self._tokens.fail("a comparison is missing here, such as '<= 8ms'.")
        operator = self._operator()
        value = self._value(metric)
        scope = self._end(scope)
        if scope and metric.quantity in ("thermal", "issues"):
            raise self._tokens.fail(f"'{metric.name}' applies to the whole recording: remove 'in'.", start)
        return Condition(metric, operator, value, scope)

    # forbidden = engine [phase] [scope] | requirement

    def forbidden(self) -> Condition | Presence:
        tokens = self._tokens
        start = tokens.position
        engine = tokens.accept(*ENGINE_NAMES)
        following = tokens.peek()
        # "share", "busy" and the like begin a condition; "in" is a scope, or else a phase must follow.
        if not engine or following.lower() in ("share", "used", "busy", "waiting", "samples"):
            tokens.position = start
            return self.condition()
        phase = None
        if following and following.lower() != "in":
            position = tokens.next_position()
            name = tokens.accept(*_PHASES)
            if not name:
                raise tokens.unknown("phase", tokens.word(), _PHASES, position)
            phase = Phase(name)
        return Presence(engine, phase, self._end(self._scope()))

    # change = metric [scope] (">" | "<") sign number unit [scope]

    def change(self, text: str) -> Change:
        tokens = self._tokens
        start = tokens.next_position()
        metric = self._metric()
        # compare has one statistic per engine metric and does not name it: "ANE busy", not "p90 ANE busy".
        name = replace(metric, statistic="").name if metric.engine else metric.name
        name = SUBMISSION_COUNTS.get(name, name)
        implied = not metric.engine or metric.statistic == default_statistic(metric.quantity)
        if name not in all_names() or not implied:
            raise tokens.unknown("metric of compare", metric.name, all_names(), start)
        scope = self._scope()
        position = tokens.next_position()
        operator = tokens.operator()
        if operator not in ("<", ">"):
            raise tokens.fail("'>' or '<' is expected here, such as '> +10%'.", position)
        amount, relative = self._amount(metric, operator)
        return Change(text, name, ">" if operator == ">" else "<", amount, relative, self._end(scope))

    def _amount(self, metric: Metric, operator: str) -> tuple[float, bool]:
        tokens = self._tokens
        position = tokens.next_position()
        sign = tokens.sign()
        if sign not in ("+", "-"):
            raise tokens.fail("a change needs a sign: +10% or -10%.", position)
        number = self._number()
        if number and (sign == "+") != (operator == ">"):
            raise tokens.fail(f"'{operator}' needs the sign {'+' if operator == '>' else '-'}.", position)
        factor = 1 if sign == "+" else -1
        if metric.kind == "share":
            return factor * self._points(number, position), False
        if tokens.sign() == "%":
            if factor < 0 and number >= 100:
                raise tokens.fail(
                    "a value cannot fall by more than 100%, so this would never fail.", position
                )
            return factor * float(number / 100), True
        if metric.kind == "time":
            return factor * float(number * self._unit("a percentage, or a time")), False
        return factor * float(number), False

    def _points(self, number: Decimal, position: int) -> float:
        tokens = self._tokens
        if tokens.sign() == "%":
            raise tokens.fail("shares change by points: write '10 points' or 0.1.", position)
        points = tokens.accept("points", "point", "pts")
        if number >= 100:
            raise tokens.fail("a share changes by at most 100 points, so this would never fail.", position)
        # "-5" without a unit is most likely meant as 5 points, and as a fraction it could never be exceeded.
        if number >= 1 and not points:
            intended = f"'{number.normalize():f} points' or a fraction"
            raise tokens.fail(f"a share changes by at most 1: write {intended}.", position)
        return float(number / 100 if points else number)

    # metric = "calls" | "load" | … | ["warm"] [statistic] quantity

    def _metric(self) -> Metric:
        tokens = self._tokens
        position = tokens.next_position()
        if tokens.accept("calls", "windows"):
            return Metric("calls")
        if quantity := tokens.accept("load", "compile", "thermal"):
            return Metric(quantity)
        if severity := tokens.accept("errors", "warnings"):
            return Metric("issues", code=severity.removesuffix("s"))
        if tokens.accept("issues"):
            return Metric("issues", code=self._code())
        if tokens.accept("first"):
            return Metric("length", statistic="max", part="first")
        part = tokens.accept("warm")
        if part and (word := tokens.accept("first", "calls", "windows", *_OF_RUN)):
            raise tokens.fail(f"'{word}' cannot be combined with 'warm': remove 'warm'.", position)
        statistic = self._statistic()
        quantity, engine = self._quantity(bool(statistic))
        if not quantity:
            if statistic:
                return Metric("length", statistic=statistic, part=part)
            raise self._unknown(position if not part else tokens.next_position())
        if not statistic and quantity == "length":
            raise tokens.fail(
                "'length' needs a statistic before it: p50, p90, p99, mean, max or min.", position
            )
        if statistic and quantity in ("share", "used share", "samples share"):
            raise tokens.fail(f"'{engine} {quantity}' is a single number: remove '{statistic}'.", position)
        return Metric(quantity, engine, statistic or default_statistic(quantity), part)

    def _statistic(self) -> str:
        tokens = self._tokens
        if statistic := tokens.accept(*_STATISTICS):
            return statistic
        match = _PERCENTILE.fullmatch(tokens.peek())
        if match is None:
            return ""
        if not 0 < float(match[1]) < 100:
            raise tokens.fail("a percentile lies above p0 and below p100; the ends are 'min' and 'max'.")
        return tokens.word().lower()

    def _quantity(self, after_statistic: bool) -> tuple[str, str]:
        tokens = self._tokens
        if tokens.accept("length", "latency"):
            return "length", ""
        if tokens.accept("hand-offs", "handoffs"):
            return "hand-offs", ""
        if name := tokens.accept("submissions", "segments"):
            if tokens.accept("per") and not tokens.accept("inference"):
                raise tokens.fail("'inference' is missing after 'per'.")
            return f"{name} per inference", ""
        engine = tokens.accept(*_VERDICTS, "RUNTIME")
        if not engine:
            return "", ""
        position = tokens.next_position()
        if engine in _VERDICTS and not after_statistic and tokens.accept("share"):
            return "share", engine
        if engine in (*ENGINE_NAMES, "RUNTIME") and tokens.accept("waiting"):
            return "waiting", engine
        if engine in ENGINE_NAMES:
            if tokens.accept("used"):
                if not tokens.accept("share"):
                    raise tokens.fail("'share' is missing after 'used'.")
                return "used share", engine
            if quantity := tokens.accept("busy", "samples", "share"):
                suffix = " share" if quantity != "share" and tokens.accept("share") else ""
                return quantity + suffix, engine
        valid = ("busy", "samples", "share", "used", "waiting") if engine in ENGINE_NAMES else ("share",)
        valid = ("waiting",) if engine == "RUNTIME" else valid
        if word := tokens.word():
            raise tokens.unknown(f"metric of {engine}", word, valid, position)
        raise tokens.fail(f"a metric of {engine} is missing here: {', '.join(valid)}.", position)

    def _code(self) -> str:
        tokens = self._tokens
        if tokens.peek().lower() in ("", "in"):
            return ""
        position = tokens.next_position()
        codes = (*_SEVERITIES, *ISSUE_CODES)
        if code := tokens.accept(*codes):
            return code
        advice = "tracekit analyze shows the code of each issue in brackets."
        raise tokens.unknown("issue code", tokens.word(), codes, position, advice)

    def _unknown(self, position: int) -> Exception:
        word = self._tokens.word()
        if not word:
            return self._tokens.fail("a metric is missing here, such as 'p90' or 'ANE share'.", position)
        return self._tokens.unknown("metric", word, self._metric_words, position)

    # scope = "in" name

    def _scope(self) -> str:
        return self._tokens.name() if self._tokens.accept("in") else ""

    def _end(self, scope: str) -> str:
        """Read the scope at the end, and make sure that nothing follows."""
        position = self._tokens.next_position()
        last = self._scope()
        if scope and last:
            raise self._tokens.fail("'in' is given twice.", position)
        if not self._tokens.ended:
            raise self._tokens.fail("unexpected text; put a name with spaces in quotes.")
        return scope or last

    def _operator(self) -> Operator:
        position = self._tokens.next_position()
        operator = self._tokens.operator()
        if operator not in ("<=", "<", ">=", ">", "==", "!="):
            raise self._tokens.fail("a comparison is expected here: <=, <, >=, >, == or !=.", position)
        return operator  # type: ignore[return-value]

    # value = number unit | number "%" | number | thermal-level

    def _value(self, metric: Metric) -> float:
        tokens = self._tokens
        if metric.kind == "thermal":
            position = tokens.next_position()
            level = tokens.accept(*THERMAL)
            if not level and not tokens.peek():
                raise tokens.fail(f"a thermal state is expected here: {', '.join(THERMAL)}.", position)
            if not level:
                raise tokens.unknown("thermal state", tokens.word(), THERMAL, position)
            return float(THERMAL.index(level))
        position = tokens.next_position()
        number = self._number()
        if metric.kind == "share":
            return self._share(number, position)
        if metric.kind == "time":
            return float(number * self._unit("a time"))
        if tokens.peek() and tokens.peek().lower() != "in":
            raise tokens.fail(f"'{metric.name}' is a count and takes no unit.")
        return float(number)

    def _share(self, number: Decimal, position: int) -> float:
        tokens = self._tokens
        percent = tokens.sign()
        if percent not in ("", "%"):
            raise tokens.fail("a share is a fraction or a percentage: 0.8 or 80%.", position)
        if not percent and number > 1:
            raise tokens.fail(f"a share is at most 1: write {number.normalize():f}% or a fraction.", position)
        if percent and number > 100:
            raise tokens.fail("a share is at most 100%.", position)
        return float(number / 100 if percent else number)

    def _number(self) -> Decimal:
        tokens = self._tokens
        position = tokens.next_position()
        if tokens.text[position : position + 1] in ("-", "−"):
            raise tokens.fail("a value cannot be negative.", position)
        number = tokens.number()
        if number is None:
            raise tokens.fail("a number is expected here.", position)
        return number

    def _unit(self, expected: str) -> int:
        tokens = self._tokens
        position = tokens.next_position()
        unit = tokens.peek()
        if unit not in _UNITS:
            raise tokens.fail(f"{expected} with a unit is expected here: ns, us, ms or s.", position)
        tokens.word()
        return _UNITS[unit]
