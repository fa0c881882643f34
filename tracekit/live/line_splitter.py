"""Bytes, cut anywhere → whole lines, of which none is longer than a limit."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.parsers.text.log_objects import MAX_LINE_BYTES


class LineSplitter:
    """Collects bytes until a line ends; holds no more than ``MAX_LINE_BYTES`` of one."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def split(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the lines that end in ``data``, without their ends; None for one that is too long."""
        first_part, *parts = data.split(b"\n")
        self._keep(first_part)
        if not parts:
            return
        yield self.finish()
        *lines, last_part = parts
        for line in lines:
            yield line if len(line) <= MAX_LINE_BYTES else None
        self._keep(last_part)

    def finish(self) -> bytes | None:
        """Return the line that has begun, as it is; None for one that is too long."""
        line = b"".join(self._parts) if self._size_bytes <= MAX_LINE_BYTES else None
        self._parts, self._size_bytes = [], 0
        return line

    def _keep(self, part: bytes) -> None:
        self._size_bytes += len(part)
        if self._size_bytes > MAX_LINE_BYTES:
            self._parts = []
        elif part:
            self._parts.append(part)
