"""``SpanRule``: which signposts mark which step of a language model, and the keys of their metadata.

The built-in rules are those of Apple's package of language models (apple/coreai-models, BSD-3,
``InstrumentsProfiler.swift``). A file adds those of an app with spans of its own (docs/language-models.md)::

    [[span]]
    role = "prefill"
    signpost = "org.example.Chat/llama/prompt"
    tokens = "n_tokens"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from tracekit.analysis.classification.rules_file import read_toml_file
from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.model.schemas import CORE_AI_LANGUAGE_MODELS

MAX_BYTES = 100_000
_MOST_RULES = 100
_KEY = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_KEYS = ("tokens", "step", "context", "model")
_SIGNPOST_PARTS = 3
_MOST_AT_END = 1
_ADVICE = (
    'An example: [[span]], and below it role = "prefill", signpost = "org.example.Chat/llama/prompt",'
    ' tokens = "n_tokens".'
)


class SpanRole(StrEnum):
    """A step of a language model."""

    PREFILL = "prefill"
    TOKEN = "token"  # noqa: S105 - of a language model
    TEXT = "text"
    FORWARD = "forward"
    SAMPLING = "sampling"
    CACHE = "cache"
    LOAD = "load"


ROLES: tuple[SpanRole, ...] = tuple(SpanRole)
ROLE_CODE: Mapping[SpanRole, int] = {role: code for code, role in enumerate(ROLES)}
INNER_ROLES = (SpanRole.SAMPLING, SpanRole.CACHE)
"""Steps inside a request whose time is of interest by itself."""


@frozen
class SpanRule:
    """Signposts of one role, by subsystem, category and name, each a glob.

    ``tokens``, ``step``, ``context`` and ``model`` name keys of the metadata (``key=value``): the number of
    tokens of a prompt, or of those that a span makes (1 without it); the number of the step; the tokens
    before the one that the span makes; the model's name. A prefill ends with ``yields`` tokens, the first or
    none.
    """

    role: SpanRole
    signpost: str
    tokens: str = ""
    step: str = ""
    context: str = ""
    model: str = ""
    yields: int = 1

    @property
    def globs(self) -> tuple[str, ...]:
        """The globs of subsystem, category and name."""
        return tuple(self.signpost.split("/"))


def _make_built_in(
    role: SpanRole, name: str, *, tokens: str = "", step: str = "", context: str = "", model: str = ""
) -> SpanRule:
    signpost = f"{CORE_AI_LANGUAGE_MODELS}/performance/{name}"
    return SpanRule(role, signpost, tokens, step, context, model)


BUILT_IN: tuple[SpanRule, ...] = (
    _make_built_in(SpanRole.PREFILL, "Prompt", tokens="tokens"),
    # Its ``tokens`` are those of the context, prompt and answer together.
    _make_built_in(SpanRole.TOKEN, "Extend", step="step", context="tokens"),
    # The package calls this step Decode: it makes text of a token that has just arrived.
    _make_built_in(SpanRole.TEXT, "Decode", step="step"),
    _make_built_in(SpanRole.FORWARD, "LogitsInference"),
    _make_built_in(SpanRole.SAMPLING, "Sample"),
    _make_built_in(SpanRole.CACHE, "CacheManagement"),
    _make_built_in(SpanRole.LOAD, "ModelLoad", model="model"),
)


def read_span_rules(path: Path) -> tuple[SpanRule, ...]:
    """Return the rules of a file. Raises ``InputError`` with the entry that is wrong and the remedy."""
    document = read_toml_file(path, "spans", "--request-spans", MAX_BYTES, _ADVICE)
    entries = document.get("span", [])
    if set(document) - {"span"} or not isinstance(entries, list) or not entries:
        _fail(path, "needs a list of [[span]] tables, and nothing else.")
    if len(entries) > _MOST_RULES:
        _fail(path, f"has {len(entries):,} spans; {_MOST_RULES} are read.")
    return tuple(_read_rule(path, entry, number) for number, entry in enumerate(entries, 1))


def _read_rule(path: Path, entry: object, number: int) -> SpanRule:
    name = f"span {number}"
    if not isinstance(entry, dict):
        _fail(path, f"{name} is not a table: write [[span]].")
    unknown = set(entry) - {"role", "signpost", "yields", *_KEYS}
    if unknown:
        _fail(path, f"{name} has the unknown key {min(unknown)!r:.60}.")
    if entry.get("role") not in ROLES:
        _fail(path, f"{name} needs a role: {', '.join(ROLES)}.")
    signpost = entry.get("signpost")
    parts = signpost.split("/") if isinstance(signpost, str) else []
    if len(parts) != _SIGNPOST_PARTS or not all(parts):
        _fail(path, f"{name} needs a signpost: 'subsystem/category/name', with * for anything.")
    for key in _KEYS:
        if key in entry and not (isinstance(entry[key], str) and _KEY.fullmatch(entry[key])):
            _fail(
                path, f"{name}: '{key}' is the name of a key in the signpost's message, such as 'n_tokens'."
            )
    yields = entry.get("yields", 1)
    if isinstance(yields, bool) or not isinstance(yields, int) or not 0 <= yields <= _MOST_AT_END:
        _fail(path, f"{name}: 'yields' is 1 where the prefill ends with the first token, else 0.")
    return SpanRule(
        SpanRole(entry["role"]), str(signpost), yields=yields, **{k: entry[k] for k in _KEYS if k in entry}
    )


def _fail(path: Path, problem: str) -> NoReturn:
    raise InputError(str(path), problem, _ADVICE)
