"""Candidates for the word that is being typed, for the shells' completion.

A shell waits for the candidates at each press of Tab: large recordings are not read, and nothing fails aloud.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, suppress
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import CompletionItem, split_arg_string

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis

_MOST_BYTES = 20_000_000
_MOST_FILES = 2_000
_ENDINGS = (".trace", ".trace.zip", ".tracekit.zip", ".tkpack")

Lister: TypeAlias = Callable[[], Iterable[tuple[str, str]]]
Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _as_completer(list_candidates: Lister) -> Completer:
    """Return a completion for click from a function that yields names, each with a word of help or ""."""

    @wraps(list_candidates)
    def complete(_context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        # A message would end up in the line that is being typed.
        with redirect_stderr(io.StringIO()), suppress(Exception):
            return [
                CompletionItem(name, help=words or None)
                for name, words in list_candidates()
                if name.startswith(incomplete)
            ]
        return []

    return complete


def _find_recording() -> str | None:
    """Return the recording on the command line, else the only one in the folder; None if it is large.

    click does not parse a line that ends with an option without its value, so the shell's words are searched.
    """
    words = split_arg_string(os.environ.get("COMP_LINE") or os.environ.get("COMP_WORDS", ""))
    inputs = [
        word for before, word in pairwise(words) if not before.startswith("--") and Path(word).exists()
    ] or [entry.name for entry in Path.cwd().iterdir() if entry.name.endswith(_ENDINGS)]
    return inputs[0] if len(inputs) == 1 and _is_small(Path(inputs[0])) else None


def _is_small(path: Path) -> bool:
    size_bytes = 0
    for count, file in enumerate(path.rglob("*") if path.is_dir() else [path]):
        size_bytes += file.stat().st_size
        if count > _MOST_FILES or size_bytes > _MOST_BYTES:
            return False
    return True


def _analyze() -> Analysis | None:
    from tracekit.cli.analysing import analyse
    from tracekit.cli.analysis_options import AnalysisOptions

    recording = _find_recording()
    return None if recording is None else analyse((recording,), AnalysisOptions())


@_as_completer
def complete_schema() -> Iterable[tuple[str, str]]:
    """Return the tables of the recording, or those that tracekit knows."""
    from tracekit.detect import open_source
    from tracekit.model.schemas import READ_TABLES

    recording = _find_recording()
    if recording is None:
        return [(name, "") for name in sorted(READ_TABLES)]
    # xctrace would take seconds.
    source = open_source(recording, via="native" if recording.endswith(".trace") else "auto")
    names = {table.schema for run in source.toc() for table in run.tables}
    return [(name, "") for name in sorted(names)]


@_as_completer
def complete_call() -> Iterable[tuple[str, str]]:
    """Return the calls of the recording: Tagger/7."""
    from tracekit.report.identifiers import list_identifiers

    analysis = _analyze()
    calls = list_identifiers(analysis, "call") if analysis is not None else ()
    return [(name.removeprefix("call:"), "") for name in calls]


@_as_completer
def complete_identifier() -> Iterable[tuple[str, str]]:
    """Return what ``tracekit show`` may show of the only recording in the folder."""
    from tracekit.report.identifiers import KINDS, list_identifiers

    analysis = _analyze()
    if analysis is None:
        return [(f"{kind}:", "") for kind in KINDS]
    return [(name, "") for kind in KINDS for name in list_identifiers(analysis, kind)]


@_as_completer
def complete_recipe() -> Iterable[tuple[str, str]]:
    """Return the questions of ``tracekit recipes``."""
    from tracekit.report.recipes.registry import RECIPES

    return [(recipe.name, recipe.question) for recipe in RECIPES]


@_as_completer
def complete_rule() -> Iterable[tuple[str, str]]:
    """Return the rules about models and those about stacks."""
    from tracekit.analysis.classification.rule_set import load_rules as load_stack_rules
    from tracekit.mlmodels.rules import load_rules

    names = (*(rule.id for rule in load_rules()), *(rule.id for rule in load_stack_rules().rules))
    return [(name, "") for name in names]


@_as_completer
def complete_explained() -> Iterable[tuple[str, str]]:
    """Return the names that ``tracekit explain`` explains."""
    from tracekit.report.explanation.explain import list_names

    return [(name, "") for name in list_names()]
