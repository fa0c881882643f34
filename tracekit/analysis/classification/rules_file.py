"""Reading a file of rules: every mistake in it gets a sentence that names the rule and what to do.

The form is that of ``markers.toml``::

    disable = ["gpu.mps-core"]

    [[rule]]
    id = "cpu.my-kernels"
    engine = "CPU"
    symbol = '\\bmylib::kernels::'
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, get_args

from tracekit.analysis.classification.frame_names import plain_frame
from tracekit.analysis.classification.rules import Boundary, Example, Rule, Strength, with_defaults
from tracekit.errors import InputError
from tracekit.model.vocabulary import Engine, Phase

MAX_BYTES = 1 << 20
_ADVICE = "See docs/markers.md for the form of a rule."
_TEXT = ("id", "symbol", "thread", "means", "seen", "source")
_FLAGS = ("ancestor", "needs_binary")
_WORDS: dict[str, tuple[str, ...]] = {
    "engine": tuple(engine for engine in Engine if engine is not Engine.UNKNOWN),
    "phase": tuple(Phase),
    "strength": get_args(Strength),
    "scope": ("frame", "stack"),
    "boundary": get_args(Boundary),
    "otherwise": (str(Engine.GRAPHICS),),
    "confidence": ("A", "B", "C"),
}
_KEYS = tuple(field.name for field in fields(Rule))
_REPEATED_GROUP = re.compile(r"(?:[+*}]|\{\d+,)\)(?:[*+](?!\+)|\{\d*,)")


@dataclass(frozen=True)
class RulesFile:
    """What a file of rules says."""

    rules: tuple[Rule, ...]
    disable: frozenset[str]


def read_rules_file(path: Path, known: Sequence[str] = (), try_patterns: bool = True) -> RulesFile:
    """Read and check a file; ``known`` are the ids that ``disable`` may name.

    Without ``try_patterns``, no pattern is compiled before it is needed, nor held against its examples.
    """
    document = _parse(path)
    reader = _Reader(str(path), try_patterns)
    reader.only_keys(document, ("rule", "disable"), "the file")
    entries = document.get("rule", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        reader.fail("'rule' must be a list of tables: write each rule under its own [[rule]].")
    rules = tuple(reader.rule(entry, number) for number, entry in enumerate(entries, 1))
    repeated = _first_repeated(rule.id for rule in rules)
    if repeated is not None:
        reader.fail(f"the rule '{repeated}' stands there twice. Give one of them another id.")
    disable = reader.texts(document.get("disable", []), "'disable'")
    for name in disable:
        if name not in known:
            reader.fail(f"'disable' names '{name}', which is no built-in rule{_hint(name, known)}.")
    return RulesFile(rules, frozenset(disable))


def _parse(path: Path) -> dict[str, Any]:
    """Return the file as TOML."""
    try:
        if not path.is_file():
            problem = "is no file of rules." if path.exists() else "does not exist."
            raise InputError(str(path), problem, "Check the path given to --markers.")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(str(path), "this file is larger than 1 MB and cannot be a file of rules.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), "is not a text file in UTF-8.", _ADVICE) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(str(path), f"is not valid TOML: {error}.", _ADVICE) from error


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _hint(word: str, known: Iterable[str]) -> str:
    """Return a "did you mean" for a misspelt word, or the choice when it is short."""
    choices = list(known)
    close = get_close_matches(word, choices, n=1, cutoff=0.6)
    close = close or [one for one in choices if one.lower() == word.lower()]
    if close:
        return f" (did you mean '{close[0]}'?)"
    return f" (one of {', '.join(choices)})" if 0 < len(choices) <= 20 else ""


class _Reader:
    """Checks one file; ``fail`` knows which rule is being read."""

    def __init__(self, source: str, try_patterns: bool) -> None:
        self._source, self._try_patterns = source, try_patterns
        self._where = ""

    def fail(self, problem: str) -> NoReturn:
        raise InputError(self._source, self._where + problem, _ADVICE)

    def only_keys(self, table: Mapping[str, Any], allowed: Sequence[str], what: str) -> None:
        for key in table:
            if key not in allowed:
                self.fail(f"{what} has the unknown key '{key}'{_hint(key, allowed)}.")

    def texts(self, value: object, what: str) -> tuple[str, ...]:
        if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            self.fail(f'{what} must be a list of strings, such as ["Espresso"].')
        return tuple(value)

    def rule(self, entry: Mapping[str, Any], number: int) -> Rule:
        """Return one checked rule."""
        name = entry.get("id")
        self._where = f"rule '{name}': " if isinstance(name, str) and name else f"rule number {number}: "
        self.only_keys(entry, _KEYS, "it")
        if not isinstance(name, str) or not name:
            self.fail("it needs an 'id', a string.")
        values = {key: self._value(key, value) for key, value in entry.items()}
        rule = with_defaults(Rule(**values))
        self._check_target(rule, entry)
        self._check_combination(rule, entry)
        if self._try_patterns:
            self._check_examples(rule)
        self._where = ""
        return rule

    def _value(self, key: str, value: Any) -> Any:
        if key in _WORDS:
            if value not in _WORDS[key]:
                self.fail(f"'{value}' is no {key}{_hint(str(value), _WORDS[key])}.")
            return (
                Phase(value) if key == "phase" else Engine(value) if key in ("engine", "otherwise") else value
            )
        if key in _TEXT and not isinstance(value, str):
            self.fail(f"'{key}' must be a string.")
        if key in _FLAGS and not isinstance(value, bool):
            self.fail(f"'{key}' must be true or false.")
        if key == "binary":
            return self.texts(value, "'binary'")
        if key in ("symbol", "thread") and self._try_patterns:
            self._check_pattern(key, value)
        if key == "example":
            return self._example(value)
        if key == "counter_examples":
            if not isinstance(value, list):
                self.fail("'counter_examples' must be a list of tables.")
            return tuple(self._example(one) for one in value)
        return value

    def _example(self, value: object) -> Example:
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            self.fail('an example must be a table of strings: { binary = "…", symbol = "…" }.')
        self.only_keys(value, ("binary", "symbol", "thread"), "an example")
        return Example(**value)

    def _check_pattern(self, key: str, pattern: str) -> None:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            self.fail(f"'{key}' is not a valid regular expression: {error}.")
        if _REPEATED_GROUP.search(pattern):
            self.fail(
                f"'{key}' repeats a group that itself repeats, which can take for ever on a long symbol."
                " Take one of the two repetitions away, or make it possessive ('++')."
            )

    def _check_target(self, rule: Rule, entry: Mapping[str, Any]) -> None:
        """A rule must say what it matches, and how strongly it speaks for whom."""
        if rule.strength == "thread":
            if not rule.thread or rule.binary or rule.symbol:
                self.fail("a rule on thread names needs 'thread', and neither 'binary' nor 'symbol'.")
        elif rule.thread:
            self.fail("'thread' needs strength = \"thread\".")
        elif not rule.binary and not rule.symbol:
            self.fail("it matches nothing: it needs 'binary', 'symbol', or both.")
        if rule.needs_binary and not rule.binary:
            self.fail("'needs_binary' needs a 'binary'.")
        if "engine" not in entry and rule.strength != "plumbing":
            self.fail(f"it needs an 'engine'{_hint('', _WORDS['engine'])}.")
        if rule.strength == "context" and rule.engine in (Engine.ANE, Engine.GPU, Engine.CPU):
            self.fail('a context rule cannot name an engine: use engine = "RUNTIME" or another strength.')
        if rule.strength == "thread" and rule.phase is not Phase.IDLE:
            self.fail('a thread\'s name proves no work: its phase must be "idle".')

    def _check_combination(self, rule: Rule, entry: Mapping[str, Any]) -> None:
        """Keys that make sense only together with others."""
        if rule.scope == "stack" and rule.phase not in (Phase.LOAD, Phase.COMPILE):
            self.fail('scope = "stack" needs phase = "load" or "compile".')
        if rule.engine in (Engine.GRAPHICS, Engine.OTHER) and rule.phase and rule.strength != "plumbing":
            self.fail(f"work of {rule.engine} has no phase.")
        if rule.strength == "plumbing" and rule.phase not in (None, Phase.WAIT):
            self.fail('plumbing can only have phase = "wait".')
        if rule.boundary and rule.strength not in ("context", "decisive"):
            self.fail('\'boundary\' needs strength = "context" or "decisive".')
        if "otherwise" in entry and rule.strength not in ("needs-ml", "presumed"):
            self.fail('\'otherwise\' needs strength = "needs-ml" or "presumed".')

    def _check_examples(self, rule: Rule) -> None:
        if rule.example is not None and not _matches(rule, rule.example):
            self.fail("its own example is not matched by it.")
        for example in rule.counter_examples:
            if _matches(rule, example):
                self.fail(f"its counter-example '{example.symbol or example.thread}' is matched by it.")


def _matches(rule: Rule, example: Example) -> bool:
    """True when the rule matches the example, other rules aside."""
    if rule.strength == "thread":
        return rule.fits_thread(example.thread)
    binary, symbol = plain_frame(example.binary, example.symbol)
    return rule.fits_binary(binary) and rule.fits_symbol(symbol)
