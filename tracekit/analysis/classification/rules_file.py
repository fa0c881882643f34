"""Reading a file of rules (``--markers``): every mistake gets a message with the rule and the remedy.

The format is that of ``markers.toml``::

    disable = ["gpu.mps-core"]

    [[rule]]
    id = "cpu.my-kernels"
    engine = "CPU"
    symbol = '\\bmylib::kernels::'
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn, get_args

import tomli

from tracekit.analysis.classification.frame_names import normalize_frame
from tracekit.analysis.classification.rules import Boundary, Example, Rule, Strength, with_defaults
from tracekit.errors import InputError
from tracekit.frozen import compile_later, frozen
from tracekit.model.vocabulary import Engine, Phase

MAX_BYTES = 200_000
"""The built-in rules have 70,000. The time for parsing TOML grows with the square of a key's parts."""
_ADVICE = f"The built-in rules are examples: {Path(__file__).with_name('markers.toml')}."
_TEXT = ("id", "symbol", "thread", "means", "seen", "source")
_FLAGS = ("ancestor", "needs_binary", "passes_on", "shared")
_VALUES: dict[str, tuple[str, ...]] = {
    "engine": tuple(engine for engine in Engine if engine is not Engine.UNKNOWN),
    "phase": tuple(Phase),
    "strength": get_args(Strength),
    "scope": ("frame", "stack"),
    "boundary": get_args(Boundary),
    "otherwise": (str(Engine.GRAPHICS),),
    "confidence": ("A", "B", "C"),
}
_KEYS = tuple(field.name for field in fields(Rule))
_REPEATED_GROUP = compile_later(r"(?:[+*}]|\{\d+,)\)(?:[*+](?!\+)|\{\d*,)")


@frozen
class RulesFile:
    """The contents of a file of rules."""

    rules: tuple[Rule, ...]
    disable: frozenset[str]


def read_rules_file(path: Path, built_in: Sequence[str] = (), check_patterns: bool = True) -> RulesFile:
    """Read and check a file; ``built_in`` are the ids that ``disable`` may name.

    Without ``check_patterns``, patterns are compiled only when they are needed, and not matched against their
    examples.
    """
    document = read_toml_file(path, "rules", "--markers", MAX_BYTES, _ADVICE)
    reader = _Reader(str(path), check_patterns)
    reader.require_only_keys(document, ("rule", "disable"), "the file")
    entries = document.get("rule", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        reader.fail("'rule' must be a list of tables: write each rule under its own [[rule]].")
    rules = tuple(reader.rule(entry, number) for number, entry in enumerate(entries, 1))
    repeated = _find_repeated_name(rule.id for rule in rules)
    if repeated is not None:
        reader.fail(f"the id '{repeated}' is used twice. Give one of the two rules another id.")
    disable = reader.texts(document.get("disable", []), "'disable'")
    for name in disable:
        if name not in built_in:
            reader.fail(
                f"'disable' names '{name}', which is not a built-in rule{_suggest_words(name, built_in)}."
            )
    return RulesFile(rules, frozenset(disable))


def read_toml_file(path: Path, noun: str, option: str, max_bytes: int, advice: str) -> dict[str, Any]:
    """Return a file that a user wrote as TOML; ``noun`` is what it holds, ``option`` what it was given to.

    Raises ``InputError`` for no file, one larger than ``max_bytes``, and one that is not TOML; ``advice`` is
    the remedy for its content.
    """
    try:
        if not path.is_file():
            problem = f"is not a file of {noun}." if path.exists() else "does not exist."
            raise InputError(str(path), problem, f"Check the path given to {option}.")
        if path.stat().st_size > max_bytes:
            size = f"{max_bytes // 1000} kB"
            raise InputError(str(path), f"this file is larger than {size} and cannot be a file of {noun}.")
        return tomli.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), "is not a UTF-8 text file.", advice) from error
    except (ValueError, RecursionError) as error:  # ValueError: also for an integer of too many digits
        raise InputError(str(path), f"is not valid TOML: {error}.", advice) from error


def _find_repeated_name(names: Iterable[str]) -> str | None:
    seen_names: set[str] = set()
    for name in names:
        if name in seen_names:
            return name
        seen_names.add(name)
    return None


def _suggest_words(word: str, valid: Iterable[str]) -> str:
    """Return a "did you mean" for a misspelt word, or the valid ones if they are few."""
    from difflib import get_close_matches

    choices = list(valid)
    close = get_close_matches(word, choices, n=1, cutoff=0.6)
    close = close or [choice for choice in choices if choice.lower() == word.lower()]
    if close:
        return f" (did you mean '{close[0]}'?)"
    return f" (one of {', '.join(choices)})" if 0 < len(choices) <= 20 else ""


class _Reader:
    """Checks the contents of one file; messages of ``fail`` name the current rule."""

    def __init__(self, source: str, check_patterns: bool) -> None:
        self._source, self._check_patterns = source, check_patterns
        self._prefix = ""

    def fail(self, problem: str) -> NoReturn:
        raise InputError(self._source, self._prefix + problem, _ADVICE)

    def require_only_keys(self, table: Mapping[str, Any], allowed: Sequence[str], table_name: str) -> None:
        for key in table:
            if key not in allowed:
                self.fail(f"{table_name} has the unknown key '{key}'{_suggest_words(key, allowed)}.")

    def texts(self, value: object, name: str) -> tuple[str, ...]:
        if not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
            self.fail(f'{name} must be a list of strings, such as ["Espresso"].')
        return tuple(value)

    def rule(self, entry: Mapping[str, Any], number: int) -> Rule:
        """Return one checked rule."""
        name = entry.get("id")
        # Messages name the rule by its number as long as it has no usable id.
        self._prefix = f"rule '{name}': " if isinstance(name, str) and name else f"rule number {number}: "
        self.require_only_keys(entry, _KEYS, "the rule")
        if not isinstance(name, str) or not name:
            self.fail("the rule needs an 'id', a string.")
        values = {key: self._read_value(key, value) for key, value in entry.items()}
        rule = with_defaults(Rule(**values))
        self._check_target(rule, entry)
        self._check_combination(rule, entry)
        if self._check_patterns:
            self._check_examples(rule)
        self._prefix = ""
        return rule

    def _read_value(self, key: str, value: Any) -> Any:
        if key in _VALUES:
            if value not in _VALUES[key]:
                self.fail(f"'{value}' is not a valid {key}{_suggest_words(str(value), _VALUES[key])}.")
            return (
                Phase(value) if key == "phase" else Engine(value) if key in ("engine", "otherwise") else value
            )
        if key in _TEXT and not isinstance(value, str):
            self.fail(f"'{key}' must be a string.")
        if key in _FLAGS and not isinstance(value, bool):
            self.fail(f"'{key}' must be true or false.")
        if key == "binary":
            return self.texts(value, "'binary'")
        if key in ("symbol", "thread") and self._check_patterns:
            self._check_pattern(key, value)
        if key == "example":
            return self._read_example(value)
        if key == "counter_examples":
            if not isinstance(value, list):
                self.fail("'counter_examples' must be a list of tables.")
            return tuple(self._read_example(example) for example in value)
        return value

    def _read_example(self, value: object) -> Example:
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            self.fail('an example must be a table of strings: { binary = "…", symbol = "…" }.')
        self.require_only_keys(value, ("binary", "symbol", "thread"), "an example")
        return Example(**value)

    def _check_pattern(self, key: str, pattern: str) -> None:
        try:
            with warnings.catch_warnings():
                # A set such as [a--b] is to change its meaning in a later Python.
                warnings.simplefilter("error", FutureWarning)
                re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            self.fail(f"'{key}' is not a valid regular expression: {error}.")
        except FutureWarning as warning:
            self.fail(
                f"'{key}' is an ambiguous regular expression: {warning}. Escape the character with '\\'."
            )
        # Python's regular expressions backtrack: ``(a+)+b`` takes exponential time on ``aaaa…``.
        if _REPEATED_GROUP.search(pattern):
            self.fail(
                f"'{key}' repeats a group that itself repeats, which can take forever on a long symbol."
                " Remove one of the two repetitions, or make it possessive ('++')."
            )

    def _check_target(self, rule: Rule, entry: Mapping[str, Any]) -> None:
        """Check that a rule matches something, and that its strength fits its engine."""
        if rule.strength == "thread":
            if not rule.thread or rule.binary or rule.symbol:
                self.fail("a rule on thread names needs 'thread', and neither 'binary' nor 'symbol'.")
        elif rule.thread:
            self.fail("'thread' needs strength = \"thread\".")
        elif not rule.binary and not rule.symbol:
            self.fail("the rule matches nothing: it needs 'binary', 'symbol', or both.")
        if rule.needs_binary and not rule.binary:
            self.fail("'needs_binary' needs a 'binary'.")
        if "engine" not in entry and rule.strength != "plumbing":
            self.fail(f"the rule needs an 'engine'{_suggest_words('', _VALUES['engine'])}.")
        if rule.strength == "context" and rule.engine in (Engine.ANE, Engine.GPU, Engine.CPU):
            self.fail('a context rule cannot name an engine: use engine = "RUNTIME" or another strength.')
        if rule.strength == "thread" and rule.phase is not Phase.IDLE:
            self.fail('a thread name does not prove work: the phase must be "idle".')

    def _check_combination(self, rule: Rule, entry: Mapping[str, Any]) -> None:
        """Check keys that are valid only together with others."""
        own_thread = rule.strength == "driver" and rule.phase is Phase.IDLE
        if rule.scope == "stack" and rule.phase not in (Phase.LOAD, Phase.COMPILE) and not own_thread:
            self.fail(
                'scope = "stack" needs phase = "load" or "compile", or "idle" with strength = "driver".'
            )
        if rule.engine in (Engine.GRAPHICS, Engine.OTHER) and rule.phase and rule.strength != "plumbing":
            self.fail(f"a rule with engine {rule.engine} cannot have a phase.")
        if rule.strength == "plumbing" and rule.phase not in (None, Phase.WAIT, Phase.LOAD):
            self.fail('plumbing can only have phase = "wait", or "load" for releasing.')
        if rule.boundary and rule.strength not in ("context", "decisive"):
            self.fail('\'boundary\' needs strength = "context" or "decisive".')
        if "otherwise" in entry and rule.strength not in ("needs-ml", "presumed"):
            self.fail('\'otherwise\' needs strength = "needs-ml" or "presumed".')

    def _check_examples(self, rule: Rule) -> None:
        if rule.example is not None and not _is_match(rule, rule.example):
            self.fail("the rule does not match its own example.")
        for example in rule.counter_examples:
            if _is_match(rule, example):
                self.fail(f"the rule matches its counter-example '{example.symbol or example.thread}'.")


def _is_match(rule: Rule, example: Example) -> bool:
    """Return whether the rule, regardless of other rules, matches the example."""
    if rule.strength == "thread":
        return rule.fits_thread(example.thread)
    binary, symbol = normalize_frame(example.binary, example.symbol)
    return rule.fits_binary(binary) and rule.fits_symbol(symbol)
