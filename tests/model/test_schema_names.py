"""Each Instruments table's name is written once: in ``tracekit.model.schemas``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tracekit.model import schemas

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path
    for package in ("tracekit", "dashboard")
    for path in (ROOT / package).rglob("*.py")
    if path != ROOT / "tracekit" / "model" / "schemas.py"
)
NAMES = frozenset(schemas.READ_TABLES)

COLUMN_TOO = schemas.THREAD_STATE
"""The parsers also read a column with this mnemonic from tables of samples."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_schema_name_is_written_in_one_module(path: Path) -> None:
    names = NAMES - {COLUMN_TOO} if "parsers" in path.parts else NAMES
    constants = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
    literals = {f"line {node.lineno}: {node.value}" for node in constants if node.value in names}
    assert not literals


def test_every_declared_name_belongs_to_a_group() -> None:
    declared = {value for name, value in vars(schemas).items() if name.isupper() and isinstance(value, str)}
    subsystems = {schemas.CORE_AI_LANGUAGE_MODELS}
    assert declared - subsystems == {*schemas.READ_TABLES, *schemas.TABLES_ON_DEMAND}
    assert len(schemas.READ_TABLES) == len(set(schemas.READ_TABLES))
