"""Each Instruments table's name is written once: in ``tracekit.model.schemas``."""

from __future__ import annotations

import ast
from pathlib import Path

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


def literal_names(path: Path) -> list[str]:
    """Return where a module has a schema's name as a literal; only a text that holds one is parsed."""
    names = NAMES - {COLUMN_TOO} if "parsers" in path.parts else NAMES
    text = path.read_text("utf-8")
    if not any(name in text for name in names):
        return []
    constants = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    return [f"{path}:{node.lineno}: {node.value}" for node in constants if node.value in names]


def test_a_schema_name_is_written_in_one_module() -> None:
    assert [place for path in MODULES for place in literal_names(path)] == []


def test_a_name_written_elsewhere_is_noticed(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""time-profile."""\nTABLE = "time-profile"\n')
    assert literal_names(module) == [f"{module}:2: time-profile"]


def test_every_declared_name_belongs_to_a_group() -> None:
    declared = {value for name, value in vars(schemas).items() if name.isupper() and isinstance(value, str)}
    subsystems = {schemas.CORE_AI_LANGUAGE_MODELS}
    assert declared - subsystems == {*schemas.READ_TABLES, *schemas.TABLES_ON_DEMAND}
    assert len(schemas.READ_TABLES) == len(set(schemas.READ_TABLES))
