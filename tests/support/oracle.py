"""An independent reading of exports: the standard library's parser, everything in memory, one cell at a time.

It shares no code with tracekit and is written to be obviously right, not fast.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

STACKS = {"backtrace", "tagged-backtrace", "text-backtrace", "kperf-bt"}


class Oracle:
    """``tables[(schema, run, table)]`` is a list of rows; a row is a list of plain values."""

    def __init__(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        self._by_id = {e.get("id"): e for e in root.iter() if e.get("id") is not None}
        self.tables: dict[tuple[str, int, int], list[list[object]]] = {}
        schema = ""
        for node in root.findall("node"):
            if (element := node.find("schema")) is not None:
                schema = element.get("name", "")
            run, table = re.search(
                r"/run\[(\d+)\].*/table\[(\d+)\]", node.get("xpath", "") + "/run[1]/table[0]"
            ).groups()  # type: ignore[union-attr]
            rows = [[self.value(cell) for cell in row] for row in node.findall("row")]
            self.tables.setdefault((schema, int(run), int(table)), []).extend(rows)

    def resolve(self, element: ET.Element) -> ET.Element:
        ref = element.get("ref")
        return element if ref is None else self._by_id[ref]

    def value(self, cell: ET.Element) -> object:
        cell = self.resolve(cell)
        if cell.tag == "sentinel":
            return None
        if cell.tag in STACKS:
            return ("stack", self.stack(cell))
        if cell.tag == "thread":
            return ("tid", self.child_number(cell, "tid"))
        if cell.tag == "process":
            return ("pid", self.child_number(cell, "pid"))
        if len(cell):
            return ("parts", [(self.resolve(c).tag, self.part(c)) for c in cell])
        return cell.text or ""

    def part(self, cell: ET.Element) -> object:
        """A piece of a composite cell: processes and threads by name, stacks frame by frame."""
        cell = self.resolve(cell)
        if cell.tag in ("process", "thread"):
            return cell.get("fmt", "")
        if cell.tag in STACKS:
            return ("parts", [("frame", self.frame_parts(f)) for f in self.stack(cell)])
        return self.value(cell)

    def frame_parts(self, frame: tuple[str, int, str]) -> object:
        named = [("symbol", frame[0]), ("address", str(frame[1])), ("binary", frame[2])]
        return ("parts", named if frame[2] else named[:2])

    def child_number(self, element: ET.Element, tag: str) -> int:
        child = element.find(tag)
        return -1 if child is None else int(self.resolve(child).text or "-1")

    def stack(self, element: ET.Element) -> list[tuple[str, int, str]]:
        """Leaf first: (symbol, address, binary)."""
        inner = element.find("backtrace") if element.tag == "tagged-backtrace" else None
        element = element if inner is None else self.resolve(inner)
        fragments = [self.resolve(f) for f in element.findall("text-addresses")]
        if fragments:
            addresses = [int(word) for fragment in fragments for word in (fragment.text or "").split()]
            pc = element.find("text-address")
            if pc is not None:
                counter = int(self.resolve(pc).text or 0)
                if addresses[-1:] == [0]:
                    addresses.pop()
                if element.find("register-content") is not None or addresses[:1] != [counter]:
                    addresses.insert(0, counter)
            frames = [(hex(address), address, "") for address in addresses]
            if pc is None and " ← (" in element.get("fmt", ""):
                frames[0] = (element.get("fmt", "").split(" ← (")[0], addresses[0], "")
            return frames
        frames = [self.resolve(f) for f in element.findall("frame")]
        return [(f.get("name", ""), int(f.get("addr", "0"), 16), self.binary(f)) for f in frames]

    def binary(self, frame: ET.Element) -> str:
        binary = frame.find("binary")
        return "" if binary is None else self.resolve(binary).get("name", "")
