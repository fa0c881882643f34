"""No text of the product leads to a page of the repository: an installed copy has none of them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tracekit.cli import main
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.explanation.explain import explain

ROOT = Path(__file__).resolve().parents[1]
PAGE = re.compile(r"(?<![:/\w])docs/|\]\([\w./-]+\.md")
"""A path into docs/, or a link to a page; not an address, or a path in another repository."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FOR_THE_DOCUMENTATION = {"tracekit/proof/claims.toml", "tracekit/columns/run.py", "tracekit/columns/calls.py", "tracekit/model/columns.py"}  # fmt: skip
"""Registries whose texts have links for the pages that are made from them; what is printed leaves these out."""


def list_commands(group: click.Group, *parents: str) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for part in group.list_commands(context):
        yield (*parents, part)
        command = group.get_command(context, part)
        if isinstance(command, click.Group):
            yield from list_commands(command, *parents, part)


def list_strings(text: str) -> Iterator[str]:
    """Yield the strings of a module but those that document it."""
    tree = ast.parse(text)
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield node.value


def list_values(value: Any) -> Iterator[str]:
    """Yield the texts in a document of TOML."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from list_values(part)
    elif isinstance(value, str):
        yield value


def list_texts(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    match path.suffix:
        case ".py":
            yield from list_strings(text)
        case ".toml":
            yield from list_values(tomllib.loads(text))
        case ".js":
            yield re.sub(r"^\s*(//|\*|/\*).*$", "", text, flags=re.MULTILINE)


@pytest.mark.integration
@pytest.mark.parametrize("folder", ["tracekit", "dashboard"])
def test_no_string_of_the_product_has_a_page_of_the_repository(folder: str) -> None:
    paths = [path for kind in ("py", "toml", "js") for path in (ROOT / folder).rglob(f"*.{kind}")]
    places = {path.relative_to(ROOT).as_posix() for path in paths if any(map(PAGE.search, list_texts(path)))}
    assert len(paths) > 100
    assert places - FOR_THE_DOCUMENTATION == set()


def test_no_help_has_a_page_of_the_repository() -> None:
    commands = list(list_commands(main))
    assert len(commands) > 30
    helps = {command: CliRunner().invoke(main, [*command, "--help"]) for command in commands}
    assert all(result.exit_code == 0 for result in helps.values())
    assert [command for command, result in helps.items() if PAGE.search(result.output)] == []


@pytest.mark.parametrize("name", ["submissions", "part", "kind", "code", "requirements"])
def test_explanations_have_the_words_of_links_alone(name: str) -> None:
    assert not PAGE.search(print_text(explain(name), Page(200)))


def test_an_address_is_no_page() -> None:
    assert PAGE.search("See docs/check.md") and PAGE.search("([evidence](evidence.md#budget))")
    assert not PAGE.search("https://mlir.llvm.org/docs/Dialects/")
    assert not PAGE.search("hollance/neural-engine:docs/devices.md")
