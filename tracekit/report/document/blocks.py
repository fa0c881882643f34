"""The blocks of a document: what a person reads, without the marks of any format.

Texts are as recorded: each printer escapes them. ``Block`` is a closed union, of which each printer handles
every kind.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from tracekit.frozen import frozen

if TYPE_CHECKING:  # documents about models are printed without pandas
    from tracekit.model.trace import Severity
    from tracekit.report.wording.findings import NextStep

SEVERITY_WORD: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
ColumnKind: TypeAlias = Literal["text", "number", "engine"]
DECIDES = "← decides"


@frozen
class Headline:
    """The result in a sentence or two; a ``sign`` and a ``word`` before it where it has an outcome."""

    text: str
    sign: str = ""
    word: str = ""
    outcome: str = ""


@frozen
class Paragraph:
    """A text of one or more sentences."""

    text: str


@frozen
class Marks:
    """The marks of one column: the numbers of the notes by row, those of its head under None."""

    numbers: dict[object, list[int]] = field(default_factory=dict)

    @property
    def head(self) -> str:
        """The marks of the column's head."""
        return self.of(None)

    @property
    def rows(self) -> list[object]:
        """The rows that have marks of their own."""
        return [row for row in self.numbers if row is not None]

    def of(self, row: object) -> str:
        """Return the marks of one row: `` [1][2]``, or nothing."""
        numbers = self.numbers.get(row, ())
        return f" {''.join(f'[{number}]' for number in numbers)}" if numbers else ""


@frozen
class BarPart:
    """A part of a bar: its name, its share of the whole, and the engine whose colour it has, or ""."""

    name: str
    share: float
    engine: str


@frozen
class Column:
    """A column of a table: its texts, and the marks of its head and its rows.

    Pages draw the bar of each row, if it has ``bars``, before its text.

    Where a line of text is too narrow, the texts of the columns that are clipped are cut first, then the
    columns of the highest ``rank`` are left out. Text cuts each one to ``width`` characters.
    """

    name: str
    texts: Sequence[str]
    kind: ColumnKind = "text"
    marks: Marks = field(default_factory=Marks)
    rank: int = 0
    is_clipped: bool = False
    width: int = 0
    bars: Sequence[Sequence[BarPart]] = ()

    @property
    def is_number(self) -> bool:
        """True for a column that is aligned to the right."""
        return self.kind == "number"

    @property
    def heading(self) -> str:
        """The name with its marks."""
        return f"{self.name}{self.marks.head}"

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Each row's text and its marks."""
        return [(text, self.marks.of(row)) for row, text in enumerate(self.texts)]


@frozen
class Table:
    """Columns; ``narrow`` has the same rows in fewer columns, for narrow lines of text, below its caption.

    Where no cut makes the columns fit, text has a block of lines for each row.
    Text writes a table with long sentences (``is_wordy``) as a paragraph per row.
    """

    columns: tuple[Column, ...]
    caption: str = ""
    narrow: Table | None = None
    is_wordy: bool = False

    @classmethod
    def from_rows(
        cls,
        header: Sequence[str],
        rows: Iterable[Sequence[str]],
        numbers: Container[str] = (),
        caption: str = "",
        is_wordy: bool = False,
        dispensable: Container[str] = (),
    ) -> Table:
        """Return a table of rows of texts.

        ``numbers`` names the columns that are aligned to the right, ``dispensable`` those that are left out
        where a line of text is too narrow.
        """
        columns = zip(*rows, strict=True)
        kinds: list[ColumnKind] = ["number" if name in numbers else "text" for name in header]
        texts = list(columns) or [()] * len(header)
        ranks = (int(name in dispensable) for name in header)
        built = (
            Column(name, cells, kind, rank=rank)
            for name, cells, kind, rank in zip(header, texts, kinds, ranks, strict=True)
        )
        return cls(tuple(built), caption, is_wordy=is_wordy)

    @property
    def rows(self) -> list[tuple[tuple[str, str], ...]]:
        """The cells of each row: a text and its marks."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


@frozen
class Item:
    """An entry of a list: a note with the mark that it explains, a limit with its severity, or a line.

    ``explanation`` is what its name means, in paragraphs; pages fold it.
    """

    text: str
    mark: str = ""
    severity: Severity = "info"
    explanation: tuple[str, ...] = ()


@frozen
class Items:
    """A list; that of ``limits`` says how far numbers can be trusted."""

    items: tuple[Item, ...]
    is_of_limits: bool = False


@frozen
class Fact:
    """A name with its value."""

    name: str
    text: str
    mark: str = ""


@frozen
class Facts:
    """Names with their values."""

    facts: tuple[Fact, ...]


@frozen
class Command:
    """A command to paste: it stays on one line."""

    text: str


@frozen
class FindingEntry:
    """A finding in words; ``number`` is its position in the analysis, by which a page's script finds it."""

    title: str
    severity: Severity = "info"
    cost: str = ""
    basis: str = ""
    detail: str = ""
    next_steps: tuple[NextStep, ...] = ()
    kind: str = ""
    explanation: tuple[str, ...] = ()
    """What its kind means and does not prove, in paragraphs, where a document has room for it."""
    number: int | None = None
    change: str = ""
    """What became of it between two recordings: appeared, vanished, …"""


@frozen
class Findings:
    """Findings, what costs most first; those after the first few are folded where a format can fold."""

    entries: tuple[FindingEntry, ...]
    left_out: int = 0


@frozen
class Outcome:
    """A requirement with its outcome and the numbers for it."""

    outcome: Literal["passed", "failed", "open", "not measurable"]
    requirement: str
    reason: str

    @property
    def word(self) -> str:
        """The outcome; a failure stands out."""
        return "FAILED" if self.outcome == "failed" else self.outcome


@frozen
class Outcomes:
    """Requirements with their outcomes."""

    outcomes: tuple[Outcome, ...]


@frozen
class Stack:
    """Frames (symbol, binary), leaf first, with the position of the one that decided the engine."""

    engine: str
    text: str
    frames: tuple[tuple[str, str], ...]
    deciding: int = -1
    above: int = 0
    below: int = 0

    def cut(self, most: int) -> Stack:
        """Return the stack with the frames around the deciding one."""
        around = min(self.deciding - most // 2, len(self.frames) - most) if self.deciding >= 0 else 0
        start = max(0, around)
        frames = self.frames[start : start + most]
        below = self.below + len(self.frames) - start - len(frames)
        deciding = self.deciding - start if self.deciding >= 0 else -1
        return Stack(self.engine, self.text, frames, deciding, self.above + start, below)


@frozen
class Stacks:
    """Stacks, each folded where a format can fold."""

    stacks: tuple[Stack, ...]


@frozen
class StripKind:
    """A kind of parts: its name in the legend, its sign in characters, and the engine of its colour.

    ``engine`` is "" for what is no engine's work: time between parts where it ``is_gap``, else what is not
    known.
    """

    name: str
    sign: str
    engine: str = ""
    is_gap: bool = False


@frozen
class StripPart:
    """A part of a line, from ``start`` to ``end`` (exclusive) of its width, which is 1.

    ``kind`` is a position in ``Strip.kinds``. ``text`` explains the part, ``label`` is written above it
    where there is room. ``rows`` are those of the next table that are about it: a part with rows is
    visible in characters, however short it is. ``range_ns`` is its place in the recording.
    """

    start: float
    end: float
    kind: int
    text: str
    label: str = ""
    rows: range = range(0)
    range_ns: tuple[int, int] | None = None


@frozen
class StripLine:
    """A named line of parts, in order; what no part covers is empty. ``ends`` are written at its ends."""

    name: str
    parts: tuple[StripPart, ...]
    ends: tuple[str, str] = ("", "")


@frozen
class Strip:
    """Two lines; ``links`` are pairs of positions of parts, above and below, that correspond."""

    caption: str
    kinds: tuple[StripKind, ...]
    above: StripLine
    below: StripLine
    links: tuple[tuple[int, int], ...] = ()

    @property
    def lines(self) -> tuple[StripLine, StripLine]:
        """Both lines."""
        return self.above, self.below

    @property
    def legend(self) -> list[StripKind]:
        """The kinds that occur."""
        present = {part.kind for line in self.lines for part in line.parts}
        return [kind for position, kind in enumerate(self.kinds) if position in present]


@frozen
class Picture:
    """The place of something that only a page draws: other formats leave it out."""

    name: str


@frozen
class Section:
    """Blocks below a heading; ``about`` is what holds for all of them, as a clause without a full stop.

    The heading of a section that ``is_lead`` is for pages only. One that ``is_empty`` gives the reason why
    there is nothing, for formats in which every section has its place. A page's script replaces all but the
    limits of one that ``is_replaced``.
    """

    id: str
    heading: str
    blocks: tuple[Block, ...] = ()
    about: str = ""
    mark: str = ""
    is_lead: bool = False
    is_empty: bool = False
    is_folded: bool = False
    is_replaced: bool = False


Block: TypeAlias = (
    Headline
    | Paragraph
    | Table
    | Items
    | Facts
    | Command
    | Findings
    | Outcomes
    | Stacks
    | Strip
    | Picture
    | Section
)


def make_sentence(clause: str) -> str:
    """Return a clause as a sentence, with a capital and a full stop."""
    return f"{clause[:1].upper()}{clause[1:].removesuffix('.')}." if clause else ""


def iter_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks, those inside of others after these."""
    for block in blocks:
        yield block
        if isinstance(block, Section):
            yield from iter_blocks(block.blocks)


def count_note(count: int) -> str:
    """Return the line on what a list leaves out."""
    return f"… and {count:,} more: see the JSON output"
