"""The codes that a requirement can name are those that the code makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.model.issue_codes import DAMAGE, ISSUE_CODES

TRACEKIT = Path(__file__).resolve().parents[2] / "tracekit"
SEVERITIES = {"info", "warning", "error"}
HANDED_ON = {  # where a code is no literal of the call: what the literals beside it are
    "model/trace.py": set(),
    "parsers/bundle/issues.py": {"types-unconfirmed", "types-unknown"},
    "parsers/pack/pack_source.py": set(),
    "report/wording/diagnostics.py": set(),
}


def code_of(call: ast.Call) -> ast.expr | None:
    """Return the argument that is an issue's code, if the call makes an issue."""
    named = call.func
    name = named.id if isinstance(named, ast.Name) else named.attr if isinstance(named, ast.Attribute) else ""
    if name in ("Issue", "Diagnostic", "add_damage") and len(call.args) > 1:
        return call.args[1]
    if name == "add":
        for severity, code in zip(call.args, call.args[1:], strict=False):
            if any(
                isinstance(node, ast.Constant) and node.value in SEVERITIES for node in ast.walk(severity)
            ):
                return code
    return None


def made() -> Iterator[tuple[str, str | None]]:
    """Yield each place that makes an issue with the issue's code; None where the code comes from elsewhere."""
    for path in sorted(TRACEKIT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            code = code_of(node) if isinstance(node, ast.Call) else None
            if code is not None:
                literal = code.value if isinstance(code, ast.Constant) else None
                yield path.relative_to(TRACEKIT).as_posix(), literal if isinstance(literal, str) else None


@pytest.mark.integration
def test_the_list_holds_every_code_that_is_made_and_no_other() -> None:
    codes = {code for _, code in made() if code is not None}
    assert len(codes) > 50  # the search finds them at all
    assert set(ISSUE_CODES) == codes.union(*HANDED_ON.values())
    assert list(ISSUE_CODES) == sorted(set(ISSUE_CODES))
    assert {path for path, code in made() if code is None} == set(HANDED_ON)


def test_what_is_damage() -> None:
    assert {"names-damaged", "table-unreadable", "recording-unfinished"} <= DAMAGE
    assert set(ISSUE_CODES) >= DAMAGE
    assert "null-values" not in DAMAGE
