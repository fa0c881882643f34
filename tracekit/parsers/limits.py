"""Limits on the resources that one input may use: far above every recording, and reached early by a bomb.

Sizes, counts and names in an input are untrusted claims, so each is compared with a limit before
memory is spent on it. docs/limits.md lists the limits; ``RAISE_OPTION`` multiplies all of them.
"""

from __future__ import annotations

from dataclasses import fields, replace

from tracekit.errors import InputError
from tracekit.frozen import frozen

RAISE_OPTION = "--raise-limits"


class LimitError(InputError):
    """The input exceeds one of ``Limits``; nothing beyond the limit was read."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(
            source,
            f"{problem} and was not read.",
            f"If you trust the file, add {RAISE_OPTION} 4.",
        )


@frozen
class Limits:
    """The limits of one input."""

    files: int = 20_000
    """Files of a bundle, in a folder or an archive; recordings have some hundreds."""
    pack_members: int = 100_000
    """Members of a pack, one to three for each column of a table."""
    tables: int = 10_000
    """Tables in the exports of a recording, and runs and tables in its tables of contents; some hundreds."""
    documents: int = 1_000
    """Documents in the exports of a recording, one after another in one file or in several files; reports in
    a text."""
    json_bytes: int = 896 << 20
    """Memory that the JSON of a report may take, by the number of its values."""
    threads: int = 200_000
    """Threads in the stacks of a text; a whole system has some thousand."""
    frames: int = 1_000_000
    """Different frames in the stacks of a text; a whole system has some hundred thousand."""
    call_paths: int = 4_000_000
    """Frames in the call trees of a text, and its counted stacks; a line takes a microsecond or three."""
    stack_frames: int = 40_000_000
    """Frames of all different stacks of a text, each written out: one line of a deep tree can require
    many."""
    columns: int = 512
    """Columns of a table; the widest one known has 60."""
    header_bytes: int = 16 << 20
    """Long names and attributes of all files in a tar."""
    cells: int = 80_000_000
    """Cells in the tables of a file of exports, or in those of a bundle or pack that are read; more than
    100 MB may have four cells for every five bytes."""
    value_bytes: int = 320 << 20
    """Memory of the different values of a compressed export, or three times its size."""
    unusual_bytes: int = 256 << 20
    unusual_tags: int = 16_000_000
    """For an export that the compiled reader does not support, because lxml takes 1.3 s for a million tags:
    its unpacked size, unless the file is larger, and its tags, unless the file has eight bytes for each."""
    unpacked_ratio: int = 20
    unpacked_slack_bytes: int = 256 << 20
    """A compressed file may unpack to the slack plus this many times its size. Exports shrink 17:1."""
    held_ratio: int = 4
    held_slack_bytes: int = 512 << 20
    """What may be kept in memory of a tar; the files of a bundle are compressed already."""
    symbol_steps: int = 60_000_000
    """Entries, attributes, ranges, rows and lines of all files of symbols: up to half a microsecond each."""
    symbol_bytes: int = 1 << 30
    """Memory for tables of all files of symbols."""

    def times(self, factor: int) -> Limits:
        """Return these limits, each multiplied."""
        return Limits(**{field.name: getattr(self, field.name) * factor for field in fields(self)})

    def shared_by(self, files: int) -> Limits:
        """Return the limits of one of ``files`` files, which share the slack."""
        return replace(self, unpacked_slack_bytes=self.unpacked_slack_bytes // max(files, 1))

    def unpacked_bytes(self, stored_bytes: int) -> int:
        """Return the most bytes that a compressed file of that size may unpack to."""
        return self.unpacked_slack_bytes + self.unpacked_ratio * stored_bytes

    def max_cells(self, stored_bytes: int) -> int:
        """Return the most cells that the tables of an input of that size may have."""
        return max(self.cells, stored_bytes // 5 * 4)

    def held_bytes(self, stored_bytes: int) -> int:
        """Return the most bytes of a tar of that size that may be in memory."""
        return self.held_slack_bytes + self.held_ratio * stored_bytes


def require_at_most(source: str, count: int, maximum: int, noun: str) -> None:
    """Raise ``LimitError`` for more than ``maximum`` of something, a plural noun."""
    if count > maximum:
        raise LimitError(source, f"holds more than {maximum:,} {noun}")


DEFAULT_LIMITS = Limits()
