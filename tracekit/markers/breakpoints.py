"""Rules → breakpoints, and the script that sets them in lldb.

A rule can be a breakpoint if it matches functions by their names and decides on an engine by itself. Rules
that match any function of a library, need a caller, or mark the driver's own threads cannot; the script lists
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from pprint import pformat
from typing import Any

from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.analysis.classification.rules import Rule
from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.markers.expressions import remove_possessive_repetitions, to_posix_expression
from tracekit.model.vocabulary import Engine
from tracekit.text import plural, printable

REQUEST_RULES = ("ane.submit", "ane.client-evaluate", "ane.program-request", "ane.services-request")
"""Rules for functions that send a request to the Neural Engine; every request passes through each of them."""
_PROGRAM = Path(__file__).with_name("lldb_program.py")
_SETTINGS_PLACEHOLDER = "SETTINGS: dict[str, Any] = {}  # replaced by the settings of the script\n"


@frozen
class ScriptOptions:
    """Options of the script: what it records, and where."""

    hits: str = "hits.jsonl"
    most_hits: int = 10_000
    frames: int = 16
    most_functions: int = 2_000
    stop_on_first_request: bool = False


@frozen
class BreakpointRules:
    """The rules that become breakpoints, and the rules of the same engines that cannot, with the reason."""

    rules: tuple[Rule, ...]
    left_out: tuple[tuple[Rule, str], ...]


def choose_rules(rule_set: RuleSet, engines: Iterable[Engine], ids: Iterable[str] = ()) -> BreakpointRules:
    """Return the rules for the engines, and those named by their ids.

    Raises ``UsageError`` for an unknown id, for a rule that cannot be a breakpoint, and if no rule remains.
    """
    engines, wanted_ids = frozenset(engines), tuple(ids)
    for rule_id in wanted_ids:
        if rule_id not in rule_set.index:
            raise UsageError(f"'{rule_id}' is not a rule. tracekit rules lists the rules.")
        reason = _find_breakpoint_obstacle(rule_set.rules[rule_set.index[rule_id]])
        if reason:
            raise UsageError(f"The rule {rule_id} cannot be a breakpoint: it {reason}.")
    rules, left_out = [], []
    for rule in rule_set.rules:
        if rule.engine not in engines and rule.id not in wanted_ids:
            continue
        reason = "" if rule.id in wanted_ids else _find_breakpoint_obstacle(rule) or _explain_exclusion(rule)
        if reason:
            left_out.append((rule, reason))
        else:
            rules.append(rule)
    if not rules:
        raise UsageError(
            "No rule of these engines can be a breakpoint. Choose others with --engine or --rule."
        )
    return BreakpointRules(tuple(rules), tuple(left_out))


def _find_breakpoint_obstacle(rule: Rule) -> str:
    if rule.strength == "thread":
        return "matches names of threads"
    if not rule.symbol or not to_posix_expression(rule.symbol):
        return "matches any function of a library"
    return ""


def _explain_exclusion(rule: Rule) -> str:
    """Return why a rule's functions alone do not prove that the engine was used; "" if they do."""
    if rule.strength == "driver":
        return "matches functions of the kernel's driver"
    if rule.strength in ("needs-ml", "presumed"):
        return "decides only by its callers"
    if rule.strength != "decisive" and rule.boundary != "call":
        return "shows no engine"
    return ""


def write_script(breakpoint_rules: BreakpointRules, options: ScriptOptions) -> str:
    """Return the lldb script. Raises ``UsageError`` if it should stop at requests and no rule matches one."""
    if options.stop_on_first_request and not any(rule.id in REQUEST_RULES for rule in breakpoint_rules.rules):
        raise UsageError(
            "--stop-on-first-request needs the breakpoints of the Neural Engine: add --engine ANE."
        )
    settings: dict[str, Any] = {
        "hits": options.hits,
        "most_hits": options.most_hits,
        "frames": options.frames,
        "most_functions": options.most_functions,
        "stop_on_first_request": options.stop_on_first_request,
        "rules": [_build_rule_settings(rule) for rule in breakpoint_rules.rules],
    }
    program_head, placeholder, program_tail = _PROGRAM.read_text(encoding="utf-8").partition(
        _SETTINGS_PLACEHOLDER
    )
    assert placeholder  # the program has its place for settings
    comments = "".join(f"# {printable(line)}\n" for line in _list_excluded_rules(breakpoint_rules))
    settings_text = pformat(settings, width=110, sort_dicts=False)
    return f"{program_head}{comments}SETTINGS: dict[str, Any] = {settings_text}\n{program_tail}"


def _build_rule_settings(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "expression": to_posix_expression(rule.symbol),
        "pattern": remove_possessive_repetitions(rule.symbol),
        "binaries": list(rule.binary),
        "request": rule.id in REQUEST_RULES,
    }


def _list_excluded_rules(breakpoint_rules: BreakpointRules) -> Sequence[str]:
    """Return comment lines that list the excluded rules."""
    if not breakpoint_rules.left_out:
        return ()
    lines = [f"Not here: {plural(len(breakpoint_rules.left_out), 'rule')} of these engines."]
    return [*lines, *(f"  {rule.id} {reason}" for rule, reason in breakpoint_rules.left_out)]
