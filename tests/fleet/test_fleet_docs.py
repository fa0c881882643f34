"""docs/fleet.md lists the tables of a dataset as the schema declares them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracekit.fleet.schema import PLACE, TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs" / "fleet.md"


def listed(heading: str) -> dict[str, str]:
    section = DOCS.read_text().split(f"\n### {heading}\n")[1].split("\n#")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))


def test_the_columns_of_every_row_are_documented() -> None:
    assert listed("Every table") == {name: column.meaning for name, column in PLACE.items()}


@pytest.mark.parametrize("table", TABLES)
def test_each_table_is_documented(table: str) -> None:
    columns = {name: column.meaning for name, column in TABLES[table].items() if name not in PLACE}
    assert listed(f"`{table}`") == columns
