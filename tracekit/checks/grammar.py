"""The languages of requirements and of changes: each word that the parsers take, with its forms.

``tracekit explain`` prints them, and the documentation is made from them. Words in quotes are written as they
are, brackets hold what may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

Grammar: TypeAlias = Mapping[str, tuple[str, ...]]
"""The forms of each word, of which one is written."""

_REQUIREMENTS: Grammar = {
    "requirement": (
        "metric [ scope ] comparison value [ scope ]",
        '"no" "finding" [ severity | kind ] [ scope ]',
    ),
    "forbidden": ("engine [ phase ] [ scope ]", "requirement"),
    "metric": (
        '"calls" | "calls" ">" time | "load" | "compile" | "thermal"',
        'rail "energy" [ "per" "call" ]',
        '[ "mean" | "max" | "min" ] "tokens" "per" "second" [ "in" ( "decode" | "prefill" ) ]',
        '[ statistic ] "time" "to" "first" "token"',
        '[ "mean" | "max" | "min" ] "response" "tokens" "per" "second"',
        '[ statistic ] "request" "length" | "incomplete" "requests"',
        '"issues" [ severity | code ] | "errors" | "warnings"',
        '"first"',
        '[ "warm" ] verdict "share"',
        '[ "warm" ] engine "used" "share" | [ "warm" ] engine "samples" "share"',
        '[ "warm" ] statistic [ "length" ]',
        '[ "warm" ] [ statistic ] quantity',
    ),
    "quantity": (
        'engine "busy" | engine "busy" "share" | engine "samples"',
        '( engine | "RUNTIME" ) "waiting" | "hand-offs"',
        '( "submissions" | "segments" ) [ "per" "inference" ]',
    ),
    "statistic": ('"p" number | "mean" | "max" | "min"',),
    "verdict": ('engine | "MIXED" | "UNKNOWN"',),
    "engine": ('"ANE" | "GPU" | "CPU"',),
    "rail": ('engine | "combined" | "package"',),
    "severity": ('"error" | "warning" | "info"',),
    "kind": ("the kind of a finding, such as fell-back",),
    "phase": ('"execute" | "dispatch" | "wait" | "copy" | "compile" | "load" | "idle"',),
    "scope": ('"in" name',),
    "name": ("a word | 'in quotes' | \"in quotes\", with * for anything",),
    "comparison": ('"<=" | "<" | ">=" | ">" | "==" | "!="',),
    "time": ('number ( "ns" | "us" | "ms" | "s" )',),
    "value": (
        "time, of times",
        'number ( "mJ" | "J" ), of energy',
        'number "%" | a fraction up to 1, of shares',
        "number, of counts",
        '"nominal" | "fair" | "serious" | "critical", of thermal',
    ),
}
_PLAN_REQUIREMENTS: Grammar = {
    "requirement": (
        "metric [ scope ] comparison value [ scope ]",
        '( "op" | "kind" ) name "on" engine [ scope ]',
    ),
    "forbidden": ("engine [ scope ]", "requirement"),
    "metric": (
        '[ engine ] ( "regions" | "segments" ) | "transitions"',
        '"ops" [ ( "on" | "off" ) engine | "without" "engine" ]',
        '"cost" ( "on" | "off" ) engine | "failures"',
    ),
    "value": ('number | number "%"',),
}
_CHANGES: Grammar = {
    "change": ('metric [ "in" name ] ( ">" "+" | "<" "-" ) number unit [ "in" name ]',),
    "metric": ('a number that compare lists | "calls" ">" time, which adds its deadline to the comparison',),
    "unit": (
        '"%" of the base | "ns" | "us" | "ms" | "s" | "points" (shares)',
        "nothing (counts; shares as a fraction below 1)",
    ),
    "name": ("a model or a label; in quotes if it contains spaces",),
}
GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {"requirements": _REQUIREMENTS, "plan-requirements": _PLAN_REQUIREMENTS, "changes": _CHANGES}
)
"""By the name that ``tracekit explain`` takes."""
