"""Kinds of input (``TraceInfo.kind``) as a sentence names them."""

from __future__ import annotations

from tracekit.model.trace import MICROSTACKSHOTS

_WORDS = {
    "xctrace-xml": "exports of xctrace",
    "trace-bundle": "a recording of Instruments",
    "pack": "a pack of tracekit",
    MICROSTACKSHOTS: "a report of microstackshots",
}


def describe_input(kind: str) -> str:
    """Return ``a report of sample``, as the kind of text has it; any other kind is named as it is."""
    if kind in _WORDS:
        return _WORDS[kind]
    from tracekit.parsers.text.kinds import KINDS

    return next((text.words for text in KINDS if text.name == kind), kind)
