"""The options of an analysis: one type for the commands that analyze and for the dashboard.

``tracekit.cli.analysing`` adds them to commands. ``values`` and ``from_values`` convert them to and from the
object that an address, a request or a catalog holds; its keys are the names of the options.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from tracekit.errors import UsageError
from tracekit.frozen import compile_later, frozen
from tracekit.model.schemas import SAMPLE_TABLES
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.text import clip, printable

if TYPE_CHECKING:
    from tracekit.analysis.windows.choose import WindowSource
    from tracekit.detect import Via

SOURCES = ("auto", "coreml", "coreai", "foundation-models", "ane", "stacks", "run")
"""``WINDOW_SOURCES``, which needs the imports of an analysis."""
_MAX_TEXT_CHARACTERS = 1_000
_MAX_TEXTS = 1_000
_MAX_RUN = 1_000_000
_MAX_QUOTED_CHARACTERS = 60
Values: TypeAlias = dict[str, Any]


@frozen
class AnalysisOptions:
    """The values of the options; the defaults are those of ``tracekit analyze``.

    ``manual``, ``windows_csv``, ``signposts`` and ``windows`` are four ways to choose the windows.
    ``overlays`` are texts that are laid over the recording, each moved by ``offset``, such as "-200ms".
    ``via`` and ``limits`` say how a file is read, not what of it is analyzed: they are no part of
    ``values``.
    """

    run: int | None = None
    process: str | None = None
    thread: str | None = None
    manual: tuple[str, ...] = ()
    windows_csv: str | None = None
    signposts: tuple[str, ...] = ()
    windows: WindowSource = "auto"
    samples: str | None = None
    markers: str | None = None
    request_spans: str | None = None
    compute_units: str | None = None
    symbols: tuple[str, ...] = ()
    overlays: tuple[str, ...] = ()
    offset: str | None = None
    models: tuple[str, ...] = ()
    plans: tuple[str, ...] = ()
    via: Via = "auto"
    limits: Limits = DEFAULT_LIMITS

    def check(self) -> None:
        """Raise ``UsageError`` for windows that are chosen in more than one way, and for a useless offset."""
        given = bool(self.manual or self.windows_csv)
        if given + bool(self.signposts) + (self.windows != "auto") > 1:
            raise UsageError("Choose calls in one way: --windows, --window-signpost, or ranges of your own.")
        if self.offset is not None and not self.overlays:
            raise UsageError("--offset moves the texts of --with: name one.")
        _ = self.offset_ns

    @property
    def offset_ns(self) -> int:
        """The offset in nanoseconds; raises ``UsageError`` for a text that is none."""
        return 0 if self.offset is None else _parse_offset_ns(self.offset)

    def values(self) -> Values:
        """Return the options that differ from their defaults, by their names, in the order of the names."""
        changed_values = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in NAMES and value != field.default:
                changed_values[NAMES[field.name]] = list(value) if isinstance(value, tuple) else value
        return dict(sorted(changed_values.items()))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of an object from outside, checked.

        Raises ``UsageError`` for an unknown name, for a value that the option does not take, and for options
        that contradict each other. An empty text or list is the default.
        """
        field_values = {}
        for name, value in values.items():
            field = _FIELDS.get(name)
            if field is None:
                known_names = ", ".join(sorted(_FIELDS))
                raise UsageError(
                    f"'{_quote_value(name)}' is no option of an analysis. The options are {known_names}."
                )
            if value not in (None, "", []):
                field_values[field] = _CHECKS[field](name, value)
        options = cls(**field_values)
        options.check()
        return options

    def to_arguments(self) -> list[str]:
        """Return the arguments with which a command analyzes the same."""
        arguments: list[str] = []
        for name, value in self.values().items():
            arguments += [f"--{name}={item}" for item in (value if isinstance(value, list) else [value])]
        return arguments


NAMES = {
    "run": "run",
    "process": "process",
    "thread": "thread",
    "manual": "window",
    "windows_csv": "windows-csv",
    "signposts": "window-signpost",
    "windows": "windows",
    "samples": "samples",
    "markers": "markers",
    "request_spans": "request-spans",
    "compute_units": "compute-units",
    "symbols": "symbols",
    "overlays": "with",
    "offset": "offset",
    "models": "model",
    "plans": "plan",
}
"""The name of each field on the command line and in ``values``."""
_FIELDS = {name: field for field, name in NAMES.items()}


def hash_values(values: Mapping[str, Any]) -> str:
    """Return 16 hex digits that are equal for equal values, in whatever order."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_OFFSET = compile_later(r"(?P<sign>[+-]?)(?P<number>\d{1,9}(?:\.\d{1,9})?)(?P<unit>ms|s|m|h)\Z", re.ASCII)
_UNIT_NS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3_600 * 10**9}
_MAX_OFFSET_NS = 366 * 24 * _UNIT_NS["h"]


def _parse_offset_ns(text: str) -> int:
    match = _OFFSET.match(text)
    offset_ns = round(float(match["number"]) * _UNIT_NS[match["unit"]]) if match else _MAX_OFFSET_NS + 1
    if match is None or offset_ns > _MAX_OFFSET_NS:
        raise UsageError(
            f"--offset is a time such as 1.5s, -200ms or 2h, at most a year, not '{_quote_value(text)}'."
        )
    return -offset_ns if match["sign"] == "-" else offset_ns


def _quote_value(value: object) -> str:
    return clip(printable(str(value)), _MAX_QUOTED_CHARACTERS)


def _check_run(name: str, value: object) -> int:
    text = str(value)
    is_number = isinstance(value, (int, str)) and not isinstance(value, bool)
    if not is_number or not (text.isascii() and text.isdigit()) or not 1 <= int(text[:9]) <= _MAX_RUN:
        raise UsageError(f"{name} is the number of a run, from 1 on, not '{_quote_value(value)}'.")
    return int(text[:9])


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name} is a text, not '{_quote_value(value)}'.")
    if len(value) > _MAX_TEXT_CHARACTERS:
        raise UsageError(f"{name} has {len(value):,} characters; it takes {_MAX_TEXT_CHARACTERS:,}.")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise UsageError(f"{name} has a character that no name has.")
    return value


def _check_texts(name: str, value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise UsageError(f"{name} is a list of texts, not '{_quote_value(value)}'.")
    if len(items) > _MAX_TEXTS:
        raise UsageError(f"{name} is given {len(items):,} times; it takes {_MAX_TEXTS:,}.")
    return tuple(_check_text(name, item) for item in items)


def _check_windows(name: str, value: object) -> tuple[str, ...]:
    from tracekit.analysis import parse_window

    texts = _check_texts(name, value)
    for text in texts:
        parse_window(text)
    return texts


def _make_choice_check(allowed: tuple[str, ...]) -> Callable[[str, object], str]:
    def check(name: str, value: object) -> str:
        if value not in allowed:
            raise UsageError(f"{name} is one of {', '.join(allowed)}, not '{_quote_value(value)}'.")
        return str(value)

    return check


_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "run": _check_run,
    "process": _check_text,
    "thread": _check_text,
    "manual": _check_windows,
    "windows_csv": _check_text,
    "signposts": _check_texts,
    "windows": _make_choice_check(SOURCES),
    "samples": _make_choice_check(SAMPLE_TABLES),
    "markers": _check_text,
    "request_spans": _check_text,
    "compute_units": _make_choice_check(COMPUTE_UNITS),
    "symbols": _check_texts,
    "overlays": _check_texts,
    "offset": _check_text,
    "models": _check_texts,
    "plans": _check_texts,
}
