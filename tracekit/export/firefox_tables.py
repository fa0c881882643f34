"""The tables of a Firefox profile that all threads share: strings, frames, functions, stacks, libraries."""

from __future__ import annotations

from typing import Any

from tracekit.export.export_view import NO_STACK, ExportView, Frame, clean

_LIBRARY = 1
_PLAIN = -1
"""No own category: a frame takes that of its caller, the outermost frame the default category."""
_NO_FRAME = Frame(NO_STACK, -1, 0, "", -1, False)


class SharedTables:
    """Grows while stacks are added.

    A stack has its engine as category from its deciding frame to its leaf. A deciding frame is a separate row
    in the frame table with the same function, so that the call tree stays connected.
    """

    def __init__(self, view: ExportView) -> None:
        self._view = view
        self._rows = [*view.rows, _NO_FRAME]  # the last row is found by -1
        self._symbols = [*view.symbols, NO_STACK]
        self._loads = view.trace.stacks.binaries["load_address"].tolist()
        self._strings: dict[str, int] = {}
        self._sources: dict[str, int] = {}
        self._functions: dict[tuple[str, int, str], int] = {}
        self._frames: dict[tuple[int, int, int], int] = {}
        self._stacks: dict[tuple[int, int], int] = {}

    def add_string(self, text: str) -> int:
        """Return the row of a string, added when new."""
        return self._strings.setdefault(text, len(self._strings))

    def add_stack(self, stack_id: int, engine: int, phase: int, deciding: int) -> int:
        """Return the row of a stack. ``deciding`` is a position from the leaf, -1 for none."""
        frames = self._view.list_stack_frames(stack_id) or [-1]
        deciding_depth = len(frames) - 1 - max(deciding, 0)
        node = -1
        for depth, frame in enumerate(frames):
            key = (frame, engine, phase + 1) if depth == deciding_depth else (frame, _PLAIN, 0)
            row = self._frames.setdefault(key, len(self._frames))
            node = self._stacks.setdefault((node, row), len(self._stacks))
        return node

    def build_libraries(self) -> list[dict[str, Any]]:
        """Return one library per binary of the recording."""
        return [
            {
                "arch": clean(row["arch"]) if row["arch"] else "",
                "name": clean(row["name"]),
                "path": clean(row["path"]) if row["path"] else "",
                "debugName": clean(row["name"]),
                "debugPath": clean(row["path"]) if row["path"] else "",
                "breakpadId": _format_breakpad_id(row["uuid"]),
                "codeId": None,
            }
            for row in self._view.trace.stacks.binaries.to_dict("records")
        ]

    def build_shared_tables(self) -> dict[str, Any]:
        """Return the tables; call it after every stack was added."""
        frames = self._build_frame_table()
        functions = self._build_function_table()
        names = [self.add_string(clean(name)) for name in self._view.trace.stacks.binaries["name"]]
        libraries = len(names)
        return {
            "stackTable": {
                "frame": [row for _, row in self._stacks],
                "prefix": [node if node >= 0 else None for node, _ in self._stacks],
                "length": len(self._stacks),
            },
            "frameTable": frames,
            "funcTable": functions,
            "resourceTable": {
                "type": [_LIBRARY] * libraries,
                "lib": list(range(libraries)),
                "name": names,
                "host": [None] * libraries,
                "length": libraries,
            },
            "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0},
            "sources": {
                "id": [None] * len(self._sources),
                "filename": [self.add_string(source) for source in self._sources],
                "length": len(self._sources),
            },
            "stringArray": list(self._strings),
        }

    def _build_frame_table(self) -> dict[str, Any]:
        functions, addresses, lines = [], [], []
        for frame, _, _ in self._frames:
            row = self._rows[frame]
            load = self._loads[row.binary_id] if row.binary_id >= 0 else 0
            functions.append(self._add_function(frame))
            addresses.append(row.address - load if row.binary_id >= 0 and row.address >= load else -1)
            lines.append(row.source_line if row.source_line > 0 else None)
        count = len(functions)
        marks = [(engine, phase) if engine != _PLAIN else (None, None) for _, engine, phase in self._frames]
        return {
            "address": addresses,
            "inlineDepth": [int(self._rows[frame].inlined) for frame, _, _ in self._frames],
            "category": [engine for engine, _ in marks],
            "subcategory": [phase for _, phase in marks],
            "func": functions,
            "nativeSymbol": [None] * count,
            "innerWindowID": [0] * count,
            "line": lines,
            "column": [None] * count,
            "length": count,
        }

    def _add_function(self, frame: int) -> int:
        row = self._rows[frame]
        key = (self._symbols[frame], int(row.binary_id), row.source_file)
        return self._functions.setdefault(key, len(self._functions))

    def _build_function_table(self) -> dict[str, Any]:
        count = len(self._functions)
        sources = [
            self._sources.setdefault(clean(file), len(self._sources)) if file else None
            for _, _, file in self._functions
        ]
        return {
            "name": [self.add_string(symbol) for symbol, _, _ in self._functions],
            "isJS": [False] * count,
            "relevantForJS": [False] * count,
            "resource": [binary for _, binary, _ in self._functions],
            "source": sources,
            "lineNumber": [None] * count,
            "columnNumber": [None] * count,
            "length": count,
        }


def _format_breakpad_id(uuid: str) -> str:
    """Return a Mach-O UUID as breakpad writes it: without dashes, and an age of 0."""
    digits = uuid.replace("-", "").upper()
    return f"{digits}0" if digits.isalnum() and digits.isascii() else ""
