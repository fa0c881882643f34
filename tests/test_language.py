"""Plain technical English: named values, docstrings that open with a verb or a noun phrase, no personification."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tracekit", "dashboard", "tests")

FILLERS = frozenset(
    [
        "at",
        "one",
        "own",
        "found",
        "told",
        "held",
        "other",
        "others",
        "said",
        "mine",
        "theirs",
        "ours",
        "wanted",
        "who",
        "whose",
        "spelt",
        "meant",
        "known",
        "rest",
        "taken",
        "kept",
        "asked",
        "given_",
        "here",
        "there",
        "thing",
        "things",
        "stuff",
        "it",
        "that",
    ]
)
"""Names that fit any value. CONTRIBUTING.md has the reason and what to write in their place."""

RIDDLE = re.compile(r"^(what|who|whose|which|whether|where|how)\b", re.IGNORECASE)
PERSONIFICATION = re.compile(
    r"\b(tells?|told|says?|said|speaks?|spoke|spoken|knows?|nobody|somebody|stranger|hears?|heard|forgives?|asks?|asked"
    r"|believes?|answers?)\b",
    re.IGNORECASE,
)
PERSONIFIED_NAME = re.compile(r"_(told|tells?|says?|said|speaks?|knows?|nobody|somebody|believes?)(_|$)")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that a module binds: assignments, loop variables and parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def first_paragraphs(tree: ast.AST) -> Iterator[str]:
    """Yield the first paragraph of every docstring of a module."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
            yield docstring.strip().split("\n\n")[0]


def shares(trees: list[ast.AST]) -> dict[str, float]:
    """Return fillers per bound name, and riddles and personifications per docstring."""
    names = [name for tree in trees for name in bound_names(tree)]
    paragraphs = [paragraph for tree in trees for paragraph in first_paragraphs(tree)]
    return {
        "fillers": sum(name in FILLERS for name in names) / max(len(names), 1),
        "riddles": sum(RIDDLE.match(text) is not None for text in paragraphs) / max(len(paragraphs), 1),
        "personifications": sum(PERSONIFICATION.search(text) is not None for text in paragraphs)
        / max(len(paragraphs), 1),
    }


@pytest.mark.integration
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_code_is_written_in_plain_technical_english(folder: str) -> None:
    trees: list[ast.AST] = [ast.parse(path.read_text()) for path in (ROOT / folder).rglob("*.py")]
    counted = shares(trees)
    assert counted["fillers"] <= 0.005
    assert counted["riddles"] <= 0.01
    assert counted["personifications"] <= 0.01


def test_test_names_are_plain_technical_english() -> None:
    names = {
        node.name
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert sorted(name for name in names if PERSONIFIED_NAME.search(name)) == []


def test_each_habit_is_counted() -> None:
    source = '''
def rows(at, count):
    """What the rows are."""
    for one in count:
        width = one

def total():
    """Return the sum, which the table tells."""
'''
    assert shares([ast.parse(source)]) == {"fillers": 2 / 4, "riddles": 1 / 2, "personifications": 1 / 2}
