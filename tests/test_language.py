"""Plain technical English: named values, docstrings that open with a verb or a noun phrase, no personification."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
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


def shares(trees: Iterable[ast.AST]) -> dict[str, float]:
    """Return fillers per bound name, and riddles and personifications per first paragraph of a docstring."""
    names, paragraphs = [], []
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
            paragraphs.append(docstring.strip().split("\n\n")[0])
    return {
        "fillers": sum(name in FILLERS for name in names) / max(len(names), 1),
        "riddles": sum(RIDDLE.match(text) is not None for text in paragraphs) / max(len(paragraphs), 1),
        "personifications": sum(PERSONIFICATION.search(text) is not None for text in paragraphs)
        / max(len(paragraphs), 1),
    }


@pytest.mark.integration
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_code_is_written_in_plain_technical_english(folder: str) -> None:
    counted = shares(ast.parse(path.read_text()) for path in (ROOT / folder).rglob("*.py"))
    assert counted["fillers"] <= 0.005
    assert counted["riddles"] <= 0.01
    assert counted["personifications"] <= 0.01


def test_test_names_are_plain_technical_english() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    names = set(re.findall(r"^ *def (test_\w+)", text, re.MULTILINE))
    assert len(names) > 1000
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
