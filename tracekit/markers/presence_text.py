"""Text and JSON of the rules that match on a system."""

from __future__ import annotations

from typing import Any

from tracekit.markers.presence import RulePresence, SystemPresence
from tracekit.text import align, clip, plural, printable, wrap

SCHEMA = "tracekit-symbols/1"
_NAME_WIDTH = 60
_MAX_SHOWN_NAMES = 8
_MAX_JSON_FUNCTIONS = 1_000
_STRIPPED = (
    "A rule without a match here can still match on that system: a listing lacks functions whose symbols"
    " were stripped, and one of exports alone has few."
)
_ONE_SIDE = (
    "A difference lists what changed and nothing that stayed: whether a rule still matches follows from a"
    " whole listing only."
)


def to_text(presence: SystemPresence, is_verbose: bool = False) -> str:
    """Return the rules that match and those that do not, or what changed between two systems."""
    parts = [_describe_libraries(presence)]
    if presence.is_difference or presence.old_libraries is not None:
        parts += _describe_changes(presence, is_verbose)
    if not presence.is_difference:
        parts += _describe_rules(presence, is_verbose)
    return "\n\n".join(part for part in parts if part) + "\n"


def _describe_libraries(presence: SystemPresence) -> str:
    if presence.is_difference:
        return wrap("A difference between two systems.", "")
    library_texts = ", ".join(_describe_library(library, count) for library, count in presence.libraries)
    text = f"{plural(sum(count for _, count in presence.libraries), 'function')}: {library_texts}."
    if presence.old_libraries is not None:
        old_library_texts = ", ".join(
            _describe_library(library, count) for library, count in presence.old_libraries
        )
        text += f" Before: {old_library_texts or 'none'}."
    return wrap(text, "")


def _describe_library(library: str, count: int) -> str:
    return f"{printable(library) or 'a library that is not named (--library)'} ({count:,})"


def _describe_rules(presence: SystemPresence, is_verbose: bool) -> list[str]:
    matching, absent = presence.rules_in_state("matches"), presence.rules_in_state("absent")
    rows = [
        [
            entry.rule.id,
            f"{len(entry.functions or ()):,}",
            _format_libraries(entry),
            _clip_symbol((entry.functions or ("",))[0]),
        ]
        for entry in matching
    ]
    parts = []
    if rows:
        header = ("rule", "functions", "library", "for example")
        parts.append(f"Rules that match\n{align(header, rows, [False, True, False, False], '  ')}")
    else:
        parts.append("No rule matches.")
    if absent:
        missing = [
            [entry.rule.id, entry.rule.seen or "–", _clip_symbol(_find_example(entry))] for entry in absent
        ]
        table = align(("rule", "seen in", "a function that it matches"), missing, [False] * 3, "  ")
        note = wrap(_STRIPPED, "  ")
        parts.append(f"Rules about these libraries without a match\n{table}\n{note}")
    unlisted = presence.rules_in_state("not listed")
    if unlisted:
        names = f": {', '.join(entry.rule.id for entry in unlisted)}" if is_verbose else ""
        parts.append(
            wrap(
                f"Not shown by these listings: {plural(len(unlisted), 'rule')} of other libraries{names}.",
                "",
            )
        )
    return parts


def _describe_changes(presence: SystemPresence, is_verbose: bool) -> list[str]:
    changed = [entry for entry in presence.rules if entry.change]
    if not changed:
        return ["No function that a rule matches is gone or new."]
    max_names = None if is_verbose else _MAX_SHOWN_NAMES
    lines = ["Rules whose functions changed"]
    for entry in changed:
        lines.append(f"  {entry.rule.id}: {_summarize_change(entry)}")
        names = [("-", name) for name in entry.gone] + [("+", name) for name in entry.new]
        lines += [f"    {sign} {_clip_symbol(name)}" for sign, name in names[:max_names]]
        if len(names) > len(names[:max_names]):
            lines.append(f"    … {plural(len(names) - len(names[:max_names]), 'more change')} (-v)")
    if presence.is_difference:
        lines.append(wrap(_ONE_SIDE, "  "))
    return ["\n".join(lines)]


def _summarize_change(entry: RulePresence) -> str:
    counts = f"{len(entry.gone):,} gone, {len(entry.new):,} new"
    if entry.change == "gone":
        return f"no function left, {counts}"
    if entry.change == "new":
        return f"matches now, {counts}"
    return counts


def _format_libraries(entry: RulePresence) -> str:
    return clip(", ".join(printable(library) or "?" for library in entry.libraries), 30)


def _find_example(entry: RulePresence) -> str:
    return entry.rule.example.symbol if entry.rule.example is not None else ""


def _clip_symbol(name: str) -> str:
    return clip(printable(name), _NAME_WIDTH)


def to_json(presence: SystemPresence, version: str) -> dict[str, Any]:
    """Return the document ``tracekit-symbols/1``."""
    old = presence.old_libraries
    return {
        "schema": SCHEMA,
        "tracekit": version,
        "difference": presence.is_difference,
        "libraries": _build_library_rows(presence.libraries),
        "old_libraries": None if old is None else _build_library_rows(old),
        "rules": [
            {
                "id": entry.rule.id,
                "engine": str(entry.rule.engine),
                "phase": str(entry.rule.phase) if entry.rule.phase else None,
                "state": entry.state,
                "change": entry.change or None,
                "libraries": list(entry.libraries),
                "functions": None if entry.functions is None else len(entry.functions),
                "old_functions": None if entry.old is None else len(entry.old),
                "examples": list((entry.functions or ())[:_MAX_SHOWN_NAMES]),
                "gone": list(entry.gone[:_MAX_JSON_FUNCTIONS]),
                "new": list(entry.new[:_MAX_JSON_FUNCTIONS]),
                "gone_count": len(entry.gone),
                "new_count": len(entry.new),
            }
            for entry in presence.rules
        ],
    }


def _build_library_rows(libraries: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    return [{"name": library or None, "functions": count} for library, count in libraries]
