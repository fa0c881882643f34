"""Words that the documents of plans share."""

from __future__ import annotations

from tracekit.mlmodels.plans import PlannedOperation
from tracekit.model.vocabulary import Engine
from tracekit.text import clip

ENGINE_WORDS: dict[Engine | None, str] = {
    Engine.ANE: "Neural Engine",
    Engine.GPU: "GPU",
    Engine.CPU: "CPU",
    None: "not stated",
}
_MOST_CHARACTERS = 120


def name_operation(operation: PlannedOperation) -> str:
    """Return an operation's kind and name, or its first output; an empty text where it has none.

    A name that is too long to be read is cut.
    """
    name = operation.name or next(iter(operation.outputs), "")
    return clip(" ".join(dict.fromkeys(filter(None, (operation.kind, name)))), _MOST_CHARACTERS)
