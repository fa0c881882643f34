"""Stable names of the parts of an analysis: ``call:Tagger/2``, ``finding:fell-back``, ``limit:null-stacks``.

They are made of what people read, not of positions in a list, so that they hold while the recording does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracekit.analysis.result import Analysis
from tracekit.errors import UsageError
from tracekit.report import wording
from tracekit.text import clip, printable

KINDS = ("call", "finding", "limit", "model", "table")
_WIDTH = 60
_NAME_WIDTH = 120
_MOST_KNOWN = 8
_MOST_DIGITS = 9


@dataclass(frozen=True)
class Identified:
    """The named thing: its kind, and its position in the analysis' list of that kind."""

    kind: str
    position: int


def name_call(analysis: Analysis, row: int, names: wording.CallNames | None = None) -> str:
    """Return ``call:Tagger/2`` for a window; ``call:ranges/2`` for one that the user gave."""
    names = names or wording.call_names(analysis)
    return f"call:{write_name(names.names[names.group[row]])}/{names.numbers[row]}"


def write_name(name: str) -> str:
    """Return a name of a recording as it stands in an identifier: printable, and cut where it is long."""
    return clip(printable(name), _NAME_WIDTH)


def name_findings(analysis: Analysis) -> list[str]:
    """Return ``finding:fell-back`` for each finding; the second of a kind is ``finding:fell-back/2``."""
    counts: Counter[str] = Counter()
    texts = []
    for finding in analysis.findings:
        counts[finding.kind] += 1
        number = counts[finding.kind]
        texts.append(f"finding:{finding.kind}{f'/{number}' if number > 1 else ''}")
    return texts


def find_identified(analysis: Analysis, identifier: str) -> Identified:
    """Return what an identifier names. Raises ``UsageError`` with identifiers of its kind."""
    kind, _, name = identifier.partition(":")
    if kind == "call":
        return Identified("call", find_call(analysis, name))
    if kind in KINDS:
        candidates = list(list_identifiers(analysis, kind))
        if identifier in candidates:
            return Identified(kind, candidates.index(identifier))
        known = list(dict.fromkeys(candidates))[:_MOST_KNOWN]
        raise UsageError(f"This recording has no {_quote(identifier)}. {_advise(kind, known)}")
    raise UsageError(
        f"{_quote(identifier)} is no identifier: one begins with {', '.join(f'{kind}:' for kind in KINDS)}."
    )


def find_call(analysis: Analysis, text: str) -> int:
    """Return the window of ``Tagger/2``, or of ``2`` where one model has calls. Raises ``UsageError``."""
    names = wording.call_names(analysis)
    name, _, number = text.rpartition("/")
    if not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise UsageError(f"{_quote(text)} names no call: write MODEL/NUMBER, as Tagger/2.")
    positions = _find_models(analysis, names.names[:-1], name)
    models = ", ".join(map(_quote, names.names[:-1][:_MOST_KNOWN]))
    if not positions:
        raise UsageError(f"No model {_quote(name)} has calls here. Models with calls: {models or 'none'}.")
    if len(positions) > 1:
        raise UsageError(f"Several models have a call {number}: write MODEL/{number}, of {models}.")
    rows = analysis.call_models[positions[0]].rows
    if not 1 <= int(number) <= len(rows):
        model = _quote(names.names[positions[0]])
        raise UsageError(f"{model} has no call {number}: its calls are 1 to {len(rows):,}.")
    return int(rows[int(number) - 1])


def _find_models(analysis: Analysis, names: Sequence[str], name: str) -> list[int]:
    """Return the models of a name: as it stands in identifiers, else as in the recording.

    The models of two processes have one name in the recording, and two in identifiers. All are meant by "",
    unless that is the name of one.
    """
    models = [model.model if name else "" for model in analysis.call_models]
    for candidates in (names, list(map(write_name, names)), models):
        if name in candidates:
            return [position for position, candidate in enumerate(candidates) if candidate == name]
    return []


def list_identifiers(analysis: Analysis, kind: str) -> Iterator[str]:
    """Yield the identifiers of a kind in the order of the analysis."""
    if kind == "call":
        names = wording.call_names(analysis)
        yield from (name_call(analysis, row, names) for row in range(len(names.numbers)))
    elif kind == "finding":
        yield from name_findings(analysis)
    elif kind == "limit":
        yield from (f"limit:{issue.code}" for issue in wording.issues(analysis.diagnostics))
    elif kind == "model":
        yield from (f"model:{write_name(name)}" for name in wording.call_names(analysis).names[:-1])
    elif kind == "table":
        yield from (f"table:{write_name(table.schema)}" for table in analysis.trace.tables)


def _advise(kind: str, known: list[str]) -> str:
    texts = ", ".join(text for text in known if text)
    return f"It has: {texts}." if texts else f"It has no {kind}."


def _quote(text: str) -> str:
    return repr(clip(printable(text), _WIDTH))
