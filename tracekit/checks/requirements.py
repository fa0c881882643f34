"""The language of ``tracekit check`` and ``compare --fail-on``; its grammar stands in docs/check.md.

A recursive-descent parser: one method per rule of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from tracekit.checks.issue_codes import ISSUE_CODES
from tracekit.checks.reader import Reader
from tracekit.comparison.metrics import all_names
from tracekit.comparison.recorded import THERMAL
from tracekit.model.vocabulary import SERVING, Phase

Operator: TypeAlias = Literal["<=", "<", ">=", ">", "==", "!="]
Kind: TypeAlias = Literal["time", "share", "count", "thermal"]

ENGINE_NAMES = tuple(str(engine) for engine in SERVING)
_VERDICTS = (*ENGINE_NAMES, "MIXED", "UNKNOWN")
_STATISTICS = ("mean", "max", "min")
_PERCENTILE = re.compile(r"p(\d{1,3}(?:\.\d{1,3})?)", re.IGNORECASE | re.ASCII)
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_SEVERITIES = ("error", "warning", "info")
_OF_RUN = ("load", "compile", "thermal", "issues", "errors", "warnings")
_KNOWN = (
    *("p50", "p90", "p99", "first", "warm", *_STATISTICS, "length", "hand-offs", "windows"),
    *(*_OF_RUN, *_VERDICTS, "RUNTIME"),
)
_PHASES = tuple(str(phase) for phase in Phase)


@dataclass(frozen=True)
class Reading:
    """What is to be read from a recording; ``statistic`` is "" where the quantity is one number by itself."""

    quantity: str
    engine: str = ""
    statistic: str = ""
    part: str = ""
    code: str = ""

    @property
    def kind(self) -> Kind:
        """What its values are."""
        if self.quantity.endswith("share"):
            return "share"
        if self.quantity == "thermal":
            return "thermal"
        return "count" if self.quantity in ("windows", "hand-offs", "issues") else "time"

    @property
    def name(self) -> str:
        """The reading in the words of the language."""
        named = self.quantity
        if named == "length":
            named = "" if self.statistic or self.part == "first" else "length"
        silent = self.part == "first" or self.statistic == _default(self.quantity)
        statistic = "" if silent else self.statistic
        return " ".join(filter(None, (self.part, statistic, self.engine, named, self.code)))


@dataclass(frozen=True)
class Condition:
    """A reading, a comparison and a value: in ns, a fraction, a count, or a thermal level."""

    reading: Reading
    operator: Operator
    value: float
    scope: str = ""


@dataclass(frozen=True)
class Presence:
    """An engine at work in any window; without a phase, in any that is part of an inference."""

    engine: str
    phase: Phase | None
    scope: str = ""


@dataclass(frozen=True)
class Requirement:
    """One requirement as it was written; ``forbids`` turns its rule round."""

    text: str
    forbids: bool
    rule: Condition | Presence

    @property
    def scope(self) -> str:
        """The model or label that it is about; "" is all windows."""
        return self.rule.scope


@dataclass(frozen=True)
class Change:
    """A difference that fails: of a comparison's metric, beyond ``amount`` in the direction of ``operator``.

    ``amount`` is signed: a part of the base if ``relative``, else in ns, a fraction, or a count.
    """

    text: str
    metric: str
    operator: Literal[">", "<"]
    amount: float
    relative: bool
    scope: str = ""


def parse_requirement(text: str, forbids: bool = False, origin: str = "") -> Requirement:
    """Read a requirement. Raises ``UsageError`` that points at the column where it goes wrong."""
    example = "CPU execute in MyModel" if forbids else "p90 <= 8ms"
    reader = Reader(text, origin or ("--forbid" if forbids else "--require"), example)
    parser = _Parser(reader)
    rule = parser.forbidden() if forbids else parser.condition()
    return Requirement(text.strip(), forbids, rule)


def parse_change(text: str, origin: str = "--fail-on") -> Change:
    """Read ``p90 > +10%``. Raises ``UsageError`` that points at the column where it goes wrong."""
    return _Parser(Reader(text, origin, "p90 > +10%"), all_names()).change(text.strip())


class _Parser:
    def __init__(self, reader: Reader, known: Sequence[str] = _KNOWN) -> None:
        self._reader = reader
        self._known = known

    # requirement = reading [scope] comparison value [scope]

    def condition(self) -> Condition:
        start = self._reader.at
        reading = self._reading()
        scope = self._scope()
        if self._reader.ended:
            raise self._reader.fail("a comparison is missing here, such as '<= 8ms'.")
        operator = self._operator()
        value = self._value(reading)
        scope = self._end(scope)
        if scope and reading.quantity in ("thermal", "issues"):
            raise self._reader.fail(f"'{reading.name}' is of the whole recording: leave 'in' out.", start)
        return Condition(reading, operator, value, scope)

    # forbidden = engine [phase] [scope] | requirement

    def forbidden(self) -> Condition | Presence:
        reader = self._reader
        start = reader.at
        engine = reader.accept(*ENGINE_NAMES)
        after = reader.peek()
        # "share", "busy" and the like begin a condition; "in" is a scope, or else a phase must follow.
        if not engine or after.lower() in ("share", "used", "busy", "waiting", "samples"):
            reader.at = start
            return self.condition()
        phase = None
        if after and after.lower() != "in":
            at = reader.at
            named = reader.accept(*_PHASES)
            if not named:
                raise reader.unknown("phase", reader.word(), _PHASES, self._column(at))
            phase = Phase(named)
        return Presence(engine, phase, self._end(self._scope()))

    # change = metric [scope] (">" | "<") sign number unit [scope]

    def change(self, text: str) -> Change:
        reader = self._reader
        start = self._column(reader.at)
        reading = self._reading()
        metric = replace(reading, statistic="").name if reading.engine else reading.name
        if metric not in all_names() or (reading.engine and reading.statistic != _default(reading.quantity)):
            raise reader.unknown("number that compare has", reading.name, all_names(), start)
        scope = self._scope()
        at = self._column(reader.at)
        operator = reader.operator()
        if operator not in ("<", ">"):
            raise reader.fail("a difference fails beyond '>' or '<': write one such as '> +10%'.", at)
        amount, relative = self._amount(reading, operator)
        return Change(text, metric, ">" if operator == ">" else "<", amount, relative, self._end(scope))

    def _amount(self, reading: Reading, operator: str) -> tuple[float, bool]:
        reader = self._reader
        at = self._column(reader.at)
        sign = reader.sign()
        if sign not in ("+", "-"):
            raise reader.fail("a difference has a sign: +10% or -10%.", at)
        number = self._number()
        if number and (sign == "+") != (operator == ">"):
            raise reader.fail(f"'{operator}' goes with {'+' if operator == '>' else '-'}.", at)
        factor = 1 if sign == "+" else -1
        if reading.kind == "share":
            return factor * self._points(number, at), False
        if reader.sign() == "%":
            if factor < 0 and number >= 100:
                raise reader.fail("nothing falls by more than 100%, so this would never fail.", at)
            return factor * float(number / 100), True
        if reading.kind == "time":
            return factor * float(number * self._unit("10%, or a time")), False
        return factor * float(number), False

    def _points(self, number: Decimal, at: int) -> float:
        reader = self._reader
        if reader.sign() == "%":
            raise reader.fail("a share changes by points: write '10 points', or 0.1.", at)
        points = reader.accept("points", "point", "pts")
        if number >= 100:
            raise reader.fail("a share changes by at most 100 points, so this would never fail.", at)
        if number >= 1 and not points:
            meant = f"'{number.normalize():f} points' or a fraction"
            raise reader.fail(f"a share changes by at most 1: write {meant}.", at)
        return float(number / 100 if points else number)

    # reading = "windows" | "load" | … | ["warm"] [statistic] quantity

    def _reading(self) -> Reading:
        reader = self._reader
        at = self._column(reader.at)
        if found := reader.accept("windows", "load", "compile", "thermal"):
            return Reading(found)
        if found := reader.accept("errors", "warnings"):
            return Reading("issues", code=found.removesuffix("s"))
        if reader.accept("issues"):
            return Reading("issues", code=self._code())
        if reader.accept("first"):
            return Reading("length", statistic="max", part="first")
        part = reader.accept("warm")
        if part and (found := reader.accept("first", "windows", *_OF_RUN)):
            raise reader.fail(f"'{found}' is no number of the warm windows: leave 'warm' out.", at)
        statistic = self._statistic()
        quantity, engine = self._quantity(bool(statistic))
        if not quantity:
            if statistic:
                return Reading("length", statistic=statistic, part=part)
            raise self._unknown(at if not part else self._column(reader.at))
        if not statistic and quantity == "length":
            raise reader.fail("say which length: p50, p90, p99, mean, max or min before it.", at)
        if statistic and quantity in ("share", "used share", "samples share"):
            raise reader.fail(f"'{engine} {quantity}' is one number: leave '{statistic}' out.", at)
        return Reading(quantity, engine, statistic or _default(quantity), part)

    def _statistic(self) -> str:
        reader = self._reader
        if found := reader.accept(*_STATISTICS):
            return found
        match = _PERCENTILE.fullmatch(reader.peek())
        if match is None:
            return ""
        if not 0 < float(match[1]) < 100:
            raise reader.fail("a percentile lies above p0 and below p100; the ends are 'min' and 'max'.")
        return reader.word().lower()

    def _quantity(self, after_statistic: bool) -> tuple[str, str]:
        reader = self._reader
        if reader.accept("length", "latency"):
            return "length", ""
        if reader.accept("hand-offs", "handoffs"):
            return "hand-offs", ""
        engine = reader.accept(*_VERDICTS, "RUNTIME")
        if not engine:
            return "", ""
        at = self._column(reader.at)
        if engine in _VERDICTS and not after_statistic and reader.accept("share"):
            return "share", engine
        if engine in (*ENGINE_NAMES, "RUNTIME") and reader.accept("waiting"):
            return "waiting", engine
        if engine in ENGINE_NAMES:
            if reader.accept("used"):
                if not reader.accept("share"):
                    raise reader.fail("'share' is missing after 'used'.")
                return "used share", engine
            if found := reader.accept("busy", "samples", "share"):
                return found + (" share" if found != "share" and reader.accept("share") else ""), engine
        known = ("busy", "samples", "share", "used", "waiting") if engine in ENGINE_NAMES else ("share",)
        known = ("waiting",) if engine == "RUNTIME" else known
        if found := reader.word():
            raise reader.unknown(f"number of the {engine}", found, known, at)
        raise reader.fail(f"say what of the {engine}: {', '.join(known)}.", at)

    def _code(self) -> str:
        reader = self._reader
        if reader.peek().lower() in ("", "in"):
            return ""
        at = self._column(reader.at)
        if known := reader.accept(*_SEVERITIES, *ISSUE_CODES):
            return known
        else_ = "tracekit analyze shows the code of an issue in brackets."
        raise reader.unknown("code of an issue", reader.word(), (*_SEVERITIES, *ISSUE_CODES), at, else_)

    def _unknown(self, at: int) -> Exception:
        found = self._reader.word()
        if not found:
            return self._reader.fail("a metric is missing here, such as 'p90' or 'ANE share'.", at)
        return self._reader.unknown("metric", found, self._known, at)

    # scope = "in" name

    def _scope(self) -> str:
        return self._reader.name() if self._reader.accept("in") else ""

    def _end(self, scope: str) -> str:
        """Read the scope at the end, and make sure that nothing follows."""
        at = self._column(self._reader.at)
        last = self._scope()
        if scope and last:
            raise self._reader.fail("'in' stands twice.", at)
        if not self._reader.ended:
            raise self._reader.fail("nothing should follow here; a name with blanks wants quotes.")
        return scope or last

    def _operator(self) -> Operator:
        at = self._column(self._reader.at)
        found = self._reader.operator()
        if found not in ("<=", "<", ">=", ">", "==", "!="):
            raise self._reader.fail("a comparison is expected here: <=, <, >=, >, == or !=.", at)
        return found  # type: ignore[return-value]

    # value = number unit | number "%" | number | thermal-level

    def _value(self, reading: Reading) -> float:
        reader = self._reader
        if reading.kind == "thermal":
            at = self._column(reader.at)
            level = reader.accept(*THERMAL)
            if not level and not reader.peek():
                raise reader.fail(f"a thermal state is expected here: {', '.join(THERMAL)}.", at)
            if not level:
                raise reader.unknown("thermal state", reader.word(), THERMAL, at)
            return float(THERMAL.index(level))
        at = self._column(reader.at)
        number = self._number()
        if reading.kind == "share":
            return self._share(number, at)
        if reading.kind == "time":
            return float(number * self._unit("a time"))
        if reader.peek() and reader.peek().lower() != "in":
            raise reader.fail(f"'{reading.name}' is a count, and has no unit.")
        return float(number)

    def _share(self, number: Decimal, at: int) -> float:
        reader = self._reader
        percent = reader.sign()
        if percent not in ("", "%"):
            raise reader.fail("a share is a fraction or a percentage: 0.8 or 80%.", at)
        if not percent and number > 1:
            raise reader.fail(f"a share is at most 1: write {number.normalize():f}% or a fraction.", at)
        if percent and number > 100:
            raise reader.fail("a share is at most 100%.", at)
        return float(number / 100 if percent else number)

    def _number(self) -> Decimal:
        reader = self._reader
        at = self._column(reader.at)
        if reader.text[at : at + 1] in ("-", "−"):
            raise reader.fail("a value cannot be negative.", at)
        number = reader.number()
        if number is None:
            raise reader.fail("a number is expected here.", at)
        return number

    def _unit(self, what: str) -> int:
        reader = self._reader
        at = self._column(reader.at)
        found = reader.peek()
        if found not in _UNITS:
            raise reader.fail(f"{what} with a unit is expected: ns, us, ms or s.", at)
        reader.word()
        return _UNITS[found]

    def _column(self, at: int) -> int:
        """Return the column of the next word."""
        text = self._reader.text
        return at + len(text[at:]) - len(text[at:].lstrip())


def _default(quantity: str) -> str:
    """Return the statistic that is meant where none is written."""
    if quantity in ("busy", "waiting", "samples"):
        return "p90"
    return {"busy share": "mean", "hand-offs": "max"}.get(quantity, "")
