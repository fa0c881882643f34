"""Models and engines as a sentence names them."""

from __future__ import annotations

from tracekit.model.vocabulary import Engine
from tracekit.text import clip, printable

_NAME_WIDTH = 60
ENGINE_NAMES = {Engine.ANE: "the Neural Engine", Engine.GPU: "the GPU", Engine.CPU: "the CPU"}


def format_model_name(name: str, is_named: bool) -> str:
    """Return the subject of a sentence about some calls: ``SpeechEncoder``, or ``Calls of predict()``."""
    if not name:
        return "The model"
    short_name = shorten_model_name(name)
    return short_name if is_named else f"Calls of {short_name}"


def shorten_model_name(name: str) -> str:
    """Return a recording's name for a model, printable, and cut where it is long."""
    return clip(printable(name), _NAME_WIDTH)


def format_calls(name: str) -> str:
    """Return calls as the subject of a sentence: ``Calls of SpeechEncoder``."""
    return f"C{calls_of(name)[1:]}"


def format_name_inside(name: str, is_named: bool) -> str:
    """Return the name of a model inside a sentence: ``Net``; the function for calls without a model."""
    return format_model_name(name, is_named).removeprefix("Calls of ") if name else "the model"


def calls_of(name: str) -> str:
    """Return calls as the object of a sentence: ``calls of SpeechEncoder``, ``calls of predict()``."""
    return f"calls of {shorten_model_name(name)}" if name else "calls of the model"


def engine_name(engine: str) -> str:
    """Return ``the Neural Engine``; for "MIXED", ``several engines``."""
    return ENGINE_NAMES[Engine(engine)] if engine in ENGINE_NAMES else "several engines"


def format_ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``11th``."""
    teen = 10 <= number % 100 < 20
    suffix = "th" if teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"
