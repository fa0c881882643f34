"""Names by grammar: a function is named by a verb, and no value by a participle or an ordinal."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tracekit", "dashboard")

VERBS = frozenset(
    """
    accept add adjust align analyze append apply assert assign attach attribute begin bind build calculate call can
    cancel capture change check choose claim classify clean clear clip close collect combine compare compile compute
    connect convert copy count create cut decide declare decode delete demangle derive describe detect display divide
    download draw drop emit enclose encode end ensure escape estimate evaluate execute expand explain export extend
    extract fail fetch fill filter find finish fit flush follow format gather generate get give group guess handle has
    hide identify import index initialize insert inspect install interrupt is iter iterate join judge keep launch limit
    link list load locate lock log look lower make map mark match may measure merge move must name normalize notify
    number on open pack parse pause pick place plan plot poll print prune publish push put rank read receive record
    recover redact reduce refresh refuse register release remove rename render repair replace report request require
    reserve reset resolve restore resume retry return reverse round run sample save scale scan schedule search select
    send serve set shift shorten show shut sign skip solve sort spell split spread start stop store stream strip
    submit subtract suggest sum summarize supports swap sync take test tidy to trace track translate trim try unpack
    update upload use validate verify visit wait walk warn was watch weigh were will wrap write yield
    """.split()  # noqa: SIM905 - a list of words
)
"""First words of functions that say what these do; ``is``, ``has``, ``on`` and ``to`` have a verb's place."""
NO_NAMES = frozenset(
    """
    above after again alike alone answered asked before begun behind below beside between both bound chosen claimed
    clipped counted drawn each ended even far few first fitted framed further gone inside joined laid last least left
    listed made many marked matched most named near noted odd of_base of_new others outside picked placed reached rest
    same seen served shortened shown spelled stated stays touched untouched waited wanted worked
    """.split()  # noqa: SIM905 - a list of words
)
"""Participles, ordinals and the like, which name no value: what is first, or chosen?"""

COUNTERPARTS = {"cli", "report", "wording", "pages", "callbacks", "routes", "workers"}
"""Rooms whose modules have the name of another: of a command's work, of a finding, of a page."""


def name_shares(trees: Iterable[ast.AST]) -> dict[str, float]:
    """Return functions without a verb and terse ones per function, and participles per bound name.

    Properties are values, so they do not count as functions. Terse: private, of one word, without a docstring.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and is_called(node)]
    first_words = [node.name.strip("_").split("_")[0] for node in functions]
    names = list(bound_names(nodes))
    return {
        "without a verb": sum(word not in VERBS for word in first_words) / max(len(functions), 1),
        "terse": sum(map(is_terse, functions)) / max(len(functions), 1),
        "participles": sum(name in NO_NAMES for name in names) / max(len(names), 1),
    }


def is_called(node: ast.FunctionDef) -> bool:
    """Return whether a function is called by its name: no property, and no method of Python's own."""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return not node.name.startswith("__") and not any(
        "property" in text or "setter" in text for text in decorators
    )


def is_terse(node: ast.FunctionDef) -> bool:
    is_private_word = node.name.startswith("_") and "_" not in node.name.strip("_")
    return is_private_word and not ast.get_docstring(node)


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names of variables, fields and parameters."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def count_shared(names: Iterable[str]) -> int:
    """Return how many of the names occur more than once."""
    return sum(count > 1 for count in Counter(names).values())


@pytest.mark.integration
def test_few_modules_and_classes_share_a_name() -> None:
    """Outside of the rooms whose modules are named after what they print, draw or start, elsewhere."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    modules = [path.stem for path in paths if not COUNTERPARTS.intersection(path.parts)]
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text())))
    assert count_shared(name for name in modules if name != "__init__") <= 14
    assert count_shared(node.name for node in nodes if isinstance(node, ast.ClassDef)) <= 17


@pytest.mark.integration
@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_are_verbs_and_values_are_nouns(folder: str) -> None:
    shares = name_shares(ast.parse(path.read_text()) for path in (ROOT / folder).rglob("*.py"))
    assert shares["without a verb"] <= 0.45
    assert shares["terse"] <= 0.08
    assert shares["participles"] <= 0.01


def test_each_habit_of_names_is_counted() -> None:
    source = """
def _rows(first, count):
    chosen = total = count

def read_rows(path):
    pass

class Table:
    @property
    def width(self):
        pass

    def __len__(self):
        pass
"""
    assert name_shares([ast.parse(source)]) == {"without a verb": 1 / 2, "terse": 1 / 2, "participles": 2 / 7}
