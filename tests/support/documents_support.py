"""Small factories: literal export documents, as xctrace writes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from tracekit.model.tables import Table
from tracekit.parsers.xml.xml_source import XmlFile, XmlSource

SHARED = Path(__file__).resolve().parents[3] / "shared"

NO_EXPORTS = {
    "display_vsync_trace_baseline.xml": "is not XML",
    "gpu_trace_baseline.xml": "is not XML",
    "tracetemplate__foundation-models.plist.xml": "root <plist>",
    "track-detail__Allocations__Allocations-List.xml": "track detail",
    "track-detail__Leaks__Leaks.xml": "track detail",
    "track-detail__VM-Tracker__Regions-Map.xml": "track detail",
}
"""Files of the collection that are something else, and a part of their error message."""

TIME_PROFILE = (
    ("time", "sample-time"),
    ("thread", "thread"),
    ("process", "process"),
    ("core", "core"),
    ("thread-state", "thread-state"),
    ("weight", "weight"),
    ("stack", "backtrace"),
)
THREAD = (
    '<thread id="2" fmt="Main Thread (0x1f) (App, pid: 7)"><tid id="3" fmt="0x1f">31</tid>'
    '<process id="4" fmt="App (7)"><pid id="5" fmt="7">7</pid></process></thread>'
)
"""Needs ids 2 to 5."""


def python_calls(work: Callable[[], object]) -> int:
    """Count the calls of Python functions: work in columns makes as many, whatever the number of rows."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def strict(schema: Any) -> Any:
    """Forbid fields that the published schema does not name, so that it cannot fall behind."""
    if isinstance(schema, dict):
        closed = {key: strict(value) for key, value in schema.items()}
        return closed | {"additionalProperties": False} if "properties" in schema else closed
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


def schema(name: str, columns: Sequence[tuple[str, str]]) -> str:
    """A <schema> of (mnemonic, engineering type)."""
    cols = "".join(
        f"<col><mnemonic>{m}</mnemonic><name>{m.title()}</name><engineering-type>{t}</engineering-type></col>"
        for m, t in columns
    )
    return f'<schema name="{name}">{cols}</schema>'


def node(content: str, table: int = 1, run: int = 1) -> str:
    return f"<node xpath='//trace-toc[1]/run[{run}]/data[1]/table[{table}]'>{content}</node>"


def document(*nodes: str) -> str:
    return '<?xml version="1.0"?>\n<trace-query-result>\n' + "".join(nodes) + "</trace-query-result>\n"


def one_table(name: str, columns: Sequence[tuple[str, str]], *rows: str) -> str:
    """A document of one table; a row is its cells as XML."""
    return document(node(schema(name, columns) + "\n".join(f"<row>{row}</row>" for row in rows)))


def write(folder: Path, content: str | bytes, name: str = "export.xml") -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def source_of(*paths: str) -> XmlSource:
    return XmlSource("test", [XmlFile(path) for path in paths], parse_now=len(paths) == 1)


def read_table(folder: Path, content: str, name: str, run: int = 1) -> Table:
    """The only table of that schema in a document."""
    (table,) = source_of(write(folder, content)).tables(name, run)
    return table


def column(table: Table, name: str) -> list[object]:
    """A column as a list, null as None."""
    import pandas as pd

    values = table.rows[name].astype(object).tolist()
    return [
        None if value is pd.NA or (isinstance(value, float) and value != value) else value for value in values
    ]


def stacks_of(table: Table, name: str = "stack") -> list[list[str] | None]:
    """A stack column as lists of symbols, leaf first."""
    symbols = table.stacks.symbols
    return [
        None if stack < 0 else symbols[table.stacks.stack(stack)].tolist()
        for stack in table.rows[name].tolist()
    ]


def without_commands(analysis: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of an analysis without the next steps of its findings, whose commands name the input."""
    findings = [
        {name: finding[name] for name in finding if name != "next"} for finding in analysis["findings"]
    ]
    return {**analysis, "findings": findings}
