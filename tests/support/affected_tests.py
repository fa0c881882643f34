"""Prints the tests that a change can reach: those that import a changed file, directly or through others.

    python tests/support/affected_tests.py [BASE]

BASE is a commit, by default the branch ``main``: what has changed since it left that, committed or not, counts.
Imports inside functions count like others, and so do strings that name a module or begin the names of several.
A file that is no module belongs to the modules that name it or its folder.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("tracekit", "dashboard", "sample_generator", "tests")
SEARCH_PATH = (ROOT, ROOT / "dashboard", ROOT / "tests", ROOT / "tests" / "support")


def changed_files(base: str) -> set[Path]:
    """Return the files that differ from where this branch left ``base``, those that git does not track too."""
    fork = _git("merge-base", base, "HEAD").strip()
    names = _git("diff", "--name-only", fork) + _git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in names.splitlines()}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def affected_tests(changed: set[Path]) -> list[Path]:
    """Return the modules of tests that reach a changed file, in order."""
    files = sorted(path for name in CODE for path in (ROOT / name).rglob("*.py"))
    importers = defaultdict(set)
    for path in files:
        for imported in imports_of(path):
            importers[imported].add(path)
    reached = {path for path in changed if path.suffix == ".py"}
    reached |= {path for path in files for file in changed - reached if is_named_in(file, path)}
    pending = list(reached)
    while pending:
        news = importers[pending.pop()] - reached
        reached |= news
        pending += news
    return [path for path in files if path in reached and path.name.startswith("test_")]


def is_named_in(file: Path, module: Path) -> bool:
    """Return whether a module has the name of a file that is no module, or of the folder of such files."""
    return any(text == _data_folder(file) or file.name in text for text in texts_of(module))


@cache
def _data_folder(file: Path) -> str:
    """Return the name of the uppermost folder of a file that has no module, directly or below."""
    folders = [folder for folder in file.parents if folder.is_relative_to(ROOT) and folder != ROOT]
    return next((folder.name for folder in reversed(folders) if not any(folder.rglob("*.py"))), file.name)


@cache
def texts_of(path: Path) -> frozenset[str]:
    """Return the short strings of a module."""
    texts = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return frozenset(text for text in texts if isinstance(text, str) and len(text) < 100)


def imports_of(path: Path) -> set[Path]:
    """Return the files that a module imports, and the fixtures of a test's folders."""
    names = {text for text in texts_of(path) if "." in text}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            public = [alias.name for alias in node.names if not alias.name.startswith("__")]
            names |= {node.module, *(f"{node.module}.{name}" for name in public)} if public else set()
        elif isinstance(node, ast.List | ast.Tuple):  # a command line: python -m tracekit …
            words = [getattr(element, "value", None) for element in node.elts]
            names |= {f"{name}.__main__" for option, name in pairwise(words) if option == "-m"}
    found = {file for name in names for file in _files_of(name)}
    found |= {folder / "conftest.py" for folder in path.parents if (folder / "conftest.py").is_file()}
    return found - {path}


@cache
def _files_of(name: str) -> tuple[Path, ...]:
    """Return the file of a module's dotted name, or all whose names begin with ``package.`` or ``package.part_``."""
    if not all(part.isidentifier() for part in name.rstrip(".").split(".")):
        return ()
    if "." in name and name[-1] in "._":
        folder, _, start = name.rpartition(".")
        return tuple((ROOT / folder.replace(".", "/")).glob(f"{start}*.py"))
    places = [folder.joinpath(*name.split(".")) for folder in SEARCH_PATH]
    files = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return tuple(file for file in files if file.is_file())


if __name__ == "__main__":
    for test in affected_tests(changed_files(sys.argv[1] if len(sys.argv) > 1 else "main")):
        sys.stdout.write(f"{test.relative_to(ROOT)}\n")
